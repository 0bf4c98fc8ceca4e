"""`add_memory` with `replaces`: an earlier text loses to its correction in every search."""

import re
from dataclasses import replace
from typing import Any, Final

from learning_memory_server.model.memory import Memory, replaced_among
from learning_memory_server.server.composition.services import Services
from tests.server.agent import Agent
from tests.server.memory_calls import add, refused, said
from tests.support import NOON

OLD: Final = "The nightly backup runs at four, on the server in Bonn."
NEW: Final = "The nightly backup runs at six since the move to Kiel."
QUESTION: Final = "nightly backup runs at four, on the server in Bonn"


async def correct(agent: Agent, memory_id: str, text: str = NEW, **metadata: Any) -> str:
    """Correct a memory, and return the id of the new one."""
    reply = await said(agent, "add_memory", text=text, metadata=metadata, replaces=memory_id)
    assert f"\nReplaces: {memory_id}\n" in reply
    return reply.split("\n")[1].removeprefix("ID: ")


async def found(agent: Agent, **given: Any) -> list[str]:
    """Return the ids that a search for the old text's words finds."""
    reply = await said(agent, "search_memory", query=QUESTION, **given)
    return re.findall(r"^ID: (.*)$", reply, re.MULTILINE)


async def test_the_old_text_is_in_no_search_unless_it_is_asked_for(mode: str, agent: Agent, services: Services) -> None:
    old = await add(agent, OLD)
    other = await add(agent, "A server in Bonn runs at four percent of its load.")
    new = await correct(agent, old)

    assert mode
    # The words are those of the old text.
    for given in ({}, {"min_similarity": 0.0}, {"full_text": True}, {"response_format": "detailed"}, {"limit": 1}):
        assert old not in await found(agent, **given)
    assert set(await found(agent, min_similarity=0.0)) == {new, other}
    assert set(await found(agent, min_similarity=0.0, filters={"replaced": True})) == {new, other, old}
    asked = await said(agent, "search_memory", query=QUESTION, filters={"replaced": True})
    assert f"[Replaced by: {new}]" in asked
    assert services.memory_log.find(old) is not None


async def test_a_replaced_memory_is_found_again_once_its_correction_is_forgotten(mode: str, agent: Agent) -> None:
    old = await add(agent, OLD)
    new = await correct(agent, old)

    await said(agent, "delete_memory", memory_id=new)

    assert mode
    assert await found(agent) == [old]


async def test_only_a_memory_that_is_there_and_current_can_be_replaced(agent: Agent, services: Services) -> None:
    old = await add(agent, OLD)
    new = await correct(agent, old)
    nothing = "00000000-0000-4000-8000-000000000000"

    unknown = await refused(agent, "add_memory", text="Something else.", replaces=nothing)
    again = await refused(agent, "add_memory", text="It runs at seven.", replaces=old)
    itself = await refused(agent, "add_memory", text=NEW, replaces=new)

    assert unknown.startswith(f"Error: Invalid input - replaces: there is no memory {nothing}.")
    assert again.startswith(f"Error: Invalid input - replaces: {old} was replaced by {new} already.")
    assert "pass it as replaces" in again
    assert itself.startswith(f"Error: Invalid input - replaces: {new} already has this text and metadata.")
    assert [each.id for each in services.memory_log.all()] == [old, new]


async def test_the_same_correction_again_adds_nothing(agent: Agent, services: Services) -> None:
    old = await add(agent, OLD)
    new = await correct(agent, old)

    reply = await said(agent, "add_memory", text=NEW, replaces=old)

    assert reply.startswith("This memory is stored already")
    assert new in reply
    assert len(services.memory_log.all()) == 2


async def test_the_text_of_a_replaced_memory_can_be_added_anew(agent: Agent) -> None:
    old = await add(agent, OLD)
    new = await correct(agent, old)

    back = await correct(agent, new, OLD)

    assert back != old
    assert await found(agent, min_similarity=0.0) == [back]


def test_an_imported_memory_replaces_no_own_one() -> None:
    own = Memory("1", OLD, {}, NOON, "shop", NOON)
    theirs = Memory("2", NEW, {}, NOON, "shop", NOON, replaces="1", imported=True)

    assert replaced_among([own, theirs]) == {}
    assert replaced_among([replace(own, imported=True), theirs]) == {"1": "2"}
    assert replaced_among([own, replace(theirs, imported=False)]) == {"1": "2"}


async def test_min_similarity_alone_decides_where_it_is_given_and_its_older_twin_is_still_taken(agent: Agent) -> None:
    properties = agent.tools["search_memory"].input_schema["properties"]
    assert "min_score" not in properties
    assert "explain" not in properties
    assert "explain" not in agent.tools["search_experiences"].input_schema["properties"]
    old = await add(agent, OLD)

    assert await found(agent, min_score=0, explain=True) == [old]
    assert await found(agent, min_score=1) == []
