"""Claude Code's own command: what is asked of it, and how its failures are reported."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from learning_memory_server.cli.clients import claude_code
from learning_memory_server.cli.clients.catalog import Machine
from learning_memory_server.errors import ClientSetupError

ENTRY = {"type": "stdio", "command": "/opt/my server", "args": []}
ADD = ["claude", "mcp", "add-json", "-s", "user", "learning-memory"]
REMOVE = ["claude", "mcp", "remove", "-s", "user", "learning-memory"]


def program(folder: Path, script: str) -> str:
    """Put a `claude` on a PATH, and return that PATH."""
    folder.mkdir()
    path = folder / "claude"
    path.write_text(f"#!{sys.executable}\n{script}\n", "utf-8")
    path.chmod(0o755)
    return str(folder)


def test_a_new_server_is_added_for_all_projects() -> None:
    (command,) = claude_code.commands(None, ENTRY)
    assert command[:-1] == ADD
    assert json.loads(command[-1]) == ENTRY


def test_the_same_server_needs_nothing() -> None:
    assert claude_code.commands({**ENTRY, "env": {"A": "1"}}, ENTRY) == []
    assert claude_code.commands(None, None) == []


def test_another_entry_is_replaced_and_keeps_its_other_fields() -> None:
    old = {"command": "/gone", "args": ["x"], "timeout": 5, "env": {"A": "1"}}
    remove, add = claude_code.commands(old, {**ENTRY, "env": {"B": "2"}})
    assert remove == REMOVE
    assert json.loads(add[-1]) == {**ENTRY, "timeout": 5, "env": {"A": "1", "B": "2"}}


def test_a_server_is_removed_if_it_is_there() -> None:
    assert claude_code.commands(ENTRY, None) == [REMOVE]


def test_a_missing_command_is_printed_to_be_run_by_hand(machine: Machine, tmp_path: Path) -> None:
    empty = replace(machine, environment={"PATH": str(tmp_path)})
    with pytest.raises(ClientSetupError, match="not on the PATH") as refusal:
        claude_code.find_program([[*ADD, "{}"]], empty)
    assert refusal.value.hint is not None
    assert refusal.value.hint.endswith("claude mcp add-json -s user learning-memory '{}'")


def test_a_failure_is_reported_in_the_commands_words(machine: Machine, tmp_path: Path) -> None:
    folder = program(tmp_path / "bin", "import sys; sys.exit('No such\\nthing')")
    with pytest.raises(ClientSetupError, match="failed: No such thing"):
        claude_code.run(f"{folder}/claude", [REMOVE], machine)


def test_a_command_that_cannot_be_run_is_a_sentence(machine: Machine, tmp_path: Path) -> None:
    folder = program(tmp_path / "bin", "")
    (tmp_path / "bin" / "claude").write_text("#!/nowhere/at/all\n", "utf-8")
    with pytest.raises(ClientSetupError, match="could not be run"):
        claude_code.run(f"{folder}/claude", [REMOVE], machine)
