"""What a set of shared files adds up to, in whatever order they came: a pure function, so that branches never conflict.

- A file that a fold names counts as withdrawn, wherever it comes from.
- A lesson is there while one of its copies is, and nothing withdraws or corrects it. What is withdrawn itself corrects
  nothing.
- Verdicts on the same evidence count once.
"""

from collections.abc import Mapping
from typing import NamedTuple

from learning_memory_server.sharing.files import TEACHING, Kind, SharedFile


class SharedLesson(NamedTuple):
    """A lesson that is there. Of its copies, the first name counts; `confirming` are names of files, too."""

    file: SharedFile
    names: list[str]
    confirming: list[str]


def state_of(files: Mapping[str, SharedFile]) -> dict[str, SharedLesson]:
    """Return the lessons that are there, by content, in the order of their names."""
    folded = {name for file in files.values() for name in file.removed}
    live = {name: file for name, file in sorted(files.items()) if name not in folded}
    withdrawn = {file.about for file in live.values() if file.kind is Kind.WITHDRAWS}
    lessons: dict[str, SharedLesson] = {}
    verdicts: dict[tuple[str, str], str] = {}
    for name, file in live.items():
        if file.kind is Kind.CONFIRMS:
            verdicts.setdefault((file.about, file.fields.get("evidence", name)), name)
        elif file.kind in TEACHING and file.content not in withdrawn:
            lessons.setdefault(file.content, SharedLesson(file, [], [])).names.append(name)
    for (content, _), name in verdicts.items():
        if content in lessons:
            lessons[content].confirming.append(name)
    corrected = {lesson.file.about for lesson in lessons.values()}
    return {content: lesson for content, lesson in lessons.items() if content not in corrected}


def foldable(files: Mapping[str, SharedFile]) -> list[str]:
    """Return the names of the files that a fold removes: lessons that are withdrawn or corrected, and copies.

    What withdraws a lesson stays, because a copy of it may still come from another branch.
    """
    kept = {lesson.names[0] for lesson in state_of(files).values()}
    return sorted(name for name, file in files.items() if file.kind in TEACHING and name not in kept)
