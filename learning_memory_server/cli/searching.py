"""`search` and `memories`."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, NamedTuple

import typer
from rich.text import Text

from learning_memory_server.capture.memories.store import MemoryLog
from learning_memory_server.cli import command, listing, out
from learning_memory_server.cli.access.connection import WITHOUT_INDEX, open_connection, prepare_search
from learning_memory_server.cli.command import Stored, open_settings
from learning_memory_server.errors import AlreadyRunningError, InvalidInputError
from learning_memory_server.index.queries import EntryQuery, ExperienceQuery, MemoryFilter, MemoryQuery
from learning_memory_server.model.limits import QUERY_MAX, SEARCH_RESULTS_MAX, checked_text
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.recall.memories import search_lexical as search_memories_lexical
from learning_memory_server.recall.recall import rank, search_lexical
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.views import memory_views, value_views
from learning_memory_server.server.views.entry_views import formula, scored_experience

_OTHERS: Final = 5
"""How many of each other kind a search of several kinds shows at most."""


class _Kind(StrEnum):
    ENTRIES = "entries"
    VALUES = "values"
    MEMORIES = "memories"
    ERRORS = "errors"


class _Found(NamedTuple):
    """What is searched by meaning and by words, or by words alone, as the mode says."""

    entries: list[dict[str, Any]]
    memories: list[dict[str, Any]]
    mode: str


class _Wanted(NamedTuple):
    """What is searched for, among which kinds."""

    entries: ExperienceQuery
    memories: MemoryQuery
    kinds: set[_Kind]
    explain: bool


TagOption = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="Only memories with this tag; can be repeated.")
]
SourceOption = Annotated[str | None, typer.Option("--source", metavar="TEXT", help="Only memories from this source.")]

commands = command.Commands()


@commands.command()
async def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")],
    only: Annotated[_Kind | None, typer.Option("--only", help="Only this kind.")] = None,
    axis: Annotated[Axis, typer.Option("--axis", help="Which view of an experience to search.")] = Axis.FULL,
    domain: command.DomainOption = None,
    outcome: command.OutcomeOption = None,
    strategy: command.StrategyOption = None,
    tags: TagOption = None,
    source: SourceOption = None,
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
    entries know (axis, domain, outcome, strategy), or only memories (tag,
    source), leave out the rest.
    """
    stored = Stored(open_settings())
    named, start = command.chosen_project(project, stored), command.chosen_time(since)
    of_entries = axis is not Axis.FULL or bool(domain or outcome or strategy)
    kinds = _kinds(only, of_entries=of_entries, of_memories=bool(tags or source))
    text = _checked(query)
    wanted = _Wanted(
        ExperienceQuery(text, axis, EntryQuery(domain, outcome, strategy, named, start), limit),
        MemoryQuery(
            text,
            limit if len(kinds) == 1 else min(limit, _OTHERS),
            MemoryFilter(tuple(tags or ()), source, start, None, named),
            min_score=0.0,
        ),
        kinds,
        explain,
    )
    by_words = lexical or not kinds & {_Kind.ENTRIES, _Kind.MEMORIES}
    found = _scan(wanted, stored) if by_words else await _search_index_or_scan(wanted, stored)
    others = {"values": [], "memories": found.memories, "errors": []} | _by_words(wanted, stored)
    # With what became of their files.
    notes = listing.notes_here(stored.entries.look_up(each["id"] for each in found.entries).found, stored)
    entries = [{**each, **notes.get(each["id"], {})} for each in found.entries]
    _show_matches(entries, others, found.mode)
    if not entries and not stored.projects():
        out.say(f"Nothing is stored yet. {listing.next_step(stored)}")
    return command.Result({"results": entries, "count": len(entries), "mode": found.mode, **others})


def _kinds(only: _Kind | None, *, of_entries: bool, of_memories: bool) -> set[_Kind]:
    """Return the kinds that have all of the options."""
    kinds = set(_Kind) if only is None else {only}
    kinds &= {_Kind.ENTRIES} if of_entries else kinds
    kinds &= {_Kind.MEMORIES} if of_memories else kinds
    if not kinds:
        raise InvalidInputError(
            "No kind has all of these options.",
            hint="Only entries have an axis, a domain, an outcome and a strategy, and only memories tags and a source.",
        )
    return kinds


def _by_words(wanted: _Wanted, stored: Stored) -> dict[str, list[listing.View]]:
    """Search what is only searched by words: values and errors."""
    query, named = wanted.memories, wanted.memories.where.project
    others: dict[str, list[listing.View]] = {}
    if _Kind.VALUES in wanted.kinds:
        values = [value_views.value(each) for each in stored.standings(stored.values.current(None, named))]
        others["values"] = _best(query, values, lambda value: value["text"])
    if _Kind.ERRORS in wanted.kinds:
        errors = listing.error_views(stored.errors(named), stored.settings)
        found = _best(query, errors, lambda error: f"{error['signature']} {error['command']}")
        # Those with something to do about them first.
        others["errors"] = sorted(found, key=lambda error: "remedy" not in error)
    return others


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


async def _search_index_or_scan(wanted: _Wanted, stored: Stored) -> _Found:
    """Return what a search of the index finds or, if that cannot be used, one of the journal."""
    try:
        return await _search_index(wanted, stored.settings)
    except (AlreadyRunningError, *WITHOUT_INDEX) as error:
        reason = error.message if isinstance(error, AlreadyRunningError) else error.sentence
        out.notice(f"{reason} This search is lexical.")
        return _scan(wanted, stored)


async def _search_index(wanted: _Wanted, settings: Settings) -> _Found:
    query, texts, explain = wanted.entries, wanted.memories, wanted.explain
    where, among = query.where, texts.where
    entries: dict[str, Any] = {}
    memories: dict[str, Any] = {}
    async with open_connection(settings, "search") as connection:
        await prepare_search(connection)
        if _Kind.ENTRIES in wanted.kinds:
            entries = await connection.call_for_all(
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
                explain=explain,
            )
        if _Kind.MEMORIES in wanted.kinds:
            memories = await connection.run(
                "search_memories",
                query=texts.text,
                limit=texts.limit,
                tags=list(among.tags),
                source=among.source,
                project=among.project,
                since=among.start.isoformat() if among.start else None,
                explain=explain,
            )
    return _Found(entries.get("results", []), memories.get("results", []), (entries or memories)["mode"])


def _scan(wanted: _Wanted, stored: Stored) -> _Found:
    """Search the journal by words."""
    found = _Found([], [], "lexical")
    if _Kind.ENTRIES in wanted.kinds:
        result = search_lexical(stored.entries, wanted.entries)
        found.entries.extend(scored_experience(each, wanted.entries, explain=wanted.explain) for each in result.found)
    if _Kind.MEMORIES in wanted.kinds:
        from learning_memory_server.server.composition.backends import chunkers

        kept = MemoryLog(stored.journal.memories, chunkers(stored.settings))
        texts = search_memories_lexical(kept, wanted.memories)
        found.memories.extend(memory_views.found_memory(each, explain=wanted.explain) for each in texts.found)
    return found


def _checked(query: str) -> str:
    """Return a text to search for; one of spaces alone is refused."""
    if not query.strip():
        raise InvalidInputError("QUERY: is empty.", hint="Say in a few words what you are looking for.")
    return checked_text("QUERY", query, QUERY_MAX)


def _show_matches(entries: Sequence[listing.View], others: Mapping[str, Sequence[listing.View]], mode: str) -> None:
    """Show what a search found, each kind under its name, with scores and what they are made of."""
    kinds = {kind: things for kind, things in {"entries": entries, **others}.items() if things}
    for kind, things in kinds.items():
        if kinds.keys() != {"entries"}:
            out.say(kind, "bold")
        for each in things:
            record = _RECORDS[kind](each)
            score = [Text(f"{each['score']:.2f}", "dim")] if "score" in each else []
            out.records([record._replace(facts=[*record.facts, *score])])
            if parts := each.get("explanation"):
                out.hanging(out.stdout(), Text("  score  ", "dim"), Text(_explained(parts, mode)))
    total = sum(map(len, kinds.values()))
    out.say(f"{total} found, mode: {mode}" if total else f"Nothing found ({mode}).", "dim" if total else "")


def _explained(parts: listing.View, mode: str) -> str:
    """Return the formula of a score, the axis whose vector was nearest, and the terms that match."""
    facts = [formula(parts, mode)]
    if "axis" in parts:
        facts.append(f"nearest axis {parts['axis']}")
    if "terms" in parts:
        facts.append(f"terms {', '.join(map(one_line, parts['terms']))}")
    return "; ".join(facts)


@commands.command()
def memories(
    limit: command.LimitOption = 20,
    tags: TagOption = None,
    source: SourceOption = None,
    project: command.ProjectOption = None,
    since: command.SinceOption = None,
) -> command.Result:
    """List memories, the texts that agents kept, the last one added first."""
    stored = Stored(open_settings())
    named = command.chosen_project(project, stored)
    where = MemoryFilter(tuple(tags or ()), source, command.chosen_time(since), None, named)
    kept = stored.memories.all()
    found = [memory for memory in reversed(kept) if where.matches(memory)]
    shown = [memory_views.memory(memory) for memory in found[:limit]]
    nothing = "No memories match." if kept else f"No memories yet. {listing.next_step(stored)}"
    return listing.listed(shown, len(found), "memory", nothing, lambda memory: _memory_record(memory, memory["text"]))


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
    "entries": listing.entry_record,
    "values": listing.value_record,
    "memories": _found_memory_record,
    "errors": listing.error_with_id,
}
"""How what a search finds is shown, by kind."""
