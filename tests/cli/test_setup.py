"""`setup` as a person runs it: files and a `claude` in a temporary home."""

import json
import os
import shlex
import sys
import tomllib
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Final

import pytest

from tests.command_line import Run, in_line, printed, refusal
from tests.terminals import on_a_terminal, read_until

CLAUDE: Final = """
import json, pathlib, sys
arguments = sys.argv[1:]
file = pathlib.Path.home() / ".claude.json"
content = json.loads(file.read_text()) if file.exists() else {}
content.setdefault("calls", []).append(arguments)
servers = content.setdefault("mcpServers", {})
if arguments[0] == "plugin":
    pass
elif arguments[1] == "add-json":
    servers[arguments[4]] = json.loads(arguments[5])
else:
    del servers[arguments[4]]
file.write_text(json.dumps(content))
"""
"""Does to its file what Claude Code 2.1 does, and records how it was called."""


@pytest.fixture
def home(environment: dict[str, str]) -> Path:
    return Path(environment["HOME"])


@pytest.fixture
def with_claude(environment: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "claude").write_text(f"#!{sys.executable}\n{CLAUDE}", "utf-8")
    (folder / "claude").chmod(0o755)
    environment["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"


def file_in(home: Path, name: str, content: str) -> Path:
    """Write a client's file, as its user has it."""
    file = home / name
    file.parent.mkdir(parents=True)
    file.write_text(content, "utf-8")
    return file


def entry_in(home: Path) -> Any:
    """Return what Cursor's file has of this server."""
    return json.loads((home / ".cursor" / "mcp.json").read_text("utf-8"))["mcpServers"]["learning-memory"]


def claude_state(home: Path) -> Any:
    return json.loads((home / ".claude.json").read_text("utf-8"))


def test_a_client_is_set_up_and_restored(run: Run, home: Path, storage: Path) -> None:
    before = '{\n  // mine\n  "mcpServers": {\n    "other": {"command": "x"},\n  },\n}\n'
    file = file_in(home, ".cursor/mcp.json", before)
    done = printed(run("setup", "cursor", "--yes"))
    assert '+    "learning-memory": {' in done
    assert f"A copy of the file will be kept: {file}.before-learning-memory" in done
    assert "Cursor has this server now. Restart Cursor." in done
    after = file.read_text("utf-8")
    assert f'"LEARNING_MEMORY_STORAGE_PATH": "{storage}"' in after
    assert "// mine" in after
    assert printed(run("setup", "cursor", "--yes")) == "Cursor already has this server. Nothing to change.\n"
    assert f"{file} will be what it was before `setup`." in printed(run("setup", "cursor", "--remove", "--yes"))
    assert file.read_text("utf-8") == before
    assert list(file.parent.iterdir()) == [file]
    assert "Nothing to change." in run("setup", "cursor", "--remove", "--yes").stdout


@pytest.mark.parametrize(
    ("client", "file"),
    [
        ("vscode", ".config/Code/User/mcp.json"),
        ("codex", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json"),
        ("copilot", ".copilot/mcp-config.json"),
        ("opencode", ".config/opencode/opencode.json"),
        ("claude-desktop", ".config/Claude/claude_desktop_config.json"),
    ],
)
def test_what_is_printed_is_what_is_written(client: str, file: str, run: Run, home: Path) -> None:
    shown = run("setup", client, "--print")
    assert str(home / file) in refusal(shown, 0)
    assert list(home.iterdir()) == []
    assert run("setup", client, "--yes").exit_code == 0
    parse = tomllib.loads if client == "codex" else json.loads
    assert parse(shown.stdout) == parse((home / file).read_text("utf-8"))


@pytest.mark.slow
@pytest.mark.usefixtures("with_claude")
def test_claude_code_is_changed_by_its_own_command(run: Run, home: Path) -> None:
    done = printed(run("setup", "claude-code", "--yes"))
    shown = shlex.split(done.splitlines()[0].removeprefix("$ "))
    state = claude_state(home)
    assert state["calls"] == [shown[1:]]
    assert shown[:-1] == ["claude", "mcp", "add-json", "-s", "user", "learning-memory"]
    entry = json.loads(shown[-1])
    assert state["mcpServers"] == {"learning-memory": entry}
    assert Path(entry["command"]).is_file()
    assert "Nothing to change." in run("setup", "claude-code", "--yes").stdout
    assert run("setup", "claude-code", "--yes", LEARNING_MEMORY_MIN_EXPERIENCES="30").exit_code == 0
    entry["env"]["LEARNING_MEMORY_MIN_EXPERIENCES"] = "30"
    assert claude_state(home)["mcpServers"] == {"learning-memory": entry}
    assert run("setup", "claude-code", "--remove", "--yes").exit_code == 0
    assert claude_state(home)["mcpServers"] == {}


def test_without_claude_no_plugin_is_written(run: Run, home: Path) -> None:
    before = sorted(home.rglob("*"))
    result = refusal(run("setup", "claude-code", "--plugin", "--yes", PATH=str(home)))
    assert "The command `claude` is not on the PATH, so nothing was changed." in result
    assert sorted(home.rglob("*")) == before


@pytest.mark.usefixtures("with_claude")
@pytest.mark.parametrize(
    "arguments",
    [("cursor",), ("cursor", "--settings", "file"), ("copilot",), ("claude-code",), ("claude-code", "--plugin")],
)
def test_a_temporary_folder_is_written_nowhere(arguments: tuple[str, ...], run: Run, tmp_path: Path) -> None:
    kept = Path(gettempdir()) / "learning-memory-demo-x"
    done = run(
        "setup", *arguments, "--yes", LEARNING_MEMORY_STORAGE_PATH=str(kept), LEARNING_MEMORY_MIN_EXPERIENCES="7"
    )
    assert f"LEARNING_MEMORY_STORAGE_PATH is not written: {kept} is in a folder for temporary files." in in_line(
        done.stderr
    )
    written = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert not any(str(kept).encode() in content for content in written)
    assert any(b"MIN_EXPERIENCES" in content or b"min_experiences = 7" in content for content in written)


def test_without_claude_what_to_run_is_printed(run: Run, home: Path) -> None:
    result = refusal(run("setup", "claude-code", "--yes", PATH=str(home)))
    assert "The command `claude` is not on the PATH, so nothing was changed." in result
    command = shlex.split(result.splitlines()[-1])
    assert command[:3] == ["claude", "mcp", "add-json"]
    assert command == shlex.split(run("setup", "claude-code", "--print").stdout)


def test_a_file_that_cannot_be_parsed_is_left_alone(run: Run, home: Path) -> None:
    file = file_in(home, ".gemini/settings.json", "{theme: dark}")
    result = refusal(run("setup", "gemini", "--yes"))
    assert f"error: {file} cannot be edited: as JSON, line 1 is not valid." in result
    assert '"mcpServers": {' in result
    assert file.read_text("utf-8") == "{theme: dark}"


@pytest.mark.parametrize("options", [[], ["--remove"]])
def test_another_servers_entry_under_our_name_is_not_changed_without_a_question(
    options: list[str], run: Run, home: Path
) -> None:
    mine = '[mcp_servers.learning-memory]\ncommand = "npx"\nargs = ["-y", "another-server"]\n'
    file = file_in(home, ".codex/config.toml", mine)
    refused = refusal(run("setup", "codex", *options, "--yes"))
    assert "does not start this server, so nothing was changed" in refused
    assert f"Rename or remove mcp_servers.learning-memory in {file} yourself" in refused
    asked = run("setup", "codex", *options)
    assert f"does not start this server (mcp_servers.learning-memory in {file})" in refusal(asked)
    assert '-command = "npx"' in asked.stdout
    assert file.read_text("utf-8") == mine


def test_an_entry_of_ours_that_a_person_wrote_is_changed_and_kept_in_a_copy(run: Run, home: Path) -> None:
    mine = '[mcp_servers.learning-memory]\ncommand = "uvx"\nargs = ["--from", ".", "learning-memory-server"]\n'
    file = file_in(home, ".codex/config.toml", mine)
    assert run("setup", "codex", "--yes").exit_code == 0
    assert "uvx" not in file.read_text("utf-8")
    assert file.with_name("config.toml.before-learning-memory").read_text("utf-8") == mine


def test_without_a_terminal_nothing_is_changed_until_yes_is_said(run: Run, home: Path) -> None:
    result = run("setup", "cursor")
    assert '"learning-memory": {' in printed(result, 1)
    assert "add --yes" in result.stderr
    assert list(home.iterdir()) == []


def test_settings_can_go_to_the_settings_file_secrets_included(
    run: Run, home: Path, environment: dict[str, str]
) -> None:
    config = Path(environment["LEARNING_MEMORY_CONFIG"])
    more = {"LEARNING_MEMORY_QDRANT_API_KEY": "hush", "LEARNING_MEMORY_QDRANT_URL": "https://a:hush@example.org"}
    to_client = run("setup", "cursor", "--yes", **more)
    assert "LEARNING_MEMORY_QDRANT_API_KEY is not written" in to_client.stderr
    assert "LEARNING_MEMORY_PROJECT is not written" in to_client.stderr
    assert run("setup", "cursor", "--remove", "--yes").exit_code == 0
    to_file = run("setup", "cursor", "--yes", "--settings", "file", **more)
    assert to_file.exit_code == 0
    written = tomllib.loads(config.read_text("utf-8"))
    assert (written["qdrant_api_key"], written["hub_idle_minutes"]) == ("hush", 1)
    assert entry_in(home)["env"] == {"LEARNING_MEMORY_CONFIG": str(config)}
    for result in (to_client, to_file):
        assert "hush" not in result.output


def test_settings_can_stay_in_the_shell(run: Run, home: Path, environment: dict[str, str]) -> None:
    assert run("setup", "cursor", "--yes", "--settings", "none").exit_code == 0
    assert entry_in(home)["env"] == {"LEARNING_MEMORY_CONFIG": environment["LEARNING_MEMORY_CONFIG"]}


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "status"), [(b"n\n", 1), (b"y\n", 0)])
def test_on_a_terminal_the_question_comes_after_the_change_is_shown(
    answer: bytes, status: int, environment: dict[str, str], home: Path
) -> None:
    with on_a_terminal(environment, "setup", "cursor", output=True) as (process, terminal):
        assert b'"learning-memory": {' in read_until(terminal, b"Add this server to Cursor? [y/N]")
        assert list(home.iterdir()) == []
        os.write(terminal, answer)
        assert process.wait() == status
    assert (home / ".cursor" / "mcp.json").exists() == (status == 0)


def test_an_unknown_client_is_refused_with_the_known_ones(run: Run) -> None:
    result = refusal(run("setup", "emacs"), 2)
    assert "claude-code" in result
    assert "vscode" in result


@pytest.mark.usefixtures("with_claude")
def test_the_plugin_is_written_and_installed_instead_of_a_server(run: Run, home: Path) -> None:
    run("setup", "claude-code", "--yes")
    assert "Claude Code has the plugin now." in printed(run("setup", "claude-code", "--plugin", "--yes"))
    folder = home / ".config" / "learning-memory-server" / "claude-code"
    assert claude_state(home)["calls"][-3:] == [
        ["mcp", "remove", "-s", "user", "learning-memory"],
        ["plugin", "marketplace", "add", str(folder)],
        ["plugin", "install", "-s", "user", "learning-memory@learning-memory-server"],
    ]
    assert (folder / "learning-memory" / ".mcp.json").is_file()


@pytest.mark.usefixtures("with_claude")
def test_nothing_is_left_of_a_plugin_that_is_removed(run: Run, home: Path) -> None:
    run("setup", "claude-code", "--plugin", "--yes")
    # Claude Code has uninstalled it by its own command.
    folder = home / ".config" / "learning-memory-server" / "claude-code"
    assert f"The plugin's copy will be removed: {folder}" in run("setup", "claude-code", "--remove", "--yes").stdout
    assert not folder.exists()
    assert "Nothing to change." in run("setup", "claude-code", "--remove", "--yes").stdout


HOOKS: Final = {
    "copilot": (".copilot/mcp-config.json", ".copilot/hooks/learning-memory.json"),
    "opencode": (".config/opencode/opencode.json", ".config/opencode/plugins/learning-memory.js"),
}


def files_in(home: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}


@pytest.mark.parametrize("client", HOOKS)
def test_a_client_gets_hooks_which_go_byte_for_byte(
    client: str, run: Run, home: Path, storage: Path, environment: dict[str, str]
) -> None:
    hooks = home / HOOKS[client][1]
    file = file_in(home, HOOKS[client][0], '{\n\t// mine\n\t"theme": "dark",\n}\n')
    before = files_in(home)
    assert f"The hooks will be written to {hooks}." in run("setup", client, "--yes").stdout
    text = hooks.read_text("utf-8")
    assert sys.executable in text
    assert "learning-memory-server" not in text
    # Hooks do not see what the server gets from its entry.
    assert str(storage) in Path(environment["LEARNING_MEMORY_CONFIG"]).read_text("utf-8")
    assert str(storage) not in file.read_text("utf-8")
    assert "Nothing to change." in run("setup", client, "--yes").stdout
    assert f"The hooks will be removed from {hooks}." in run("setup", client, "--remove", "--yes").stdout
    assert files_in(home) == before


@pytest.mark.parametrize("client", HOOKS)
def test_hooks_are_mended_and_go_without_the_server(client: str, run: Run, home: Path) -> None:
    file, hooks = (home / name for name in HOOKS[client])
    run("setup", client, "--yes")
    written = hooks.read_bytes()
    for text in (None, "learning-memory-server hook of another version"):
        hooks.unlink() if text is None else hooks.write_text(text, "utf-8")
        flaw = "no hooks" if text is None else "hooks of another version or installation"
        assert f"has {flaw}; run: learning-memory-server setup {client}" in run("doctor", "--quick").stdout
        run("setup", client, "--yes")
        assert hooks.read_bytes() == written
    assert " hooks " not in run("doctor", "--quick").stdout
    # The client's own command has taken out the server alone.
    file.unlink()
    assert "The hooks will be removed" in run("setup", client, "--remove", "--yes").stdout
    assert not hooks.exists()
    assert "Nothing to change." in run("setup", client, "--remove", "--yes").stdout


def test_what_a_clients_own_command_leaves_is_put_back(run: Run, home: Path) -> None:
    file = file_in(home, ".copilot/mcp-config.json", '{"mcpServers": {}, "a": 1}')
    run("setup", "copilot", "--yes")
    file.write_text('{\n  "mcpServers": {},\n  "a": 1\n}\n', "utf-8")
    assert run("setup", "copilot", "--remove", "--yes").exit_code == 0
    assert file.read_text("utf-8") == '{"mcpServers": {}, "a": 1}'
    assert list(file.parent.glob("*.before-*")) == []


def test_only_claude_code_has_the_plugin(run: Run) -> None:
    for option in ("--yes", "--print"):
        assert "There is no plugin for Cursor" in refusal(run("setup", "cursor", "--plugin", option))


def test_how_to_try_the_plugin_is_printed(run: Run, home: Path) -> None:
    shown = run("setup", "claude-code", "--plugin", "--print")
    name, option, folder = shlex.split(shown.stdout)
    assert (name, option) == ("claude", "--plugin-dir")
    assert (Path(folder) / ".claude-plugin" / "plugin.json").is_file()
    assert not list(home.iterdir())
