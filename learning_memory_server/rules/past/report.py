"""The report about past sessions, and the suggestions that a person may accept.

`past_report(sources, found, ...)` reads each transcript once, and returns a `PastReport` with at most twelve lines.
First come broken rules and failing commands, the most frequent first, then refused calls with their words. A yes to a
line accepts the suggestion that it has `offered`. A line without a suggestion has only figures, or is about an accepted
rule and its breaches since the yes. All suggestions, for `review`, are in `suggestions`: lessons that came again, an
agent's sentences, broken ones, others with a pattern, then the rest. Nothing is printed, stored or changed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Final

from learning_memory_server.lessons.errors.figures import Figures
from learning_memory_server.lessons.errors.report import ReportLine, report as failing
from learning_memory_server.lessons.errors.transcripts import Beginning, Passed, projects_folder
from learning_memory_server.model import limits
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.rule import OriginKind, Rule, Suggestion
from learning_memory_server.rules.past.past import Past
from learning_memory_server.rules.past.sessions import Sessions, Transcript
from learning_memory_server.rules.suggesting import suggestions
from learning_memory_server.rules.suggesting.files import fitting
from learning_memory_server.rules.suggesting.sources import Sources

_IN_OTHER_LINES: Final = (OriginKind.REPORT, OriginKind.REFUSAL)
_FIRST: Final = (OriginKind.LESSON, OriginKind.PAST)
"""The first suggestions: lessons that came again although shown, then sentences that an agent has just sorted."""
_YOURS: Final = "your rule"


class LineKind(StrEnum):
    """The kinds of lines."""

    RULE = "rule"
    FAILURE = "failure"
    REFUSAL = "refusal"


@dataclass(frozen=True, slots=True)
class Offered:
    """A suggestion and its counts in past sessions, which only a suggestion with a pattern has."""

    suggestion: Suggestion
    past: Past | None = None

    @property
    def is_only_shown(self) -> bool:
        """Whether a rule from it would stop too many calls, so that it may only be shown."""
        return self.past is not None and self.past.is_frequent


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the report."""

    kind: LineKind
    label: str  # the file of a rule, the number of sessions of a failure, or a note of a refusal
    text: str
    offered: Offered | None = None  # the suggestion to accept; None if the line has only figures
    figures: Figures | None = None  # for a failure
    since: Past | None = None  # for an accepted rule, since it was accepted

    @property
    def past(self) -> Past:
        """The rule's counts, actual or hypothetical."""
        return self.since or (self.offered and self.offered.past) or Past()

    @property
    def breaches(self) -> int:
        """The number of acts that broke the rule, or of failures."""
        return self.figures.times if self.figures else self.past.broken


@dataclass(frozen=True, slots=True)
class PastReport:
    """The results of past sessions; empty without sessions and rule files."""

    lines: tuple[Line, ...] = ()
    suggestions: tuple[Offered, ...] = ()
    conflicts: tuple[tuple[Suggestion | Rule, Suggestion | Rule], ...] = ()
    sessions: int = 0
    first: date | None = None  # the dates of the first and the last call
    last: date | None = None
    calls: int = 0  # tool calls
    commands: int = 0  # shell commands that ended
    failed: int = 0  # commands that failed
    strayed: int = 0  # commands in folders outside the project, which are left out
    refused: int = 0  # calls that the person refused with words
    errors: tuple[list[Failure], ...] = ()  # the storable content of the failures
    skipped: tuple[str, ...] = ()  # rule files that were not read, each with the reason


async def past_report(
    sources: Sources,
    found: Sequence[Transcript],
    *,
    passed: Passed | None = None,
    progress: Callable[[int, int], object] = lambda _done, _total: None,
    has_strayed: Callable[[str | None, Beginning], bool] = lambda _folder, _began: False,
) -> PastReport:
    """Return the report about transcripts, with suggestions that a person may accept.

    Args:
        sources: The project, its rule files, and a person's answers.
        found: The transcripts.
        passed: Counts the unreadable records.
        progress: Called with the number of bytes read and the total.
        has_strayed: Whether a call in a folder was outside of the session's project.
    """
    skipped = list[str]()
    known, kept = await sources.suggested(skipped), sources.accepted()
    own = projects_folder(sources.environment)
    sessions = Sessions(sources.gate, own, [*known, *kept], has_strayed, passed or Passed())
    await sessions.read(found, progress)
    seen = await _Seen.of(sessions, sources.project)
    past = await sessions.past()
    remedies = {text: each for text, each in seen.remedies.items() if not past[each.id].mostly_works}
    every, stands = suggestions.distinct([*known, *seen.said.values(), *remedies.values()])
    open_ones = sources.left(every)
    writer = _Writer({each.id: each for each in open_ones}, stands, past, sources.now)
    lines = [*(writer.rule(each) for each in open_ones), *(writer.kept(each) for each in kept)]
    lines += [writer.failure(each, remedies) for each in seen.failures]
    lines.sort(key=lambda line: -line.breaches if line else 0)
    lines += [writer.refusal(each, seen.said) for each in seen.refusals]
    offered = sorted(open_ones, key=lambda each: (_rank(each), -past.get(each.id, Past()).broken, each.pattern is None))
    first, last = sessions.replay.days or (None, None)
    return PastReport(
        tuple(line for line in lines if line)[: limits.REPORT_LINES],
        tuple(Offered(each, past.get(each.id)) for each in offered),
        tuple(suggestions.conflicts(open_ones, sources.rules)),
        len(sessions.names),
        first,
        last,
        calls=sessions.replay.calls,
        commands=sessions.commands,
        failed=sessions.failed,
        strayed=sessions.strayed,
        refused=seen.refused,
        errors=tuple(sessions.learner.learned()),
        skipped=tuple(skipped),
    )


def _rank(each: Suggestion) -> int:
    kind = each.origin.kind
    return _FIRST.index(kind) if kind in _FIRST else len(_FIRST)


@dataclass(frozen=True, slots=True)
class _Seen:
    """The failures and refused calls in sessions, and the resulting suggestions."""

    failures: list[ReportLine]
    refusals: list[ReportLine]
    refused: int
    said: Mapping[str, Suggestion]  # by text
    remedies: Mapping[str, Suggestion]  # by the text of the failure's line

    @classmethod
    async def of(cls, sessions: Sessions, project: str) -> "_Seen":
        """Return the failures and refusals in sessions, and count breaches of the resulting suggestions there."""
        failures = [line for line in failing(sessions.learner.failures, limits.REPORT_LINES) if line.figures]
        refused = await sessions.refused()
        refusals = [line for line in failing((), limits.REPORT_LINES, refused) if line.refusal]
        said = {each.text: each for each in suggestions.of_refusals(refused, project)}
        remedies = {line.text: remedy for line in failures if (remedy := _remedy(line, project))}
        sessions.count([*said.values(), *remedies.values()])
        return cls(failures, refusals, len(refused), said, remedies)


def _remedy(line: ReportLine, project: str) -> Suggestion | None:
    """Return a suggestion for a command that fails, if another one usually worked next."""
    if not (line.figures and line.is_mended):
        return None
    return suggestions.of_report(line.figures.command, line.figures.followed, line.figures.last_seen, project)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes lines about open suggestions and accepted rules."""

    open_ones: Mapping[str, Suggestion]
    stands: Mapping[str, str]  # from the id of each suggestion to the id of the one that it was merged into
    past: Mapping[str, Past]
    now: datetime

    def rule(self, given: Suggestion) -> Line | None:
        """Return the line of a rule with breaches, None if there are none."""
        past = self.past.get(given.id)
        if past is None or not past.broken or given.origin.kind in _IN_OTHER_LINES:
            return None
        label = given.origin.name if given.origin.kind in {OriginKind.FILE, OriginKind.MEMORY} else given.origin.kind
        text = f'"{given.text}"  {self._broken(past)}'
        return Line(LineKind.RULE, label, text, Offered(given, past))

    def kept(self, rule: Rule) -> Line | None:
        """Return the line of an accepted rule with breaches since it was accepted, None if there are none."""
        past = self.past.get(rule.id)
        if past is None or not past.broken:
            return None
        text = f'"{rule.text}"  {past.in_words} since your yes, {self._day(rule.changed_at)}'
        return Line(LineKind.RULE, _YOURS, text, since=past)

    def failure(self, line: ReportLine, remedies: Mapping[str, Suggestion]) -> Line | None:
        """Return the line of a command that failed, None if a person has already answered its suggestion."""
        offered, is_answered = self._open(remedies.get(line.text))
        return None if is_answered else Line(LineKind.FAILURE, line.label, line.text, offered, line.figures)

    def refusal(self, line: ReportLine, said: Mapping[str, Suggestion]) -> Line | None:
        """Return the line of a refused call, None if a person has already answered its suggestion."""
        offered, is_answered = self._open(said.get(fitting(line.refusal.words)) if line.refusal else None)
        if is_answered:
            return None
        past = offered.past if offered else None
        more = f"; {self._broken(past)}" if past and past.broken else ""
        return Line(LineKind.REFUSAL, line.label, f"{line.text}{more}", offered)

    def _open(self, given: Suggestion | None) -> tuple[Offered | None, bool]:
        """Return the open suggestion for a line, None if another line has it, and whether it was already answered."""
        if given is None:
            return None, False
        found = self.open_ones.get(self.stands[given.id])
        if found is None:
            return None, True
        has_line = found.origin.kind not in _IN_OTHER_LINES
        return (None if has_line else Offered(found, self.past.get(found.id))), False

    def _broken(self, past: Past) -> str:
        """Return the number of breaches and the time of the last one, in words."""
        return f"{past.in_words}, last {self._day(past.last)}" if past.last else past.in_words

    def _day(self, at: datetime) -> str:
        return f"{at.day} {at:%b}{'' if at.year == self.now.year else f' {at.year}'}"
