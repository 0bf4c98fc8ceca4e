"""The names of clients on our command line. Apart, because `--help` imports this."""

from enum import StrEnum


class ClientName(StrEnum):
    """The clients that `setup` knows."""

    CLAUDE_CODE = "claude-code"
    CURSOR = "cursor"
    VSCODE = "vscode"
    CODEX = "codex"
    GEMINI = "gemini"
    CLAUDE_DESKTOP = "claude-desktop"
