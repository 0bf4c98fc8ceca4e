"""Apply rules to past sessions: each act is judged, and counted if it ran."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import partial
from typing import Final

from learning_memory_server.lessons.errors.outcomes import shows_failure
from learning_memory_server.lessons.errors.transcripts import SHELLS, Beginning
from learning_memory_server.model import limits
from learning_memory_server.model.moment import as_seen
from learning_memory_server.model.rule import CallForm, OriginKind, Pattern, Rule, Suggestion, When
from learning_memory_server.rules.past.acts import act_of, mark_of
from learning_memory_server.rules.past.events import Asked, Event, Over, Prompt
from learning_memory_server.rules.past.past import CALL, Past, unit_of
from learning_memory_server.rules.patterns.globs import is_document
from learning_memory_server.rules.patterns.matching import Act, Verdict, Work, judge, judge_end


@dataclass(slots=True)
class _Tally:
    when: When
    pattern: Pattern
    unit: str
    mark: re.Pattern[str] | None  # matches each command that the pattern may match; None if any command may
    is_everywhere: bool
    since: datetime | None  # when the rule was written down or accepted: earlier acts do not count
    days: dict[date, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    sessions: set[str] = field(default_factory=set)
    breaches: list[datetime] = field(default_factory=list)
    last: tuple[datetime, Asked | None] | None = None
    refused: int = 0
    worked: int = 0
    missing: Counter[CallForm] = field(default_factory=Counter)

    def count(self, met: "_Met", session: str, at: datetime, asked: Asked | None, *, is_error: bool) -> None:
        """Count an act, unless it is older than the rule."""
        if self.since and at < self.since:
            return
        is_broken = met.verdict is Verdict.BROKEN
        self.days[at.date()][not is_broken] += 1
        if is_broken:
            self.sessions.add(session)
            self.breaches.append(at)
            self.worked += not is_error
            self.missing.update(met.missing)
            if self.last is None or at >= self.last[0]:
                self.last = at, asked

    def past(self, since: datetime | None, shown: Callable[[Asked], str]) -> Past:
        """Return the counts; `since` is the time of the first of the latest calls."""
        days = [(day, broken, followed) for day, (broken, followed) in sorted(self.days.items())]
        asked = self.last[1] if self.last else None
        return Past(
            sum(broken for _, broken, _ in days),
            sum(followed for _, _, followed in days),
            days=tuple(days),
            sessions=len(self.sessions),
            last=self.last[0] if self.last else None,
            call=shown(asked) if asked else "",
            refused=self.refused,
            worked=self.worked,
            latest=sum(since is None or at >= since for at in self.breaches) if self.when is not When.DONE else 0,
            unit=self.unit,
            missing=tuple(self.missing.most_common()),
        )


@dataclass(slots=True)
class _Agent:
    """An agent of a session."""

    work: Work
    has_edited: bool = False  # in this turn
    is_interrupted: bool = False


@dataclass(frozen=True, slots=True)
class _Met:
    """The verdict of a rule, by its id, on an act."""

    name: str
    verdict: Verdict
    missing: tuple[CallForm, ...] = ()  # the required checks that had not run, for a breach


@dataclass(slots=True)
class _Judged:
    """A call that has not ended."""

    verdicts: list[_Met]
    act: Act | None = None


_NOTHING: Final = _Judged([])


class Replay:
    """Processes the events of past sessions in order, and counts breaches for each suggestion or rule, by id."""

    def __init__(self, given: Iterable[Suggestion | Rule]) -> None:
        # Rules limited to a folder depend on where a call runs, which is not known here
        self._tallies = {each.id: _tally(each, each.pattern) for each in given if each.pattern and not each.folder}
        marks = [each.mark for each in self._tallies.values()]
        spelt = "|".join(sorted({each.pattern for each in marks if each})) or r"(?!)"
        self._may_matter = re.compile("" if None in marks else spelt)
        self._edits = {
            name: each for name, each in self._tallies.items() if each.pattern.files or each.pattern.contents
        }
        self._begin = Beginning()
        self._agents: dict[tuple[str, str], _Agent] = {}
        self._prompts: dict[str, str] = {}
        self._waiting: dict[str, _Judged] = {}
        self._seen: set[str] = set()
        self._at: list[datetime] = []

    def begin(self, began: Beginning) -> None:
        """Start a file."""
        self._begin, self._agents, self._prompts, self._waiting = began, {}, {}, {}

    def see(self, event: Event) -> None:
        """Process the next event."""
        if isinstance(event, Prompt):
            self._prompted(event)
        elif isinstance(event, Asked):
            self._waiting[event.id] = self._judged(event)
        elif judged := self._waiting.pop(event.asked.id, None):
            self._ended(event, judged)

    def end(self) -> None:
        """Finish a file."""
        for (session, agent), each in self._agents.items():
            if not agent:
                self._turn_ends(session, each, each.work, None)

    @property
    def is_empty(self) -> bool:
        """Whether there are no rules to count."""
        return not self._tallies

    @property
    def calls(self) -> int:
        """The number of calls that ran."""
        return len(self._at)

    @property
    def days(self) -> tuple[date, date] | None:
        """The dates of the first and the last call."""
        return (min(self._at).date(), max(self._at).date()) if self._at else None

    @property
    def since(self) -> datetime | None:
        """The time of the first of the latest calls, None if there are too few calls."""
        return sorted(self._at)[-limits.RULE_CALLS_LAST] if len(self._at) > limits.RULE_CALLS_LAST else None

    def past(self, shown: Callable[[Asked], str], since: datetime | None) -> dict[str, Past]:
        """Return the counts of each suggestion or rule by id; `shown` formats a call."""
        return {name: tally.past(since, shown) for name, tally in self._tallies.items()}

    def _agent(self, session: str, agent: str) -> _Agent:
        found = self._agents.get((session, agent))
        if found is None:
            found = self._agents[session, agent] = _Agent(Work())
            found.work.prompted(self._prompts.get(session, ""))
        return found

    def _prompted(self, prompt: Prompt) -> None:
        main = self._agent(prompt.session, "")
        if prompt.is_interruption:
            main.is_interrupted = True
        elif not prompt.is_summary:
            before = self._prompts.get(prompt.session, "") if prompt.is_more else ""
            self._prompts[prompt.session] = text = f"{before}\n{prompt.text}".strip()
            if not prompt.is_more:
                self._turn_ends(prompt.session, main, main.work, prompt.at)
            for (session, _), each in self._agents.items():
                if session == prompt.session:
                    each.work.prompted(text)

    def _turn_ends(self, session: str, agent: _Agent, work: Work, at: datetime | None) -> None:
        """Judge the state of the work at the end of a turn, unless the person interrupted it."""
        at = at or (self._at[-1] if self._at else None)
        if agent.has_edited and not agent.is_interrupted and at:
            for name, tally in self._tallies.items():
                met = tally.when is When.DONE and _met(name, tally.pattern, partial(judge_end, work=work))
                if met:
                    tally.count(met, session, as_seen(at), None, is_error=False)
        agent.has_edited = agent.is_interrupted = False

    def _judged(self, asked: Asked) -> _Judged:
        command = asked.call if asked.tool in SHELLS else ""
        if command and not self._may_matter.search(command):
            return _NOTHING
        if not (act := act_of(asked, self._begin.folder)):
            return _NOTHING
        wanted = [name for name, each in self._tallies.items() if _concerns(each, command)] if command else self._edits
        work = self._agent(asked.session, asked.agent).work
        return _Judged(_verdicts(self._tallies, wanted, act, work), act)

    def _ended(self, over: Over, judged: _Judged) -> None:
        asked, agent = over.asked, self._agent(over.asked.session, over.asked.agent)
        at, is_new = over.at or asked.at, asked.id not in self._seen
        # A session that continues in another file begins there with a copy of earlier records.
        self._seen.add(asked.id)
        if at is None:
            return
        if over.has_run and is_new:
            self._at.append(as_seen(at))
        for met in judged.verdicts if is_new else ():
            tally = self._tallies[met.name]
            if over.refused:
                tally.refused += met.verdict is Verdict.BROKEN
            elif over.has_run and not (over.is_error and tally.unit != CALL):
                tally.count(met, asked.session, as_seen(at), asked, is_error=over.is_error)
        act = judged.act
        has_failed = over.is_error or (over.ran and shows_failure(over.ran.command, over.ran.output))
        if act and over.has_run and not has_failed:
            if act.script:
                agent.work.ran(act.script)
            else:
                agent.work.edited(act.file)
                agent.has_edited = agent.has_edited or (is_new and not is_document(act.file))


def _tally(given: Suggestion | Rule, pattern: Pattern) -> _Tally:
    if isinstance(given, Rule):
        since: datetime | None = as_seen(given.changed_at)  # The time of acceptance
    else:
        since = given.origin.at if given.origin.kind is OriginKind.FILE else None
    unit, mark = unit_of(given.when, pattern), mark_of(pattern)
    return _Tally(given.when, pattern, unit, mark, given.is_everywhere, since)


def _verdicts(tallies: Mapping[str, _Tally], names: Iterable[str], act: Act, work: Work) -> list[_Met]:
    wanted = ((name, tallies[name]) for name in names)
    found = (
        _met(name, each.pattern, partial(judge, act=act, work=work, is_everywhere=each.is_everywhere))
        for name, each in wanted
        if each.when is not When.DONE
    )
    return [each for each in found if each]


def _met(name: str, pattern: Pattern, judged: Callable[[Pattern], Verdict | None]) -> _Met | None:
    """Return the verdict of a rule on an act, with the missing ones of several checks."""
    verdict = judged(pattern)
    if verdict is not Verdict.BROKEN or len(pattern.first) < 2:
        return _Met(name, verdict) if verdict else None
    each_alone = ((each, judged(replace(pattern, first=(each,)))) for each in pattern.first)
    return _Met(name, verdict, tuple(form for form, alone in each_alone if alone is Verdict.BROKEN))


def _concerns(tally: _Tally, command: str) -> bool:
    return tally.mark is None or tally.mark.search(command) is not None
