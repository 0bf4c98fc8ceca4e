"""What a set of shared files adds up to, in whatever order they came: a pure function, so that branches never conflict.

- A file that a fold names counts as withdrawn, wherever it comes from.
- A lesson is there while one of its copies is, and nothing withdraws or corrects it. What is withdrawn itself corrects
  nothing.
- Verdicts on the same evidence count once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from learning_memory_server.sharing.files import TEACHING, Kind, SharedFile


@dataclass(frozen=True, slots=True)
class SharedLesson:
    """A lesson that is there. Of its copies, the first name counts; `confirming` are names of files."""

    name: str
    file: SharedFile
    copies: tuple[str, ...]
    confirming: tuple[str, ...]
    contradicting: tuple[str, ...]


def state_of(files: Mapping[str, SharedFile]) -> dict[str, SharedLesson]:
    """Return the lessons that are there, by content, in the order of their names."""
    folded = frozenset[str]().union(*(file.removed for file in files.values()))
    live = {name: file for name, file in sorted(files.items()) if name not in folded}
    withdrawn = {file.about for file in live.values() if file.kind is Kind.WITHDRAWS}
    names: dict[str, list[str]] = {}
    verdicts: dict[tuple[Kind, str], dict[str, str]] = {}
    for name, file in live.items():
        if file.kind not in TEACHING:
            verdicts.setdefault((file.kind, file.about), {}).setdefault(file.fields.get("evidence", name), name)
        elif (content := file.content) not in withdrawn:
            names.setdefault(content, []).append(name)
    corrected = {live[first].about for first, *_ in names.values()}

    def about(kind: Kind, content: str) -> tuple[str, ...]:
        return tuple(verdicts.get((kind, content), {}).values())

    return {
        content: SharedLesson(
            first, live[first], tuple(copies), about(Kind.CONFIRMS, content), about(Kind.CONTRADICTS, content)
        )
        for content, (first, *copies) in names.items()
        if content not in corrected
    }


def foldable(files: Mapping[str, SharedFile]) -> list[str]:
    """Return the names of the files that a fold removes: lessons that are withdrawn or corrected, and copies.

    What withdraws a lesson stays, because a copy of it may still come from another branch.
    """
    kept = {lesson.name for lesson in state_of(files).values()}
    return sorted(name for name, file in files.items() if file.kind in TEACHING and name not in kept)
