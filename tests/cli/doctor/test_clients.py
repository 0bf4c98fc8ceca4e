"""`doctor` and the clients: who has this server, and whether it starts as that client starts it."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import Run, in_line, printed
from tests.tool_names import NAMES


@pytest.fixture
def home(environment: dict[str, str]) -> Path:
    # Clients on the PATH of the machine that runs the tests are not looked at.
    environment["PATH"] = environment["HOME"]
    return Path(environment["HOME"])


def cursor(home: Path, **entry: Any) -> None:
    (home / ".cursor").mkdir(exist_ok=True)
    content = {"mcpServers": {"learning-memory": entry}} if entry else {}
    (home / ".cursor" / "mcp.json").write_text(json.dumps(content), "utf-8")


def environment_of(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith("LEARNING_MEMORY_")}


def test_without_a_client_that_is_what_is_said(run: Run, home: Path) -> None:
    assert not list(home.iterdir())
    said = run("doctor", "--quick").stdout
    assert "· client       No client that `setup` supports was found." in said
    assert "run: learning-memory-server setup CLIENT" in " ".join(said.split())
    assert said.endswith(".\nBut no client has the memory yet.\n")


def test_a_client_without_this_server_is_no_problem_until_it_is_asked_for(run: Run, home: Path) -> None:
    cursor(home)
    sentence = "Cursor does not have this server; run: learning-memory-server setup cursor"
    assert f"· client       {sentence}" in run("doctor", "--quick").stdout
    asked = printed(run("doctor", "--client", "cursor"), 1)
    assert asked.splitlines()[0] == f"✗ client       {sentence}"
    assert "python" not in asked


def test_a_client_is_found_by_its_command(run: Run, home: Path) -> None:
    (home / "codex").touch(mode=0o755)
    assert "Codex does not have this server" in run("doctor", "--quick").stdout


def test_quick_starts_nothing(run: Run, home: Path, environment: dict[str, str]) -> None:
    cursor(home, command="/no/such", env=environment_of(environment))
    said = printed(run("doctor", "--quick"))
    assert "Cursor has this server; not started (--quick)." in said
    assert "no client has the memory" not in said


@pytest.mark.usefixtures("home")
def test_the_server_starts_with_what_the_client_passes_on(run: Run, start_hub: Callable[[], int]) -> None:
    assert run("setup", "cursor", "--yes").exit_code == 0
    result = run("doctor", "--client", "cursor")
    # The session has started a hub, or is still starting it. The fixture ends it.
    start_hub()
    assert result.exit_code == 0
    started = f"Started the way Cursor starts it, it listed {len(NAMES)} tools after"
    assert f"✓ client       Cursor has this server. {started}" in result.stdout
    assert "use the journal" not in result.stdout


@pytest.mark.slow
def test_a_variable_that_the_client_does_not_pass_on_is_missing_for_its_server(run: Run, home: Path) -> None:
    script = "import os, sys; sys.exit('A setting is missing.' if 'NEEDED' not in os.environ else 0)"
    cursor(home, command=sys.executable, args=["-c", script])
    result = printed(run("doctor", "--client", "cursor", NEEDED="1"), 1)
    assert "✗ client       Cursor has this server, but cannot use it:" in result
    assert "A setting is missing." in result


def test_a_command_that_is_gone_is_red(run: Run, home: Path, environment: dict[str, str]) -> None:
    cursor(home, command=str(home / "gone"), env=environment_of(environment))
    result = printed(run("doctor", "--client", "cursor"), 1)
    assert f"Cursor would start {home / 'gone'}, which does not exist; run: learning-memory-server setup cursor" in (
        result
    )


def test_sessions_with_other_data_than_this_shell_are_a_warning(run: Run, home: Path, storage: Path) -> None:
    cursor(home, command="/no/such")
    result = printed(run("doctor", "--client", "cursor", "--quick"))
    assert f"! client       Sessions of Cursor use the journal {home.resolve()}" in result
    assert f"and commands here {storage.resolve() / 'journal'}" in result


def test_a_settings_file_that_only_the_client_names_is_checked_for_it(run: Run, home: Path) -> None:
    cursor(home, command="/no/such", env={"LEARNING_MEMORY_CONFIG": str(home / "gone.toml")})
    result = printed(run("doctor", "--client", "cursor", "--quick"), 1)
    assert f"For Cursor: The settings file {home / 'gone.toml'} does not exist." in result


@pytest.mark.parametrize("entry", [{"url": "http://127.0.0.1"}, {"command": "x", "args": 3}])
def test_an_entry_without_a_command_is_not_checked(entry: dict[str, Any], run: Run, home: Path) -> None:
    cursor(home, **entry)
    result = printed(run("doctor", "--client", "cursor"))
    assert "! client       Cursor has an entry for this server that names no command" in result


def test_a_file_of_a_client_that_cannot_be_read_is_a_warning(run: Run, home: Path) -> None:
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_text("{", "utf-8")
    result = printed(run("doctor", "--client", "cursor"))
    assert "Cannot tell whether Cursor has this server." in result
    assert "No problems; 1 warning." in result


@pytest.mark.parametrize("options", [("--quick",), ("--client", "cursor")])
def test_variables_that_a_file_of_the_project_sets_are_named(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    cursor(home)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"a": {"env": {"LEARNING_MEMORY_PROJECT": "b"}}}}')
    said = in_line(run("doctor", *options).stdout)
    assert f"! project {tmp_path}/.mcp.json sets LEARNING_MEMORY_PROJECT, which a project may not" in said
