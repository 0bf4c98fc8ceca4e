"""Where programs keep a user's files on Linux, macOS and Windows.

Each function takes the machine it answers for, so that all three systems are tested on any of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Machine:
    """The system and the user that a path is for.

    Args:
        platform: As in `sys.platform`.
        home: The user's home folder.
        environment: The user's variables.
    """

    platform: str
    home: Path
    environment: Mapping[str, str]

    def folder(self, variable: str) -> Path | None:
        """Return the folder that a variable names, or None if it is unset or relative."""
        named = Path(self.environment.get(variable, ""))
        return named if named.is_absolute() else None


def this_machine() -> Machine:
    """Return the machine and user that this process runs for."""
    return Machine(sys.platform, Path.home(), os.environ)


def application_data(machine: Machine) -> Path:
    """Return the folder in which desktop programs keep a user's settings, as Electron defines it."""
    if machine.platform == "win32":
        return machine.folder("APPDATA") or machine.home / "AppData" / "Roaming"
    if machine.platform == "darwin":
        return machine.home / "Library" / "Application Support"
    return machine.folder("XDG_CONFIG_HOME") or machine.home / ".config"


def claude_code_file(machine: Machine) -> Path:
    """Return the file in which Claude Code keeps the servers of all projects."""
    return (machine.folder("CLAUDE_CONFIG_DIR") or machine.home) / ".claude.json"


def claude_desktop_file(machine: Machine) -> Path:
    """Return Claude Desktop's file."""
    return application_data(machine) / "Claude" / "claude_desktop_config.json"


def codex_file(machine: Machine) -> Path:
    """Return Codex's file, which its command, its editor extension and its desktop program share."""
    return (machine.folder("CODEX_HOME") or machine.home / ".codex") / "config.toml"


def cursor_file(machine: Machine) -> Path:
    """Return the file of Cursor's servers for all projects."""
    return machine.home / ".cursor" / "mcp.json"


def gemini_file(machine: Machine) -> Path:
    """Return Gemini CLI's settings file."""
    return (machine.folder("GEMINI_CLI_HOME") or machine.home) / ".gemini" / "settings.json"


def vscode_file(machine: Machine) -> Path:
    """Return the file of VS Code's servers in the default profile."""
    return application_data(machine) / "Code" / "User" / "mcp.json"
