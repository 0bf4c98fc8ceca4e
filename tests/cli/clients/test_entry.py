"""What is written to a client: a command that exists here, and the settings its sessions would miss."""

from dataclasses import replace
from pathlib import Path

import pytest

from learning_memory_server.cli.clients.catalog import (
    CLIENTS,
    Launch,
    Machine,
    Variables,
    find_launch,
    find_variables,
    new_entry,
)
from learning_memory_server.server.settings import load_settings

CURSOR, VSCODE = CLIENTS["cursor"], CLIENTS["vscode"]


def script_in(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "learning-memory-server").touch()
    return folder / "python"


def variables(machine: Machine, *, client: str = "cursor", **more: str) -> Variables:
    machine = replace(machine, environment={**machine.environment, **more})
    return find_variables(CLIENTS[client], machine, load_settings(machine.environment))


def test_this_installation_starts_with_an_absolute_path_that_exists() -> None:
    launch = find_launch()
    assert Path(launch.command).is_absolute()
    assert Path(launch.command).is_file()
    assert launch.caution is None


def test_the_script_next_to_the_interpreter_is_taken(tmp_path: Path) -> None:
    python = script_in(tmp_path / "pipx" / "venvs" / "learning-memory-server" / "bin")
    assert find_launch(python, has_hub=True) == Launch(str(python.with_name("learning-memory-server")))


def test_a_copy_in_the_cache_of_uvx_is_named_as_such(tmp_path: Path) -> None:
    python = script_in(tmp_path / "uv" / "archive-v0" / "abc" / "bin")
    launch = find_launch(python, has_hub=True)
    assert launch.command == str(python.with_name("learning-memory-server"))
    assert launch.caution is not None
    assert "uv tool install" in launch.caution


def test_a_system_without_a_hub_gets_a_server_without_one(tmp_path: Path) -> None:
    python = script_in(tmp_path / "Scripts")
    assert find_launch(python, has_hub=False).arguments == ("--direct",)


def test_an_entry_has_what_the_client_needs_and_no_empty_environment() -> None:
    launch = Launch("/bin/server", ("--direct",))
    assert new_entry(CURSOR, launch, {}) == {"command": "/bin/server", "args": ["--direct"]}
    assert new_entry(VSCODE, launch, {"A": "1"}) == {
        "type": "stdio",
        "command": "/bin/server",
        "args": ["--direct"],
        "env": {"A": "1"},
    }


def test_settings_of_the_shell_are_written_with_absolute_paths(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "config.toml").touch()
    found = variables(
        machine,
        LEARNING_MEMORY_STORAGE_PATH="~/data",
        LEARNING_MEMORY_CONFIG=str(tmp_path / "config.toml"),
        LEARNING_MEMORY_MIN_EXPERIENCES="30",
        LEARNING_MEMORY_REDACTION="false",
        LEARNING_MEMORY_REDACTION_ALLOW='["a.b"]',
        LEARNING_MEMORY_UNKNOWN="1",
        LEARNING_MEMORY_LOG_LEVEL="",
        OTHER="1",
    )
    storage = str(Path("~/data").expanduser())
    assert found.written == {
        "LEARNING_MEMORY_STORAGE_PATH": storage,
        "LEARNING_MEMORY_CONFIG": str(tmp_path / "config.toml"),
        "LEARNING_MEMORY_MIN_EXPERIENCES": "30",
        "LEARNING_MEMORY_REDACTION": "false",
        "LEARNING_MEMORY_REDACTION_ALLOW": '["a.b"]',
    }
    assert found.shared == {
        "storage_path": storage,
        "min_experiences": 30,
        "redaction": False,
        "redaction_allow": ["a.b"],
    }
    assert found.omitted == ()


def test_secrets_go_into_no_clients_file(machine: Machine) -> None:
    found = variables(
        machine, LEARNING_MEMORY_QDRANT_API_KEY="hush", LEARNING_MEMORY_QDRANT_URL="https://ann:hush@qdrant.example.org"
    )
    assert found.written == {}
    assert found.shared == {"qdrant_api_key": "hush", "qdrant_url": "https://ann:hush@qdrant.example.org"}
    assert len(found.omitted) == 2
    assert "hush" not in "".join(found.omitted)


def test_a_project_is_not_written_because_it_would_be_that_of_every_session(machine: Machine) -> None:
    found = variables(machine, LEARNING_MEMORY_PROJECT="garden")
    assert (found.written, found.shared) == ({}, {})
    assert "every project would get its name" in found.omitted[0]


def test_folders_that_a_client_does_not_pass_on_are_written(machine: Machine) -> None:
    more = {"XDG_DATA_HOME": "/data", "XDG_CONFIG_HOME": "relative"}
    moved = replace(machine, environment={**machine.environment, **more})
    assert variables(moved).written == {"XDG_DATA_HOME": "/data"}
    assert variables(moved, client="vscode").written == {}
    assert variables(replace(moved, platform="darwin")).written == {}


def test_without_a_script_next_to_the_interpreter_the_installed_one_is_taken(tmp_path: Path) -> None:
    script_in(tmp_path / "user")
    script = tmp_path / "user" / "learning-memory-server"
    assert find_launch(tmp_path / "python", [tmp_path / "gone", script], has_hub=True) == Launch(str(script))


def test_without_any_script_the_interpreter_runs_the_module(tmp_path: Path) -> None:
    launch = find_launch(tmp_path / "python", [tmp_path / "gone"], has_hub=True)
    assert launch == Launch(str(tmp_path / "python"), ("-m", "learning_memory_server"))


@pytest.mark.parametrize("setting", ["STORAGE_PATH", "JOURNAL_PATH", "EMBEDDING_MODEL"])
def test_a_path_that_is_not_utf_8_is_not_written(machine: Machine, setting: str) -> None:
    found = variables(machine, **{f"LEARNING_MEMORY_{setting}": "/srv/caf\udce9"})
    assert found.written == {}
    assert f"LEARNING_MEMORY_{setting} is not written: a client's file holds UTF-8 only" in found.omitted[0]
