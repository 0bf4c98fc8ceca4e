"""A memory: a stored text with metadata."""

import json
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model import limits
from learning_memory_server.model.moment import parse_moment
from learning_memory_server.model.stored import Recorded, Stored

REFUSAL: Final = "refusal"  # The source of memories with a refusal, which callers cannot set


@dataclass(frozen=True, slots=True)
class Chunking(Stored):
    """The chunks of a text as spans (start, end) in order, which may overlap; `by` is the name of the chunker."""

    by: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Refusal(Stored):
    """A call that the user refused, with the user's words. Only earlier versions stored it in a memory."""

    tool: str
    call: str  # the command or the file, redacted and without folders of this machine; empty for other tools
    words: str
    at: datetime  # the time of the last refusal
    when: str = ""  # when the words apply, according to the agent that stored them
    sessions: tuple[str, ...] = ()  # the sessions of the refusals, as hashes
    let_pass: int = 0  # the number of similar calls that the user allowed in later sessions


@dataclass(frozen=True, slots=True)
class Memory(Recorded):
    """A text and its metadata."""

    id: str  # a random UUID
    text: str  # at most 10,000,000 characters, stripped
    metadata: Mapping[str, Any]  # JSON data: source, tags, timestamp, title and other fields
    date: datetime  # its time for searches: the timestamp in the metadata, otherwise `created_at`
    project: str
    created_at: datetime
    request: str | None = None  # the name of the call that added it; see `Caller.request`
    chunking: Chunking | None = None  # its chunks at the time when it was added
    replaces: str | None = None  # the id of the memory that it corrects, which searches leave out
    refusal: Refusal | None = None  # the refused call from which an earlier version made it

    @property
    def tags(self) -> list[str]:
        """The tags for filters. Tags in the journal that are not text are ignored."""
        tags = self.metadata.get("tags")
        return [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []

    @property
    def source(self) -> str | None:
        """The source of the text; None if it is missing or not text."""
        source = self.metadata.get("source")
        return source if isinstance(source, str) else None

    @property
    def is_dated(self) -> bool:
        """Whether its metadata contains a date."""
        return self.metadata.get("timestamp") is not None

    @property
    def title(self) -> str | None:
        """The title; None if it is missing or not text."""
        title = self.metadata.get("title")
        return title if isinstance(title, str) else None


def replaced_among(memories: Iterable[Memory]) -> dict[str, str]:
    """Return the ids of replaced memories, each with the id of its newest successor.

    An imported memory does not replace an own one. If the successor is deleted, the earlier memory is current again.
    """
    by_id = {each.id: each for each in memories}
    pairs = ((by_id.get(each.replaces), each) for each in by_id.values() if each.replaces)
    return {old.id: new.id for old, new in pairs if old and (old.imported or not new.imported)}


def new_memory_id() -> str:
    """Return a random id. With ids derived from content, a deleted memory could never be added again."""
    return str(uuid.uuid4())


def checked_metadata(metadata: Mapping[str, Any], measured: Callable[[str], str] = str) -> dict[str, Any]:
    """Return the metadata without None. Raises InvalidInputError for its size, JSON, timestamp or types."""
    checked = {key: value for key, value in metadata.items() if value is not None}
    try:
        compact = json.dumps(checked, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        raise InvalidInputError(
            "metadata: its numbers must be finite; JSON has no NaN and no Infinity.", arguments=["metadata"]
        ) from None
    size = len(measured(compact).encode())
    if size > limits.METADATA_MAX:
        raise InvalidInputError(
            f"metadata: {size:,} bytes of JSON, the limit is {limits.METADATA_MAX:,}.", arguments=["metadata"]
        )
    for key in ("title", "language", "timestamp"):
        if not isinstance(value := checked.get(key, ""), str):
            raise InvalidInputError(
                f"metadata.{key}: must be text, not {type(value).__name__}.", arguments=[f"metadata.{key}"]
            )
    if "source" in checked:
        source = limits.checked_text("metadata.source", checked["source"], limits.SOURCE_MAX, measured)
        if source.casefold() == REFUSAL:
            raise InvalidInputError(
                f"metadata.source: {REFUSAL} is the source of what the user refused.", arguments=["metadata"]
            )
    tags = checked.get("tags", [])
    if not isinstance(tags, list):
        raise InvalidInputError(
            f"metadata.tags: must be a list of texts, not {type(tags).__name__}.", arguments=["metadata"]
        )
    for place, tag in enumerate(tags):
        limits.checked_text(f"metadata.tags[{place}]", tag, limits.TAG_MAX, measured)
    if "timestamp" in checked:
        parse_moment("metadata.timestamp", checked["timestamp"])
    return checked


def date_of(metadata: Mapping[str, Any], otherwise: datetime) -> datetime:
    """Return the metadata's timestamp, which must be valid, or `otherwise` if there is none."""
    stated = metadata.get("timestamp")
    return otherwise if stated is None else parse_moment("metadata.timestamp", stated)
