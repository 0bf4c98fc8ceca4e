"""Claude Code at a terminal, with a user who reads the screen, types, and refuses calls."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from tests.acceptance.hubs import until
from tests.claude_code.conftest import ClaudeCode
from tests.claude_code.model import Said, ScriptedModel

_MOVES = re.compile(rb"\x1b\[[0-9;?<>=]*[a-zA-Z]|\x1b\][^\x07]*\x07|\x1b[=>()].?|\s")
_OPTIONS = ("--permission-mode", "default", "--allowedTools", "Agent,mcp__plugin_learning-memory_memory")
_UP, _TAB, _ENTER = b"\x1b[A", b"\t", b"\r"


class Terminal:
    """A session at a terminal.

    Attributes:
        model: The model, with what it was asked.
    """

    def __init__(self, claude: ClaudeCode, model: ScriptedModel, *options: str, **variables: str) -> None:
        self.model = model
        self._screen = b""
        self._seen = 0
        self._ours, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
        self._process = subprocess.Popen(
            [claude.cli, "--plugin-dir", str(claude.plugin), *_OPTIONS, *options],
            env={**claude.environment(), "TERM": "xterm-256color", **variables},
            cwd=claude.project,
            stdin=its,
            stdout=its,
            stderr=its,
            start_new_session=True,
        )
        os.close(its)
        threading.Thread(target=self._read, daemon=True).start()
        self.sees("for agents")

    def _read(self) -> None:
        # A terminal whose program has ended cannot be read.
        with suppress(OSError):
            while read := os.read(self._ours, 1 << 16):
                self._screen += read

    def shown(self) -> str:
        """Return what the screen has shown since the last time that something was awaited, without white space."""
        return _MOVES.sub(b"", self._screen[self._seen :]).decode("utf-8", "replace")

    def sees(self, words: str) -> None:
        """Wait until the screen shows words."""
        wanted = re.sub(r"\s", "", words)
        self.waits(lambda: wanted in self.shown(), f"the screen does not show {words!r}")
        self._seen = len(self._screen)

    def waits(self, condition: Callable[[], Any], otherwise: str) -> None:
        """Wait until a condition holds; where it never does, say what the screen shows and how far the model got."""
        try:
            until(condition, otherwise)
        except AssertionError:
            asked = [str(each["messages"][-1])[-300:] for each in self.model.requests[-3:]]
            raise AssertionError(f"{otherwise}: {self.shown()[-2000:]}\nthe model was asked: {asked}") from None

    def types(self, *keys: bytes) -> None:
        """Type keys, each once the program has had time to take the one before."""
        for key in keys:
            os.write(self._ours, key)
            threading.Event().wait(0.4)

    def prompts(self, text: str) -> None:
        """Write a prompt."""
        self.types(text.encode(), _ENTER)

    def refuses(self, words: str = "") -> None:
        """Refuse the call that the client asks about, with words or without."""
        self.sees("Esc to cancel")
        # The last choice is No; the tabulator lets the user say more.
        self.types(_UP, *((_TAB, words.encode()) if words else ()), _ENTER)

    def allows(self) -> None:
        """Allow the call that the client asks about."""
        self.sees("Esc to cancel")
        self.types(_ENTER)

    def close(self) -> None:
        """End the process, if it still runs, and the terminal."""
        self._process.kill()
        self._process.wait()
        os.close(self._ours)


@contextmanager
def at_terminal(
    claude: ClaudeCode,
    script: Iterable[Said],
    *options: str,
    agents: Mapping[str, Iterable[Said]] | None = None,
    **variables: str,
) -> Iterator[Terminal]:
    """Start a session at a terminal, in which the model says what the script has, and subagents what theirs have."""
    project = {"hasTrustDialogAccepted": True}
    known = {"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": {"approved": ["none"]}}
    file = claude.home / ".claude.json"
    before = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps({**before, **known, "projects": {str(claude.project): project}}))
    model = ScriptedModel(script, agents)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    keys = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none"}
    terminal = Terminal(claude, model, *options, **keys, **variables)
    try:
        yield terminal
    finally:
        terminal.close()
        model.shutdown()
        model.server_close()
