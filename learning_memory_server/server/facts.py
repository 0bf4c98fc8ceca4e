"""Facts of folders and projects: a file of each, created whole, to which lines are appended without a lock.

Of lines that contradict each other, the first holds.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from learning_memory_server.journal.log import SET_ASIDE
from learning_memory_server.model.moment import utc_now
from learning_memory_server.system import files

_SUBJECT: Final = "of"  # The key in each line under which it says whom it is about: names of files are digests
_LETTERS: Final = 32


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of one folder or project.

    Attributes:
        file: Their file.
        lines: The readable facts, the oldest first.
        is_whole: Whether all can be read; if not, a person must be asked.
    """

    file: Path
    lines: tuple[dict[str, Any], ...] = ()
    is_whole: bool = True

    def first(self, name: str) -> Any:
        """Return the fact that holds under a name, or None."""
        return next(iter(self.every(name)), None)

    def every(self, name: str) -> list[Any]:
        """Return all facts under a name."""
        return [line[name] for line in self.lines if name in line]


def of(folder: Path, subject: str) -> Facts:
    """Return what a folder of facts has of a subject."""
    file = _file(folder, subject)
    lines: list[dict[str, Any]] = []
    try:
        for line in file.read_bytes().splitlines():
            fact = json.loads(line)
            if fact[_SUBJECT] != subject:
                return Facts(file, tuple(lines), is_whole=False)
            lines.append(fact)
    except FileNotFoundError:
        return Facts(file)
    except (OSError, ValueError, TypeError, KeyError):
        return Facts(file, tuple(lines), is_whole=False)
    return Facts(file, tuple(lines), is_whole=bool(lines))  # No file is created empty


def every(folder: Path) -> Iterator[tuple[str, Facts]]:
    """Yield each subject of which something can be read, and what is known of it."""
    for file in sorted(folder.glob("*.jsonl")):
        with suppress(OSError, ValueError, TypeError, LookupError):
            subject = json.loads(file.read_bytes().splitlines()[0])[_SUBJECT]
            yield subject, of(folder, subject)


def learn(folder: Path, subject: str, **said: object) -> None:
    """Keep what holds from now on, unless something else is known already."""
    line = json.dumps({_SUBJECT: subject, **said}).encode() + b"\n"
    file = _file(folder, subject)
    if not files.create(file, line):
        files.append(file, line)


def set_aside(folder: Path, subject: str) -> None:
    """Put a file that cannot be read out of the way."""
    file = _file(folder, subject)
    file.rename(file.with_suffix(f"{SET_ASIDE}{utc_now():%Y%m%dT%H%M%S%f}"))


def _file(folder: Path, subject: str) -> Path:
    # A path need not be UTF-8.
    digest = hashlib.sha256(subject.encode("utf-8", "surrogateescape")).hexdigest()
    return folder / f"{digest[:_LETTERS]}.jsonl"
