"""`search`, `memories` and `memories search`."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final, TypeVar

import typer
from rich.text import Text

from learning_memory_server.capture.memories.store import MemoryLog
from learning_memory_server.cli import command, listing, out
from learning_memory_server.cli.access.connection import WITHOUT_INDEX, Connection, open_connection, prepare_search
from learning_memory_server.cli.command import Stored, open_settings
from learning_memory_server.errors import AlreadyRunningError, InvalidInputError
from learning_memory_server.index.queries import EntryQuery, ExperienceQuery, MemoryFilter, MemoryQuery
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.limits import LISTING_MAX, QUERY_MAX, SEARCH_RESULTS_MAX, checked_text
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.recall.memories import search_lexical as search_memories_lexical
from learning_memory_server.recall.recall import rank, search_lexical
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.views import memory_views, value_views
from learning_memory_server.server.views.entry_views import formula, scored_experience

T = TypeVar("T")
Found = tuple[list[dict[str, Any]], str]
"""The results of a search, and its mode."""
FoundBoth = tuple[list[dict[str, Any]], str, list[listing.View]]
"""Entries, the mode of the search, and memories."""
_OTHERS: Final = 5
"""How many of each other kind a search shows at most."""

commands = command.Commands()


@commands.command()
async def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")],
    axis: Annotated[Axis, typer.Option("--axis", help="Which view of an experience to search.")] = Axis.FULL,
    domain: command.DomainOption = None,
    outcome: command.OutcomeOption = None,
    strategy: command.StrategyOption = None,
    project: command.ProjectOption = None,
    since: command.SinceOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=SEARCH_RESULTS_MAX, help="How many to show.")] = 10,
    lexical: Annotated[
        bool, typer.Option("--lexical", help="Search lexically: no wait for the model or the index.")
    ] = False,
    explain: command.ExplainOption = False,
) -> command.Result:
    """Search everything: entries, values, memories and errors of commands.

    Entries and memories are searched by meaning and by words, or by words alone
    if the index cannot be used; values and errors by words. Options that only
    entries know (axis, domain, outcome, strategy) leave out the rest.
    """
    stored = Stored(settings := open_settings())
    named = command.chosen_project(project, settings)
    wanted = ExperienceQuery(
        _checked(query), axis, EntryQuery(domain, outcome, strategy, named, command.chosen_time(since)), limit
    )
    everything = axis is Axis.FULL and not (domain or outcome or strategy)
    texts = MemoryQuery(
        wanted.text, min(limit, _OTHERS), MemoryFilter((), None, command.chosen_time(since), None, named), min_score=0.0
    )

    def scan() -> FoundBoth:
        result = search_lexical(stored.entries, wanted)
        found = [scored_experience(each, wanted, explain=explain) for each in result.found]
        texts_found = _scan_memories(texts, settings, explain=explain)[0] if everything else []
        return found, result.mode, list[listing.View](texts_found)

    results, mode, memories = (
        scan()
        if lexical
        else await search_or_scan(_search_index(wanted, texts if everything else None, settings, explain=explain), scan)
    )
    others: dict[str, list[listing.View]] = {"values": [], "memories": memories, "errors": []}
    if everything:
        values = [value_views.value(each) for each in stored.standings(stored.values.current(None, named))]
        others["values"] = _best(texts, values, lambda value: value["text"])
        errors = listing.error_views(stored.errors(named), settings)
        found = _best(texts, errors, lambda error: f"{error['signature']} {error['command']}")
        # Those with something to do about them first.
        others["errors"] = sorted(found, key=lambda error: "remedy" not in error)
    # With what became of their files.
    notes = listing.notes_here(stored.entries.look_up(each["id"] for each in results).found, stored)
    results = [{**each, **notes.get(each["id"], {})} for each in results]
    shown = matches((results, mode), listing.entry_record, others)
    if not results and not stored.projects():
        out.say(f"Nothing is stored yet. {listing.BEGIN}")
    return command.Result({**shown.document, **others})


def _best(
    query: MemoryQuery, things: Sequence[listing.View], text_of: Callable[[listing.View], str]
) -> list[listing.View]:
    """Return the things whose words match, best first, not older than the query allows."""
    start = query.where.start
    dated = (
        each
        for each in things
        if start is None or datetime.fromisoformat(each.get("created_at") or each["last_seen"]) >= start
    )
    return [each for each, _ in rank(query.text, [(each, text_of(each)) for each in dated], query.limit)]


async def _search_index(
    query: ExperienceQuery, texts: MemoryQuery | None, settings: Settings, *, explain: bool
) -> FoundBoth:
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
        memories = (await _ask_for_memories(connection, texts, explain=explain))["results"] if texts else []
    return reply["results"], reply["mode"], memories


def _checked(query: str) -> str:
    """Return a text to search for; one of spaces alone is refused."""
    if not query.strip():
        raise InvalidInputError("QUERY: is empty.", hint="Say in a few words what you are looking for.")
    return checked_text("QUERY", query, QUERY_MAX)


async def search_or_scan(hybrid: Awaitable[T], lexical: Callable[[], T]) -> T:
    """Return what a search of the index finds or, if that cannot be used, one of the journal."""
    try:
        return await hybrid
    except (AlreadyRunningError, *WITHOUT_INDEX) as error:
        reason = error.message if isinstance(error, AlreadyRunningError) else error.sentence
        out.notice(f"{reason} This search is lexical.")
        return lexical()


def matches(
    found: Found,
    record: Callable[[listing.View], out.Record],
    others: Mapping[str, Sequence[listing.View]] | None = None,
) -> command.Result:
    """Show what a search found, with its scores, and what it found of other kinds."""
    results, mode = found
    others = {kind: things for kind, things in (others or {}).items() if things}
    if others and results:
        out.say("entries", "bold")
    for each in results:
        made = record(each)
        out.records([made._replace(facts=[*made.facts, Text(f"{each['score']:.2f}", "dim")])])
        if parts := each.get("explanation"):
            out.hanging(out.stdout(), Text("  score  ", "dim"), Text(_explained(parts, mode)))
    for kind, things in others.items():
        out.say(kind, "bold")
        out.records(_RECORDS[kind](each) for each in things)
    total = len(results) + sum(map(len, others.values()))
    if total:
        out.say(f"{total} found, mode: {mode}", "dim")
    else:
        out.say(f"Nothing found ({mode}).")
    return command.Result({"results": results, "count": len(results), "mode": mode})


def _explained(parts: listing.View, mode: str) -> str:
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
    str | None, typer.Option("--since", metavar="DATE", help="Only memories dated then or later: ISO 8601, in UTC.")
]

memories = command.Commands()
commands.add_typer(memories, name="memories")


@memories.callback(invoke_without_command=True)
def list_memories(
    context: typer.Context,
    limit: command.LimitOption = 20,
    tags: TagOption = None,
    source: SourceOption = None,
    project: command.ProjectOption = None,
    since: DatedOption = None,
) -> command.Result | None:
    """List memories, the texts that agents kept, the last one added first."""
    if context.invoked_subcommand:
        return None
    where = _filter(tags, source, project, since)
    kept = Stored(open_settings()).memories.all()
    found = [memory for memory in reversed(kept) if where.matches(memory)]
    shown = [memory_views.memory(memory) for memory in found[:limit]]
    nothing = "No memories match." if kept else f"No memories yet. Agents keep texts as they work. {listing.BEGIN}"
    return listing.listed(shown, len(found), "memory", nothing, lambda memory: _memory_record(memory, memory["text"]))


@memories.command("search")
async def search_memories(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What the text might say.")],
    limit: Annotated[int, typer.Option("--limit", min=1, max=LISTING_MAX, help="How many to show.")] = 10,
    tags: TagOption = None,
    source: SourceOption = None,
    project: command.ProjectOption = None,
    since: DatedOption = None,
    explain: command.ExplainOption = False,
) -> command.Result:
    """Find memories, each with its best passage. The search is hybrid, or lexical if the index cannot be used."""
    where = _filter(tags, source, project, since)
    settings = open_settings()
    wanted = MemoryQuery(_checked(query), limit, where, min_score=0.0)

    async def ask() -> Found:
        async with open_connection(settings, "memories search") as connection:
            await prepare_search(connection)
            reply = await _ask_for_memories(connection, wanted, explain=explain)
        return reply["results"], reply["mode"]

    found = await search_or_scan(ask(), lambda: _scan_memories(wanted, settings, explain=explain))
    return matches(found, _found_memory_record)


def _scan_memories(query: MemoryQuery, settings: Settings, *, explain: bool) -> Found:
    from learning_memory_server.server.composition.backends import chunkers

    kept = MemoryLog(Journal(settings.journal_directory).memories, chunkers(settings))
    result = search_memories_lexical(kept, query)
    return [memory_views.found_memory(each, explain=explain) for each in result.found], result.mode


async def _ask_for_memories(connection: Connection, query: MemoryQuery, *, explain: bool) -> dict[str, Any]:
    where = query.where
    return await connection.run(
        "search_memories",
        query=query.text,
        limit=query.limit,
        tags=list(where.tags),
        source=where.source,
        project=where.project,
        since=where.start.isoformat() if where.start else None,
        explain=explain,
    )


def _filter(tags: Sequence[str] | None, source: str | None, project: str | None, since: str | None) -> MemoryFilter:
    named = None if project is None else command.chosen_project(project, open_settings())
    return MemoryFilter(tuple(tags or ()), source, command.chosen_time(since), None, named)


def _memory_record(memory: listing.View, text: str) -> out.Record:
    metadata = memory["metadata"]
    tags, title = metadata.get("tags"), metadata.get("title")
    facts: listing.Facts = [
        out.identity(memory["id"]),
        out.date(datetime.fromisoformat(memory["date"])),
        out.short_project(memory["project"]),
        f"[{', '.join(map(str, tags))}]" if isinstance(tags, list) and tags else "",
        str(metadata.get("source") or ""),
    ]
    return out.Record(facts, str(title), text) if title else out.Record(facts, text)


def _found_memory_record(memory: listing.View) -> out.Record:
    return _memory_record(memory, memory["passage"])


_RECORDS: Final[Mapping[str, Callable[[listing.View], out.Record]]] = {
    "values": listing.value_record,
    "memories": _found_memory_record,
    "errors": listing.error_with_id,
}
"""How what a search finds beside entries is shown, by kind."""
