"""`search` and `memories`."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, NamedTuple

import msgspec
import typer
from rich.text import Text

from learning_memory_server.capture.memories.store import MemoryLog
from learning_memory_server.cli import command, failures, listing, out, values
from learning_memory_server.cli.access import WITHOUT_INDEX, open_connection
from learning_memory_server.cli.command import Offline, open_settings
from learning_memory_server.errors import AlreadyRunningError, InvalidInputError
from learning_memory_server.index.queries import (
    EntryQuery,
    ExperienceQuery,
    MemoryFilter,
    MemoryQuery,
    coverage_strength,
)
from learning_memory_server.index.ranking.terms import shared_terms, terms
from learning_memory_server.model.limits import QUERY_MAX, SEARCH_RESULTS_MAX, checked_text
from learning_memory_server.model.memory import replaced_among
from learning_memory_server.model.project import short_name
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.recall.memories import search_lexical as search_memories_lexical
from learning_memory_server.recall.recall import rank, search_lexical
from learning_memory_server.server.views import memory_views, value_views
from learning_memory_server.server.views.entry_views import formula
from learning_memory_server.server.views.failure_views import repeated_error
from learning_memory_server.server.views.found_views import found_views
from learning_memory_server.sharing.shared import SHARED, SharedLessons
from learning_memory_server.system import timeouts

_WEAK: Final = 5  # How many weak ones are shown
_NEAR_BEST: Final = 0.6  # The share of the best strength that others need, to be no weak ones
_ADD: Final = "You keep one with: learning-memory-server add TEXT"
_WITHOUT_LESSON: Final = 0.8  # What the strength of something counts that has nothing to learn from


class HitKind(StrEnum):
    """The kinds of search results."""

    ENTRIES = "entries"
    VALUES = "values"
    MEMORIES = "memories"
    ERRORS = "errors"


class Hit(NamedTuple):
    """A search result."""

    kind: HitKind
    view: listing.View

    @property
    def rank(self) -> float:
        """Its strength, reduced if it has no lesson, so that it follows results with a lesson of similar strength."""
        learned = {HitKind.ENTRIES: ("lesson", "root_cause"), HitKind.ERRORS: ("followed",)}.get(self.kind)
        is_bare = learned is not None and not any(self.view.get(part) for part in learned)
        return float(self.view["strength"]) * (_WITHOUT_LESSON if is_bare else 1.0)


class Findings(NamedTuple):
    """The results of all kinds, best first, and the mode in which entries and memories were ranked."""

    hits: list[Hit]
    mode: str

    def views(self, kind: HitKind) -> list[listing.View]:
        """Return the results of one kind."""
        return [hit.view for hit in self.hits if hit.kind is kind]

    def strong(self) -> list[Hit]:
        """Return the strong results: those above the threshold and close to the best, of any kind."""
        least = max([1.0, *(_NEAR_BEST * float(hit.view["strength"]) for hit in self.hits)])
        return [hit for hit in self.hits if hit.view["strength"] >= least]


class Wanted(NamedTuple):
    """The query, and the kinds to search."""

    entries: ExperienceQuery
    memories: MemoryQuery
    kinds: set[HitKind]
    explain: bool


TagOption = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="Only memories with this tag; can be repeated.")
]
SourceOption = Annotated[str | None, typer.Option("--source", metavar="TEXT", help="Only memories from this source.")]

commands = command.Commands()


@commands.command(example='"tests pass alone and fail together" --since 30d')
async def search(
    query: Annotated[list[str], typer.Argument(metavar="QUERY", help="What to look for.")],
    only: Annotated[HitKind | None, typer.Option("--only", help="Only this kind.")] = None,
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
    show_all: Annotated[bool, typer.Option("--all", help="Show all weak ones, too.")] = False,
) -> command.Result:
    """Search everything by your own words: entries, values, memories and errors of commands.

    Entries and memories are searched by meaning and by words, or by words alone
    if the index cannot be used; values and errors by words. The best come first,
    whatever they are. Of those that are marked as weak, five are shown. Options
    that only entries know (axis, domain, outcome, strategy), or only memories
    (tag, source), leave out the rest.
    """
    stored = Offline(open_settings())
    named, start = command.chosen_project(project, stored), command.chosen_time(since)
    of_entries = axis is not Axis.FULL or bool(domain or outcome or strategy)
    kinds = _kinds(only, of_entries=of_entries, of_memories=bool(tags or source))
    if not (asked := " ".join(query)).strip():
        raise InvalidInputError("QUERY: is empty.", hint="Say in a few words what you are looking for.")
    text = checked_text("QUERY", asked, QUERY_MAX)
    wanted = Wanted(
        # A person also sees weak results if none is strong.
        ExperienceQuery(text, axis, EntryQuery(domain, outcome, strategy, named, start), limit, min_score=0.0),
        MemoryQuery(text, limit, MemoryFilter(tuple(tags or ()), source, start, None, named), min_score=0.0),
        kinds,
        explain,
    )
    found = await find(wanted, stored, by_words=lexical)
    _show(found, limit, show_all=show_all)
    if not found.views(HitKind.ENTRIES) and not stored.projects.all():
        out.say(f"Nothing is stored yet. {listing.next_step(stored)}")
    entries, *others = (found.views(kind) for kind in HitKind)
    named_others = dict(zip(("values", "memories", "errors"), others, strict=True))
    return command.Result({"results": entries, "count": len(entries), "mode": found.mode, **named_others})


async def find(wanted: Wanted, stored: Offline, *, by_words: bool = False) -> Findings:
    """Search the wanted kinds."""
    by_words = by_words or not wanted.kinds & {HitKind.ENTRIES, HitKind.MEMORIES}
    found = _scan(wanted, stored) if by_words else await _search_index_or_scan(wanted, stored)
    # With the notes about their files.
    notes = listing.notes_here(stored.collector.look_up(each["id"] for each in found["entries"]).found, stored)
    entries = [{**each, **notes.get(each["id"], {})} for each in found["entries"]]
    views = {HitKind.ENTRIES: entries, HitKind.MEMORIES: found["memories"], **_by_words(wanted, stored)}
    hits = [Hit(kind, view) for kind, things in views.items() for view in things]
    return Findings(sorted(hits, key=lambda hit: -hit.rank), found["mode"])


def _kinds(only: HitKind | None, *, of_entries: bool, of_memories: bool) -> set[HitKind]:
    """Return the kinds to which all options apply."""
    kinds = set(HitKind) if only is None else {only}
    kinds &= {HitKind.ENTRIES} if of_entries else kinds
    kinds &= {HitKind.MEMORIES} if of_memories else kinds
    if not kinds:
        raise InvalidInputError(
            "No kind has all of these options.",
            hint="Only entries have an axis, a domain, an outcome and a strategy, and only memories tags and a source.",
        )
    return kinds


def _by_words(wanted: Wanted, stored: Offline) -> dict[HitKind, list[listing.View]]:
    """Search values and errors, which are only searched by words."""
    query, named = wanted.memories, wanted.memories.where.project
    others: dict[HitKind, list[listing.View]] = {}
    if HitKind.VALUES in wanted.kinds:
        values = [value_views.value(each) for each in stored.standings(stored.value_log.current(None, named))]
        others[HitKind.VALUES] = _best(query, values, lambda value: value["text"])
    if HitKind.ERRORS in wanted.kinds:
        errors = [repeated_error(known) for known in stored.failure_log.errors(named)]
        others[HitKind.ERRORS] = _best(
            query, errors, lambda error: f"{error['line']} {error['signature']} {error['command']}"
        )
    return others


def _best(
    query: MemoryQuery, things: Sequence[listing.View], text_of: Callable[[listing.View], str]
) -> list[listing.View]:
    """Return the items whose words match, best first, except those older than the query allows."""
    start = query.where.start
    dated = (
        each
        for each in things
        if start is None or datetime.fromisoformat(each.get("created_at") or each["last_seen"]) >= start
    )
    ranked = rank(query.text, [(each, text_of(each)) for each in dated], query.limit)
    wanted = terms(query.text)
    found = list[listing.View]()
    for each, _ in ranked:
        shared = len(shared_terms(query.text, text_of(each)))
        found.append({**each, "strength": round(coverage_strength(shared, len(set(wanted))), 4)})
    return found


async def _search_index_or_scan(wanted: Wanted, stored: Offline) -> dict[str, Any]:
    """Return the results from the index or, if it cannot be used, from the journal."""
    try:
        async with open_connection(stored.settings, "search") as connection:
            # Whatever is not ready by then is left out, with a notice.
            await connection.run("complete", to_search=True, within=timeouts.COMMAND_SEARCH_INDEX)
            return await connection.run(
                "search",
                entries=msgspec.to_builtins(wanted.entries) if HitKind.ENTRIES in wanted.kinds else None,
                memories=msgspec.to_builtins(wanted.memories) if HitKind.MEMORIES in wanted.kinds else None,
                explain=wanted.explain,
            )
    except (AlreadyRunningError, *WITHOUT_INDEX) as error:
        reason = error.message if isinstance(error, AlreadyRunningError) else error.sentence
        out.notice(f"{reason} This search is lexical.")
        return _scan(wanted, stored)


def _scan(wanted: Wanted, stored: Offline) -> dict[str, Any]:
    """Search the journal and the last-read shared lessons by words."""
    from learning_memory_server.server.composition.backends import chunkers

    entries, memories = wanted.entries, wanted.memories
    found: dict[str, Any] = {"entries": [], "memories": [], "mode": "lexical"}
    # In a search by words, the strength of a text depends only on the query.
    if HitKind.ENTRIES in wanted.kinds:
        shared = SharedLessons(stored.settings.storage_path / SHARED).matching(entries.where)
        result = search_lexical([*stored.collector.list_resolved(entries.where), *shared], entries)
        found["entries"] = found_views(entries, result, None, explain=wanted.explain)
    if HitKind.MEMORIES in wanted.kinds:
        kept = MemoryLog(stored.journal.memories, chunkers(stored.settings))
        texts = search_memories_lexical(kept, memories, kept.all())
        found["memories"] = found_views(memories, texts, None, explain=wanted.explain)
    return found


def shown_of(found: Findings, limit: int) -> list[Hit]:
    """Return the results to show by default: strong ones, followed by some weak ones."""
    strong = found.strong()
    return [*strong, *[hit for hit in found.hits if hit not in strong][:_WEAK]][:limit]


def _show(found: Findings, limit: int, *, show_all: bool) -> None:
    """Print the results, with marks at weak results, and the parts of their scores."""
    strong = found.strong()
    shown = found.hits[:limit] if show_all else shown_of(found, limit)
    are_mixed = len({hit.kind for hit in shown} | {HitKind.ENTRIES}) > 1
    if shown and not strong:
        out.say("Nothing matches well. The nearest:")
    for hit in shown:
        name, record_of = _RECORDS[hit.kind]
        record = record_of(hit.view)
        kind = [Text(name, "bold")] if are_mixed else []
        word = [] if hit in strong else [Text("weak", "dim")]
        out.records([record._replace(facts=[*record.facts, *kind, *word])])
        if parts := hit.view.get("explanation"):
            out.hanging(Text("  score  ", "dim"), Text(_explained(parts, found.mode)))
    weak = len(found.hits) - max(len(strong), len(shown))
    left = f"; {out.counted(weak, 'more weak one')}: --all" if weak > 0 else ""
    out.say(f"{len(shown)} found, mode: {found.mode}{left}" if shown else f"Nothing found ({found.mode}).", "dim")


def _explained(parts: listing.View, mode: str) -> str:
    """Return the formula of a score, the axis of the nearest vector, and the terms that match."""
    facts = [formula(parts, mode)]
    if "axis" in parts:
        facts.append(f"nearest axis {parts['axis']}")
    if "terms" in parts:
        facts.append(f"terms {', '.join(map(out.one_line, parts['terms']))}")
    return "; ".join(facts)


@commands.command(example="--tag deploy --since yesterday")
def memories(
    limit: command.LimitOption = 20,
    tags: TagOption = None,
    source: SourceOption = None,
    project: command.ProjectOption = None,
    since: command.SinceOption = None,
) -> command.Result:
    """List memories, the texts that agents kept, the last one added first."""
    stored = Offline(open_settings())
    named = command.chosen_project(project, stored)
    where = MemoryFilter(tuple(tags or ()), source, command.chosen_time(since), None, named)
    kept = stored.memory_log.all()
    found = [memory for memory in reversed(kept) if where.matches(memory)]
    replaced = replaced_among(kept)
    shown = [memory_views.memory(memory, replaced.get(memory.id, "")) for memory in found[:limit]]
    nothing = "No memories match." if kept else f"No memories yet. {listing.next_step(stored)} {_ADD}"
    return listing.listed(shown, len(found), "memory", nothing, lambda memory: _memory_record(memory, memory["text"]))


def _memory_record(memory: listing.View, text: str) -> out.Record:
    metadata = memory["metadata"]
    tags, title = metadata.get("tags"), metadata.get("title")
    facts: listing.Facts = [
        out.identity(memory["id"]),
        out.date(memory["date"]),
        short_name(memory["project"]),
        f"[{', '.join(map(str, tags))}]" if isinstance(tags, list) and tags else "",
        str(metadata.get("source") or ""),
        f"replaced by {memory['replaced_by']}" if memory.get("replaced_by") else "",
    ]
    return out.Record(facts, str(title), text) if title else out.Record(facts, text)


_RECORDS: Final[Mapping[HitKind, tuple[str, Callable[[listing.View], out.Record]]]] = {
    HitKind.ENTRIES: ("entry", listing.entry_record),
    HitKind.VALUES: ("value", values.value_record),
    HitKind.MEMORIES: ("memory", lambda memory: _memory_record(memory, memory["passage"])),
    HitKind.ERRORS: ("error", failures.error_with_id),
}
"""The name and the formatter of each kind."""
