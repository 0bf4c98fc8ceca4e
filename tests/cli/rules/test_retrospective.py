"""A retrospective: an agent reads what people said, and keeps sentences that only a person makes rules of."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.advice.log import AdviceLog
from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.cli.retrospective import PAGE_MAX, paged
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import FailureLog
from learning_memory_server.model.advice import Advice, AdviceKind, Item, Reason, TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.rule import OriginKind, Rule, RuleState
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.rules.log import RuleCounts, RuleLog
from learning_memory_server.server.composition.services import open_services
from learning_memory_server.server.settings import Settings
from tests.advice.test_past_moments import CONCEDED, OBJECTION, Session, one
from tests.cli.persons import Typed
from tests.client_folders import folder_name
from tests.command_line import Run, in_line, printed, refusal
from tests.server.dashboard.making import entry
from tests.support import NOON

SENTENCE = "Freeze the clock in tests, and mock nothing"


@pytest.fixture
def client(shop: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The client's folder of a project without git, in which sessions began."""
    (shop / ".git").rename(shop.parent / "git")
    monkeypatch.setenv("HOME", environment["HOME"])
    return Path(environment["HOME"], ".claude", "projects", folder_name(shop))


@pytest.fixture
def rules(storage: Path) -> Callable[[], list[Rule]]:
    return lambda: [*RuleLog(Journal(storage / "journal").rules).all()]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Return a function that writes a file of sentences."""

    def written(*lines: object) -> str:
        path = tmp_path / "sentences.jsonl"
        path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines), "utf-8")
        return str(path)

    return written


def moments(run: Run, *more: str) -> list[dict[str, str]]:
    return list(json.loads(printed(run("retrospective", "past", "--json", *more)))["moments"])


@pytest.mark.slow
def test_the_past_is_handed_out_in_pages_that_a_reply_holds(run: Run, client: Path) -> None:
    session = Session(client / "s1.jsonl", cwd=str(Path.cwd()))
    for number in range(60):
        session.said(f"why do you {number}? {'we freeze it, ' * 10}")
        session.answered(f"You're right. {'x' * 900}")
    session.written()
    first, second = (printed(run("retrospective", "past", "--page", number)) for number in "12")
    assert len(first) <= 30_000
    assert "Page 1 of 2. Next: learning-memory-server retrospective past --page 2" in first
    assert "Page 2 of 2, the last one: 60 moments in all." in second
    lines = [json.loads(line) for line in (first + second).splitlines() if line.startswith("{")]
    assert len({each["id"] for each in lines}) == len(lines) == 60
    assert "the last page is 2" in refusal(run("retrospective", "past", "--page", "3"))


def test_a_page_is_full_before_the_next_begins() -> None:
    made = [{"id": f"{number:03}", "words": "x" * 500} for number in range(200)]
    pages = paged(made)
    assert [each for page in pages for each in page] == made
    sizes = [sum(len(json.dumps(each)) + 1 for each in page) for page in pages]
    assert all(PAGE_MAX - 600 < size <= PAGE_MAX for size in sizes[:-1])
    assert paged([]) == [[]]


@pytest.mark.slow
def test_a_kept_sentence_is_a_rule_only_by_a_persons_yes(
    run: Run, person: Typed, rules: Any, write: Any, client: Path, storage: Path
) -> None:
    for number in range(2):
        session = Session(client / f"s{number}.jsonl", cwd=str(Path.cwd()))
        for _ in range(number):
            session.said("list the files")
        session.said(f"{OBJECTION} {number}")
        session.answered(CONCEDED)
        session.written()
    ids = [each["id"] for each in moments(run)]
    given = {"text": SENTENCE, "evidence": ids}
    call = {"text": "Ask before a release", "evidence": ids[:1], "call": "make release"}
    assert "Kept 2 of 2 sentences" in printed(run("retrospective", "keep", write(given, call)))
    assert "Kept 0 of 2" in printed(run("retrospective", "keep", write(given, call)))
    assert "No rules here yet" in printed(run("rules"))
    assert OBJECTION not in "".join(each.read_text("utf-8") for each in (storage / "journal").rglob("*.jsonl"))
    for trigger in (
        Trigger(TriggerKind.SESSION_START, context="n"),
        Trigger(TriggerKind.CALL, context="n", key="t", command="make release"),
    ):
        assert seen(storage, trigger) == ""
    asked = {each["text"]: each for each in json.loads(printed(run("review", "--json")))["results"]}
    assert list(asked) == ["Ask before a release", SENTENCE]
    assert asked["Ask before a release"]["about"] == "before `make release`"
    assert "an agent, from 2 objections of yours in 2 sessions" in asked[SENTENCE]["fared"]
    shown = person("review", typed=("n 1 y 2",))
    assert f"{OBJECTION} 1" in shown
    answered = {each.text: each for each in rules() if not each.imported}
    assert {text: each.state for text, each in answered.items()} == {
        SENTENCE: RuleState.ACCEPTED,
        "Ask before a release": RuleState.DECLINED,
    }
    accepted = answered[SENTENCE]
    assert (accepted.origin.kind, accepted.evidence) == (OriginKind.PAST, tuple(ids))
    assert accepted.words == f"{OBJECTION} 1"
    assert SENTENCE in seen(storage, Trigger(TriggerKind.SESSION_START, context="n"))
    assert ids[1] in printed(run("rule", "show", accepted.id))
    assert json.loads(printed(run("review", "--json")))["results"] == []


def seen(storage: Path, trigger: Trigger) -> str:
    """Return what a new session of the project sees at a trigger."""

    async def shown() -> str:
        async with open_services(
            Settings(storage_path=storage, embedding_backend="hashing"), purpose="test"
        ) as services:
            project = services.rule_log.all()[0].project
            found = await services.advisor.at(trigger, Caller(project, "new"))
        return found.decision.reason if found.decision else found.text

    return asyncio.run(shown())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "must have 1 to 15 lines, and has 0"),
        ([{"text": "x", "evidence": ["MOMENT"]}] * 16, "must have 1 to 15 lines, and has 16"),
        (["no json"], "line 1: is no JSON object"),
        ([{"text": "x", "evidence": ["MOMENT"], "why": "y"}], "line 1: has 'why'; allowed are text"),
        ([{"text": "x", "evidence": []}], "line 1: evidence must be a list of ids"),
        ([{"text": "x", "evidence": ["MOMENT"], "call": "a", "file": "b"}], "only one of call and file"),
        ([{"text": "", "evidence": ["MOMENT"]}], "TEXT"),
        ([{"text": "x" * 201, "evidence": ["MOMENT"]}], "TEXT"),
        (
            [{"text": "x", "evidence": ["MOMENT"]}, {"text": "y", "evidence": ["moment_0"]}],
            "line 2: moment_0 is neither",
        ),
        ([{"text": "x", "evidence": ["ghap_20260101_000000_000000"]}], "is neither a moment nor a resolved entry"),
    ],
)
def test_a_file_that_cannot_be_kept_is_refused_whole(
    run: Run, rules: Any, write: Any, client: Path, lines: list[Any], said: str
) -> None:
    one(client / "s1.jsonl", cwd=str(Path.cwd()))
    (moment,) = moments(run)
    text = json.dumps(lines).replace("MOMENT", moment["id"])
    assert said in in_line(refusal(run("retrospective", "keep", write(*json.loads(text)))))
    assert rules() == []


@pytest.mark.slow
def test_what_went_wrong_since_the_last_one_is_shown(run: Run, kept: Rule, storage: Path, write: Any) -> None:
    journal = Journal(storage / "journal")
    first = replace(entry(0), project="garden")
    later = replace(entry(1), project="garden", agent_session="s" * 16, same_as=first.id)
    later = replace(later, resolution=replace(later.outcome, words="no, never at night"))
    ObservationCollector(journal, lambda: NOON).add_resolved([first, later])
    item = Item(first.id, AdviceKind.EXPERIENCE, reason=Reason.SIMILAR)
    line = Advice(TriggerKind.PROMPT, (item,), "garden", NOON + timedelta(hours=3), session="s" * 16)
    AdviceLog(journal.advice, FailureLog(journal.failures)).record(line)
    found = json.loads(printed(run("retrospective", "recent", "--json")))
    assert found["since"] is None
    assert [(each["id"], each["again_in"]) for each in found["came_again"]] == [(first.id, [later.id])]
    assert [(each["id"], each["words"]) for each in found["corrections"]] == [(later.id, "no, never at night")]
    assert [(each["text"], each["broken"], each["call"]) for each in found["breaches"]] == [
        (kept.text, 1, "npm ci"),
        (kept.text, 1, "npm install x"),
    ]
    assert len(RuleCounts(journal.rule_counts).all()) == 2
    shown = printed(run("retrospective", "recent", "--since", "2099-01-01"))
    assert "Corrections: 0" in shown
    (waits, *_) = json.loads(printed(run("review", "--json")))["results"]
    assert waits["text"] == first.outcome.lesson.takeaway  # type: ignore[union-attr]
    assert f"the lesson of {first.id}, which came again although it had been shown" in waits["fared"]
    assert "Kept 1 of 1" in printed(run("retrospective", "keep", write({"text": SENTENCE, "evidence": [later.id]})))
    assert json.loads(printed(run("retrospective", "recent", "--json")))["corrections"] == []
