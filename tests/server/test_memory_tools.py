"""The memory tools as an agent meets them: plain text."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import pytest

from learning_memory_server.domain import limits
from learning_memory_server.domain.caller import Caller
from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.memories.searcher import MemorySearcher
from tests.server.agent import CALLER, agent_of, only_text, open_index

if TYPE_CHECKING:
    from mcp.types import RequestParamsMeta

    from learning_memory_server.memories.query import FoundMemories, MemoryQuery
    from learning_memory_server.server.services import Services
    from tests.server.agent import Agent

NOTE = "We chose Postgres over MySQL because of partial indexes."
LONG = "\n\n".join(
    f"Paragraph {number} tells of topic{number} and of nothing else. " * 8 for number in range(150)
).strip()
ASKS: RequestParamsMeta = {"progress_token": "p"}
"""A client in memory hands its callback over without this, which is what asks for progress on a wire."""


async def said(agent: Agent, tool: str, **arguments: Any) -> str:
    """Return the text of a call that succeeds."""
    result = await agent.client.call_tool(tool, arguments)
    text = only_text(result)
    assert not result.is_error, text
    assert result.structured_content is None
    assert len(text) <= limits.REPLY_MAX
    return text


async def refused(agent: Agent, tool: str, **arguments: Any) -> str:
    """Return the text of a call that fails."""
    result = await agent.client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    return only_text(result)


async def add(agent: Agent, text: str, **metadata: Any) -> str:
    """Add a memory and return its id."""
    reply = await said(agent, "add_memory", text=text, metadata=metadata)
    return reply.split("\n")[1].removeprefix("ID: ")


async def test_a_stored_memory_is_shown_with_its_id_chunks_and_preview(indexed: Services) -> None:
    async with agent_of(indexed) as agent:
        lines = (await said(agent, "add_memory", text=f"  {NOTE}\n\nDecided {'x' * 100}.  ")).split("\n")
    assert lines[0] == "Memory stored successfully."
    assert re.fullmatch(r"ID: [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", lines[1])
    assert lines[2] == "Chunks created: 1"
    assert lines[3] == f"Preview: {NOTE} Decided {'x' * 35}..."
    assert len(lines) == 4


async def test_a_memory_that_is_indexed_later_says_so(services: Services) -> None:
    async with agent_of(services) as agent:
        assert "\nIndexing goes on in the background" in await said(agent, "add_memory", text=NOTE)


async def test_the_second_of_two_same_memories_says_that_it_is_stored_already(indexed: Services) -> None:
    async with agent_of(indexed) as agent:
        first = await add(agent, NOTE, tags=["db"])
        reply = await said(agent, "add_memory", text=NOTE, metadata={"tags": ["db"]})
    assert reply.startswith("This memory is stored already")
    assert f"\nID: {first}\n" in reply


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
async def test_results_have_a_score_tags_a_preview_and_an_id(services: Services, mode: str) -> None:
    async with agent_of(services) as agent:
        first = await add(agent, f"{NOTE} {'and so on ' * 30}", tags=["db", "decision"])
        second = await add(agent, "Postgres runs on a machine of its own.")
        if mode == "hybrid":
            await open_index(services)
        reply = await said(
            agent, "search_memory", query="we chose postgres over mysql because of partial indexes and so on"
        )
    head, one, two, foot = reply.split("\n\n")
    assert head == "Found 2 results:"
    score, preview, identity = one.split("\n")
    assert re.fullmatch(r"1\. \[Score: 0\.\d\d\] \[Tags: db, decision\]", score)
    assert preview.startswith(NOTE)
    assert len(preview) == 203
    assert preview.endswith("...")
    assert identity == f"ID: {first}"
    assert re.fullmatch(
        rf"2\. \[Score: 0\.\d\d\]\nPostgres runs on a machine of its own\.\nID: {second}", two
    )
    assert foot == f"Mode: {mode}"


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
async def test_no_results_are_said_in_words(services: Services, mode: str) -> None:
    async with agent_of(services) as agent:
        if mode == "hybrid":
            await open_index(services)
        reply = await said(agent, "search_memory", query="anything")
    assert reply == f"No results found matching your query.\nMode: {mode}"


async def test_min_similarity_that_is_ignored_is_noted(services: Services) -> None:
    async with agent_of(services) as agent:
        await add(agent, NOTE)
        reply = await said(agent, "search_memory", query="postgres", min_similarity=0.9)
    note, mode = reply.split("\n")[-2:]
    assert note.startswith("Note: min_similarity was ignored")
    assert mode == "Mode: lexical"


async def test_filters_restrict_and_a_day_is_included_to_its_end(indexed: Services) -> None:
    async with agent_of(indexed) as agent:
        await add(agent, "postgres one", tags=["a", "b"], source="s", timestamp="2026-02-01T23:59:59.999Z")
        await add(agent, "postgres two", tags=["a"], timestamp="2026-02-02")
        for filters, expected in (
            ({"tags": ["a"]}, 2),
            ({"tags": ["a", "b"]}, 1),
            ({"source": "s"}, 1),
            ({"date_to": "2026-02-01"}, 1),
            ({"date_from": "2026-02-01", "date_to": "2026-02-02"}, 2),
            ({"date_from": "2026-02-02"}, 1),
            ({"date_from": "2026-02-02", "date_to": "2026-02-02"}, 1),
            ({"project": "current"}, 2),
            ({"project": "another"}, 0),
            ({"date_from": None}, 2),
        ):
            reply = await said(agent, "search_memory", query="postgres", filters=filters)
            assert reply.startswith(f"Found {expected} " if expected else "No results"), filters


async def test_detailed_shows_the_passage_and_what_is_known_about_the_memory(indexed: Services) -> None:
    text = "# Database\n\nPostgres.\n\n```sql\nselect 1;\n```"
    async with agent_of(indexed) as agent:
        await add(agent, text, title="Notes", source="n.md", timestamp="2026-02-01", author={"name": "Ann"})
        reply = await said(agent, "search_memory", query="postgres", response_format="detailed")
    assert f"\n{text}\nPassage: characters 0-{len(text)} of {len(text)}\n" in reply
    for line in ("Title: Notes", "Source: n.md", "Date: 2026-02-01T00:00:00+00:00", "Project: shop"):
        assert f"\n{line}\n" in reply
    assert 'Metadata: {"author": {"name": "Ann"}}' in reply


async def test_a_whole_memory_can_be_read_in_parts(services: Services) -> None:
    async with agent_of(services) as agent:
        memory_id = await add(agent, LONG)
        await open_index(services)
        parts, offset = "", 0
        while True:
            reply = await said(
                agent, "search_memory", query="topic1", full_text=True, limit=1, text_offset=offset
            )
            body = reply.split(f"ID: {memory_id}\n")[1]
            cut = re.search(r"\n\[cut: characters [\d,]+-[\d,]+ of [\d,]+; text_offset (\d+) goes on\]", body)
            parts += body[: cut.start()] if cut else body.removesuffix("\n\nMode: hybrid")
            if not cut:
                break
            offset = int(cut[1])
    assert parts == LONG


@pytest.mark.parametrize("arguments", [{}, {"response_format": "detailed"}, {"full_text": True}])
async def test_a_reply_that_is_full_says_what_is_left_out(
    services: Services, arguments: dict[str, Any]
) -> None:
    async with agent_of(services) as agent:
        for number in range(100):
            await add(agent, f"postgres {number} " + "abcd " * 100, tags=[f"{'t' * 190}{number}"])
        await open_index(services)
        reply = await said(agent, "search_memory", query="postgres", limit=100, **arguments)
    left = re.search(r"\n\n(\d+) more did not fit into this reply", reply)
    assert left
    assert reply.startswith("Found 100 results:")
    assert len(re.findall(r"^\d+\. \[Score", reply, re.MULTILINE)) == 100 - int(left[1])


async def test_a_deleted_memory_is_confirmed_and_not_found_again(indexed: Services) -> None:
    async with agent_of(indexed) as agent:
        memory_id = await add(agent, NOTE)
        assert await said(agent, "delete_memory", memory_id=memory_id) == f"Memory deleted.\nID: {memory_id}"
        assert (await said(agent, "search_memory", query="postgres")).startswith("No results")
        assert (await refused(agent, "delete_memory", memory_id=memory_id)).startswith(
            "Error: Invalid input - memory_id: "
        )


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("add_memory", {}, "text: Field required"),
        ("add_memory", {"text": " \n"}, "text: String should have at least 1 character, not 0"),
        (
            "add_memory",
            {"text": "x" * 10_000_001},
            "text: String should have at most 10000000 characters, not 10000001",
        ),
        ("add_memory", {"text": 1}, "text: Input should be a valid string"),
        ("add_memory", {"text": "x", "metadata": "y"}, "metadata: Input should be an object"),
        (
            "add_memory",
            {"text": "x", "metadata": {"tags": "y"}},
            "metadata.tags: Input should be a valid array",
        ),
        (
            "add_memory",
            {"text": "x", "metadata": {"tags": [1]}},
            "metadata.tags.0: Input should be a valid string",
        ),
        (
            "add_memory",
            {"text": "x", "metadata": {"timestamp": "soon"}},
            "metadata.timestamp: 'soon' is no ISO",
        ),
        ("add_memory", {"text": "x", "metadata": {"k": "y" * 65_536}}, "metadata: 65,544 bytes"),
        ("add_memory", {"text": "half an emoji: \ud83d"}, "text: holds half of a surrogate pair"),
        ("search_memory", {"query": ""}, "query: String should have at least 1 character"),
        ("search_memory", {"query": "x" * 1001}, "query: String should have at most 1000 characters"),
        ("search_memory", {"query": "x", "limit": 0}, "limit: Input should be greater than or equal to 1"),
        ("search_memory", {"query": "x", "limit": 101}, "limit: Input should be less than or equal to 100"),
        ("search_memory", {"query": "x", "limit": "5"}, "limit: Input should be a valid integer"),
        ("search_memory", {"query": "x", "limit": True}, "limit: Input should be a valid integer"),
        ("search_memory", {"query": "x", "min_similarity": 1.1}, "min_similarity: Input should be less than"),
        (
            "search_memory",
            {"query": "x", "filters": {"tags": []}},
            "filters.tags: List should have at least 1",
        ),
        (
            "search_memory",
            {"query": "x", "filters": {"tag": ["a"]}},
            "filters.tag: Extra inputs are not permitted (allowed are tags, source, date_from, date_to, project)",
        ),
        (
            "search_memory",
            {"query": "x", "filters": {"date_from": "2026-02-02", "date_to": "2026-02-01"}},
            "filters.date_from: 2026-02-02 is after date_to, 2026-02-01",
        ),
        (
            "search_memory",
            {"query": "x", "filters": {"date_to": "then"}},
            "filters.date_to: 'then' is no ISO 8601",
        ),
        ("search_memory", {"query": "x", "nope": 1}, "nope: Extra inputs are not permitted"),
        (
            "search_memory",
            {"query": "", "limit": 0},
            "query: String should have at least 1 character, not 0; limit: ",
        ),
        ("delete_memory", {"memory_id": "x"}, "memory_id: there is no memory x."),
        ("delete_memory", {}, "memory_id: Field required"),
    ],
)
async def test_wrong_arguments_are_named_with_what_is_wrong(
    services: Services, tool: str, arguments: dict[str, Any], message: str
) -> None:
    async with agent_of(services) as agent:
        reply = await refused(agent, tool, **arguments)
        assert reply.startswith(f"Error: Invalid input - {message}"), reply
        assert len(reply) < 1000
        assert services.memory_log.all() == []


class BrokenSearcher(MemorySearcher):
    """Fails as it is told."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def search(self, _query: MemoryQuery) -> FoundMemories:
        raise self.error


async def test_a_search_without_time_for_more_says_so(indexed: Services) -> None:
    hasty = MemorySearcher(indexed.index, indexed.writer, indexed.memory_log, indexed.reranking, patience=0)
    async with agent_of({**indexed.injectable(), MemorySearcher: hasty}) as agent:
        await add(agent, LONG)
        await add(agent, NOTE)
        await indexed.writer.complete()
        reply = await said(agent, "search_memory", query="and of nothing else", limit=2)
    note, mode = reply.split("\n")[-2:]
    assert note == "Note: time was short, so there may be more than these: narrow the search by filters."
    assert mode == "Mode: hybrid"


@pytest.mark.parametrize(
    ("error", "reply"),
    [
        (StorageUnavailableError("the engine is gone."), r"Error: Search failed: the engine is gone\."),
        (
            RuntimeError("/home/ann/secret"),
            r"Error: The server failed in an unforeseen way \(request [0-9a-f]{8}\)\. .* log .*",
        ),
    ],
)
async def test_failures_are_told_without_the_insides(
    services: Services, error: Exception, reply: str
) -> None:
    broken: dict[type, object] = {**services.injectable(), MemorySearcher: BrokenSearcher(error)}
    async with agent_of(broken) as agent:
        assert re.fullmatch(reply, await refused(agent, "search_memory", query="x"))


async def test_a_search_that_takes_too_long_is_said_to_have_timed_out(services: Services) -> None:
    await open_index(services)
    hasty = MemorySearcher(
        services.index, services.writer, services.memory_log, services.reranking, deadline=0
    )
    async with agent_of({**services.injectable(), MemorySearcher: hasty}) as agent:
        assert await refused(agent, "search_memory", query="x") == "Error: Search failed: timed out"


async def test_progress_is_told_to_who_asks_for_it(indexed: Services) -> None:
    told: list[tuple[float, float | None]] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001 - the SDK's names
        told.append((progress, total))

    async with agent_of(indexed) as agent:
        result = await agent.client.call_tool("add_memory", {"text": LONG}, progress_callback=tell, meta=ASKS)
        assert "Indexing goes on" not in only_text(result)
    assert told
    assert told[-1][0] == told[-1][1]
    assert [done for done, _ in told] == sorted({done for done, _ in told})


async def test_a_call_that_the_client_cancels_leaves_nothing_behind(services: Services) -> None:
    started = asyncio.Event()

    async def tell(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001 - the SDK's names
        started.set()

    await open_index(services)
    async with agent_of(services) as agent:
        call = asyncio.create_task(
            agent.client.call_tool("add_memory", {"text": LONG * 40}, progress_callback=tell, meta=ASKS)
        )
        await started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        while (stats := await agent.call("get_stats"))["memories"]["total"] or stats["index"]["pending"]:
            pass
        assert (await said(agent, "search_memory", query="topic1")).startswith("No results")
    assert stats["memories"] == {"total": 0, "chunks": 0, "characters": 0}


async def test_statistics_count_what_is_kept(indexed: Services) -> None:
    async with agent_of(indexed) as agent:
        await agent.resolve_new()
        await add(agent, NOTE)
        stats = await agent.call("get_stats")
    assert stats["experiences"] == {
        "total": 1,
        "open": 0,
        "by_axis": {"full": 1, "strategy": 1, "surprise": 0, "root_cause": 0},
        "by_tier": {"gold": 1, "silver": 0, "bronze": 0, "abandoned": 0},
        "by_outcome": {"confirmed": 1, "falsified": 0, "abandoned": 0},
    }
    assert stats["values"] == 0
    assert stats["memories"] == {"total": 1, "chunks": 1, "characters": len(NOTE)}
    assert stats["index"]["complete"]
    assert stats["index"]["pending"] == 0
    assert stats["index"]["bytes"] > 0
    assert stats["journal"]["bytes"] > len(NOTE)
    assert stats["model"] == {"backend": "hashing", "state": "ready", "runtime": "hashing"}
    assert {"learning-memory-server", "python", "mcp"} <= stats["versions"].keys()


async def test_memories_of_all_projects_are_found_unless_a_filter_says_otherwise(indexed: Services) -> None:
    async with agent_of(indexed) as agent:
        await add(agent, NOTE)
    async with agent_of(indexed, Caller("site", CALLER.session)) as agent:
        assert (await said(agent, "search_memory", query="postgres")).startswith("Found 1 ")
        reply = await said(agent, "search_memory", query="postgres", filters={"project": "current"})
        assert reply.startswith("No results")
