"""`resolve_ghap` with a goal and a hypothesis: what was believed, written when its outcome is known."""

from dataclasses import replace
from typing import Any, Final

import pytest

from learning_memory_server.capture.entries.collector import Belief
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model import limits
from learning_memory_server.model.entry import Outcome, RootCause
from learning_memory_server.model.vocabulary import Axis, OutcomeStatus, RootCauseCategory
from learning_memory_server.server.composition.services import Services
from tests.server.agent import CALLER, CONFIRMED, ENTRY, FALSIFIED, Agent, require

BELIEF: Final = {"goal": "Speed up the page", "hypothesis": "The font server is what it waits for"}
TAUGHT: Final[dict[str, Any]] = {**FALSIFIED, "lesson": {"takeaway": "measure before you blame fonts"}}
ABSENT: Final = {"domain", "strategy", "action", "prediction", "confidence"}


async def test_one_call_makes_a_resolved_entry_and_leaves_the_open_one_open(agent: Agent) -> None:
    still_open = await agent.call("start_ghap", **ENTRY)

    reply = await agent.call("resolve_ghap", **BELIEF, **TAUGHT)

    # Else it would be gold.
    assert (reply["status"], reply["confidence_tier"], reply["afterwards"]) == ("falsified", "silver", True)
    assert reply["also_open"] == [f"{still_open['id']} ({ENTRY['goal']})"]
    assert (await agent.call("get_active_ghap"))["id"] == still_open["id"]
    shown = await agent.call("get_ghap_entry", ghap_id=reply["id"])
    assert shown["afterwards"] is True
    assert {name: shown[name] for name in BELIEF} == BELIEF
    assert not ABSENT & shown.keys()
    (listed,) = (await agent.call("list_ghap_entries"))["results"]
    assert listed["afterwards"] is True
    assert not ABSENT & listed.keys()


async def test_without_them_the_open_entry_is_closed_as_before(agent: Agent) -> None:
    still_open = await agent.call("start_ghap", **ENTRY)

    reply = await agent.call("resolve_ghap", **CONFIRMED)

    assert reply["id"] == still_open["id"]
    assert "afterwards" not in reply


async def test_with_nothing_open_the_hint_names_both_arguments(agent: Agent) -> None:
    require(await agent.refused("resolve_ghap", **CONFIRMED), "no_active_ghap", hint="goal and a hypothesis")


async def test_the_three_arguments_are_checked(agent: Agent) -> None:
    ghap_id = (await agent.call("start_ghap", **ENTRY))["id"]

    async def refused(said: str, hint: str = "", /, **given: Any) -> None:
        require(await agent.refused("resolve_ghap", **CONFIRMED, **given), "validation_error", said, hint=hint)

    await refused("^hypothesis: required", "neither goal nor hypothesis", goal="Speed up the page")
    await refused("^goal: required", hypothesis="The font server is slow today")
    for two in (
        {**BELIEF, "same_as": ghap_id},
        {**BELIEF, "ghap_id": ghap_id},
        {"same_as": ghap_id, "ghap_id": ghap_id},
    ):
        await refused("^ghap_id, goal and hypothesis, same_as: give one of the three", **two)
    await refused("^same_as: .* is still open", "as ghap_id", same_as=ghap_id)
    unknown = await agent.refused("resolve_ghap", **CONFIRMED, same_as="ghap_20260101_000000_000000")
    require(unknown, "not_found", "^same_as: There is no entry")
    wrong = await agent.refused("resolve_ghap", **BELIEF, status="falsified", result="it was not")
    require(wrong, "validation_error", "surprise and root_cause: required")
    assert (await agent.call("list_ghap_entries"))["count"] == 0


async def test_the_same_as_an_earlier_entry_takes_its_belief_and_raises_nothing(
    agent: Agent, services: Services
) -> None:
    first = await agent.resolve_new(entry=ENTRY, **FALSIFIED)
    before = services.collector.get(first)

    reply = await agent.call("resolve_ghap", **TAUGHT, same_as=first)

    shown = await agent.call("get_ghap_entry", ghap_id=reply["id"])
    assert (shown["goal"], shown["hypothesis"]) == (ENTRY["goal"], ENTRY["hypothesis"])
    assert (shown["same_as"], reply["confidence_tier"]) == (first, "silver")
    assert not ABSENT & shown.keys()
    assert services.collector.get(first) == before
    assert "superseded_by" not in await agent.call("get_ghap_entry", ghap_id=first)


async def test_an_imported_entry_lends_no_belief(services: Services, agent: Agent) -> None:
    first = await agent.resolve_new()
    services.collector.replace_loaded(replace(services.collector.get(first), imported=True))

    refused = await agent.refused("resolve_ghap", **CONFIRMED, same_as=first)

    require(refused, "validation_error", "imported from another store", hint="in your own words")


async def test_a_person_splits_them_once(agent: Agent, services: Services) -> None:
    first = await agent.resolve_new()
    again = (await agent.call("resolve_ghap", **CONFIRMED, same_as=first))["id"]

    services.collector.split(again)

    assert "same_as" not in await agent.call("get_ghap_entry", ghap_id=again)
    assert "same_as" not in (await agent.call("list_ghap_entries"))["results"][0]
    with pytest.raises(InvalidInputError, match="is not the same as another entry"):
        services.collector.split(again)
    # The text still comes from there.
    assert services.collector.repeating([first]) == [again]


async def test_it_is_searched_by_meaning_and_not_by_domain_or_strategy(
    agent: Agent, indexed: Services, mode: str
) -> None:
    ghap_id = (await agent.call("resolve_ghap", **BELIEF, **TAUGHT))["id"]
    await indexed.writer.settle()

    async def found(**given: Any) -> list[str]:
        reply = await agent.call("search_experiences", query="fonts make the page slow", min_score=0, **given)
        return [each["id"] for each in reply["results"]]

    assert mode
    assert await found() == [ghap_id]
    for axis in ("surprise", "root_cause"):
        assert await found(axis=axis) == [ghap_id]
    assert await found(domain="performance") == []
    assert await found(domain="feature") == []
    assert await found(strategy="check-assumptions") == []
    assert await found(axis="strategy") == []


async def test_it_counts_in_no_calibration(agent: Agent, services: Services) -> None:
    await agent.resolve_new(entry={**ENTRY, "confidence": 0.9}, **CONFIRMED)
    await agent.call("resolve_ghap", **BELIEF, **TAUGHT)

    stats = await agent.call("get_stats")

    assert stats["calibration"] == {
        "judged": 1,
        "stated": 1,
        "afterwards": 1,
        "share": 1.0,
        "confidence": 0.9,
        "brier_first": 0.01,
        "brier_last": 0.01,
    }
    assert stats["experiences"]["by_axis"] == {"full": 2, "strategy": 1, "surprise": 1, "root_cause": 1}
    assert stats["experiences"]["by_outcome"]["falsified"] == 1
    tally = services.collector.timeline.tally
    assert tally is not None
    assert tally.axes[Axis.STRATEGY] == 1


async def test_a_repeated_call_writes_it_once(services: Services) -> None:
    caller = replace(CALLER, request="r" * 24)
    belief = Belief(**BELIEF)
    ended = {"status": OutcomeStatus.CONFIRMED, "result": "it was"}

    once = services.collector.record(caller, belief, **ended)  # type: ignore[arg-type]
    again = services.collector.record(replace(caller, again=True), belief, **ended)  # type: ignore[arg-type]

    assert once == again
    assert services.collector.all() == [once]


async def test_what_a_person_said_is_shown_only_with_the_whole_entry(agent: Agent, services: Services) -> None:
    first = await agent.call("start_ghap", **ENTRY)
    ended: Outcome = {
        "status": OutcomeStatus.FALSIFIED,
        "result": "the user objected",
        "surprise": "the cache is not used at all",
        "root_cause": RootCause(RootCauseCategory.WRONG_ASSUMPTION, "nobody had looked"),
        "words": "no,\n we zqcaches " + "x" * 300,
    }

    services.collector.resolve(CALLER, first["id"], **ended)

    # A prediction that a person contradicted is one that did not come true.
    assert (await agent.call("get_stats"))["calibration"]["judged"] == 1
    words = (await agent.call("get_ghap_entry", ghap_id=first["id"]))["words"]
    assert words.startswith("no, we zqcaches xxx")
    assert len(words) == limits.PERSON_WORDS_MAX
    for tool, arguments in (
        ("list_ghap_entries", {}),
        ("search_experiences", {"query": "no we zqcaches", "full": True, "min_score": 0}),
        ("start_ghap", ENTRY),
    ):
        assert "zqcaches" not in str(await agent.call(tool, **arguments))


async def asked(services: Services, words: str) -> None:
    """Let the agent have been asked about an objection of its user."""
    services.advisor.sessions.hear(CALLER, "").signs.objection = words


@pytest.mark.parametrize("is_open", [True, False])
async def test_an_answer_about_an_objection_keeps_the_persons_words(
    agent: Agent, services: Services, *, is_open: bool
) -> None:
    if is_open:
        await agent.call("start_ghap", **ENTRY)
    await asked(services, "we freeze the clock")
    await agent.refused("resolve_ghap", **({} if is_open else BELIEF), status="falsified", result="it was frozen")
    reply = await agent.call("resolve_ghap", **({} if is_open else BELIEF), **TAUGHT)
    assert (await agent.call("get_ghap_entry", ghap_id=reply["id"]))["words"] == "we freeze the clock"
    assert "also_open" not in reply
    second = await agent.call("resolve_ghap", **BELIEF, **TAUGHT)
    assert "words" not in await agent.call("get_ghap_entry", ghap_id=second["id"])


async def test_a_guess_that_held_was_not_contradicted_by_anybody(agent: Agent, services: Services) -> None:
    await asked(services, "we freeze the clock")
    reply = await agent.call("resolve_ghap", **BELIEF, **CONFIRMED)
    assert "words" not in await agent.call("get_ghap_entry", ghap_id=reply["id"])
