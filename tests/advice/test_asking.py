"""Questions: which signs are asked about, when, how often, and what an agent reads."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest

from learning_memory_server.advice import constants
from learning_memory_server.advice.asking import transcript
from learning_memory_server.advice.asking.signs import Sign, SignKind, objection_in
from learning_memory_server.advice.asking.transcript import Turn, last_turn
from learning_memory_server.advice.asking.words import concedes, own_words
from learning_memory_server.advice.candidates import Shown
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.settings import Settings
from tests.advice.parts import POOL, MeasuredModel, learn, started
from tests.server.agent import at_work
from tests.support import ALICE, about

AT: Final = "2026-11-03T09:00:00Z"
REFUSED: Final = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). To tell you how to proceed, the user said:\n{}"
)
OBJECTION: Final = "why do you mock the clock? we freeze it"
CONCEDED: Final = "You're right, the suite freezes it."


def said(text: str) -> dict[str, Any]:
    return {"type": "user", "timestamp": AT, "message": {"role": "user", "content": text}}


def answered(text: str, *calls: str) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    parts += [{"type": "tool_use", "id": each, "name": "Bash", "input": {"command": "ls"}} for each in calls]
    return {"type": "assistant", "timestamp": AT, "message": {"role": "assistant", "content": parts}}


def ended(call: str, text: str, **others: Any) -> dict[str, Any]:
    result = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": True}
    return {"type": "user", "timestamp": AT, "message": {"role": "user", "content": [result]}, **others}


class Work:
    """One session in which a client writes a transcript and its hooks say what happens."""

    def __init__(self, services: Services, path: Path) -> None:
        self.services, self.path, self.calls = services, path, 0

    def write(self, *records: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.writelines(f"{json.dumps(each)}\n" for each in records)

    async def at(self, kind: TriggerKind, **parts: Any) -> Shown:
        caller = parts.pop("caller", ALICE)
        trigger = Trigger(kind, context="one", transcript=str(self.path), **parts)
        return await self.services.advisor.at(trigger, caller)

    async def objected(self, message: str = OBJECTION, answer: str = CONCEDED) -> None:
        self.write(said(message), answered(answer))
        await self.at(TriggerKind.PROMPT, text=message)

    async def edited(self, name: str = "a.py", **parts: Any) -> str:
        return (await self.at(TriggerKind.FILE, file=name, is_edit=True, **parts)).text

    async def ran(self, command: str, error: str = "") -> str:
        self.calls += 1
        error = error and f"Exit code 1\n{error}"
        shown = await self.at(TriggerKind.COMMAND, command=command, error=error, key=f"ran-{self.calls}")
        return shown.text


@pytest.fixture(autouse=True)
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    return tmp_path / "claude" / "projects" / "-shop"


@pytest.fixture
def work(services: Services, projects: Path) -> Work:
    return Work(services, projects / "one.jsonl")


async def test_an_objection_that_the_agent_concedes_is_asked_about_after_the_edit_that_mends_it(work: Work) -> None:
    await work.objected()
    assert await work.ran("ls tests") == ""
    question = await work.edited()
    assert question.startswith(f'Your user objected, and you agreed: "{OBJECTION}".\n')
    assert question.count("resolve_ghap") == 1
    assert "same_as" not in question


async def test_it_waits_for_the_end_of_work_if_nothing_is_edited(work: Work) -> None:
    await work.objected()
    assert await work.ran("ls tests") == ""
    assert OBJECTION in (await work.at(TriggerKind.STOP)).text


async def test_an_answer_that_the_client_has_not_written_yet_comes_with_the_end_of_work(work: Work) -> None:
    work.write(said(OBJECTION))
    await work.at(TriggerKind.PROMPT, text=OBJECTION)
    assert OBJECTION in (await work.at(TriggerKind.STOP, text=CONCEDED)).text


async def test_a_message_that_the_client_has_not_written_yet_is_the_one_that_the_hook_got(work: Work) -> None:
    work.write(said("test the clock"), answered("The clock is mocked."))
    await work.at(TriggerKind.PROMPT, text=OBJECTION)
    assert await work.edited() == ""
    work.write(said(OBJECTION), answered(CONCEDED))
    assert OBJECTION in await work.edited()


async def test_at_the_end_of_work_nothing_of_the_turn_may_be_written_yet(work: Work) -> None:
    work.write(said("test the clock"), answered("You're right, the clock is mocked."))
    await work.at(TriggerKind.PROMPT, text=OBJECTION)
    assert OBJECTION in (await work.at(TriggerKind.STOP, text=CONCEDED)).text


async def test_a_session_has_one_question(work: Work) -> None:
    await work.objected()
    assert await work.edited()
    await work.objected("no, I said the second one")
    assert await work.edited() == ""
    assert (await work.at(TriggerKind.STOP)).text == ""


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        (OBJECTION, "The clock is mocked in two places."),
        ("commit and push", "Done."),
        ("> The clock is mocked.\nPlease check.", CONCEDED),
        ("```\nwhy do you mock it\n```", CONCEDED),
        ("diff --git a/x b/x\n+ you mock the clock", CONCEDED),
        ("Shadow file overwrites sessions\n\nMedium Severity\n\nThe function creates the branch twice.", CONCEDED),
        ("x" * 301, CONCEDED),
    ],
)
async def test_no_other_message_is_asked_about(work: Work, message: str, answer: str) -> None:
    await work.objected(message, answer)
    assert await work.edited() == ""
    assert (await work.at(TriggerKind.STOP)).text == ""


async def test_a_call_that_was_refused_with_words_is_asked_about(work: Work) -> None:
    work.write(
        said("tidy up"), answered("I tidy up.", "c1"), ended("c1", REFUSED.format("we never delete the fixtures"))
    )
    await work.at(TriggerKind.PROMPT, text="tidy up")
    await work.at(TriggerKind.CALL, command="rm -r fixtures", key="c1")
    await work.at(TriggerKind.CALL, command="ls", key="c2")
    assert (await work.edited()).startswith('Your user refused a call: "we never delete the fixtures".')


async def test_an_interruption_is_asked_about_with_what_the_person_wrote(work: Work) -> None:
    work.write(said("go on"), answered("", "c1"), said("[Request interrupted by user for tool use]"))
    await work.objected("the port is not 8081, as I said", "I use 80.")
    assert (await work.edited()).startswith('Your user stopped you: "the port is not 8081, as I said".')


async def test_an_interruption_that_contradicts_nothing_is_not_asked_about(work: Work) -> None:
    work.write(said("go on"), answered("", "c1"), said("[Request interrupted by user for tool use]"))
    await work.objected("please have a look at the ticket, too", "I look at it.")
    assert await work.edited() == ""


@pytest.mark.parametrize("change", [{"agent": "a1"}, {"is_attended": False}, {"is_told": False}])
async def test_nobody_is_asked_where_no_person_would_answer(work: Work, change: dict[str, Any]) -> None:
    await work.objected()
    caller = replace(ALICE, **change)
    assert await work.edited(caller=caller) == ""
    assert OBJECTION not in (await work.at(TriggerKind.STOP, caller=caller)).text


async def test_the_setting_ends_all_questions(projects: Path, settings: Settings) -> None:
    async with at_work(settings.model_copy(update={"questions": False}), load=MeasuredModel) as services:
        work = Work(services, projects / "one.jsonl")
        await work.objected()
        assert await work.edited() == ""


async def test_a_question_names_the_nearest_entries_and_the_open_one(services: Services, work: Work) -> None:
    await learn(services, POOL, *(about("pool", number) for number in (2, 3)))
    entry = started(services, "cache")
    await work.objected(f"you forgot: {POOL.goal}")
    question = await work.edited()
    named = question.partition("as same_as instead of goal and hypothesis: ")[2].partition("\n")[0]
    assert len(named.split("; ")) == constants.NEAR_ENTRIES
    assert f"{POOL.id}: " in named
    assert f"If your open entry {entry.id} (" in question


async def test_at_the_end_of_work_the_question_takes_the_place_of_the_reminder(services: Services, work: Work) -> None:
    entry = started(services, "cache")
    await work.objected()
    said_at_end = (await work.at(TriggerKind.STOP)).text
    assert OBJECTION in said_at_end
    assert said_at_end.count(entry.id) == 1


async def test_only_the_clients_own_folder_is_read(work: Work, tmp_path: Path) -> None:
    work.path = tmp_path / "elsewhere.jsonl"
    await work.objected()
    assert await work.edited() == ""


def test_a_link_out_of_the_folder_and_what_is_no_file_are_an_empty_turn(projects: Path, tmp_path: Path) -> None:
    projects.mkdir(parents=True)
    (tmp_path / "other.jsonl").write_text(json.dumps(said(OBJECTION)))
    (projects / "link.jsonl").symlink_to(tmp_path / "other.jsonl")
    for path in (projects / "link.jsonl", projects / "none.jsonl", projects, "\0", ""):
        assert last_turn(str(path)) == Turn()


def test_only_the_end_of_a_long_transcript_is_read(projects: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "TAIL", 400)
    projects.mkdir(parents=True)
    lines = [json.dumps(each) for each in (said("first " * 100), answered("a " * 200), said(OBJECTION))]
    (projects / "long.jsonl").write_text("\n".join(lines))
    assert last_turn(str(projects / "long.jsonl")).message == OBJECTION


def test_what_tools_subagents_and_the_client_write_is_no_word_of_a_person(projects: Path) -> None:
    projects.mkdir(parents=True)
    records = (
        said("list the files"),
        answered("", "c1"),
        ended("c1", "why do you list them? you should not"),
        ended("c2", REFUSED.format("no call has this id")),
        {**said("why do you ask me"), "agentId": "a1"},
        {**said("why do you ask me"), "isMeta": True},
        said("<local-command-stdout>why do you</local-command-stdout>"),
    )
    (projects / "one.jsonl").write_text("\n".join(map(json.dumps, records)))
    assert last_turn(str(projects / "one.jsonl")) == Turn("list the files", datetime.fromisoformat(AT), "one")


@pytest.mark.parametrize(
    ("message", "own"),
    [
        ("use the other port", "use the other port"),
        ("The hook overwrites the port of the other hook. " * 3, ""),
        ("Port overwritten\n\nHigh Severity", ""),
        ("no, we use the other port", "no, we use the other port"),
        ("is that the right port?", "is that the right port?"),
        ("I think this is wrong:\n> the port is 80", "I think this is wrong:"),
        ('you wrote "the port is 80"', "you wrote"),
        ("you see\n\n" + "a" * 301 + "\n\nand I said so", "you see"),
    ],
)
def test_own_words_end_before_what_may_be_pasted(message: str, own: str) -> None:
    assert own_words(message) == own


ADDRESSED: Final = "why do you "
AT_EDGE: Final[dict[str, Callable[[], object]]] = {
    "OWN_PARAGRAPH": lambda: own_words(f"{ADDRESSED}{'x' * 289}\n\n{'x' * 301}"),
    "REMARK_MAX": lambda: own_words("x" * 120),
    "CONCEDED_WITHIN": lambda: concedes(f"{'x' * 46}you are right."),
}


@pytest.mark.parametrize("name", AT_EDGE)
def test_a_number_that_is_a_fifth_less_changes_what_is_asked_about(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = AT_EDGE[name]()
    monkeypatch.setattr(constants, name, getattr(constants, name) * 4 // 5)
    assert now
    assert AT_EDGE[name]() != now


def test_a_concession_stands_at_the_beginning() -> None:
    assert concedes("You\u2019re right: it does.")
    assert not concedes(f"{'The clock is frozen. ' * 4}You're right.")


def test_an_address_is_not_quoted() -> None:
    sign = objection_in(Turn("why do you not read https://example.org/a", answer=CONCEDED))
    assert sign == Sign(SignKind.CONCEDED, "why do you not read")


async def test_a_program_that_failed_three_times_and_then_worked_is_a_sign(work: Work) -> None:
    for _ in range(constants.FAILED_BEFORE):
        assert await work.ran("./kiln fire --vent") == ""
        await work.ran("./kiln fire", error="kiln: cone did not bend")
    assert await work.ran("./kiln fire --vent") == ""
    for _ in range(constants.FAILED_BEFORE):
        await work.ran("./kiln fire", error="kiln: cone did not bend")
    assert (await work.ran("./kiln fire --vent")).startswith("kiln failed several times before it worked.")


async def test_the_words_are_kept_without_secrets_until_the_answer_or_the_next_prompt(work: Work) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    await work.objected(f"you must not print {secret}")
    assert secret not in await work.edited()
    advisor = work.services.advisor
    assert advisor.objection(ALICE) == "you must not print [redacted: github token]"
    advisor.answered(ALICE)
    assert advisor.objection(ALICE) == ""


async def test_what_was_not_answered_is_no_evidence_for_a_later_entry(work: Work) -> None:
    await work.objected()
    assert await work.edited()
    await work.at(TriggerKind.PROMPT, text="go on")
    assert work.services.advisor.objection(ALICE) == ""
