"""What is known of folders and projects: a file of facts for each.

A file is created whole, and lines are appended to it without a lock. Of lines that contradict each other, the first
holds.
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
from learning_memory_server.system import files, ownership

_SUBJECT: Final = "of"  # The key in each line under which it says whom it is about: names of files are digests
_DIGEST: Final = 32


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of one subject: a folder, its number, a project, a label or a root commit.

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


@dataclass(frozen=True, slots=True)
class FactFiles:
    """The facts of all subjects. A subject has a kind and a name, such as `folder` and its path."""

    folder: Path

    def of(self, kind: str, name: object) -> Facts:
        """Return what is known of a subject."""
        file, lines = self._former, list[dict[str, Any]]()
        try:
            self._read_in()
            file = self._file(kind, name)
            for line in files.content(file).splitlines():
                fact = json.loads(line)
                if fact[_SUBJECT] != f"{kind} {name}":
                    return Facts(file, tuple(lines), is_whole=False)
                lines.append(fact)
        except FileNotFoundError:
            return Facts(file)
        except (OSError, ValueError, TypeError, AttributeError, KeyError):
            return Facts(file, tuple(lines), is_whole=False)
        return Facts(file, tuple(lines), is_whole=bool(lines))  # No file is created empty

    def all(self) -> Iterator[tuple[str, str, Facts]]:
        """Yield the kind and name of each subject of which something can be read, and what is known of it."""
        for file in sorted(self.folder.glob("*.jsonl")):
            with suppress(OSError, ValueError, TypeError, LookupError, AttributeError):
                kind, _, name = json.loads(files.content(file).splitlines()[0])[_SUBJECT].partition(" ")
                yield kind, name, self.of(kind, name)

    def learn(self, kind: str, name: object, **said: object) -> None:
        """Keep what holds of a subject from now on, unless something else is known already, or others own the data."""
        if not ownership.is_mine(self.folder):
            return
        line = json.dumps({_SUBJECT: f"{kind} {name}", **said}).encode() + b"\n"
        file = self._file(kind, name)
        if not files.create(file, line):
            files.append(file, line)

    def mend(self, kind: str, name: object) -> None:
        """Put what cannot be read of a subject out of the way."""
        while not (known := self.of(kind, name)).is_whole:
            known.file.rename(known.file.with_suffix(f"{SET_ASIDE}{utc_now():%Y%m%dT%H%M%S%f}"))

    def _file(self, kind: str, name: object) -> Path:
        # A path need not be UTF-8.
        digest = hashlib.sha256(f"{kind} {name}".encode("utf-8", "surrogateescape")).hexdigest()
        return self.folder / f"{digest[:_DIGEST]}.jsonl"

    @property
    def _former(self) -> Path:
        return self.folder.with_suffix(".json")

    def _read_in(self) -> None:
        """Keep what was kept in one file once, in files of their own. Raises what a damaged file leads to."""
        none: dict[str, Any] = {"names": {}, "folders": {}, "roots": {}, "confirmed": []}
        try:
            kept = none | json.loads(files.content(self._former))
        except FileNotFoundError:
            return
        said: list[tuple[str, str, dict[str, Any]]] = []
        for place, project in [*((each, name) for each, (_, name) in kept["names"].items()), *kept["confirmed"]]:
            said += [("folder", place.rpartition(" ")[0].removesuffix("/.git"), {"id": project})]
            said += [("project", project, {"roots": kept["folders"][place]})] if place in kept["folders"] else []
        for project, roots in kept["roots"].items():
            said += [("project", project, {"roots": roots}), ("label", project, {"id": project})]
            said += [("root", root, {"id": project}) for root in roots]
        for kind, name, fact in said:
            self.learn(kind, name, **fact)
        self._former.unlink(missing_ok=True)
