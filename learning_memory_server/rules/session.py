"""The rules in one session: which ones its agents have been shown, the rulings on calls, and the counts."""

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
    """The rulings on a call."""

    RUN = "run"  # The call runs, even if it breaks rules
    DENY = "deny"  # The call does not run, and its agent gets the reason
    STOP = "stop"  # Like DENY, but each time, because no person can be asked
    ASK = "ask"  # A person is asked


@dataclass(frozen=True, slots=True)
class Judged:
    """A call with the rules that it breaks and follows."""

    act: Act
    broken: tuple[Rule, ...] = ()
    followed: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Meeting:
    """The rules that apply to an agent's act, and the ruling on the call."""

    ruling: Ruling = Ruling.RUN
    rules: tuple[Rule, ...] = ()
    is_first: bool = False  # whether this is the first call of the session that does not run


@dataclass(frozen=True, slots=True)
class Waiting:
    """A call that may or may not have run; its end event tells."""

    judged: Judged
    ruling: Ruling
    reminded: tuple[Rule, ...]  # the rules with a counted reminder for this call
    stopped: tuple[Rule, ...]  # the rules that counted this call as stopped


@dataclass(slots=True)
class AgentState:
    """The work of one agent, and the rules that it has been shown."""

    work: Work = field(default_factory=Work)
    calls: int = 0
    message: int = 0  # the number of the message of its last call
    heard_at: datetime | None = None
    met: dict[str, tuple[int, int]] = field(
        default_factory=dict
    )  # by sentence: the numbers of the call and of its message

    def hears(self, at: datetime) -> None:
        """Record a call. If it closely follows the previous event, it belongs to the same message of the model."""
        if self.heard_at is None or at - self.heard_at > timedelta(seconds=timeouts.ONE_MESSAGE):
            self.message += 1
        self.heard_at = at
        self.calls += 1

    def is_new(self, rule: Rule) -> bool:
        """Whether the agent may not know a rule: it has not been shown it, or many calls ago."""
        met = self.met.get(rule.text)
        return met is None or self.calls - met[0] >= limits.RULE_AGAIN

    def has_just_met(self, rule: Rule) -> bool:
        """Whether a call of the same message was denied for a rule: the model has not read the denial yet."""
        return rule.text in self.met and self.met[rule.text][1] == self.message

    def meets(self, rules: Iterable[Rule]) -> None:
        """Record that the agent has been shown some rules."""
        self.met.update((rule.text, (self.calls, self.message)) for rule in rules)


@dataclass(slots=True)
class RuleSession:
    """The state of one session that rules need. It neither reads nor writes the journal."""

    session: str = ""  # a hash of the client's name for it
    agents: Recent[str, AgentState] = field(default_factory=Recent)
    waiting: Recent[str, Waiting] = field(default_factory=Recent)  # by the client's id of the call
    denials: Counter[str] = field(default_factory=Counter)  # by sentence, at most one for each message
    counts: dict[str, RuleCount] = field(default_factory=dict)  # by rule
    unsaved: set[str] = field(default_factory=set)  # the rules with changed counts
    saved: set[str] = field(default_factory=set)  # the rules with counts in the journal
    ends: dict[str, tuple[Rule, Verdict]] = field(default_factory=dict)  # latest verdicts of rules for the end of work
    reminded_at_end: set[str] = field(default_factory=set)
    prompt: str = ""  # the person's last prompt
    has_told_person: bool = False  # whether the person was shown how to switch rules off
    folders: tuple[str, ...] = ()  # of the project, the top folder first; empty while unknown

    def agent(self, name: str) -> AgentState:
        """Return the state of an agent. A new agent gets the prompt of this turn."""

        def new() -> AgentState:
            made = AgentState()
            made.work.prompted(self.prompt)
            return made

        return self.agents.of(name, new)

    def meet(self, agent: str, key: str, judged: Judged, at: datetime, *, is_attended: bool) -> Meeting:
        """Return the ruling on a call, and record that its agent is shown the broken rules."""
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
            # Include all broken rules, so that the agent has to change the call only once.
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
            # Drop the texts of an edit, since most calls here run.
            act = replace(judged.act, content="", before="")
            self.waiting[key] = Waiting(replace(judged, act=act), meeting.ruling, reminded, stopped)
        return meeting

    def ran(self, agent: str, key: str, at: datetime, judged: Judged | None = None) -> Judged:
        """Count a call that ran, and return the rules that it breaks, from `judged` if the call was not seen before."""
        self.agent(agent).heard_at = at
        waiting = self.waiting.pop(key, None) or Waiting(judged or Judged(Act(None)), Ruling.RUN, (), ())
        for rule in waiting.judged.followed:
            self._count(rule, followed=1)
        # The call ran, so it was neither prevented by a reminder nor stopped.
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
        """Return the rules just broken that the agent may not know, and record that the agent is shown these rules."""
        mine = self.agent(agent)
        new = tuple(each for each in rules if mine.is_new(each))
        mine.meets(new)
        return Meeting(rules=new)

    def remind_at_end(self, rules: Sequence[Rule]) -> Meeting:
        """Return the rules as reminders for an agent that is about to end its work, and count them."""
        for rule in rules:
            self.reminded_at_end.add(rule.id)
            self._count(rule, reminded=1)
        return Meeting(rules=tuple(rules))

    def forget_context(self, agent: str) -> None:
        """Record that an agent's context was cleared, so that it no longer knows any rules."""
        self.agent(agent).met.clear()

    def end(self) -> list[RuleCount]:
        """Return the changed counts, including the counts of rules for the end of work."""
        for rule, verdict in self.ends.values():
            self._count(rule, broken=verdict is Verdict.BROKEN, followed=verdict is Verdict.FOLLOWED)
        self.ends.clear()
        return self.to_save(self.unsaved)

    def first_breaches(self) -> list[RuleCount]:
        """Return the counts of rules with their first breach or stopped call in this session."""
        new = (self.counts[each] for each in self.unsaved - self.saved)
        return self.to_save({each.rule for each in new if each.broken or each.stopped})

    def to_save(self, rules: Iterable[str]) -> list[RuleCount]:
        """Return the counts of rules, and mark them as saved."""
        found = [self.counts[each] for each in sorted(rules)]
        self.saved.update(each.rule for each in found)
        self.unsaved.difference_update(each.rule for each in found)
        return found

    def begin(
        self, rules: Iterable[Rule], project: str, at: datetime, stored: Callable[[str], RuleCount | None]
    ) -> None:
        """Start counting rules, or continue from the stored counts."""
        for rule in rules:
            if rule.id not in self.counts:
                name = count_id(rule.id, self.session)
                self.counts[rule.id] = stored(name) or RuleCount(name, rule.id, project, self.session, at)

    def note_call(self, rules: Iterable[Rule], call: str) -> None:
        """Store the call that broke rules."""
        self.counts.update({each.id: replace(self.counts[each.id], call=call) for each in rules})

    def _count(self, rule: Rule, **more: int) -> None:
        found = self.counts[rule.id]
        parts = {name: getattr(found, name) + number for name, number in more.items()}
        if any(more.values()):
            self.counts[rule.id] = replace(found, **parts)
            self.unsaved.add(rule.id)


def met_again(rules: Sequence[Rule], *, is_attended: bool) -> Meeting:
    """Return the earlier ruling on a call that was denied or asked about for these rules, to report it again."""
    if not rules:
        return Meeting()
    if is_attended and all(each.is_enforced for each in rules):
        return Meeting(Ruling.ASK, tuple(rules))
    is_stopped = not is_attended and any(each.is_enforced and each.unattended is Unattended.STOP for each in rules)
    return Meeting(Ruling.STOP if is_stopped else Ruling.DENY, tuple(rules))
