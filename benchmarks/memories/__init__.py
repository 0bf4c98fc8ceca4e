"""Other memories in the run of `benchmarks.recurrence`: what one has to do, and how it is run.

A memory is a file, here or anywhere, with one function, `open_memory(folder)`: a context manager whose result has three
calls and says what it is. The memory is installed and run as its authors say; the file is theirs to change.

    --memory benchmarks/memories/grep.py

The memory has an empty folder of its own. It is told everything in time order, and asked before it is told what comes
next. It may leave out kinds of which it makes nothing: an agent with a memory that only searches asks it; one with
hooks is told without asking.
"""

import importlib.util
import re
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

_WORDS: Final = re.compile(r"[A-Za-z_][\w.-]{3,}")
_TRIED: Final = 5
ASKED: Final = frozenset({"start", "prompt", "failure", "start_ghap"})


class Moment(NamedTuple):
    """Something that happens in a session.

    A memory is asked at a `start`, a `prompt`, a `failure` of a command, and a `start_ghap`. It learns from a
    `command`, and from a `lesson`, which an agent would write down at the end of its session. `text` is the prompt, the
    command or what a lesson is about; `output` is what a command wrote or what the lesson says.
    """

    kind: str
    session: str
    repository: str
    text: str
    output: str = ""
    has_failed: bool = False
    key: Any = None  # for the run alone

    def words(self) -> list[str]:
        """Return the longest words of a question, but none at a start: what an agent would look for, one by one."""
        found = set(_WORDS.findall(f"{self.text} {self.output.strip()[-300:]}"))
        return sorted(found, key=lambda each: (-len(each), each))[: _TRIED if self.kind != "start" else 0]


class MemoryFailedError(Exception):
    """The memory itself failed: it answered with an error, or not at all. Anything else is a fault of its file."""


class MemoryMissingError(Exception):
    """The memory is not installed here."""


class Memory(Protocol):
    """What a memory has to do."""

    version: str  # its name and version

    def learn(self, moment: Moment) -> None:
        """Take what has happened."""

    def ask(self, moment: Moment) -> str:
        """Return what the memory says at a moment; nothing if it has nothing to say."""

    def forget(self, session: str) -> None:
        """Forget what was learned in a session."""


def run(path: Path, moments: Sequence[Moment]) -> tuple[dict[Any, str], dict[str, Any]]:
    """Return what a memory says at the moments at which it is asked, by their keys, and how the run went.

    In the end each session is forgotten, and what was answered is asked again: `after_forgetting` counts what is still
    answered.
    """
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    said: dict[Any, str] = {}
    went: dict[str, Any] = {"memory_failed": 0, "adapter_failed": 0, "first_failure": ""}

    def attempt(call: Callable[[Any], Any], argument: object) -> Any:
        try:
            return call(argument)
        except Exception as error:  # noqa: BLE001 - a foreign file
            kind = "memory_failed" if isinstance(error, MemoryFailedError) else "adapter_failed"
            went[kind] += 1
            went["first_failure"] = went["first_failure"] or f"{type(error).__name__}: {error}"[:200]
            return ""

    opened: Callable[[Path], AbstractContextManager[Memory]] = module.open_memory
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder)) as memory:
        went["version"] = memory.version
        for moment in moments:
            if moment.kind not in ASKED:
                attempt(memory.learn, moment)
            elif answer := attempt(memory.ask, moment):
                said[moment.key] = answer
        for session in dict.fromkeys(moment.session for moment in moments):
            attempt(memory.forget, session)
        again = [moment for moment in moments if moment.key in said]
        went["after_forgetting"] = sum(bool(attempt(memory.ask, moment)) for moment in again)
    return said, went
