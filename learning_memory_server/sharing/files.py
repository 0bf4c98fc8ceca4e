"""A shared file: a lesson or a verdict about a lesson, as described in FORMAT.md. Other formats are refused.

Git treats similar files as renames and finds conflicts, so spacing and line widths vary to make each file different.
"""

import hashlib
import json
import random
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import (
    UTC,
    date as Date,  # noqa: N812 - `date` is a field
    datetime,
)
from enum import StrEnum
from functools import cached_property
from typing import Any, Final

from learning_memory_server.model import limits
from learning_memory_server.model.entry import Ghap, Lesson, Resolution, RootCause
from learning_memory_server.model.moment import as_seen
from learning_memory_server.model.value import Value
from learning_memory_server.model.vocabulary import Domain, OutcomeStatus, RootCauseCategory, Strategy

FOLDER: Final = ".learning-memory/lessons"  # The folder in a repository
_NAME: Final = re.compile(r"\d{4}-\d\d-\d\d-[0-9a-f]{16}\.md")  # Lower case: some file systems ignore case
_WIDTHS: Final = 62, 90  # Columns


class FileKind(StrEnum):
    """The kinds of shared files."""

    LESSON = "lesson"
    VALUE = "value"
    CONFIRMS = "confirms"
    CONTRADICTS = "contradicts"
    WITHDRAWS = "withdraws"


TEACHING: Final = frozenset({FileKind.LESSON, FileKind.VALUE})
VERDICTS: Final = FileKind.CONFIRMS, FileKind.CONTRADICTS
TITLE: Final = ""
_HEADINGS: Final = (
    *(TITLE, "What was believed", "What happened", "What was surprising", "Why", "What worked", "Lesson"),
    *("Files", "Reason"),
)
_HEADING: Final = re.compile(r"^(?:## +(.+)$|#)", re.MULTILINE)
_DIGEST: Final = "[0-9a-f]{32}"
_FIELDS: Final = {
    "outcome": "|".join(OutcomeStatus),
    "domain": "|".join(Domain),
    "strategy": "|".join(Strategy),
    "cause": "|".join(RootCauseCategory),
    "about": _DIGEST,
    "evidence": _DIGEST,
}
"""The fields of certain kinds of files."""
_FIRST: Final = re.compile(
    rf"^<!-- learning-memory: 1; date: (?P<date>\d{{4}}-\d\d-\d\d); id: {_DIGEST}; kind: (?P<kind>{'|'.join(FileKind)})"
    + "".join(f"(?:; {name}: (?P<{name}>{values}))?" for name, values in _FIELDS.items())
    + " -->$",
    re.ASCII,
)
_NEEDED: Final = {
    FileKind.LESSON: {TITLE, "What was believed", "What happened", "outcome"},
    FileKind.VALUE: {TITLE, "Lesson"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedEntry(Ghap):
    """A shared lesson as an entry, which searches find together with own entries.

    Attributes:
        author: The author of its merge into the default branch, empty if unknown.
        branch: Its branch, if different from the default branch.
        confirmations: The number of other authors who confirm it.
        contradictions: The number of other authors who contradict it.
    """

    author: str = ""
    branch: str = ""
    confirmations: int = 0
    contradictions: int = 0

    @property
    def is_settled(self) -> bool:
        """Whether more other authors confirm than contradict it."""
        return self.confirmations > self.contradictions

    @property
    def shared(self) -> str:
        """The origin in words for an agent. Git's author names can be forged."""
        counts = ("confirmation", self.confirmations), ("contradiction", self.contradictions)
        said = "".join(f", {count} {noun}{'s' * (count > 1)}" for noun, count in counts if count)
        where = f"not merged, on {self.branch}" if self.branch else f"merged by {self.author or 'unknown'}"
        return f"shared, {where}{said}"


@dataclass(frozen=True)
class SharedFile:
    """A parsed file.

    Attributes:
        date: ISO 8601.
        texts: The text below each heading, on one line; the title has an empty heading.
        fields: `outcome`, `domain`, `strategy`, `cause` of a lesson; `about` and `evidence`, digests, of a verdict.
    """

    kind: FileKind
    date: str
    texts: dict[str, str]
    fields: dict[str, str] = field(default_factory=dict)

    @cached_property
    def content(self) -> str:
        """A digest of its content, identical for all copies."""
        said = [self.kind, sorted(self.fields.items()), sorted(self.texts.items())]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]

    @property
    def about(self) -> str:
        """The content digest of the lesson that it is about or corrects; empty if there is none."""
        return self.fields.get("about", "")

    @property
    def name(self) -> str:
        """The file's name: its date and a digest, so that any change results in another name."""
        return f"{self.date}-{self.content[:16]}.md"

    def render(self) -> str:
        """Return the file's text."""
        pick = random.Random(f"{self.date} {self.content}")

        def spaced(text: str) -> str:
            return re.sub(" ", lambda _: " " * pick.randint(1, 2), text)

        fields = {"learning-memory": "1", "date": self.date, "id": self.content, "kind": self.kind, **self.fields}
        lines = [spaced(f"<!-- {'; '.join(f'{name}: {value}' for name, value in fields.items())} -->")]
        for heading in filter(self.texts.__contains__, _HEADINGS):
            text = spaced(re.sub(r"(?<!\S)(?=[#\\])", r"\\", self.texts[heading]))
            if heading == TITLE:
                lines += ["", f"# {text}"]
            else:
                width = pick.randint(*_WIDTHS)
                wrapped = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
                lines += ["", spaced(f"## {heading}"), "", *wrapped]
        return "\n".join([*lines, ""])


def shared_file(
    kind: FileKind, date: str, texts: Mapping[str, str | None], fields: Mapping[str, str | None] | None = None
) -> SharedFile:
    """Return a file with the given texts and fields, except empty ones. Texts are put on one line."""
    flat = {name: " ".join((text or "").split()) for name, text in texts.items()}
    given = {name: str(value) for name, value in (fields or {}).items() if value}
    return SharedFile(kind, date, {name: text for name, text in flat.items() if text}, given)


def of_entry(entry: Ghap, corrects: str = "") -> SharedFile:
    """Return the shared file for a resolved entry."""
    end, lesson, cause = entry.outcome, entry.outcome.lesson, entry.outcome.root_cause
    texts = (
        *(entry.goal, entry.hypothesis, end.result, end.surprise, cause and cause.description),
        *((lesson.what_worked, lesson.takeaway) if lesson else (None, None)),
        " ".join(one.file for one in entry.anchors[-limits.ANCHORS_MAX :] if not one.is_read and " " not in one.file),
    )
    return shared_file(
        FileKind.LESSON,
        f"{end.resolved_at:%Y-%m-%d}",
        dict(zip(_HEADINGS, texts, strict=False)),
        {
            "outcome": end.status,
            "domain": entry.domain,
            "strategy": entry.strategy,
            "cause": cause.category if cause else None,
            "about": corrects,
        },
    )


def of_value(value: Value, corrects: str = "") -> SharedFile:
    """Return the shared file for a value."""
    texts = {TITLE: "A principle", "Lesson": value.text}
    return shared_file(FileKind.VALUE, f"{value.created_at:%Y-%m-%d}", texts, {"about": corrects})


def verdict(kind: FileKind, about: SharedFile, entry: Ghap | None = None) -> SharedFile:
    """Return a file that confirms, contradicts or withdraws a lesson because of an entry. Deterministic."""
    date = f"{entry.outcome.resolved_at:%Y-%m-%d}" if entry else about.date
    evidence = hashlib.sha256(entry.id.encode()).hexdigest()[:32] if entry else None
    return shared_file(kind, date, {}, {"about": about.content, "evidence": evidence})


def entry_of(file: SharedFile, identity: str, project: str, at: datetime | None = None, **marks: Any) -> SharedEntry:
    """Return a lesson or a value as an entry. `at` is the time of its merge if known, `marks` are other attributes."""
    said, words = file.texts.get, file.fields.get
    # The date in the file may be in the future.
    at = as_seen(at or datetime.fromisoformat(file.date).replace(tzinfo=UTC))
    afterwards = file.kind is FileKind.LESSON and "domain" not in file.fields
    takeaway, worked, cause = said("Lesson"), said("What worked"), words("cause")
    return SharedEntry(
        id=identity,
        project=project,
        agent_session="",
        created_at=at,
        domain=None if afterwards else Domain(words("domain") or Domain.FEATURE),
        strategy=None if afterwards else Strategy(words("strategy") or Strategy.CHECK_ASSUMPTIONS),
        goal=file.texts[TITLE],
        hypothesis=said("What was believed") or "",
        afterwards=afterwards,
        resolution=Resolution(
            OutcomeStatus(words("outcome") or OutcomeStatus.CONFIRMED),
            said("What happened") or "",
            at,
            said("What was surprising"),
            RootCause(RootCauseCategory(cause), said("Why") or "") if cause else None,
            Lesson(worked or "", takeaway) if takeaway or worked else None,
        ),
        **marks,
    )


def parse(name: str, data: bytes | None) -> SharedFile | str:
    """Parse a file, or return the reason to refuse it, which quotes nothing. `data` is None if it could not be read."""
    if not _NAME.fullmatch(name):
        return "its name is not a date and a digest in lower case"
    if data is None:
        return "it is no plain file, or too long"
    try:
        text = data.decode("utf-8-sig")
        first, *rest = _HEADING.split(text)
        (line,) = _FIRST.finditer(" ".join(first.split()))
        Date.fromisoformat(line["date"])
    except ValueError:
        return "it is not UTF-8, or its first line does not have the fields of format 1"
    fields = {name: value for name, value in line.groupdict().items() if value}
    headings = [" ".join((heading or TITLE).split()) for heading in rest[::2]]
    said = [re.sub(r"(?<!\S)\\", "", " ".join(each.split())) for each in rest[1::2]]
    texts = dict(zip(headings, said, strict=True))
    file = SharedFile(FileKind(fields.pop("kind")), fields.pop("date"), texts, fields)
    # There may be many files.
    paths = texts.get("Files", "").split()
    longest = max(map(len, [*(text for heading, text in texts.items() if heading != "Files"), *paths]), default=0)
    is_whole = all(said) and _NEEDED.get(file.kind, {"about"}) <= {*texts, *fields}
    # Entries written afterwards have neither.
    is_whole &= ("domain" in fields) == ("strategy" in fields)
    if not is_whole or longest > limits.NARRATIVE_MAX or len(paths) > limits.ANCHORS_MAX:
        return "it lacks a part, or has one that is too long"
    # Anything unknown to the format is missing in the rendered text.
    if name != file.name or text.split() != file.render().split():
        return "its name or its id do not go with its content: it was changed after it was shared"
    return file
