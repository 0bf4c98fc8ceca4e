"""What an agent names as having helped or misled it."""

from typing import Any

from learning_memory_server.model.advice import AdviceKind, Citation, Effect
from learning_memory_server.server.composition.services import Services
from tests.server.agent import CALLER, CONFIRMED, ENTRY, FALSIFIED, agent_of
from tests.server.conftest import indexed, services, settings  # noqa: F401 - fixtures

NOWHERE = "value_20260101_000000_000000"


async def test_whatever_exists_counts_and_stands_in_the_entry_that_is_resolved(
    indexed: Services,  # noqa: F811
) -> None:
    async with agent_of(indexed) as agent:
        found = await agent.resolve_new(**FALSIFIED)
        await agent.client.call_tool("add_memory", {"text": "We deploy on Mondays."})
        (memory,) = indexed.memory_log.all()
        entry = (await agent.call("start_ghap", **ENTRY))["id"]

        reply = await agent.call(
            "resolve_ghap", **CONFIRMED, helped=[found, NOWHERE, entry], misled=[memory.id, NOWHERE]
        )
        whole = await agent.call("get_ghap_entry", ghap_id=entry)

    assert reply["not_recorded"] == [
        f"{NOWHERE}: it is in both helped and misled.",
        f"{entry}: there is no other entry, value or memory with this id.",
    ]
    kept = indexed.collector.get(entry).outcome
    assert kept.cited == (
        Citation(found, AdviceKind.EXPERIENCE, Effect.HELPED),
        Citation(memory.id, AdviceKind.MEMORY, Effect.MISLED),
    )
    assert whole["cited"] == [{"id": found, "effect": "helped"}, {"id": memory.id, "effect": "misled"}]
    assert indexed.effects.counts() == {found: (0, 1), memory.id: (1, 0)}


async def test_an_outcome_is_kept_whatever_its_list_of_ids_looks_like(indexed: Services) -> None:  # noqa: F811
    async with agent_of(indexed) as agent:
        found = await agent.resolve_new(**FALSIFIED)
        entry = (await agent.call("start_ghap", **ENTRY))["id"]
        many = [found, "", "x" * 101, *(f"nothing_{number}" for number in range(50))]
        reply = await agent.call("resolve_ghap", **CONFIRMED, helped=many)

    assert indexed.collector.get(entry).outcome.cited == (Citation(found, AdviceKind.EXPERIENCE, Effect.HELPED),)
    named = reply["not_recorded"]
    assert named[0].startswith("An empty id: ")
    assert named[1].startswith("x" * 90)
    assert len(named[1]) < 200
    assert named[-1] == "nothing_47, nothing_48, nothing_49: only 50 of each list count."


async def test_an_outcome_that_lacks_something_is_refused_and_nothing_is_closed(
    services: Services,  # noqa: F811
) -> None:
    async with agent_of(services) as agent:
        entry = (await agent.call("start_ghap", **ENTRY))["id"]
        wrong: list[dict[str, Any]] = [
            {"status": "confirmed"},
            {"status": "falsified", "result": "no"},
            {"status": "confirmed", "result": "x" * 2001},
            {"status": "confirmed", "result": "yes", "lesson": {}},
        ]
        for each in wrong:
            error = await agent.refused("resolve_ghap", **each, helped=[NOWHERE])
            assert error["type"] == "validation_error"
        current = services.collector.still_open.current(CALLER)
        assert current is not None
        assert current.id == entry


async def test_a_lesson_may_be_a_takeaway_alone(services: Services) -> None:  # noqa: F811
    lesson = {"takeaway": "deploys must clear the cache"}
    async with agent_of(services) as agent:
        await agent.call("start_ghap", **ENTRY)
        closed = await agent.call("resolve_ghap", status="confirmed", result="yes", lesson=lesson)
        whole = await agent.call("get_ghap_entry", ghap_id=closed["id"])

    assert closed["confidence_tier"] == "gold"
    assert whole["lesson"] == lesson
