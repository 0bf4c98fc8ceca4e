"""A file of lessons, and grep: what many repositories do with a CLAUDE.md, without a line limit."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.memories import MemoryFailedError, Moment

_ARROW: Final = "\t-> "


class Lessons:
    """A file for each repository, a lesson on each line."""

    version = "grep " + subprocess.run(["grep", "--version"], capture_output=True, text=True).stdout.split()[3]  # noqa: PLW1510

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def learn(self, moment: Moment) -> None:
        """Append a lesson."""
        if moment.kind == "lesson":
            with self._file(moment.repository).open("a", encoding="utf-8") as file:
                said = _ARROW.join(" ".join(text.split()) for text in (moment.text, moment.output))
                file.write(f"[{moment.session}] {said}\n")

    def ask(self, moment: Moment) -> str:
        """Return what the newest line says that has one of the longest words."""
        file = self._file(moment.repository)
        if not file.exists():
            return ""
        for word in moment.words():
            ran = subprocess.run(["grep", "-iF", "--", word, str(file)], capture_output=True, text=True, check=False)
            if ran.returncode > 1:
                raise MemoryFailedError(ran.stderr)
            if ran.stdout:
                return ran.stdout.splitlines()[-1].split(_ARROW, 1)[1]
        return ""

    def forget(self, session: str) -> None:
        """Remove a session's lines."""
        for file in self._folder.iterdir():
            lines = file.read_text("utf-8").splitlines(keepends=True)
            file.write_text("".join(line for line in lines if not line.startswith(f"[{session}] ")), "utf-8")

    def _file(self, repository: str) -> Path:
        return self._folder / re.sub(r"\W", "_", repository)


@contextmanager
def open_memory(folder: Path) -> Iterator[Lessons]:
    """Return an empty set of files."""
    yield Lessons(folder)
