"""Rules at starts, on topics, at the end of work, and while they are off."""

import copy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.advice import text
from learning_memory_server.advice.candidates import Decision, Observed, Permission, Shown
from learning_memory_server.advice.sources.rules import RulesSource
from learning_memory_server.model import limits
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.rule import CallForm, Origin, OriginKind, Pattern, RuleState, When
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.settings import Settings
from tests.advice.parts import POOL, PROMPT, MeasuredModel, ids_of, learn, started
from tests.advice.ruled import COMMIT, DENIAL, NAME, NO_TRAILER, TEXT, Session, own
from tests.rules.making import TESTED, TRAILER
from tests.server.agent import at_work
from tests.support import ALICE, BOB


async def test_a_start_has_the_most_broken_rules_and_the_person_hears_of_the_others(
    session: Session, accept: Any
) -> None:
    days = range(5)
    rules = [own(f"rule {day}", None, When.SESSION, broken_before=9 * (day == 1)) for day in days]
    accept(
        *(
            replace(each, changed_at=each.changed_at + timedelta(days=day))
            for each, day in zip(rules, days, strict=True)
        )
    )
    shown = await session.at(TriggerKind.SESSION_START)
    assert shown.text == "Rules of your user:\n- rule 1 (3 Feb)\n- rule 4 (3 Feb)\n- rule 3 (3 Feb)\n"
    assert shown.line == "2 more rules for every session were not shown: learning-memory-server rules"
    assert len(ids_of(shown)) == limits.CONTEXT_RULES


async def test_what_others_have_learned_is_no_word_of_the_person(
    services: Services, session: Session, accept: Any
) -> None:
    await learn(services, POOL)
    accept(own("Short sentences", None, When.SESSION))
    started(services, "cache")
    said = (await session.at(TriggerKind.SESSION_START)).text
    assert said.startswith(f"Rules of your user:\n- Short sentences (3 Feb)\n{text.OPENING}\nOpen entries")


async def test_a_subagent_starts_with_the_rules_and_its_lesson(
    services: Services, session: Session, accept: Any
) -> None:
    await learn(services, POOL)
    accept(own("Short sentences", None, When.SESSION))
    await session.at(TriggerKind.SUBAGENT_TASK, text=PROMPT.text)
    shown = await session.at(TriggerKind.SUBAGENT_START, "a1")
    assert shown.text.startswith(f"Rules of your user:\n- Short sentences (3 Feb)\n{text.OPENING} This may help")


async def test_a_topic_is_named_by_a_prompt_in_any_form_and_once_in_a_context(session: Session, accept: Any) -> None:
    accept(own("Fixtures over mocks", None, When.TOPIC, topic=("testing",)))
    assert (await session.at(TriggerKind.PROMPT, text="fix the header")).text == ""
    said = await session.at(TriggerKind.PROMPT, text="write tests for it")
    assert said.text == 'Rule of your user (3 Feb): "Fixtures over mocks".'
    assert (await session.at(TriggerKind.PROMPT, text="more tests")).text == ""


async def test_a_reply_has_a_rule_without_its_id(services: Services, accept: Any) -> None:
    accept(own("Fixtures over mocks", None, When.TOPIC, topic=("pool",)))
    entry = started(services)
    shown = await services.advisor.at(Trigger(TriggerKind.ENTRY_START, entry=entry), ALICE)
    assert text.related(shown.candidates, lambda _: "") == [
        {"kind": "rule", "learned": 'Rule of your user (3 Feb): "Fixtures over mocks".'}
    ]


async def test_what_the_client_loads_is_left_out_at_the_start_and_met_at_the_act(
    services: Services, accept: Any, tmp_path: Path
) -> None:
    (tmp_path / "CLAUDE.md").write_text("# Rules\n\n- **No AI trailer** in\n  commits\n")
    file = Origin(OriginKind.FILE, "CLAUDE.md")
    accept(own(TEXT, TRAILER, When.SESSION, origin=file), own("Short sentences", None, When.SESSION, origin=file))
    session = Session(services, replace(ALICE, folder=str(tmp_path)))
    shown = await session.at(TriggerKind.SESSION_START, folder=str(tmp_path), loads=("CLAUDE.md",))
    assert shown.text == "Rules of your user:\n- Short sentences (from CLAUDE.md, accepted 3 Feb)\n"
    assert (await session.calls_(COMMIT)).decision
    later = tmp_path / "more.md"
    later.write_text("short sentences!")
    other = Session(services, replace(BOB, folder=str(tmp_path)))
    await other.at(TriggerKind.LOADED, file=str(later))
    assert (await other.at(TriggerKind.SUBAGENT_START, "a1")).text.count("\n") == 1


async def test_the_end_of_work_reminds_once_of_what_was_not_done_and_counts_what_was(
    services: Services, session: Session, accept: Any
) -> None:
    tested = own("Run the tests", TESTED, When.DONE)
    accept(tested)
    assert (await session.at(TriggerKind.STOP)).text == ""
    await session.calls_(file="a.py", content="x")
    assert (await session.at(TriggerKind.STOP, is_again=True)).text == ""
    said = (await session.at(TriggerKind.STOP)).text
    assert said == 'Rule of your user (3 Feb): "Run the tests". This has not been done since the last edit.'
    await session.calls_("make test")
    assert (await session.at(TriggerKind.STOP)).text == ""
    await session.at(TriggerKind.SESSION_END)
    assert session.fared(tested) == (1, 1, 0, 0)
    nobody = Session(services, replace(BOB, is_attended=False))
    await nobody.calls_(file="a.py", content="x")
    assert (await nobody.at(TriggerKind.STOP)).text == ""


async def test_a_sentence_for_the_end_of_work_that_no_machine_understands_is_shown_once_after_an_edit(
    session: Session, accept: Any
) -> None:
    accept(own("Tell Ann what you changed", None, When.DONE))
    assert (await session.at(TriggerKind.STOP)).text == ""
    await session.calls_(file="a.py", content="x")
    said = (await session.at(TriggerKind.STOP)).text
    assert said == 'Rule of your user (3 Feb): "Tell Ann what you changed". Is it done?'
    assert (await session.at(TriggerKind.STOP)).text == ""


async def test_what_must_come_first_is_what_succeeded_since_the_last_edit_of_this_agent(
    session: Session, accept: Any
) -> None:
    accept(own("Tests before commits", Pattern(broken=(CallForm(("git", "commit")),), first=TESTED.first)))
    await session.calls_("make test")
    assert (await session.calls_("git commit -m x")).decision is None
    assert (await session.calls_("git commit -m x", "a1")).decision
    await session.calls_(file="a.py", content="x")
    assert (await session.calls_("git commit -m x")).decision
    await session.at(TriggerKind.COMMAND, command="make test", error="Exit code 2\nfailed")
    piped = "make test | tail"
    await session.at(TriggerKind.COMMAND, command=piped, output="= 1 failed, 5 passed in 0.12s =")
    await session.at(TriggerKind.SESSION_START, source="compact")
    assert (await session.calls_("git commit -m x")).decision
    await session.at(TriggerKind.COMMAND, command=piped, output="= 6 passed in 0.12s =")
    await session.at(TriggerKind.SESSION_START, source="compact")
    assert (await session.calls_("git commit -m x")).decision is None


async def test_a_client_that_says_nothing_before_a_call_reads_the_sentence_after_it(
    session: Session, accept: Any
) -> None:
    accept(NO_TRAILER)
    shown = await session.at(TriggerKind.COMMAND, command=COMMIT, is_unknown=True)
    assert shown.text == f'Rule of your user (3 Feb): "{TEXT}". The last call broke it.'
    assert shown.decision is None
    assert (await session.at(TriggerKind.COMMAND, command=COMMIT)).text == ""
    await session.at(TriggerKind.STOP)
    assert session.fared() == (0, 0, 2, 0)


async def test_what_is_written_of_a_call_has_no_secret_and_no_folder_of_the_machine(
    services: Services, accept: Any
) -> None:
    session = Session(services, replace(ALICE, folder="/home/ann/shop"))
    accept(NO_TRAILER)
    command = f"TOKEN=ghp_{'a1B2' * 9} /home/ann/shop/bin/x; {COMMIT}"
    now = datetime(2026, 3, 1, tzinfo=UTC)
    services.advisor.clock = services.rules.clock = lambda: now
    for _ in range(2):
        await session.calls_(command)
        now += timedelta(minutes=1)
    (count,) = services.rule_counts.all()
    assert "ghp_" not in count.call
    assert "/home" not in count.call
    assert "bin/x; git commit" in count.call


async def test_what_was_counted_is_written_when_the_services_end(settings: Settings) -> None:
    async with at_work(settings, load=MeasuredModel) as services:
        services.rule_log.add(NO_TRAILER)
        session = Session(services)
        await session.calls_("git commit -m 'Mend it'")
        assert services.rule_counts.all() == []
    async with at_work(settings, load=MeasuredModel) as services:
        assert Session(services).fared() == (1, 0, 0, 0)


async def test_a_breach_whose_command_fails_is_written_at_the_next_event(
    services: Services, session: Session, accept: Any
) -> None:
    accept(NO_TRAILER)
    await session.calls_(COMMIT)
    await session.calls_(COMMIT, runs=False)
    key = f"{NAME} {session.calls}"
    await session.at(TriggerKind.COMMAND, command=COMMIT, key=key, error="Exit code 1\nerror: nothing to commit here")
    assert services.rule_counts.all() == []
    await session.at(TriggerKind.STOP)
    assert session.fared() == (0, 1, 1, 0)


async def test_rules_are_off_for_an_hour_in_all_sessions(services: Services, session: Session, accept: Any) -> None:
    accept(NO_TRAILER, own("Short sentences", None, When.SESSION))
    now = datetime(2026, 3, 1, tzinfo=UTC)
    services.advisor.clock = services.rules.clock = lambda: now
    await session.at(TriggerKind.PROMPT, text="hello")
    services.advisor.sessions.rules_off(now + timedelta(hours=1))
    new = Session(services, BOB)
    for each in (session, new):
        assert await each.calls_(COMMIT) == Shown()
        shown = await each.at(TriggerKind.SESSION_START, source="compact")
        assert (shown.text, shown.line) == ("", "")
    now += timedelta(minutes=59)
    assert await session.calls_(COMMIT) == Shown()
    now += timedelta(minutes=1)
    for each in (session, new):
        assert (await each.calls_(COMMIT)).decision
        assert "Short sentences" in (await each.at(TriggerKind.SESSION_START, source="compact")).text


async def test_rules_are_off_in_the_sessions_that_run_until_they_end_or_a_person_ends_that(
    services: Services, session: Session, accept: Any
) -> None:
    accept(NO_TRAILER)
    sessions, now = services.advisor.sessions, services.advisor.clock()
    for _ in range(2):
        await session.at(TriggerKind.PROMPT, text="hello")
        sessions.rules_off(None)
        assert await session.calls_(COMMIT) == Shown()
        await session.at(TriggerKind.SESSION_END)
        assert (await session.calls_(COMMIT)).decision
    assert (await Session(services, BOB).calls_(COMMIT)).decision
    sessions.rules_off(None)
    sessions.rules_off(now)
    await session.at(TriggerKind.SESSION_START, source="compact")
    assert (await session.calls_(COMMIT)).decision


@pytest.mark.parametrize("state", [each for each in RuleState if each is not RuleState.ACCEPTED])
async def test_only_what_is_accepted_here_is_shown(session: Session, accept: Any, state: RuleState) -> None:
    accept(replace(NO_TRAILER, state=state), own("Imported", TRAILER, imported=True))
    accept(replace(own("Start", None, When.SESSION), state=state))
    assert await session.calls_(COMMIT) == Shown()
    assert (await session.at(TriggerKind.SESSION_START)).text == ""


async def test_what_an_agent_would_see_is_asked_without_a_trace(services: Services, accept: Any) -> None:
    accept(NO_TRAILER)
    for _ in range(2):
        shown = await services.advisor.would_show(Trigger(TriggerKind.CALL, command=COMMIT), ALICE)
        assert shown.decision == Decision(Permission.DENY, DENIAL)
    assert await services.advisor.would_show(Trigger(TriggerKind.CALL, command="git push"), ALICE) == Shown()
    assert [*services.advice_log.all(), *services.rule_counts.all()] == []


async def test_a_source_of_rules_changes_nothing(services: Services, session: Session, accept: Any) -> None:
    accept(own("Short", None, When.SESSION), own("Fixtures", None, When.TOPIC, topic=("testing",)), NO_TRAILER)
    await session.calls_("git commit -m 'Mend it'")
    state = services.advisor.sessions.hear(ALICE, NAME)
    source = next(each for each in services.room.sources if isinstance(each, RulesSource))

    def everything() -> tuple[Any, ...]:
        return copy.deepcopy(state.rules), services.rule_log.all(), services.rule_counts.all()

    before = everything()
    for kind in source.kinds:
        entry = replace(started(services), goal="testing") if Trigger(kind).is_of_entry else None
        trigger = Trigger(kind, NAME, text="write tests", entry=entry)
        found = [await source.candidates(trigger, Observed(), ALICE) for _ in range(2)]
        assert found[0] == found[1] != []
    assert everything() == before
    assert services.advice_log.all() == []
