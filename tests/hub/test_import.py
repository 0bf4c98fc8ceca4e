"""What a hub does if something cannot be imported that it needs late: another one takes its place."""

import os
from pathlib import Path

import pytest

import learning_memory_server
from tests.acceptance.hubs import IN_PROC, Memory

pytestmark = IN_PROC

FAILS_ONCE = """
import os, sys

class Upgraded:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r} and os.path.exists({flag!r}):
            os.remove({flag!r})
            raise ImportError("its files were replaced")

sys.meta_path.insert(0, Upgraded())
"""


def upgrading(memory: Memory, folder: Path, module: str) -> Path:
    """Let the processes of a memory fail once to import a module, when there is the file that is returned."""
    flag, start = folder / "upgraded", folder / "start"
    start.mkdir()
    (start / "sitecustomize.py").write_text(FAILS_ONCE.format(flag=str(flag), module=module), "utf-8")
    package = Path(learning_memory_server.__file__).parents[1]
    memory.more = {"PYTHONPATH": f"{start}{os.pathsep}{package}"}
    return flag


def test_a_hub_that_cannot_import_the_sdk_gives_way_to_the_next_and_no_call_fails(
    memory: Memory, tmp_path: Path
) -> None:
    flag = upgrading(memory, tmp_path, "mcp")
    plain = memory.greeted(forks=False)
    assert plain.call("list_values")["count"] == 0
    first = memory.hub()
    flag.touch()
    modern = memory.front("another", "2026-07-28")
    modern.handshake()
    assert modern.call("list_values")["count"] == 0
    assert not flag.exists()
    assert memory.hub() != first
    assert plain.call("list_values")["count"] == 0
    assert '"protocol.not_imported"' in (memory.storage / "hub.log").read_text("utf-8")


@pytest.mark.parametrize(
    "module", ["learning_memory_server.server.operations", "learning_memory_server.server.operations.indexing"]
)
def test_a_command_whose_import_fails_says_why_and_the_next_one_has_a_new_hub(
    memory: Memory, tmp_path: Path, module: str
) -> None:
    flag = upgrading(memory, tmp_path, module)
    front = memory.greeted(forks=False)
    assert front.call("list_values")["count"] == 0
    first = memory.hub()
    flag.touch()
    failed = memory.command("reindex", check=False)
    assert failed.returncode == 1
    assert "The installation of this server was replaced while it ran" in " ".join(failed.stderr.split())
    assert front.call("list_values")["count"] == 0
    assert memory.hub() != first
    assert memory.command("reindex").returncode == 0
    assert '"hub.installation_replaced"' in (memory.storage / "hub.log").read_text("utf-8")
