"""A memory: a text to keep, with metadata about it."""

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

REFUSAL: Final = "refusal"  # The source of memories with a refusal, which nobody can give


@dataclass(frozen=True, slots=True)
class Chunking(Stored):
    """The chunks of a text, which may overlap: first character and the one after the last, in order; `by` a chunker."""

    by: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Refusal(Stored):
    """A call that the user refused, with the user's words. Only earlier versions kept it in a memory."""

    tool: str
    call: str  # the command or the file, without secrets and folders of this machine; empty of other tools
    words: str
    at: datetime  # when it was refused last
    when: str = ""  # when the words apply, as the agent that kept them says
    sessions: tuple[str, ...] = ()  # the sessions that it was refused in, as hashes
    let_pass: int = 0  # how many like calls the user has let pass since, in later sessions


@dataclass(frozen=True, slots=True)
class Memory(Recorded):
    """A text and its metadata."""

    id: str  # a random UUID
    text: str  # at most 10,000,000 characters, stripped
    metadata: Mapping[str, Any]  # JSON data: source, tags, timestamp, title and whatever else was given
    date: datetime  # its time for searches: the timestamp in the metadata, else `created_at`
    project: str
    created_at: datetime
    request: str | None = None  # the name of the call that added it; see `Caller.request`
    chunking: Chunking | None = None  # where its chunks are, as of when it was added
    replaces: str | None = None  # the id of the memory that it corrects, which searches leave out
    refusal: Refusal | None = None  # the refused call that an earlier version made it of

    @property
    def tags(self) -> list[str]:
        """The tags to filter it by. A journal may contain tags that are not text; they are ignored."""
        tags = self.metadata.get("tags")
        return [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []

    @property
    def source(self) -> str | None:
        """Where the text is from, if that was given and is text."""
        source = self.metadata.get("source")
        return source if isinstance(source, str) else None

    @property
    def is_dated(self) -> bool:
        """Whether a date was given with it."""
        return self.metadata.get("timestamp") is not None

    @property
    def title(self) -> str | None:
        """The title, if one was given and is text."""
        title = self.metadata.get("title")
        return title if isinstance(title, str) else None


def replaced_among(memories: Iterable[Memory]) -> dict[str, str]:
    """Return the ids of the memories that others replace, each with the id of the newest of those.

    An imported memory replaces no own one. If the newer one is forgotten, the older one is no longer replaced.
    """
    by_id = {each.id: each for each in memories}
    pairs = ((by_id.get(each.replaces), each) for each in by_id.values() if each.replaces)
    return {old.id: new.id for old, new in pairs if old and (old.imported or not new.imported)}


def new_memory_id() -> str:
    """Return a random id. If ids were derived from content, a forgotten memory could never be added again."""
    return str(uuid.uuid4())


def checked_metadata(metadata: Mapping[str, Any], measured: Callable[[str], str] = str) -> dict[str, Any]:
    """Return the metadata, or refuse it by size (`measured`), JSON, timestamp, or types of known fields."""
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
