"""One shared file: a lesson, or what became of one. FORMAT.md describes it.

Whoever can write to a repository can write such a file, so what is not exactly as the format has it is refused.

Git takes two files that are alike for one that was renamed, and then finds conflicts between removals. So each file
differs from all others in nearly every line, also from a copy: words are one or two spaces apart, as in justified text,
and lines end elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.model import limits
from learning_memory_server.model.entry import Ghap, Lesson, Resolution, RootCause
from learning_memory_server.model.vocabulary import Domain, OutcomeStatus, RootCauseCategory, Strategy

if TYPE_CHECKING:
    from learning_memory_server.model.value import Value

FOLDER: Final = ".learning-memory/lessons"
"""Where the files are in a repository."""
VERSION: Final = "1"
NAME: Final = re.compile(r"\d{4}-\d\d-\d\d-[0-9a-f]{16}\.md")
"""Lower case, so that no two names are one on a system that does not tell the case."""
SIZE_MAX: Final = 1 << 16
FOLD_MAX: Final = 1 << 20
"""Bytes of a file that names what was removed, and of any other one at most."""
_WIDTHS: Final = 34, 90


class Kind(StrEnum):
    """What a file says."""

    LESSON = "lesson"
    VALUE = "value"
    CONFIRMS = "confirms"
    CONTRADICTS = "contradicts"
    WITHDRAWS = "withdraws"
    FOLD = "fold"


TEACHING: Final = frozenset({Kind.LESSON, Kind.VALUE})
TITLE: Final = ""
_HEADINGS: Final = (
    *(TITLE, "What was believed", "What happened", "What was surprising", "Why", "What worked", "Lesson"),
    *("Files", "Reason", "Removed"),
)
_FIRST: Final = re.compile(r"<!-- ((?:[a-z-]+: [\w-]+; )*[a-z-]+: [\w-]+) -->", re.ASCII)
_ID: Final = re.compile(r"[0-9a-f]{32}").fullmatch
_FIELDS: Final[Mapping[str, Any]] = {
    "outcome": set(OutcomeStatus).__contains__,
    "domain": set(Domain).__contains__,
    "strategy": set(Strategy).__contains__,
    "cause": set(RootCauseCategory).__contains__,
    "about": _ID,
    "evidence": _ID,
}
"""The fields that some kinds have, and what tells whether a value is one of theirs."""
_NEEDED: Final = {
    Kind.LESSON: {TITLE, "What was believed", "What happened", "outcome", "domain", "strategy"},
    Kind.VALUE: {TITLE, "Lesson"},
    Kind.FOLD: {"Removed"},
}


class RefusedError(ValueError):
    """A file that is not as the format has it. The message says why, and quotes nothing of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedEntry(Ghap):
    """A shared lesson as an entry, which is found and told as one's own are.

    Args:
        author: Who brought it to the default branch, as git has it; empty if that is unknown.
        branch: The branch that it is on, if that is not the default branch. Then it is not told unasked.
        confirmations: How many verdicts confirm it.
        is_settled: Whether one of them is from a second author.
    """

    author: str = ""
    branch: str = ""
    confirmations: int = 0
    is_settled: bool = False

    @property
    def shared(self) -> str:
        """What an agent is told of where it comes from. Anybody can write the name that git has."""
        count = self.confirmations
        confirmed = f", {count} confirmation{'s' * (count > 1)}" if count else ""
        where = f", not on the default branch but on {self.branch}" if self.branch else ""
        return f"shared, says git: {self.author or 'unknown'}{confirmed}{where}"


@dataclass(frozen=True, slots=True)
class SharedFile:
    """What a file says.

    Args:
        date: ISO 8601.
        texts: The text below each heading, on one line; the title is below the empty one.
        fields: `outcome`, `domain`, `strategy` and `cause` of a lesson; `about`, the content of the lesson that it
            corrects, confirms, contradicts or withdraws; `evidence`, what a verdict rests on, as a digest.
        content: What it says, as a digest: copies have the same, whoever wrote them and when.
    """

    kind: Kind
    date: str
    texts: dict[str, str]
    fields: dict[str, str] = field(default_factory=dict)
    content: str = ""

    def __post_init__(self) -> None:
        """Compute the content, unless it is known."""
        if not self.content:
            said = [self.kind, sorted(self.fields.items()), sorted(self.texts.items())]
            digest = hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]
            object.__setattr__(self, "content", digest)

    @property
    def about(self) -> str:
        """The content of the lesson that it is about, or that it corrects; empty for none."""
        return self.fields.get("about", "")

    @property
    def removed(self) -> frozenset[str]:
        """The names of the files that a fold has removed."""
        return frozenset(self.texts.get("Removed", "").split())

    def render(self) -> str:
        """Return the file's text."""
        pick = random.Random(f"{self.date} {self.content}")  # noqa: S311 - the same for the same file
        fields = {"learning-memory": VERSION, "date": self.date, "kind": self.kind, "id": self.content, **self.fields}
        lines = [_spaced(f"<!-- {'; '.join(f'{name}: {value}' for name, value in fields.items())} -->", pick)]
        for heading in filter(self.texts.__contains__, _HEADINGS):
            text = _spaced(self.texts[heading], pick)
            if heading == TITLE:
                lines += ["", f"# {text}"]
                continue
            width = pick.randint(*_WIDTHS)
            wrapped = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
            escaped = (f"\\{line}" if line[0] in "#\\" else line for line in wrapped)
            lines += ["", _spaced(f"## {heading}", pick), "", *escaped]
        return "\n".join([*lines, ""])

    @property
    def name(self) -> str:
        """The file's name: its date, and what makes any change of it another file."""
        return f"{self.date}-{_digest(self.render())}.md"


def shared_file(
    kind: Kind, date: str, texts: Mapping[str, str | None], fields: Mapping[str, str | None] | None = None
) -> SharedFile:
    """Return a file with these texts and fields, without those that are empty. Texts are put on one line."""
    flat = {name: " ".join((text or "").split()) for name, text in texts.items()}
    given = {name: str(value) for name, value in (fields or {}).items() if value}
    return SharedFile(kind, date, {name: text for name, text in flat.items() if text}, given)


def of_entry(entry: Ghap, corrects: str = "") -> SharedFile:
    """Return what is shared of a resolved entry."""
    end, lesson, cause = entry.outcome, entry.outcome.lesson, entry.outcome.root_cause
    texts = (
        *(entry.goal, entry.hypothesis, end.result, end.surprise, cause and cause.description),
        *((lesson.what_worked, lesson.takeaway) if lesson else (None, None)),
        " ".join(each.file for each in entry.anchors if not each.is_read and " " not in each.file),
    )
    return shared_file(
        Kind.LESSON,
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
    """Return what is shared of a value."""
    texts = {TITLE: "A principle", "Lesson": value.text}
    return shared_file(Kind.VALUE, f"{value.created_at:%Y-%m-%d}", texts, {"about": corrects})


def verdict(kind: Kind, about: SharedFile, entry: Ghap | None = None) -> SharedFile:
    """Return a file that confirms, contradicts or withdraws a lesson, because of an entry: always the same file."""
    date = f"{entry.outcome.resolved_at:%Y-%m-%d}" if entry else about.date
    evidence = hashlib.sha256(entry.id.encode()).hexdigest()[:32] if entry else None
    return shared_file(kind, date, {}, {"about": about.content, "evidence": evidence})


def fold(names: Iterable[str], date: str) -> SharedFile:
    """Return the file that names what is removed."""
    return shared_file(Kind.FOLD, date, {"Removed": " ".join(sorted(names))})


def entry_of(file: SharedFile, identity: str, project: str, **marks: Any) -> SharedEntry:  # noqa: ANN401 - its fields
    """Return a lesson or a value as an entry, with its author and the like."""
    said, words = file.texts.get, file.fields.get
    at = datetime.fromisoformat(file.date).replace(tzinfo=UTC)
    takeaway, worked, cause = said("Lesson"), said("What worked"), words("cause")
    return SharedEntry(
        id=identity,
        project=project,
        agent_session="",
        created_at=at,
        domain=Domain(words("domain") or Domain.FEATURE),
        strategy=Strategy(words("strategy") or Strategy.CHECK_ASSUMPTIONS),
        goal=file.texts[TITLE],
        hypothesis=said("What was believed") or "",
        action="",
        prediction="",
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


def parse(name: str, data: bytes) -> SharedFile:
    """Return what a file says.

    Raises:
        RefusedError: If it is not exactly as the format has it.
    """
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise RefusedError("it is not UTF-8") from None
    first, *lines = (re.sub(" +", " ", line).rstrip() for line in text.rstrip().split("\n"))
    match = _FIRST.fullmatch(first)
    fields = dict(pair.split(": ") for pair in match[1].split("; ")) if match else {}
    version, identity, kind, date = (fields.pop(key, "") for key in ("learning-memory", "id", "kind", "date"))
    if (
        version != VERSION
        or kind not in set(Kind)
        or not all(key in _FIELDS and _FIELDS[key](value) for key, value in fields.items())
    ):
        raise RefusedError(f"its first line does not have the fields of format {VERSION}")
    file = SharedFile(Kind(kind), date, _sections(lines), fields)
    if len(data) > (FOLD_MAX if file.kind is Kind.FOLD else SIZE_MAX):
        raise RefusedError("it is too long")
    needed = _NEEDED.get(file.kind, {"about"})
    if needed - file.texts.keys() - fields.keys() or not all(map(NAME.fullmatch, file.removed)):
        raise RefusedError("it lacks a part, or names what is no file of this folder")
    if identity != file.content or name != f"{_day(date)}-{_digest(text)}.md":
        raise RefusedError("its name or its id do not go with its content: it was changed after it was shared")
    return file


def _sections(lines: Iterable[str]) -> dict[str, str]:
    texts: dict[str, list[str]] = {}
    heading: str | None = None
    for line in lines:
        if line.startswith("#"):
            level, _, said = line.partition(" ")
            heading = TITLE if level == "#" else said
            if level not in {"#", "##"} or heading not in _HEADINGS or heading in texts:
                raise RefusedError("it has a heading that the format does not know, or one twice")
            texts[heading] = [said] if level == "#" else []
        elif line and heading:
            texts[heading].append(line.removeprefix("\\"))
        elif line:
            raise RefusedError("it has text outside of the headings")
    flat = {name: " ".join(" ".join(said).split()) for name, said in texts.items()}
    if not all(flat.values()) or any(len(flat[name]) > limits.NARRATIVE_MAX for name in flat.keys() - {"Removed"}):
        raise RefusedError("it has an empty text, or one that is too long")
    return flat


def _day(date: str) -> str:
    try:
        return f"{datetime.strptime(date, '%Y-%m-%d').replace(tzinfo=UTC):%Y-%m-%d}"
    except ValueError:
        raise RefusedError("its date is none") from None


def _spaced(text: str, pick: random.Random) -> str:
    return "".join(f"{word}  " if pick.getrandbits(1) else f"{word} " for word in text.split(" ")).rstrip()


def _digest(text: str) -> str:
    """Return a digest of a text that does not depend on line ends, or on spaces before them."""
    return hashlib.sha256("\n".join(map(str.rstrip, text.rstrip().split("\n"))).encode()).hexdigest()[:16]
