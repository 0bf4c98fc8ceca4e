"""`search`, `memories` and `memories search`."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.text import Text

from learning_memory_server.capture.memories.log import MemoryLog
from learning_memory_server.cli.access.connection import WITHOUT_INDEX, open_connection, prepare_search
from learning_memory_server.cli.access.reading import open_settings, read_entries, read_memories
from learning_memory_server.cli.command import (
    Commands,
    DomainOption,
    ExplainOption,
    LimitOption,
    OutcomeOption,
    ProjectOption,
    Result,
    SinceOption,
    StrategyOption,
    chosen_project,
    chosen_time,
)
from learning_memory_server.cli.listing import Facts, Record, View, entry_facts, listed
from learning_memory_server.cli.terminal import (
    date,
    identity,
    output,
    short_project,
    show_hanging,
    show_notice,
    show_records,
)
from learning_memory_server.errors import AlreadyRunningError
from learning_memory_server.index.entry_query import EntryQuery, ExperienceQuery
from learning_memory_server.index.memory_query import MemoryFilter, MemoryQuery
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.limits import LISTING_MAX, QUERY_MAX, SEARCH_RESULTS_MAX, checked_text
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.recall.experiences import search_lexical
from learning_memory_server.recall.memories import search_lexical as search_memories_lexical
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.views import memory_views
from learning_memory_server.server.views.score_views import formula, scored_experience

Found = tuple[list[dict[str, Any]], str]
"""The results of a search, and its mode."""

commands = Commands()


@commands.command()
async def search(  # noqa: PLR0913 - one for each option
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")],
    axis: Annotated[Axis, typer.Option("--axis", help="Which view of an experience to search.")] = Axis.FULL,
    domain: DomainOption = None,
    outcome: OutcomeOption = None,
    strategy: StrategyOption = None,
    project: ProjectOption = None,
    since: SinceOption = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=SEARCH_RESULTS_MAX, help="How many to show.")
    ] = 10,
    lexical: Annotated[
        bool, typer.Option("--lexical", help="Search lexically: no wait for the model or the index.")
    ] = False,
    explain: ExplainOption = False,
) -> Result:
    """Find experiences. The search is hybrid, or lexical if the index cannot be used."""
    settings = open_settings()
    wanted = ExperienceQuery(
        checked_text("QUERY", query, QUERY_MAX),
        axis,
        EntryQuery(domain, outcome, strategy, chosen_project(project, settings), chosen_time(since)),
        limit,
    )

    def scan() -> Found:
        result = search_lexical(read_entries(settings), wanted)
        return [scored_experience(found, wanted, explain=explain) for found in result.found], result.mode

    if lexical:
        return matches(scan(), _record)
    return matches(await search_or_scan(_search_index(wanted, settings, explain=explain), scan), _record)


async def _search_index(query: ExperienceQuery, settings: Settings, *, explain: bool) -> Found:
    where = query.where
    async with open_connection(settings, "search") as connection:
        await prepare_search(connection)
        reply = await connection.call_for_all(
            "search_experiences",
            "results",
            query=query.text,
            axis=query.axis,
            domain=where.domain,
            outcome=where.outcome,
            strategy=where.strategy,
            since=where.since.isoformat() if where.since else None,
            project=where.project,
            most=query.limit,
            limit=query.limit,
            # A person sees the scores, and where they end.
            min_score=0,
            full=True,
            # A hub of an earlier version does not know this argument.
            **({"explain": True} if explain else {}),
        )
    return reply["results"], reply["mode"]


def _record(experience: View) -> Record:
    lesson: dict[str, Any] = experience.get("lesson", {})
    learned = lesson.get("takeaway") or lesson.get("what_worked") or experience.get("surprise")
    return entry_facts(experience), " → ".join(filter(None, (experience["goal"], learned)))


async def search_or_scan(hybrid: Awaitable[Found], lexical: Callable[[], Found]) -> Found:
    """Return what a search of the index finds or, if that cannot be used, one of the journal."""
    try:
        return await hybrid
    except (AlreadyRunningError, *WITHOUT_INDEX) as error:
        reason = error.message if isinstance(error, AlreadyRunningError) else error.sentence
        show_notice(f"{reason} This search is lexical.")
        return lexical()


def matches(found: Found, record: Callable[[View], Record]) -> Result:
    """Show what a search found, with its scores."""
    results, mode = found
    for each in results:
        facts, text = record(each)
        show_records([([Text(f"{each['score']:.2f}", "bold"), *facts], text)])
        if parts := each.get("explanation"):
            show_hanging(output(), Text("  score  ", "dim"), Text(_explained(parts, mode)))
    if results:
        output().print(Text(f"{len(results)} found, mode: {mode}", "dim"))
    else:
        output().print(f"Nothing found ({mode}).")
    return Result({"results": results, "count": len(results), "mode": mode})


def _explained(parts: View, mode: str) -> str:
    """Return the formula of a score, the axis whose vector was nearest, and the terms that match."""
    facts = [formula(parts, mode)]
    if "axis" in parts:
        facts.append(f"nearest axis {parts['axis']}")
    if "terms" in parts:
        facts.append(f"terms {', '.join(map(one_line, parts['terms']))}")
    return "; ".join(facts)


TagOption = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="Only with this tag; can be repeated.")
]
SourceOption = Annotated[str | None, typer.Option("--source", metavar="TEXT", help="Only from this source.")]
DatedOption = Annotated[
    str | None,
    typer.Option("--since", metavar="DATE", help="Only memories dated then or later: ISO 8601, in UTC."),
]

memories = Commands()
commands.add_typer(memories, name="memories")


@memories.callback(invoke_without_command=True)
def list_memories(  # noqa: PLR0913 - one for each option
    context: typer.Context,
    limit: LimitOption = 20,
    tags: TagOption = None,
    source: SourceOption = None,
    project: ProjectOption = None,
    since: DatedOption = None,
) -> Result | None:
    """List memories, the texts that agents kept, the last one added first."""
    if context.invoked_subcommand:
        return None
    where = _filter(tags, source, project, since)
    kept = read_memories(open_settings())
    found = [memory for memory in reversed(kept) if where.matches(memory)]
    shown = [memory_views.memory(memory) for memory in found[:limit]]
    nothing = "No memories match." if kept else "No memories yet."
    return listed(shown, len(found), "memory", nothing, lambda memory: _memory_record(memory, memory["text"]))


@memories.command("search")
async def search_memories(  # noqa: PLR0913 - one for each option
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What the text might say.")],
    limit: Annotated[int, typer.Option("--limit", min=1, max=LISTING_MAX, help="How many to show.")] = 10,
    tags: TagOption = None,
    source: SourceOption = None,
    project: ProjectOption = None,
    since: DatedOption = None,
    explain: ExplainOption = False,
) -> Result:
    """Find memories, each with its best passage. The search is hybrid, or lexical if the index cannot be used."""
    where = _filter(tags, source, project, since)
    settings = open_settings()
    wanted = MemoryQuery(checked_text("QUERY", query, QUERY_MAX), limit, where, min_score=0.0)

    def scan() -> Found:
        from learning_memory_server.server.composition.backends import chunkers  # noqa: PLC0415 - seldom needed

        kept = MemoryLog(Journal(settings.journal_directory).memories, chunkers(settings))
        result = search_memories_lexical(kept, wanted)
        return [memory_views.found_memory(each, explain=explain) for each in result.found], result.mode

    found = await search_or_scan(_search_memories_index(wanted, settings, explain=explain), scan)
    return matches(found, lambda memory: _memory_record(memory, memory["passage"]))


async def _search_memories_index(query: MemoryQuery, settings: Settings, *, explain: bool) -> Found:
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


def _memory_record(memory: View, text: str) -> Record:
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
