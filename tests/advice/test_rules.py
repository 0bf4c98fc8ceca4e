"""Rules as agents meet them at their calls, and what the journal has of it."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.advice.candidates import Decision, Permission, Shown
from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.model.advice import AdviceKind, Reason, TriggerKind
from learning_memory_server.model.caller import MAIN_AGENT
from learning_memory_server.model.rule import CallForm, Origin, OriginKind, Pattern, Unattended, When, short_id
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.rules.session import Meeting
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.settings import Settings
from learning_memory_server.system import timeouts
from tests.advice.parts import POOL, MeasuredModel, learn
from tests.advice.ruled import COMMIT, DENIAL, NAME, NO_TRAILER, TEXT, Session, own
from tests.rules.making import LIVE, PUSH, TESTED, TRAILER, accepted
from tests.server.agent import at_work
from tests.support import ALICE, BOB


@pytest.fixture(autouse=True)
def each_call_is_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no model be too quick."""
    monkeypatch.setattr(timeouts, "ONE_MESSAGE", -1.0)


async def test_a_call_that_breaks_a_rule_is_denied_once_with_its_sentence(
    services: Services, session: Session, accept: Any
) -> None:
    accept(NO_TRAILER)
    shown = await session.calls_(COMMIT)
    assert shown.decision == Decision(Permission.DENY, DENIAL)
    assert shown.text == ""
    assert shown.line == (
        f'The agent was reminded of "{TEXT}" ({short_id(NO_TRAILER.id)}). No reminders in the sessions that are open: '
        "learning-memory-server rules off"
    )
    (line,) = services.advice_log.all()
    (item,) = line.items
    assert (line.channel, item.id, item.kind, item.reason) == (
        *(TriggerKind.CALL, NO_TRAILER.id),
        *(AdviceKind.RULE, Reason.RULE),
    )
    assert services.rule_counts.all() == []
    assert (await session.calls_(COMMIT)).decision is None
    assert session.fared() == (0, 1, 1, 0)


async def test_a_call_that_breaks_nothing_is_not_touched_and_costs_no_line(
    services: Services, session: Session, accept: Any
) -> None:
    accept(NO_TRAILER, own("Never push", PUSH))
    for command in ("git commit -m 'Mend it'", "echo git push", "git log --grep Co-Authored-By", "ls"):
        assert await session.calls_(command) == Shown()
    assert [*services.advice_log.all(), *services.rule_counts.all()] == []
    await session.at(TriggerKind.SESSION_END)
    assert session.fared() == (1, 0, 0, 0)


async def test_without_rules_nothing_is_read(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("learning_memory_server.rules.applying.read", None)
    assert await session.calls_(COMMIT) == Shown()


async def test_a_denial_names_all_rules_with_where_they_come_from(session: Session, accept: Any) -> None:
    file = Origin(OriginKind.FILE, "CLAUDE.md")
    accept(NO_TRAILER, own("Never push.", PUSH, origin=file))
    shown = await session.calls_(f"{COMMIT} && git push")
    assert shown.decision
    assert shown.decision.reason.startswith("Rules of your user: ")
    assert '"Never push." (from CLAUDE.md, accepted 3 Feb)' in shown.decision.reason
    assert "This call breaks them, so nothing of it was run." in shown.decision.reason
    alone = await Session(session.services, BOB).calls_("git push")
    assert alone.decision
    assert alone.decision.reason.startswith(
        'Rule of your user, from CLAUDE.md (accepted 3 Feb): "Never push." This call'
    )


async def test_a_call_is_decided_once_whoever_asks_and_after_a_restart(settings: Settings) -> None:
    for _ in range(2):
        async with at_work(settings, load=MeasuredModel) as services:
            services.rule_log.add_new([NO_TRAILER])
            trigger = Trigger(TriggerKind.CALL, NAME, key="toolu_1", command=COMMIT)
            shown = [await services.advisor.at(trigger, ALICE) for _ in range(2)]
            assert [each.decision for each in shown] == [Decision(Permission.DENY, DENIAL)] * 2
            assert len(services.advice_log.all()) == 1


async def test_two_calls_at_once_are_one_meeting(
    services: Services, accept: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeouts, "ONE_MESSAGE", 1.0)
    accept(NO_TRAILER)
    services.advisor.clock = lambda: NO_TRAILER.created_at + timedelta(days=1)
    calls = [
        services.advisor.at(Trigger(TriggerKind.CALL, NAME, key=each, command=f"{COMMIT} -- {each}"), ALICE)
        for each in ("a", "b")
    ]
    shown = await asyncio.gather(*calls)
    assert [each.decision and each.decision.permission for each in shown] == [Permission.DENY] * 2
    assert [bool(each.line) for each in shown] == [True, False]


async def test_a_subagent_and_an_emptied_context_meet_a_rule_again(session: Session, accept: Any) -> None:
    accept(NO_TRAILER)
    await session.calls_(COMMIT)
    assert (await session.calls_(COMMIT, "a1")).decision
    await session.at(TriggerKind.SESSION_START, source="resume")
    assert (await session.calls_(COMMIT)).decision is None
    await session.at(TriggerKind.SESSION_START, source="compact")
    assert (await session.calls_(COMMIT, "a1")).decision is None
    assert (await session.calls_(COMMIT)).decision


async def test_a_person_is_asked_and_the_agent_reads_the_sentence_beside(session: Session, accept: Any) -> None:
    accept(own("Never push without me", PUSH, is_enforced=True))
    shown = await session.calls_("git push", runs=False)
    assert shown.decision == Decision(
        Permission.ASK, 'Your rule (3 Feb): "Never push without me". This call breaks this rule. Run it this once?'
    )
    assert shown.text.startswith('Rule of your user (3 Feb): "Never push without me". Your user was asked')
    await session.at(TriggerKind.PROMPT, text="please push it")
    assert await session.calls_("git push") == Shown()
    await session.at(TriggerKind.PROMPT, text="thank you")
    assert (await session.calls_("git push")).decision


async def test_nobody_is_asked_where_nobody_attends(services: Services, accept: Any) -> None:
    session = Session(services, replace(ALICE, is_attended=False))
    accept(own("Never push", PUSH, is_enforced=True, unattended=Unattended.STOP))
    for _ in range(2):
        shown = await session.calls_("git push")
        assert shown.decision
        assert shown.decision.permission is Permission.DENY
        assert "Nobody can be asked now, so go on without it." in shown.decision.reason
    await session.at(TriggerKind.STOP)
    (count,) = services.rule_counts.all()
    assert count.stopped == 2


async def test_rules_of_files_of_one_folder_and_of_other_projects_keep_to_their_places(
    services: Services, accept: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    (folder / "app").mkdir()
    session = Session(services, replace(ALICE, folder=str(folder)))
    accept(
        own("Work in staging/", LIVE, When.FILE),
        own("No pushes from app/", PUSH, folder="app/"),
        accepted("Elsewhere", TRAILER, project="another"),
    )
    edit: dict[str, Any] = {"content": "x", "folder": str(folder)}
    assert (await session.calls_(file=str(folder / "live" / "a.txt"), **edit)).decision
    assert (await session.calls_(file="staging/a.txt", **edit)).decision is None
    assert (await session.calls_("git push", folder=str(folder))).decision is None
    assert (await session.calls_("cd web && git push", folder=str(folder))).decision is None
    assert (await session.calls_("git push", folder=str(folder / "app"))).decision
    assert (await session.calls_(COMMIT)).decision is None
    third = Session(services, replace(ALICE, session="c" * 16, folder=str(folder)))
    assert (await third.calls_("cd app && git push", folder=str(folder))).decision
    third = Session(services, replace(ALICE, session="d" * 16, folder=str(folder)))
    assert (await third.calls_(f"git -C {folder}/app push", folder=str(folder))).decision
    # A shell writes files, too, and from where it is.
    other = Session(services, replace(BOB, folder=str(folder)))
    assert (await other.calls_("echo x > ../live/a.txt", folder=str(folder / "app"))).decision


async def test_what_an_agent_does_in_another_folder_matters_only_to_a_rule_for_everywhere(
    services: Services, accept: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    session = Session(services, replace(ALICE, folder=str(folder)))
    never, tested = own("Never push", PUSH), own("Run the tests", TESTED, When.DONE)
    accept(never, tested, own("Everywhere", TRAILER, is_everywhere=True))
    for command in ("cd /tmp/x && git init && git push", "git -C ../bread push", f"cd {tmp_path}/bread; git push"):
        assert (await session.calls_(command, folder=str(folder))).decision is None
    assert (await session.calls_("git push", folder=str(tmp_path))).decision is None
    await session.calls_(file=str(tmp_path / "a.py"), content="x", folder=str(folder))
    assert (await session.at(TriggerKind.STOP)).text == ""
    assert (await session.calls_(f"cd /tmp/x && {COMMIT}", folder=str(folder))).decision
    assert (await session.calls_("cd app; git push", folder=str(folder))).decision
    await session.at(TriggerKind.SESSION_END)
    assert session.fared(never) == (0, 1, 0, 0)


async def test_a_worktree_is_the_same_project_also_if_it_is_new(
    services: Services, accept: Any, tmp_path: Path
) -> None:
    folder, other = tmp_path / "shop", tmp_path / "tea"
    (folder / ".git").mkdir(parents=True)
    accept(own("Never push", PUSH), own("Work in staging/", LIVE, When.FILE))
    session, push = Session(services, replace(ALICE, folder=str(folder))), f"cd {other} && git push"
    assert (await session.calls_(push, folder=str(folder))).decision is None
    named = folder / ".git" / "worktrees" / "tea"
    named.mkdir(parents=True)
    other.mkdir()
    (other / ".git").write_text(f"gitdir: {named}\n")
    (named / "gitdir").write_text(f"{other}/.git\n")
    (named / "commondir").write_text("../..\n")
    await session.at(TriggerKind.COMMAND, command=f"git worktree add {other}")
    assert (await session.calls_(push, folder=str(folder))).decision
    assert (await session.calls_(file=str(other / "live" / "a"), content="x", folder=str(folder))).decision
    # From there, the main folder is the same project, too.
    session = Session(services, replace(BOB, folder=str(other)))
    await session.at(TriggerKind.PROMPT, text="hello")
    assert (await session.calls_(f"git -C {folder} push", folder=str(other))).decision
    assert (await session.calls_(f"git -C {tmp_path} push", folder=str(other))).decision is None


async def test_a_rule_for_everywhere_is_met_where_nobody_has_confirmed_the_project(
    services: Services, accept: Any
) -> None:
    session = Session(services, replace(ALICE, is_told=False))
    accept(own("Everywhere", TRAILER, is_everywhere=True, project="another"), own("Never push", PUSH))
    accept(own("Short sentences", None, When.SESSION, is_everywhere=True), own("Only here", None, When.SESSION))
    assert (await session.calls_(COMMIT)).decision
    assert (await session.calls_("git push")).decision is None
    await learn(services, POOL)
    said = (await session.at(TriggerKind.SESSION_START)).text
    assert "Short sentences" in said
    assert "Only here" not in said


async def test_a_denial_names_rules_too_about_which_a_person_is_asked(session: Session, accept: Any) -> None:
    accept(NO_TRAILER, own("Never push without me", PUSH, is_enforced=True))
    shown = await session.calls_(f"{COMMIT} && git push")
    assert shown.decision
    assert shown.decision.permission is Permission.DENY
    assert all(f'"{each}"' in shown.decision.reason for each in (TEXT, "Never push without me"))
    assert {each.id for each in shown.candidates} == {each.id for each in shown.meeting.rules}
    again = await session.calls_(f"{COMMIT} && git push")
    assert again.decision
    assert again.decision.permission is Permission.ASK


async def test_rules_of_a_project_that_nobody_has_confirmed_are_neither_met_nor_counted(
    services: Services, accept: Any
) -> None:
    here, everywhere = NO_TRAILER, own("Everywhere", PUSH, is_everywhere=True)
    accept(here, everywhere)
    session = Session(services, replace(ALICE, is_told=False))
    for command in (COMMIT, "git commit -m 'Mend it'", "git push", "git push"):
        await session.calls_(command)
    await session.at(TriggerKind.SESSION_END)
    assert [session.fared(each) for each in (here, everywhere)] == [(0, 0, 0, 0), (0, 1, 1, 0)]


async def test_the_end_of_a_session_is_one_write(
    services: Services, session: Session, accept: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept(NO_TRAILER, own("Run the tests", TESTED, When.DONE))
    await session.calls_(file="a.py", content="x")
    await session.at(TriggerKind.STOP)
    await session.calls_(COMMIT)
    state = services.advisor.sessions.hear(ALICE, NAME).rules
    writes = list[int]()
    monkeypatch.setattr(services.rule_counts.log, "append", lambda lines: writes.append(len(lines)))
    # As if the call had run, and its end had been the last that was heard.
    state.ran(MAIN_AGENT, f"{NAME} {session.calls}", services.advisor.clock())
    await session.at(TriggerKind.SESSION_END)
    assert writes == [2]


async def test_what_a_command_was_given_is_not_kept(services: Services, session: Session, accept: Any) -> None:
    accept(own("Run the tests", TESTED, When.DONE))
    await session.calls_(f"cat > notes.md <<'EOF'\n{'x' * 5_000}\nEOF")
    await session.calls_("make test")
    work = services.advisor.sessions.hear(ALICE, NAME).rules.agent(MAIN_AGENT).work
    assert [each.words[0] for each in work.commands] == ["cat", "make"]
    assert "xx" not in repr(work)
    await session.calls_("cat > a.py <<'EOF'\nprint()\nEOF")
    assert (await session.at(TriggerKind.STOP)).text


async def test_a_call_that_fails_gets_a_lesson_and_its_rule_is_counted(session: Session, accept: Any) -> None:
    accept(NO_TRAILER)
    error = "Exit code 1\nerror: nothing to commit here"
    assert (await session.at(TriggerKind.COMMAND, command=COMMIT, error=error)).meeting == Meeting()
    await session.at(TriggerKind.STOP)
    assert session.fared() == (0, 0, 1, 0)
    assert (await session.at(TriggerKind.COMMAND, command=COMMIT)).meeting.rules == (NO_TRAILER,)


@pytest.mark.parametrize("is_enforced", [True, False])
async def test_what_a_person_wants_does_not_wait_for_a_full_disk(
    services: Services, accept: Callable[..., None], monkeypatch: pytest.MonkeyPatch, *, is_enforced: bool
) -> None:
    accept(own("Never push", PUSH, is_enforced=is_enforced))

    def refuse(*_: object, **__: object) -> None:
        raise JournalUnavailableError("There is no space left.")

    monkeypatch.setattr(services.advice_log, "record", refuse)
    monkeypatch.setattr(services.rule_counts, "add", refuse)
    shown = await Session(services).calls_("git push")
    assert shown.decision
    assert shown.decision.permission is (Permission.ASK if is_enforced else Permission.DENY)
    assert '"Never push"' in shown.decision.reason


async def test_an_edited_rule_is_a_new_one_to_an_agent(services: Services, accept: Callable[..., None]) -> None:
    accept(first := own("Never push", PUSH))
    session = Session(services)
    await session.calls_("git push")
    assert (await session.calls_("git push")).decision is None
    accept(replace(first, text="Never stash", pattern=Pattern(broken=(CallForm(("git", "stash")),))))
    shown = await session.calls_("git stash")
    assert shown.decision
    assert '"Never stash"' in shown.decision.reason


async def test_of_many_rules_the_enforced_one_is_named_and_all_are_counted(
    services: Services, accept: Callable[..., None]
) -> None:
    enforced = own("Ask before a push", PUSH, is_enforced=True, unattended=Unattended.STOP)
    accept(enforced, *(own(f"Never push {number}", PUSH) for number in range(12)))
    session = Session(services, replace(ALICE, is_attended=False))
    shown = await session.calls_("git push")
    assert shown.decision
    assert "Ask before a push" in shown.decision.reason
    assert "; and 3 more." in shown.decision.reason
    await session.at(TriggerKind.SESSION_END)
    assert session.fared(enforced) == (0, 0, 0, 1)
    assert sum(each.reminded for each in services.rule_counts.all()) == 12
