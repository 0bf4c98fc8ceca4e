"""Starting a server as a client does: what it answers, and every way in which it does not."""

import os
import sys
from pathlib import Path

import pytest

from learning_memory_server.cli.doctor.clients import connect
from learning_memory_server.errors import ClientSetupError
from tests.support import MINUTES

pytestmark = pytest.mark.slow

SERVER = """
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message"}), flush=True)
        about = {"name": "tiny", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
    elif request["method"] == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in os.environ]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


async def run(script: str, folder: Path, seconds: float = MINUTES, **variables: str) -> int:
    tools, took = await connect([sys.executable, "-ISc", script], variables, folder, seconds)
    assert 0 < took < seconds
    return tools


async def test_a_server_gets_the_given_environment_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEARNING_MEMORY_PROJECT", "this shell's")
    bare = await run(SERVER, tmp_path)
    found = await run(SERVER, tmp_path, A="1", B="2")
    assert found == bare + 2
    monkeypatch.delenv("LEARNING_MEMORY_PROJECT")
    assert await run(SERVER, tmp_path) == bare


async def test_the_tool_that_answers_hooks_is_not_counted(tmp_path: Path) -> None:
    assert await run(SERVER, tmp_path, hook="1", A="1") == await run(SERVER, tmp_path) + 1


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("import sys; sys.exit('first\\nthe settings are wrong.')", "tools: the settings are wrong."),
        ("pass", "ended before it had listed its tools."),
        ("print('Hello!', flush=True); input()", "did not answer as an MCP server does."),
        ("print('[]', flush=True); input()", "did not answer as an MCP server does."),
        ('print(\'{"id": 1, "error": {}}\', flush=True); input()', "did not answer as an MCP server does."),
        (SERVER.replace('"tools"', '"list"'), "did not answer as an MCP server does."),
    ],
)
async def test_a_server_that_fails_is_a_sentence(script: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(ClientSetupError) as failure:
        await run(script, tmp_path)
    assert failure.value.message.endswith(sentence)


async def test_a_server_that_says_much_on_stderr_is_not_blocked(tmp_path: Path) -> None:
    loud = "import sys; print('x' * 1_000_000, file=sys.stderr, flush=True)\n" + SERVER
    assert await run(loud, tmp_path) == await run(SERVER, tmp_path)


async def test_a_server_that_never_answers_is_killed(tmp_path: Path) -> None:
    script = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(600)"
    with pytest.raises(ClientSetupError, match=r"did not answer within 0\.5 s"):
        await run(script, tmp_path, seconds=0.5)
    # Late or never started: either way nothing is left of it.
    pid = tmp_path / "pid"
    assert not pid.exists() or not os.path.exists(f"/proc/{pid.read_text()}")  # noqa: ASYNC240, PTH110


async def test_a_program_that_does_not_exist_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ClientSetupError, match=r"/no/such cannot be started \(No such file"):
        await connect(["/no/such"], {}, tmp_path)
