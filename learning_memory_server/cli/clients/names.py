"""What can be chosen on the command line of `setup`. Apart, because `--help` imports this."""

from enum import StrEnum


class ClientName(StrEnum):
    """The clients that `setup` knows."""

    CLAUDE_CODE = "claude-code"
    CURSOR = "cursor"
    VSCODE = "vscode"
    CODEX = "codex"
    GEMINI = "gemini"
    CLAUDE_DESKTOP = "claude-desktop"


class SettingsTo(StrEnum):
    """Where `setup` writes the settings that are in the environment."""

    CLIENT = "client"
    FILE = "file"
    NONE = "none"
