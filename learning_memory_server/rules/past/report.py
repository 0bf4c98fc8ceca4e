"""The report about past sessions, and the suggestions that a person may say yes to.

`past_report(project, folder, found, ...)` reads each transcript once, and returns a `PastReport`: at most twelve lines,
rules that were broken and commands that fail again, the most frequent first, then refused calls with their words. The
`suggestion` of a line is what a yes accepts; a line without one has only figures. All suggestions, for `review`, are in
`suggestions`, those that were broken most first, then those with a pattern, then the others. Nothing is printed, stored
or changed. Without transcripts it returns the suggestions alone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path

from learning_memory_server.lessons.errors.figures import Figures
from learning_memory_server.lessons.errors.report import ReportLine, report as failing
from learning_memory_server.lessons.errors.transcripts import Beginning, Passed, projects_folder
from learning_memory_server.model import limits
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.memory import Memory
from learning_memory_server.model.rule import OriginKind, Rule, Suggestion
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.rules.past.record import Past
from learning_memory_server.rules.past.sessions import Sessions, Transcript
from learning_memory_server.rules.suggesting import suggestions
from learning_memory_server.rules.suggesting.files import fitting, sentences_of

_IN_OTHER_LINES = (OriginKind.REPORT, OriginKind.REFUSAL)


class LineKind(StrEnum):
    """What a line is about."""

    RULE = "rule"
    FAILURE = "failure"
    REFUSAL = "refusal"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the report."""

    kind: LineKind
    label: str  # where a rule stands, in how many sessions a command failed, or that a call was refused
    text: str
    suggestion: Suggestion | None = None  # what a yes accepts; None: only figures
    past: Past | None = None  # of the suggestion's pattern
    figures: Figures | None = None  # of a failure
    is_only_shown: bool = False  # whether a rule would stop so many calls that it must not

    @property
    def breaches(self) -> int:
        """How many acts broke the rule, or failed."""
        return self.figures.times if self.figures else self.past.broken if self.past else 0


@dataclass(frozen=True, slots=True)
class Offered:
    """A suggestion, with what the past says; None without a pattern."""

    suggestion: Suggestion
    past: Past | None = None
    is_only_shown: bool = False


@dataclass(frozen=True, slots=True)
class PastReport:
    """What past sessions show."""

    lines: tuple[Line, ...]
    suggestions: tuple[Offered, ...]
    conflicts: tuple[tuple[Suggestion | Rule, Suggestion | Rule], ...]
    sessions: int
    first: date | None  # the days of the first and the last call
    last: date | None
    calls: int  # of tools
    commands: int  # of the shell that ended
    failed: int  # of these
    strayed: int  # commands in folders of somebody else, which are left out
    refused: int  # calls that the person refused with words
    errors: tuple[list[Failure], ...]  # what may be kept of the failures
    skipped: tuple[str, ...] = ()  # files of rules that were not read, each with the reason


async def past_report(
    project: str,
    folder: Path | None,
    found: Sequence[Transcript],
    *,
    gate: RedactionGate,
    environment: Mapping[str, str],
    now: datetime,
    rules: Sequence[Rule] = (),
    memories: Iterable[Memory] = (),
    passed: Passed | None = None,
    progress: Callable[[int, int], object] = lambda _done, _total: None,
    has_strayed: Callable[[str | None, Beginning], bool] = lambda _folder, _began: False,
) -> PastReport:
    """Return the report about transcripts, and what a person may say yes to.

    Args:
        project: Whose suggestions they are.
        folder: The project's root, where its files of rules are; None if it is not known.
        found: The transcripts.
        gate: Removes secrets from what is shown.
        environment: Says where the client keeps its files.
        now: The time, for answers that were postponed.
        rules: All rules of the log: answers, and what other stores brought.
        memories: All memories: some are preferences that an earlier version kept.
        passed: Counts what could not be read.
        progress: Gets how many bytes were read, and of how many.
        has_strayed: Whether a call in a folder was in a place of somebody else.
    """
    skipped = list[str]()
    known = await suggestions.of_files(sentences_of(folder, environment, skipped), project, gate)
    known += suggestions.of_preferences(memories, project)
    known += suggestions.of_imported(rules, project)
    sessions = Sessions(gate, projects_folder(environment), known, has_strayed, passed or Passed())
    await sessions.read(found, progress)
    failures = [line for line in failing(sessions.learner.failures, limits.REPORT_LINES) if line.figures]
    refused = await sessions.refused()
    refusals = [line for line in failing((), limits.REPORT_LINES, refused) if line.refusal]
    remedies = {line.text: remedy for line in failures if (remedy := _remedy(line, project))}
    said = {each.text: each for each in suggestions.of_refusals(refused, project)}
    sessions.count([*said.values(), *remedies.values()])
    past = await sessions.past()
    remedies = {text: each for text, each in remedies.items() if not past[each.id].mostly_works}
    every, stands = suggestions.distinct([*known, *said.values(), *remedies.values()])
    open_ones = suggestions.left(every, rules, now)
    writer = _Writer({each.id: each for each in open_ones}, stands, past, now)
    lines = [*(writer.rule(each) for each in open_ones), *(writer.failure(each, remedies) for each in failures)]
    lines.sort(key=lambda line: -line.breaches if line else 0)
    lines += [writer.refusal(each, said) for each in refusals]
    offered = sorted(open_ones, key=lambda each: (-past.get(each.id, Past()).broken, each.pattern is None))
    first, last = sessions.replay.days or (None, None)
    return PastReport(
        tuple(line for line in lines if line)[: limits.REPORT_LINES],
        tuple(Offered(each, past.get(each.id), writer.is_only_shown(each)) for each in offered),
        tuple(suggestions.conflicts(open_ones, rules)),
        len(sessions.names),
        first,
        last,
        calls=sessions.replay.calls,
        commands=sessions.commands,
        failed=sessions.failed,
        strayed=sessions.strayed,
        refused=len(refused),
        errors=tuple(sessions.learner.learned()),
        skipped=tuple(skipped),
    )


def _remedy(line: ReportLine, project: str) -> Suggestion | None:
    """Return the suggestion of a line about a command that fails, if another one usually worked next."""
    if not (line.figures and line.is_mended):
        return None
    return suggestions.of_report(line.figures.command, line.figures.followed, line.figures.last_seen, project)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes lines about suggestions that are open."""

    open_ones: Mapping[str, Suggestion]
    stands: Mapping[str, str]  # by the id of a suggestion, the id of the one that it is in
    past: Mapping[str, Past]
    now: datetime

    def rule(self, given: Suggestion) -> Line | None:
        """Return the line of a rule that was broken."""
        past = self.past.get(given.id)
        if past is None or not past.broken or given.origin.kind in _IN_OTHER_LINES:
            return None
        label = given.origin.name if given.origin.kind in {OriginKind.FILE, OriginKind.MEMORY} else given.origin.kind
        return self._line(LineKind.RULE, label, f'"{given.text}"  {self._broken(past)}', given)

    def failure(self, line: ReportLine, remedies: Mapping[str, Suggestion]) -> Line | None:
        """Return the line of a command that failed, None if a person has answered what it suggests."""
        given, is_answered = self._open(remedies.get(line.text))
        if is_answered:
            return None
        return replace(self._line(LineKind.FAILURE, line.label, line.text, given), figures=line.figures)

    def refusal(self, line: ReportLine, said: Mapping[str, Suggestion]) -> Line | None:
        """Return the line of a refused call, None if a person has answered what it suggests."""
        given, is_answered = self._open(said.get(fitting(line.refusal.words)) if line.refusal else None)
        if is_answered:
            return None
        past = self.past.get(given.id) if given else None
        more = f"; {self._broken(past)}" if past and past.broken else ""
        return self._line(LineKind.REFUSAL, line.label, f"{line.text}{more}", given)

    def _open(self, given: Suggestion | None) -> tuple[Suggestion | None, bool]:
        """Return the open suggestion that one is in, none if its line is another one, and whether it was answered."""
        if given is None:
            return None, False
        found = self.open_ones.get(self.stands[given.id])
        has_line = found is not None and found.origin.kind not in _IN_OTHER_LINES
        return (None if has_line else found), found is None

    def is_only_shown(self, given: Suggestion) -> bool:
        """Whether a rule of it would stop so many calls that it must not."""
        past = self.past.get(given.id)
        return past is not None and past.is_frequent

    def _line(self, kind: LineKind, label: str, text: str, given: Suggestion | None) -> Line:
        past = self.past.get(given.id) if given else None
        return Line(kind, label, text, given, past, is_only_shown=given is not None and self.is_only_shown(given))

    def _broken(self, past: Past) -> str:
        """Return how often a rule was broken, and when last."""
        if past.last is None:
            return past.in_words
        year = f" {past.last:%Y}" if past.last.year != self.now.year else ""
        return f"{past.in_words}, last {past.last.day} {past.last:%b}{year}"
