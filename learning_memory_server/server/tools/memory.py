"""Plain texts: keep one, find one, forget one; and what there is in all."""

from __future__ import annotations

from datetime import datetime, time
from typing import Annotated, Any, NotRequired

from pydantic import ConfigDict, Field, JsonValue
from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

from learning_memory_server.domain import limits
from learning_memory_server.domain.caller import Caller
from learning_memory_server.domain.moment import parse_moment
from learning_memory_server.domain.vocabulary import ResponseFormat
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.memories.query import MemoryFilter, MemoryQuery
from learning_memory_server.memories.searcher import MemorySearcher
from learning_memory_server.memories.store import MemoryStore
from learning_memory_server.server.progress import Progress
from learning_memory_server.server.statistics import Statistics
from learning_memory_server.server.tools import memory_text
from learning_memory_server.server.tools.arguments import (
    Identifier,
    ListingLimit,
    MemoryText,
    Offset,
    ProjectName,
    QueryText,
    Since,
    SourceText,
    Tag,
    Text,
    named_project,
)
from learning_memory_server.server.tools.toolset import Arguments, ToolSet
from learning_memory_server.server.wire import TextWire

toolset = ToolSet()

Similarity = Annotated[float, Field(ge=0, le=1)]


class MetadataArgument(Arguments):
    """What is known about a text; other keys are kept as they are."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, JsonValue] = Field(init=False)

    title: Text | None = None
    source: SourceText | None = Field(None, description="Where it is from: a file, a URL, `user`.")
    tags: list[Tag] | None = Field(None, description="Words to filter by.")
    timestamp: Text | None = Field(None, description="ISO 8601: when it was. Now, if absent.")
    language: Text | None = Field(None, description="The programming language of code.")


class FiltersArgument(Arguments):
    """Which memories are meant."""

    tags: Annotated[list[Tag], Field(min_length=1, description="All of them.")] | None = None
    source: SourceText | None = None
    date_from: Since | None = None
    date_to: (
        Annotated[
            Text, Field(max_length=limits.ID_MAX, description="Included: a bare date is that whole day.")
        ]
        | None
    ) = None
    project: ProjectName | None = None

    def to_domain(self, caller: Caller) -> MemoryFilter:
        """Return the domain's filter.

        Raises:
            InvalidInputError: If a date is none, or the first is after the last.
        """
        start = parse_moment("filters.date_from", self.date_from) if self.date_from else None
        end = _end_of("filters.date_to", self.date_to) if self.date_to else None
        if start and end and start > end:
            raise InvalidInputError(f"filters.date_from: {self.date_from} is after date_to, {self.date_to}.")
        return MemoryFilter(
            tuple(self.tags or ()), self.source, start, end, named_project(self.project, caller)
        )


class ExperienceFigures(TypedDict):
    """How many GHAP entries are resolved, and what they are."""

    total: int
    open: int
    by_axis: dict[str, int]
    by_tier: dict[str, int]
    by_outcome: dict[str, int]


class MemoryFigures(TypedDict):
    """How many texts are kept, and how long they are."""

    total: int
    chunks: int
    characters: int


class IndexFigures(TypedDict):
    """What searches use; `pending` points are known to be in the journal and not yet in it.

    Until it was `complete` once, there may be more of them.
    """

    engine: str
    complete: bool
    pending: int
    bytes: NotRequired[int]


class JournalFigures(TypedDict):
    """The journal's size."""

    bytes: int


class ModelFigures(TypedDict):
    """The embedding model: `state` is idle, loading, ready or failed."""

    backend: str
    name: NotRequired[str]
    state: str
    runtime: NotRequired[str]


class Stats(TypedDict):
    """What there is."""

    experiences: ExperienceFigures
    values: int
    memories: MemoryFigures
    index: IndexFigures
    journal: JournalFigures
    model: ModelFigures
    versions: dict[str, str]


@toolset.tool("Add a memory", changes=True, idempotent=True, wire=TextWire("Processing error"))
async def add_memory(
    memories: MemoryStore,
    caller: Caller,
    progress: Progress,
    /,
    *,
    text: MemoryText,
    metadata: MetadataArgument | None = None,
) -> str:
    """Keep a text to find again in later sessions: a decision and its reasons, notes, a document, code, a conversation.

    Call it when somebody asks you to remember something, or when you learn what the next session will need. What you
    believed and what came of it belongs into start_ghap and resolve_ghap. The same text with the same metadata is kept
    once. The text is safe when this answers. Up to about 8,000 tokens can be found at once; more is indexed in the
    background, and the answer says so, or while you wait if you asked for progress: then a cancelled call leaves
    nothing behind.
    """
    given = metadata.model_dump(exclude_unset=True) if metadata else {}
    return memory_text.added(await memories.add(caller, text, given, progress.tell))


@toolset.tool("Search memories", changes=False, wire=TextWire("Search failed"))
async def search_memory(
    searcher: MemorySearcher,
    caller: Caller,
    /,
    *,
    query: QueryText,
    limit: ListingLimit = 10,
    filters: FiltersArgument | None = None,
    min_similarity: Similarity = 0.0,
    response_format: Annotated[
        ResponseFormat, Field(description="detailed: whole passages, dates, sources and metadata.")
    ] = ResponseFormat.CONCISE,
    full_text: Annotated[bool, Field(description="Show whole memories, as far as they fit.")] = False,
    text_offset: Annotated[Offset, Field(description="With full_text: where in the texts to begin.")] = 0,
) -> str:
    """Find texts that were kept with add_memory, by meaning and by words.

    Call it when a task may touch what was decided, noted or discussed before, before you ask a person what they may
    have told you already, and when you are asked what you remember. Ask in whole phrases, as the text might say it. Each
    result is a memory's best passage. min_similarity (0-1) is the cosine between query and passage; good matches can
    have 0.3, so leave it out at first.
    """
    where = filters.to_domain(caller) if filters else MemoryFilter()
    result = await searcher.search(MemoryQuery(query, limit, where, min_similarity))
    if full_text:
        return memory_text.found_whole(result, text_offset, min_similarity)
    return memory_text.found(result, min_similarity, detailed=response_format is ResponseFormat.DETAILED)


@toolset.tool("Delete a memory", changes=True, destroys=True, wire=TextWire("Processing error"))
async def delete_memory(memories: MemoryStore, /, *, memory_id: Identifier) -> str:
    """Forget a memory for ever: no search finds it again. search_memory shows the IDs."""
    return memory_text.deleted(await memories.delete(memory_id))


@toolset.tool("Show statistics", changes=False)
async def get_stats(statistics: Statistics, /) -> Stats:
    """Count what is kept (experiences, values, memories) and say what keeps it: engine, model, sizes, versions.

    Call it when searches find less than you expect: pending points are not found by meaning yet, and there may be more
    of them than it counts until the index has been complete once.
    """
    collected: Any = await statistics.collect()
    stats: Stats = collected
    return stats


def _end_of(field: str, text: str) -> datetime:
    """Return the last moment that a date or datetime includes."""
    moment = parse_moment(field, text)
    is_date = len(text.strip()) <= len("2026-01-31")
    return datetime.combine(moment.date(), time.max, moment.tzinfo) if is_date else moment
