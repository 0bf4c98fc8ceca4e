"""Where each client keeps its file, on each system."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from learning_memory_server.cli.clients.catalog import CLIENTS, Machine

HOME = Path("/home/ann")


def located(platform: str, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    machine = Machine(platform, HOME, environment or {})
    return {name: str(client.locate(machine).relative_to(HOME)) for name, client in CLIENTS.items()}


EVERYWHERE = {
    "claude-code": ".claude.json",
    "cursor": ".cursor/mcp.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "copilot": ".copilot/mcp-config.json",
    "opencode": ".config/opencode/opencode.json",
}


@pytest.mark.parametrize(
    ("platform", "folder"),
    [("linux", ".config"), ("darwin", "Library/Application Support"), ("win32", "AppData/Roaming")],
)
def test_every_client_has_its_file_on_every_system(platform: str, folder: str) -> None:
    assert located(platform) == EVERYWHERE | {
        "vscode": f"{folder}/Code/User/mcp.json",
        "claude-desktop": f"{folder}/Claude/claude_desktop_config.json",
    }


def test_variables_move_the_files() -> None:
    moved = {
        "CLAUDE_CONFIG_DIR": "/home/ann/a",
        "CODEX_HOME": "/home/ann/b",
        "GEMINI_CLI_HOME": "/home/ann/c",
        "COPILOT_HOME": "/home/ann/e",
        "XDG_CONFIG_HOME": "/home/ann/d",
    }
    assert located("linux", moved) == {
        "claude-code": "a/.claude.json",
        "cursor": ".cursor/mcp.json",
        "codex": "b/config.toml",
        "gemini": "c/.gemini/settings.json",
        "copilot": "e/mcp-config.json",
        "opencode": "d/opencode/opencode.json",
        "vscode": "d/Code/User/mcp.json",
        "claude-desktop": "d/Claude/claude_desktop_config.json",
    }


def test_windows_says_where_its_folder_is() -> None:
    # On this system, a Windows path with a drive is relative; a rooted one is the same on both.
    assert located("win32", {"APPDATA": "/home/ann/Roaming"})["vscode"] == "Roaming/Code/User/mcp.json"


def test_a_relative_variable_is_ignored() -> None:
    assert located("linux", {"CODEX_HOME": "here", "XDG_CONFIG_HOME": ""}) == located("linux")


ENVIRONMENT = {
    "HOME": "/home/ann",
    "PATH": "/usr/bin",
    "LANG": "C.UTF-8",
    "SYSTEMROOT": "C:\\Windows",
    "LEARNING_MEMORY_PROJECT": "garden",
}


@pytest.mark.parametrize(
    ("platform", "few", "of_codex"),
    [("linux", {"HOME", "PATH"}, {"HOME", "PATH", "LANG"}), ("win32", {"PATH", "SYSTEMROOT"}, {"PATH", "SYSTEMROOT"})],
)
def test_a_server_gets_what_its_client_passes_on(platform: str, few: set[str], of_codex: set[str]) -> None:
    machine = Machine(platform, HOME, ENVIRONMENT)
    everything = {name: set(ENVIRONMENT) for name in ("claude-code", "vscode", "gemini", "copilot", "opencode")}
    expected = everything | {"cursor": few, "claude-desktop": few, "codex": of_codex}
    assert {name: set(client.passed(machine)) for name, client in CLIENTS.items()} == expected
