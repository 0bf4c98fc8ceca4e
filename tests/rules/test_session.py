"""What becomes of calls that break rules, one after the other, and what is counted."""

from dataclasses import replace
from datetime import timedelta

import pytest

from learning_memory_server.model import limits
from learning_memory_server.model.rule import Rule, RuleCount, Unattended
from learning_memory_server.rules.patterns.matching import Act
from learning_memory_server.rules.session import Judged, Meeting, RuleSession, Ruling, met_again
from learning_memory_server.shell.script import read
from tests.rules.making import SAID, accepted

ONE, OTHER = accepted("one"), accepted("other")
ASKED = accepted("asked", is_enforced=True)
STOPPED = accepted("stopped", is_enforced=True, unattended=Unattended.STOP)


class Played:
    """A session whose calls come minutes apart, unless they are of one message."""

    def __init__(self) -> None:
        self.state = RuleSession("a session")
        self.now = SAID
        self.calls = 0
        self.state.begin((ONE, OTHER, ASKED, STOPPED), "shop", SAID, lambda _: None)

    def meet(
        self,
        *broken: Rule,
        agent: str = "main",
        text: str = "",
        is_beside: bool = False,
        is_attended: bool = True,
        followed: tuple[Rule, ...] = (),
    ) -> Meeting:
        self.calls += 1
        self.now += timedelta(milliseconds=20) if is_beside else timedelta(minutes=1)
        judged = Judged(Act(read(text or f"call {self.calls}")), broken, followed)
        return self.state.meet(agent, f"toolu_{self.calls}", judged, self.now, is_attended=is_attended)

    def runs(self, agent: str = "main", number: int = 0) -> None:
        """Let the last call run, or one with a number."""
        self.now += timedelta(seconds=1)
        self.state.ran(agent, f"toolu_{number or self.calls}", self.now)

    def fared(self, rule: Rule = ONE) -> tuple[int, int, int, int]:
        found = self.state.counts[rule.id]
        return found.followed, found.reminded, found.broken, found.stopped


@pytest.fixture
def session() -> Played:
    return Played()


def test_a_breach_is_denied_once_and_then_runs_and_counts(session: Played) -> None:
    assert session.meet(ONE) == Meeting(Ruling.DENY, (ONE,), is_first=True)
    assert session.fared() == (0, 1, 0, 0)
    assert session.meet(ONE) == Meeting()
    # It counts once it has run: the person may still refuse it.
    assert session.fared() == (0, 1, 0, 0)
    session.runs()
    assert session.fared() == (0, 1, 1, 0)


def test_a_denial_names_all_rules_that_the_call_breaks(session: Played) -> None:
    session.meet(ONE)
    assert session.meet(ONE, OTHER) == Meeting(Ruling.DENY, (ONE, OTHER))
    assert session.meet(ONE, OTHER) == Meeting()


def test_each_agent_meets_a_rule_and_a_rule_denies_three_times_in_a_session(session: Played) -> None:
    rulings = [session.meet(ONE, agent=str(number)).ruling for number in range(limits.RULE_DENIALS + 1)]
    assert rulings == [Ruling.DENY] * limits.RULE_DENIALS + [Ruling.RUN]
    assert session.meet(OTHER, agent="0").ruling is Ruling.DENY


def test_a_rule_is_met_again_after_ten_calls_or_a_compaction(session: Played) -> None:
    session.meet(ONE)
    for _ in range(limits.RULE_AGAIN - 1):
        assert session.meet(ONE).ruling is Ruling.RUN
    assert session.meet(ONE).ruling is Ruling.DENY
    assert session.meet(ONE).ruling is Ruling.RUN
    session.state.forget_context("main")
    assert session.meet(ONE).ruling is Ruling.DENY


def test_calls_of_one_message_are_one_meeting(session: Played) -> None:
    assert session.meet(ONE).ruling is Ruling.DENY
    # The model has not read the denial yet.
    assert session.meet(ONE, is_beside=True) == Meeting(Ruling.DENY, (ONE,))
    assert session.meet(is_beside=True) == Meeting()
    assert session.meet(ONE, is_beside=True).ruling is Ruling.DENY
    assert session.fared() == (0, 1, 0, 0)
    assert session.state.denials[ONE.text] == 1
    assert session.meet(ONE).ruling is Ruling.RUN


def test_the_same_call_twice_in_one_message_is_denied_twice(session: Played) -> None:
    assert session.meet(ONE, text="git push").ruling is Ruling.DENY
    assert session.meet(ONE, text="git push", is_beside=True).ruling is Ruling.DENY
    assert session.fared() == (0, 1, 0, 0)
    assert session.meet(ONE, text="git push").ruling is Ruling.RUN


def test_a_denied_call_that_ran_nevertheless_is_a_breach(session: Played) -> None:
    session.meet(ONE)
    session.runs()
    assert session.fared() == (0, 0, 1, 0)


def test_a_person_is_asked_each_time_and_a_yes_is_no_breach(session: Played) -> None:
    assert [session.meet(ASKED) for _ in range(2)] == [Meeting(Ruling.ASK, (ASKED,))] * 2
    assert session.fared(ASKED) == (0, 0, 0, 2)
    session.runs()
    assert session.fared(ASKED) == (0, 0, 0, 1)


def test_a_denial_names_the_rules_too_about_which_the_person_is_asked_then(session: Played) -> None:
    assert session.meet(ASKED, ONE) == Meeting(Ruling.DENY, (ASKED, ONE), is_first=True)
    assert session.meet(ASKED, ONE) == Meeting(Ruling.ASK, (ASKED,))
    session.runs()
    assert (session.fared(), session.fared(ASKED)) == ((0, 1, 1, 0), (0, 1, 0, 0))


def test_a_call_that_is_stopped_names_all_that_it_breaks(session: Played) -> None:
    assert session.meet(ONE, STOPPED, ASKED, is_attended=False).rules == (ONE, STOPPED, ASKED)
    session.runs()
    assert [session.fared(each) for each in (ONE, STOPPED, ASKED)] == [(0, 0, 1, 0)] * 3


def test_what_was_decided_of_a_call_is_said_again() -> None:
    for is_attended, ruling in ((True, Ruling.ASK), (False, Ruling.STOP)):
        assert met_again([STOPPED], is_attended=is_attended) == Meeting(ruling, (STOPPED,))
        assert met_again([ASKED, ONE], is_attended=is_attended) == Meeting(Ruling.DENY, (ASKED, ONE))
    assert met_again([], is_attended=True) == Meeting()


def test_where_nobody_attends_a_call_is_stopped_each_time_or_its_agent_reminded(session: Played) -> None:
    rulings = [session.meet(STOPPED, is_attended=False).ruling for _ in range(3)]
    assert rulings == [Ruling.STOP] * 3
    assert session.fared(STOPPED) == (0, 0, 0, 3)
    assert [session.meet(ASKED, is_attended=False).ruling for _ in range(2)] == [Ruling.DENY, Ruling.RUN]
    session.meet(STOPPED, is_attended=False)
    session.runs()
    assert session.fared(STOPPED) == (0, 0, 1, 3)


def test_a_call_that_nobody_judged_before_it_ran_is_judged_then(session: Played) -> None:
    judged = session.state.ran("main", "unknown", SAID, Judged(Act(None), (ONE,), (OTHER,)))
    assert judged.broken == (ONE,)
    assert (session.fared(), session.fared(OTHER)) == ((0, 0, 1, 0), (1, 0, 0, 0))
    assert session.state.tell("main", judged.broken) == Meeting(rules=(ONE,))
    assert session.state.tell("main", judged.broken) == Meeting()


def test_what_is_written_is_each_first_breach_and_at_the_end_what_has_changed_since(session: Played) -> None:
    session.meet(ONE, followed=(OTHER,))
    assert session.state.first_breaches() == []
    session.meet(ONE)
    session.runs()
    (first,) = session.state.first_breaches()
    assert (first.rule, first.reminded, first.broken) == (ONE.id, 1, 1)
    session.meet(ONE)
    session.runs()
    assert session.state.first_breaches() == []
    (last,) = session.state.end()
    assert (last.id, last.broken) == (first.id, 2)
    assert session.state.end() == []


def test_counting_goes_on_from_what_was_written_before(session: Played) -> None:
    session.meet(ONE)
    session.meet(ONE)
    session.runs()
    before = {each.id: each for each in session.state.end()}
    again = Played()
    again.state.counts.clear()
    again.state.begin([ONE], "shop", SAID, before.get)
    again.meet(ONE)
    assert again.fared() == (0, 2, 1, 0)
    (count,) = again.state.end()
    assert isinstance(count, RuleCount)
    assert count.id in before


def test_a_new_subagent_works_on_what_the_person_has_asked_for_last() -> None:
    state = RuleSession("s")
    state.prompt = "push it"
    assert state.agent("a1").work.prompt == "push it"
    state.prompt = "thank you"
    assert (state.agent("a1").work.prompt, state.agent("a2").work.prompt) == ("push it", "thank you")


def test_a_rule_that_was_changed_meanwhile_is_the_same_rule(session: Played) -> None:
    session.meet(ONE)
    assert session.meet(replace(ONE, topic=("x",))).ruling is Ruling.RUN
