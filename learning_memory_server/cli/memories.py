"""`memories` and `memories search`: the texts that agents kept with add_memory."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer

from learning_memory_server.capture.memories.log import MemoryLog
from learning_memory_server.cli.access.connection import open_connection, prepare_search
from learning_memory_server.cli.access.reading import open_settings, read_memories
from learning_memory_server.cli.command import (
    Commands,
    ExplainOption,
    LimitOption,
    ProjectOption,
    Result,
    chosen_project,
    chosen_time,
)
from learning_memory_server.cli.listing import Facts, Record, View, listed
from learning_memory_server.cli.searching import Found, matches, search_or_scan
from learning_memory_server.cli.terminal import date, identity, short_project
from learning_memory_server.index.memory_query import MemoryFilter, MemoryQuery
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.limits import LISTING_MAX, QUERY_MAX, checked_text
from learning_memory_server.recall.memories import search_lexical
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.views import memory_views

TagOption = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="Only with this tag; can be repeated.")
]
SourceOption = Annotated[str | None, typer.Option("--source", metavar="TEXT", help="Only from this source.")]
SinceOption = Annotated[
    str | None,
    typer.Option("--since", metavar="DATE", help="Only memories dated then or later: ISO 8601, in UTC."),
]

commands = Commands()
memories = Commands()
commands.add_typer(memories, name="memories")


@memories.callback(invoke_without_command=True)
def list_memories(  # noqa: PLR0913 - one for each option
    context: typer.Context,
    limit: LimitOption = 20,
    tags: TagOption = None,
    source: SourceOption = None,
    project: ProjectOption = None,
    since: SinceOption = None,
) -> Result | None:
    """List memories, the texts that agents kept, the last one added first."""
    if context.invoked_subcommand:
        return None
    where = _filter(tags, source, project, since)
    kept = read_memories(open_settings())
    found = [memory for memory in reversed(kept) if where.matches(memory)]
    shown = [memory_views.memory(memory) for memory in found[:limit]]
    nothing = "No memories match." if kept else "No memories yet."
    return listed(shown, len(found), "memory", nothing, lambda memory: _record(memory, memory["text"]))


@memories.command("search")
async def search_memories(  # noqa: PLR0913 - one for each option
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What the text might say.")],
    limit: Annotated[int, typer.Option("--limit", min=1, max=LISTING_MAX, help="How many to show.")] = 10,
    tags: TagOption = None,
    source: SourceOption = None,
    project: ProjectOption = None,
    since: SinceOption = None,
    explain: ExplainOption = False,
) -> Result:
    """Find memories, each with its best passage. The search is hybrid, or lexical if the index cannot be used."""
    where = _filter(tags, source, project, since)
    settings = open_settings()
    wanted = MemoryQuery(checked_text("QUERY", query, QUERY_MAX), limit, where, min_score=0.0)

    def scan() -> Found:
        from learning_memory_server.server.composition.backends import chunkers  # noqa: PLC0415 - seldom needed

        kept = MemoryLog(Journal(settings.journal_directory).memories, chunkers(settings))
        result = search_lexical(kept, wanted)
        return [memory_views.found_memory(each, explain=explain) for each in result.found], result.mode

    found = await search_or_scan(_search_index(wanted, settings, explain=explain), scan)
    return matches(found, lambda memory: _record(memory, memory["passage"]))


async def _search_index(query: MemoryQuery, settings: Settings, *, explain: bool) -> Found:
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


def _filter(
    tags: Sequence[str] | None, source: str | None, project: str | None, since: str | None
) -> MemoryFilter:
    named = None if project is None else chosen_project(project, open_settings())
    return MemoryFilter(tuple(tags or ()), source, chosen_time(since), None, named)


def _record(memory: View, text: str) -> Record:
    metadata = memory["metadata"]
    tags, title = metadata.get("tags"), metadata.get("title")
    facts: Facts = [
        identity(memory["id"]),
        date(datetime.fromisoformat(memory["date"])),
        short_project(memory["project"]),
        f"[{', '.join(map(str, tags))}]" if isinstance(tags, list) and tags else "",
        str(metadata.get("source") or ""),
    ]
    return facts, f"{title}: {text}" if title else text
