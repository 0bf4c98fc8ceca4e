"""`memories` and `memories search`: the texts that agents kept with add_memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.text import Text

from learning_memory_server.capture.memories.log import MemoryLog
from learning_memory_server.cli.access.connection import WITHOUT_INDEX, open_connection, prepare_search
from learning_memory_server.cli.access.reading import open_settings, read_memories
from learning_memory_server.cli.options import chosen_project, chosen_time
from learning_memory_server.cli.searching import explained
from learning_memory_server.cli.terminal import (
    counted,
    date,
    identity,
    output,
    short_project,
    show_hanging,
    show_json,
    show_notice,
    show_records,
)
from learning_memory_server.errors import AlreadyRunningError
from learning_memory_server.index.memory_query import MemoryFilter, MemoryQuery
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.limits import QUERY_MAX, checked_text
from learning_memory_server.recall.memories import search_lexical
from learning_memory_server.server.views import memory_views

if TYPE_CHECKING:
    from learning_memory_server.server.settings import Settings


def list_memories(limit: int, *, where: MemoryFilter, as_json: bool) -> None:
    """Print memories, the last one added first. The journal is read without a lock.

    Args:
        limit: How many.
        where: Which memories.
        as_json: Print a `MemoryDocument`.

    Raises:
        JournalUnavailableError: If the journal cannot be read.
    """
    kept = read_memories(open_settings())
    found = [memory for memory in reversed(kept) if where.matches(memory)]
    shown = [memory_views.memory(memory) for memory in found[:limit]]
    if as_json:
        show_json({"results": shown, "count": len(shown), "total": len(found)})
        return
    if not found:
        output().print("No memories match." if kept else "No memories yet.")
        return
    show_records((_facts(memory), _text(memory, memory["text"])) for memory in shown)
    if len(found) > limit:
        output().print(f"{limit} of {counted(len(found), 'memory')}; --limit shows more.")


async def search_memories(
    query: str, limit: int, *, where: MemoryFilter, explain: bool, as_json: bool
) -> None:
    """Print the memories that match best, each with its best passage.

    Args:
        query: What to look for.
        limit: How many.
        where: Which memories.
        explain: Show where each score comes from.
        as_json: Print a `FoundMemoryDocument`.

    Raises:
        InvalidInputError: If the query is empty or too long.
        JournalUnavailableError: If the journal cannot be read.
    """
    settings = open_settings()
    wanted = MemoryQuery(checked_text("QUERY", query, QUERY_MAX), limit, where, min_score=0.0)
    try:
        found, mode = await _search_index(wanted, settings, explain=explain)
    except (AlreadyRunningError, *WITHOUT_INDEX) as error:
        show_notice(f"{error.sentence} This search is lexical.")
        found, mode = _search_journal(wanted, settings, explain=explain)
    if as_json:
        show_json({"results": found, "count": len(found), "mode": mode})
        return
    if not found:
        output().print(f"Nothing found ({mode}).")
        return
    for memory in found:
        facts = [Text(f"{memory['score']:.2f}", "bold"), *_facts(memory)]
        show_records([(facts, _text(memory, memory["passage"]))])
        if parts := memory.get("explanation"):
            show_hanging(output(), Text("  score  ", "dim"), Text(explained(parts, mode)))
    output().print(Text(f"{len(found)} found, mode: {mode}", "dim"))


async def _search_index(
    query: MemoryQuery, settings: Settings, *, explain: bool
) -> tuple[list[dict[str, Any]], str]:
    where = query.where
    async with open_connection(settings, "memories search") as connection:
        await prepare_search(connection)
        reply = await connection.run(
            "search_memories",
            query=query.text,
            limit=query.limit,
            tags=list(where.tags),
            source=where.source,
            project=where.project,
            since=where.start.isoformat() if where.start else None,
            explain=explain,
        )
    return reply["results"], reply["mode"]


def _search_journal(
    query: MemoryQuery, settings: Settings, *, explain: bool
) -> tuple[list[dict[str, Any]], str]:
    from learning_memory_server.server.composition.backends import chunkers  # noqa: PLC0415 - seldom needed

    memories = MemoryLog(Journal(settings.journal_directory).memories, chunkers(settings))
    result = search_lexical(memories, query)
    return [memory_views.found_memory(each, explain=explain) for each in result.found], result.mode


def memory_filter(
    tags: Sequence[str] | None, source: str | None, project: str | None, since: str | None
) -> MemoryFilter:
    """Return the filter that the options name.

    Raises:
        InvalidInputError: If `since` is not a date, or `project` is empty.
    """
    named = None if project is None else chosen_project(project, open_settings())
    return MemoryFilter(tuple(tags or ()), source, chosen_time(since), None, named)


def _facts(memory: Mapping[str, Any]) -> list[str | Text]:
    metadata = memory["metadata"]
    tags = metadata.get("tags")
    return [
        identity(memory["id"]),
        date(datetime.fromisoformat(memory["date"])),
        short_project(memory["project"]),
        f"[{', '.join(map(str, tags))}]" if isinstance(tags, list) and tags else "",
        str(metadata.get("source") or ""),
    ]


def _text(memory: Mapping[str, Any], text: str) -> str:
    title = memory["metadata"].get("title")
    return f"{title}: {text}" if title else text
