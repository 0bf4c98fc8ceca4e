"""The tools that search experiences and memories, add, find and delete memories, and count what is stored."""

import asyncio
import json
from datetime import datetime, time
from typing import Annotated, Any, Final, NotRequired, cast

from pydantic import ConfigDict, Field, JsonValue, StringConstraints, WithJsonSchema
from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

from learning_memory_server.capture.memories.store import MemoryStore
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.index.queries import EntryQuery, ExperienceQuery, MemoryFilter, MemoryQuery
from learning_memory_server.lessons.notes import EntryNotes
from learning_memory_server.lessons.values.log import Standing
from learning_memory_server.lessons.values.store import ValueStore
from learning_memory_server.model import limits
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.moment import parse_moment
from learning_memory_server.model.vocabulary import Axis, ResponseFormat, SearchMode, Strategy
from learning_memory_server.recall.memories import MemorySearcher
from learning_memory_server.recall.recall import ExperienceSearcher
from learning_memory_server.server.composition.statistics import Statistics
from learning_memory_server.server.composition.stores import Projects
from learning_memory_server.server.schema import HIDDEN
from learning_memory_server.server.tools import arguments as args
from learning_memory_server.server.tools.toolset import Arguments, TextWire, ToolSet, page
from learning_memory_server.server.views import entry_views, fields, memory_views, value_views
from learning_memory_server.server.views.calibration_views import CalibrationStats
from learning_memory_server.server.views.entry_views import ScoredExperience, left_out_note, scored_experience
from learning_memory_server.server.views.memory_views import Heading

toolset = ToolSet()

_DEPTH_REACHED: Final = (
    f"A search ranks only the best {limits.SEARCH_DEPTH_MAX:,}. To see others, narrow it with filters."
)


class FoundExperiences(entry_views.Paged):
    """Experiences, best match first, and the `mode` of the search. A `note` says what is left out, and why.

    `values` are those in force that match the query, supported or unattested.
    The first three are whole. Of the others, `learned` is the takeaway, what worked or the surprise, and texts are
    shortened; `full` shows all of them whole.
    """

    results: list[ScoredExperience]
    mode: str
    note: NotRequired[str]
    values: NotRequired[list[value_views.StandingValue]]


@toolset.tool("Search experiences", changes=False)
async def search_experiences(
    searcher: ExperienceSearcher,
    values: ValueStore,
    projects: Projects,
    entry_notes: EntryNotes,
    caller: Caller,
    /,
    *,
    query: Annotated[args.QueryText, Field(description="The situation, in whole phrases.")],
    axis: args.AxisToCompare = Axis.FULL,
    domain: args.OnlyDomain | None = None,
    outcome: args.OnlyOutcome | None = None,
    strategy: Annotated[Strategy, Field(description="Only this strategy.")] | None = None,
    since: args.Since | None = None,
    project: args.ProjectName | None = None,
    limit: args.SearchLimit = 10,
    offset: args.Offset = 0,
    explain: args.Explain = False,
    min_score: args.MinScore | None = None,
    full: Annotated[bool, Field(description="Show all results whole, not only three.")] = False,
) -> FoundExperiences:
    """Search what was believed in situations like this, and what happened.

    Lessons that apply are shown by themselves: call it only when stuck, or about to bet on a guess.
    outcome=falsified: beliefs that turned out wrong.
    """
    moment = parse_moment("since", since) if since else None
    where = EntryQuery(domain, outcome, strategy, projects.named(project, caller), moment)
    depth = min(offset + limit, limits.SEARCH_DEPTH_MAX)
    asked = ExperienceQuery(query, axis, where, depth, min_score)
    # At once: a server far away is waited for only once.
    result, matching = await asyncio.gather(
        searcher.search_experiences(asked),
        # They come with the first page.
        values.matching(query, where.project) if offset == 0 else asyncio.sleep(0, list[Standing]()),
    )
    notes = await entry_notes.present((found.entry for found in result.found[offset:]), caller)
    shown = [
        scored_experience(found, asked, explain=explain, is_short=number >= limits.EXPERIENCES_WHOLE and not full)
        | notes[found.entry.id]
        for number, found in enumerate(result.found[offset:], start=offset)
    ]
    is_end = len(result.found) == depth < offset + limit
    said = filter(None, [left_out_note(result.left_out), _DEPTH_REACHED if is_end else None])
    matched = [
        fields(value_views.StandingValue, each.value, standing=each.support.status)
        for each in (matching if result.mode is not SearchMode.LEXICAL else ())
    ]
    reply = page(
        "results", shown, offset=offset, mode=result.mode.value, note=" ".join(said) or None, values=matched or None
    )
    return cast("FoundExperiences", reply)


Similarity = Annotated[float, Field(ge=0, le=1, description="Least cosine, 0-1; 0 includes weak matches.")]
Day = Annotated[
    args.Text,
    StringConstraints(min_length=1, max_length=limits.ID_MAX),
    # A time of day is accepted, too, but models do better with one form.
    Field(json_schema_extra={"format": "date"}),
]


class MetadataArgument(Arguments):
    """Facts about a text.

    Any other key is kept, too. The schema does not say so: some clients refuse a schema of an object that may have any
    key, or cannot fill it. Their models put such facts into `extra`.
    """

    model_config = ConfigDict(
        extra="allow", strict=True, frozen=True, json_schema_extra={"additionalProperties": False}
    )
    __pydantic_extra__: dict[str, JsonValue] = Field(init=False)

    title: Annotated[args.Text, Field(description="The text's title.")] | None = None
    source: args.SourceText | None = Field(None, description="A file, a URL, `user`.")
    tags: list[args.Tag] | None = Field(None, description="Words to filter by.")
    timestamp: args.Text | None = Field(None, description="ISO 8601; default: now.")
    language: args.Text | None = Field(None, description="Language of code.")
    extra: (
        Annotated[JsonValue, WithJsonSchema({"type": "string", "description": "Other facts: a JSON object."})] | None
    ) = None

    def to_domain(self) -> dict[str, Any]:
        """Return the metadata, with the members of the object that `extra` spells in its place."""
        given = self.model_dump(exclude_unset=True)
        extra = given.get("extra")
        if not isinstance(extra, str) or not extra.lstrip().startswith("{"):
            return given
        try:
            facts = json.loads(extra)
            json.dumps(facts, ensure_ascii=False).encode()  # JSON can spell an unpaired surrogate, but UTF-8 cannot
        except (ValueError, RecursionError):
            raise InvalidInputError("metadata.extra: is not a valid JSON object.", arguments=["metadata"]) from None
        del given["extra"]
        if twice := sorted(given.keys() & facts.keys()):
            raise InvalidInputError(f"metadata.extra: {', '.join(twice)} was given twice.", arguments=["metadata"])
        return {**given, **facts}


class FiltersArgument(Arguments):
    """A filter for memories."""

    tags: (
        Annotated[
            list[args.Tag],
            Field(min_length=1, max_length=limits.CITED_MAX, description="Memories with all these tags."),
        ]
        | None
    ) = None
    source: Annotated[args.SourceText, Field(description="Exactly this source.")] | None = None
    date_from: Annotated[Day, Field(description="First day (UTC).")] | None = None
    date_to: Annotated[Day, Field(description="Last day (UTC).")] | None = None
    project: args.ProjectName | None = None
    replaced: Annotated[bool, Field(description="Also replaced ones.")] = False

    def to_domain(self, projects: Projects, caller: Caller) -> MemoryFilter:
        """Return the domain's filter."""
        start = parse_moment("filters.date_from", self.date_from) if self.date_from else None
        end = _end_of("filters.date_to", self.date_to) if self.date_to else None
        if start and end and start > end:
            raise InvalidInputError(
                f"filters: date_from must be <= date_to, but {self.date_from} is after {self.date_to}.",
                arguments=["filters"],
            )
        project = projects.named(self.project, caller)
        return MemoryFilter(tuple(self.tags or ()), self.source, start, end, project, self.replaced)


class ExperienceStats(TypedDict):
    """Counts of resolved GHAP entries, and of open ones."""

    total: int
    open: int
    by_axis: dict[str, int]
    by_tier: dict[str, int]
    by_outcome: dict[str, int]


class MemoryStats(TypedDict):
    """Counts of memories, their chunks and their characters."""

    total: int
    chunks: int
    characters: int


class IndexStats(TypedDict):
    """The index. `pending` points are missing from it; that is not known before it has been compared.

    If a server has `refused` to read or write: why, and the `retry_seconds` until it is asked again.
    """

    engine: str
    complete: bool
    pending: NotRequired[int]
    refused: NotRequired[str]
    retry_seconds: NotRequired[int]
    bytes: NotRequired[int]


class JournalStats(TypedDict):
    """The journal's size, and how many of its lines cannot be read."""

    bytes: int
    damaged_lines: int


class ModelStats(TypedDict):
    """The embedding model: `state` is idle, loading, ready or failed."""

    backend: str
    name: NotRequired[str]
    state: str
    runtime: NotRequired[str]


class Stats(TypedDict):
    """Counts, sizes and versions, and a notice if something is wrong with them."""

    experiences: ExperienceStats
    calibration: CalibrationStats
    values: NotRequired[int]
    verdicts: dict[str, int]
    advice: dict[str, int]
    memories: NotRequired[MemoryStats]
    index: IndexStats
    journal: JournalStats
    model: ModelStats
    redaction: str
    versions: dict[str, str]
    notice: NotRequired[str]


@toolset.tool("Add a memory", changes=True, idempotent=True, wire=TextWire("Processing error"))
async def add_memory(
    memories: MemoryStore,
    caller: Caller,
    /,
    *,
    text: args.MemoryText,
    metadata: Annotated[MetadataArgument, Field(description="Facts about the text.")] | None = None,
    replaces: Annotated[args.Identifier, Field(description="ID of the memory it corrects.")] | None = None,
) -> dict[str, Any]:
    """Keep a text for later sessions: a decision and its reasons, notes, a document, code, a conversation.

    Call it when you are asked to remember something, or learn a fact that the next session needs; beliefs belong
    in start_ghap. The same text with the same metadata is kept once.
    """
    given = metadata.to_domain() if metadata else {}
    return memory_views.added(await memories.add(caller, text, given, replaces))


@toolset.tool("Search memories", changes=False, wire=TextWire("Search failed"))
async def search_memory(
    searcher: MemorySearcher,
    projects: Projects,
    caller: Caller,
    /,
    *,
    query: Annotated[args.QueryText, Field(description="What the text might say.")],
    limit: args.ListingLimit = 10,
    filters: Annotated[FiltersArgument, Field(description="Which memories to search.")] | None = None,
    min_similarity: Similarity | None = None,
    min_score: Annotated[args.MinScore, Field(json_schema_extra=HIDDEN)] | None = None,  # in earlier versions
    response_format: Annotated[
        ResponseFormat, Field(description="detailed: whole passages and metadata.")
    ] = ResponseFormat.CONCISE,
    full_text: Annotated[bool, Field(description="Whole memories, if they fit.")] = False,
    text_offset: Annotated[args.Offset, Field(description="With full_text: character to begin at.")] = 0,
    explain: args.Explain = False,
) -> dict[str, Any]:
    """Find texts that were kept with add_memory, by meaning and by words.

    Call it when a task may touch what was decided, noted or discussed, and before you ask a person. Use whole phrases,
    as the text might say it. Each result is a memory's best passage. Leave min_similarity out at first: good matches
    can have 0.3.
    """
    where = filters.to_domain(projects, caller) if filters else MemoryFilter()
    if min_similarity is not None and min_score is None:
        min_score = 0.0  # Who names a bar wants no other one
    result = await searcher.search(MemoryQuery(query, limit, where, min_similarity or 0.0, min_score))
    heading = Heading(min_similarity or 0.0, explain=explain)
    if full_text:
        return memory_views.found_whole(result, heading, text_offset)
    return memory_views.found(result, heading, detailed=response_format is ResponseFormat.DETAILED)


@toolset.tool("Delete a memory", changes=True, destroys=True, wire=TextWire("Processing error"))
async def delete_memory(
    memories: MemoryStore,
    caller: Caller,
    /,
    *,
    memory_id: Annotated[args.Identifier, Field(description="ID from search_memory.")],
) -> dict[str, Any]:
    """Forget a memory permanently; search_memory shows the IDs.

    Its text stays in the journal's files and backups until a person purges them.
    """
    await memories.delete(memory_id, again=caller.again)
    return memory_views.deleted(memory_id)


@toolset.tool("Show statistics", changes=False)
async def get_stats(statistics: Statistics, /) -> Stats:
    """Count what is stored, and show engine, model, sizes and versions.

    Call it when searches find too little: `pending` points are not found by meaning yet. `notice`: the journal is
    damaged. `note`: the server has other settings than this session.
    """
    return cast("Stats", await statistics.collect())


def _end_of(field: str, text: str) -> datetime:
    """Return the last moment that a date or datetime includes."""
    moment = parse_moment(field, text)
    is_date = len(text.strip()) <= len("2026-01-31")
    return datetime.combine(moment.date(), time.max, moment.tzinfo) if is_date else moment
