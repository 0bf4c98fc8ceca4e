"""How one session fares with the rules: which ones its agents have met, which calls go on, and what is counted."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from learning_memory_server.model import limits
from learning_memory_server.model.rule import Rule, RuleCount, Unattended, count_id
from learning_memory_server.rules.patterns.matching import Act, Verdict, Work
from learning_memory_server.system import timeouts
from learning_memory_server.system.recent import Recent


class Ruling(StrEnum):
    """The ways in which a call can go on."""

    RUN = "run"  # It runs, whatever it breaks
    DENY = "deny"  # It is not run, and its agent is told why
    STOP = "stop"  # The same, each time: nobody can be asked
    ASK = "ask"  # A person is asked


@dataclass(frozen=True, slots=True)
class Judged:
    """The rules that a call breaks, and those that it follows."""

    act: Act
    broken: tuple[Rule, ...] = ()
    followed: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Meeting:
    """The rules that an agent meets at an act, and what becomes of the call because of them."""

    ruling: Ruling = Ruling.RUN
    rules: tuple[Rule, ...] = ()
    is_first: bool = False  # no call of the session was kept from running before


@dataclass(frozen=True, slots=True)
class Waiting:
    """A call that may have run or not: its end tells."""

    judged: Judged
    ruling: Ruling
    reminded: tuple[Rule, ...]  # the rules that counted a reminder for it
    stopped: tuple[Rule, ...]  # those that counted it as stopped


@dataclass(slots=True)
class AgentState:
    """The work of one agent, and the rules that it has met."""

    work: Work = field(default_factory=Work)
    calls: int = 0
    message: int = 0  # which one its last call is of
    heard_at: datetime | None = None
    met: dict[str, tuple[int, int]] = field(
        default_factory=dict
    )  # by sentence: the call and the message of the meeting

    def hears(self, at: datetime) -> None:
        """Note a call. One that comes right after something else is of the same message: no model is so quick."""
        if self.heard_at is None or at - self.heard_at > timedelta(seconds=timeouts.ONE_MESSAGE):
            self.message += 1
        self.heard_at = at
        self.calls += 1

    def is_new(self, rule: Rule) -> bool:
        """Return whether the agent may not know a rule: it has not met it, or many calls ago."""
        met = self.met.get(rule.text)
        return met is None or self.calls - met[0] >= limits.RULE_AGAIN

    def has_just_met(self, rule: Rule) -> bool:
        """Return whether a call of the same message was denied for a rule, which its model has not read yet."""
        return rule.text in self.met and self.met[rule.text][1] == self.message

    def meets(self, rules: Iterable[Rule]) -> None:
        """Note that the agent meets some rules."""
        self.met.update((rule.text, (self.calls, self.message)) for rule in rules)


@dataclass(slots=True)
class RuleSession:
    """The state of one session as far as rules need it. Nothing here reads or writes the journal."""

    session: str = ""  # a hash of the client's name of it
    agents: Recent[str, AgentState] = field(default_factory=Recent)
    waiting: Recent[str, Waiting] = field(default_factory=Recent)  # by the client's id of the call
    denials: Counter[str] = field(default_factory=Counter)  # by sentence, a message counts once
    counts: dict[str, RuleCount] = field(default_factory=dict)  # by rule
    unsaved: set[str] = field(default_factory=set)  # the rules whose counts have changed
    saved: set[str] = field(default_factory=set)  # the rules whose counts are in the journal
    ends: dict[str, tuple[Rule, Verdict]] = field(default_factory=dict)  # of rules for the end of the work, the last
    reminded_at_end: set[str] = field(default_factory=set)
    prompt: str = ""  # the last one of the person
    has_told_person: bool = False  # how rules are switched off
    folders: tuple[str, ...] = ()  # of the project, the top folder first; empty until somebody has looked

    def agent(self, name: str) -> AgentState:
        """Return the state of an agent. A new agent has the task of this turn's prompt."""

        def new() -> AgentState:
            made = AgentState()
            made.work.prompted(self.prompt)
            return made

        return self.agents.of(name, new)

    def meet(self, agent: str, key: str, judged: Judged, at: datetime, *, is_attended: bool) -> Meeting:
        """Return what becomes of a call, and note that its agent meets the rules that it breaks."""
        mine, broken = self.agent(agent), judged.broken
        mine.hears(at)
        enforced = [each for each in broken if each.is_enforced]
        asked = tuple(enforced) if is_attended else ()
        stopped = () if is_attended else tuple(each for each in enforced if each.unattended is Unattended.STOP)
        others = [each for each in broken if each not in (*asked, *stopped)]
        new = [each for each in others if mine.is_new(each) and self.denials[each.text] < limits.RULE_DENIALS]
        is_beside = any(map(mine.has_just_met, others))
        meeting, reminded = Meeting(), tuple[Rule, ...]()
        if stopped or new or is_beside:
            # All that the call breaks: its agent changes it once.
            reminded = tuple(each for each in broken if each not in stopped and not mine.has_just_met(each))
            self.denials.update(each.text for each in new)
            mine.meets(reminded)
            meeting = Meeting(Ruling.STOP if stopped else Ruling.DENY, broken, not self.has_told_person)
            self.has_told_person = True
        elif asked:
            meeting = Meeting(Ruling.ASK, asked)
        stopped = asked if meeting.ruling is Ruling.ASK else stopped
        for rule in reminded:
            self._count(rule, reminded=1)
        for rule in stopped:
            self._count(rule, stopped=1)
        if key:
            # Without the texts of an edit: most of what waits here has run.
            act = replace(judged.act, content="", before="")
            self.waiting[key] = Waiting(replace(judged, act=act), meeting.ruling, reminded, stopped)
        return meeting

    def ran(self, agent: str, key: str, at: datetime, judged: Judged | None = None) -> Judged:
        """Count a call that ran, and return what it breaks: `judged`, if it was not known before it ran."""
        self.agent(agent).heard_at = at
        waiting = self.waiting.pop(key, None) or Waiting(judged or Judged(Act(None)), Ruling.RUN, (), ())
        for rule in waiting.judged.followed:
            self._count(rule, followed=1)
        # A call that ran was neither kept from running by a reminder, nor stopped.
        for rule in waiting.reminded:
            self._count(rule, reminded=-1)
        for rule in waiting.stopped:
            self._count(rule, stopped=-1)
        allowed = waiting.stopped if waiting.ruling is Ruling.ASK else ()
        broken = tuple(each for each in waiting.judged.broken if each not in allowed)
        for rule in broken:
            self._count(rule, broken=1)
        return replace(waiting.judged, broken=broken)

    def tell(self, agent: str, rules: Sequence[Rule]) -> Meeting:
        """Return that an agent meets those of the rules it has just broken that it may not know."""
        mine = self.agent(agent)
        new = tuple(each for each in rules if mine.is_new(each))
        mine.meets(new)
        return Meeting(rules=new)

    def remind_at_end(self, rules: Sequence[Rule]) -> Meeting:
        """Return that an agent that is about to end its work meets rules, and count it."""
        for rule in rules:
            self.reminded_at_end.add(rule.id)
            self._count(rule, reminded=1)
        return Meeting(rules=tuple(rules))

    def forget_context(self, agent: str) -> None:
        """Note that an agent's context was emptied: it does not know any rule any more."""
        self.agent(agent).met.clear()

    def end(self) -> list[RuleCount]:
        """Return the changed counts, including the rules for the end of the work."""
        for rule, verdict in self.ends.values():
            self._count(rule, broken=verdict is Verdict.BROKEN, followed=verdict is Verdict.FOLLOWED)
        self.ends.clear()
        return self.to_save(self.unsaved)

    def first_breaches(self) -> list[RuleCount]:
        """Return the counts of rules that were broken or stopped a call for the first time in the session."""
        new = (self.counts[each] for each in self.unsaved - self.saved)
        return self.to_save({each.rule for each in new if each.broken or each.stopped})

    def to_save(self, rules: Iterable[str]) -> list[RuleCount]:
        """Return the counts of rules, which are saved then."""
        found = [self.counts[each] for each in sorted(rules)]
        self.saved.update(each.rule for each in found)
        self.unsaved.difference_update(each.rule for each in found)
        return found

    def begin(
        self, rules: Iterable[Rule], project: str, at: datetime, stored: Callable[[str], RuleCount | None]
    ) -> None:
        """Begin to count rules, or go on from the stored counts."""
        for rule in rules:
            if rule.id not in self.counts:
                name = count_id(rule.id, self.session)
                self.counts[rule.id] = stored(name) or RuleCount(name, rule.id, project, self.session, at)

    def note_call(self, rules: Iterable[Rule], call: str) -> None:
        """Note the call that broke rules."""
        self.counts.update({each.id: replace(self.counts[each.id], call=call) for each in rules})

    def _count(self, rule: Rule, **more: int) -> None:
        found = self.counts[rule.id]
        parts = {name: getattr(found, name) + number for name, number in more.items()}
        if any(more.values()):
            self.counts[rule.id] = replace(found, **parts)
            self.unsaved.add(rule.id)


def met_again(rules: Sequence[Rule], *, is_attended: bool) -> Meeting:
    """Return what was decided of a call that was denied or asked about for these rules, and that is said once more."""
    if not rules:
        return Meeting()
    if is_attended and all(each.is_enforced for each in rules):
        return Meeting(Ruling.ASK, tuple(rules))
    is_stopped = not is_attended and any(each.is_enforced and each.unattended is Unattended.STOP for each in rules)
    return Meeting(Ruling.STOP if is_stopped else Ruling.DENY, tuple(rules))
