"""The date at which a sentence in a file was written, from git: earlier acts cannot break the rule."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from learning_memory_server.system.git import git

_LINE: Final = re.compile(rb"^([0-9a-f]{40}) \d+ \d+", re.MULTILINE)
_TIME: Final = b"author-time "
_WORDS: Final = re.compile(r"\w+")
_LEAST: Final = 3  # Minimum words of a line to find it in a sentence: shorter lines are in many
_BEGINNING: Final = 8  # Words at the beginning of a sentence to find it in a line


@dataclass(frozen=True, slots=True)
class Written:
    """The words of each line of a file, with the time of its commit; None if it is not committed."""

    lines: tuple[tuple[str, datetime | None], ...] = ()

    @classmethod
    def of(cls, folder: Path, name: str) -> "Written":
        """Return the lines of a file in a folder; empty if git does not know it or times out."""
        try:
            said = git(folder, "blame", "--porcelain", "-w", "--", name)
        except OSError:
            return cls()
        return cls(tuple(_lines_of(said))) if said else cls()

    def at(self, sentence: str) -> datetime | None:
        """Return when the newest line with a part of a sentence was committed, None if unknown."""
        words = _WORDS.findall(sentence.casefold())
        whole, beginning = " ".join(words), " ".join(words[:_BEGINNING])
        found = [
            at
            for line, at in self.lines
            if line and (beginning in line or (line.count(" ") >= _LEAST - 1 and line in whole))
        ]
        return max((at for at in found if at), default=None) if None not in found else None


def _lines_of(said: bytes) -> list[tuple[str, datetime | None]]:
    """Return the lines of a blame. A header has the commit, and its time at the first occurrence only."""
    times, found, commit = dict[bytes, datetime | None](), list[tuple[str, datetime | None]](), b""
    for line in said.split(b"\n"):
        if line.startswith(b"\t"):
            words = _WORDS.findall(line.decode("utf-8", "replace").casefold())
            found.append((" ".join(words), times.get(commit)))
        elif head := _LINE.match(line):
            commit = head[1]
        elif line.startswith(_TIME) and commit.strip(b"0"):  # Uncommitted lines have an id of zeros
            times[commit] = datetime.fromtimestamp(int(line.removeprefix(_TIME)), UTC)
    return found
