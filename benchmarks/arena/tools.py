"""Closed tools: the program in a folder passes its arguments on, over a socket, to the task that answers them.

So there is no source to read in the folder, and the task itself counts the calls and knows whether it is solved.
"""

from __future__ import annotations

import json
import os
import socketserver
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

_PROGRAM: Final = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as line:
    line.connect({socket!r})
    asked = {{"words": sys.argv[1:], "folder": os.getcwd(), "variables": dict(os.environ)}}
    line.sendall(json.dumps(asked).encode() + b"\\n")
    said = json.loads(line.makefile().readline())
sys.stdout.write(said["output"])
sys.stderr.write(said["error"])
sys.exit(said["status"])
"""


class RefusedError(Exception):
    """A call that fails, with what the tool writes."""


class Call(NamedTuple):
    """One call of a tool: what stands after its name, the working directory, and the environment."""

    words: list[str]
    folder: str
    variables: dict[str, str]

    def says(self, text: str) -> bool:
        """Return whether its words are those of a text."""
        return " ".join(self.words) == text

    def content(self, name: str) -> bytes:
        """Return what a file holds that the call names."""
        try:
            return Path(self.folder, name).read_bytes()
        except OSError:
            raise RefusedError(f"there is no file {name}") from None


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a family, in which names and values of a variant are in braces."""

    tool: str  # the program's name
    usage: str  # what it writes if it is asked for help
    verb: str  # the command that does the work
    error: str  # what that says if it fails
    shows: list[tuple[str, str]]  # commands that show something; the first one shows nothing until all is done
    asks: str  # what an agent is to do
    rule: str  # what you know once you got it to work
    belief: str  # what an agent guesses at first
    naive: list[str]  # commands that it tries at first, each of which fails
    known: list[str]  # commands that solve it
    a: dict[str, str]  # the names and values of variant a, in which the rule is met first
    b: dict[str, str]  # those of variant b, which measures whether the rule is known
    files: list[tuple[str, str]] = field(default_factory=list)  # what the folder has at first


WORDS: Final = msgspec.toml.decode(
    (Path(__file__).parents[1] / "data" / "arena.toml").read_bytes(), type=dict[str, Words]
)


class Task:
    """One variant of a family: a tool with a rule that cannot be guessed, and something to be done with it.

    Attributes:
        missing: What is still to be done when the verb has worked.
        calls: How many calls it took until it was solved; `failed`, how many of these failed.
        solved_at: When it was solved, on the clock of `time.monotonic`.
    """

    def __init__(self, kind: str, variant: str) -> None:
        self.kind, self.variant, self.words = kind, variant, WORDS[kind]
        self.given = self.words.a if variant == "a" else self.words.b
        self.missing = set[bytes]()
        self.calls = self.failed = 0
        self.solved_at: float | None = None
        self._one_at_a_time = threading.Lock()
        self.begin()

    @property
    def prompt(self) -> str:
        """What an agent is told to do."""
        return f"{self.filled(self.words.asks)} The tool is closed: use it as it is, and do not look for its source."

    def filled(self, text: str) -> str:
        """Return a text with the variant's names and values."""
        return text.format_map(self.given)

    def begin(self) -> None:
        """Set up what the tool remembers."""

    def works(self, call: Call) -> bool:
        """Return whether a call of the verb works; a RefusedError says another error than the usual one."""
        raise NotImplementedError

    def serve(self, _call: Call) -> str | None:
        """Answer another command; None if there is none of that name."""
        return None

    def answer(self, call: Call) -> dict[str, Any]:
        """Answer a call of the program, and count it until the task is solved."""
        with self._one_at_a_time:
            counts = self.solved_at is None
            self.calls += counts
            try:
                return {"output": f"{self._output(call)}\n", "error": "", "status": 0}
            except RefusedError as refused:
                self.failed += counts
                return {"output": "", "error": f"{refused}\n", "status": 3}

    def _output(self, call: Call) -> str:
        asked, words = " ".join(call.words), self.words
        shows = {self.filled(command): self.filled(text) for command, text in words.shows}
        if asked in {"", "-h", "--help", "help"}:
            return words.usage
        if asked in shows:
            return "nothing" if asked == words.shows[0][0] and self.solved_at is None else shows[asked]
        if call.words[0] == words.verb:
            if not self.works(call):
                raise RefusedError(words.error)
            if not self.missing:
                self.solved_at = self.solved_at or time.monotonic()
            return "ok"
        served = self.serve(call)
        if served is None:
            raise RefusedError(words.usage)
        return served


@contextmanager
def opened(task: Task, folder: Path) -> Iterator[None]:
    """Put a task's files and tool into a folder, and answer the tool's calls."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(json.dumps(task.answer(Call(**json.loads(self.rfile.readline())))).encode() + b"\n")

    for name, text in task.words.files:
        (folder / task.filled(name)).write_text(task.filled(text), "utf-8")
    # Not in the folder, and short enough for a socket.
    with tempfile.TemporaryDirectory(prefix="arena-") as place:
        socket = f"{place}/s"
        program = folder / task.words.tool
        # The interpreter itself: that of an environment would say where this package is.
        program.write_text(_PROGRAM.format(python=os.path.realpath(sys.executable), socket=socket), "utf-8")
        program.chmod(0o755)
        with socketserver.ThreadingUnixStreamServer(socket, Handler) as server:
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            try:
                yield
            finally:
                server.shutdown()
