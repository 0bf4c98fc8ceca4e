"""A memory: a text that somebody wanted kept, and what they said about it."""

from __future__ import annotations

import hashlib
import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from learning_memory_server.domain import limits
from learning_memory_server.domain.moment import parse_moment
from learning_memory_server.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Cuts:
    """Where a text is cut into chunks.

    Args:
        by: What cut it; another way of cutting makes other chunks.
        spans: The first character of each chunk and the one after its last, in order. Chunks may overlap.
    """

    by: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Memory:
    """A text and its metadata.

    Args:
        id: A random UUID.
        text: At most 10,000,000 characters, stripped.
        metadata: JSON data: source, tags, timestamp, title and whatever else was given.
        date: When what it tells of was: the metadata's timestamp, else `created_at`. Searches range over it.
        project: Where it was added.
        created_at: When it was added.
        request: What names the call that added it.
        cuts: Where its chunks are, as of when it was added.
    """

    id: str
    text: str
    metadata: Mapping[str, Any]
    date: datetime
    project: str
    created_at: datetime
    request: str | None = None
    cuts: Cuts | None = None

    @property
    def tags(self) -> list[str]:
        """The words to filter it by. A tag that is no text, which a journal may have, is none."""
        tags = self.metadata.get("tags")
        return [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []

    @property
    def source(self) -> str | None:
        """Where the text is from, if that was given as text."""
        source = self.metadata.get("source")
        return source if isinstance(source, str) else None

    @property
    def is_dated(self) -> bool:
        """Whether its date was given with it."""
        return self.metadata.get("timestamp") is not None

    @property
    def title(self) -> str | None:
        """The title, if one was given as text."""
        title = self.metadata.get("title")
        return title if isinstance(title, str) else None

    @property
    def fingerprint(self) -> str:
        """What two memories share if they say the same."""
        return fingerprint(self.text, self.metadata, self.project)


def new_memory_id() -> str:
    """Return a random id. One made from the content could never be added again once it was forgotten."""
    return str(uuid.uuid4())


def fingerprint(text: str, metadata: Mapping[str, Any], project: str) -> str:
    """Return a hash of all that makes a memory the same as another: its text, its metadata and its project."""
    canonical = json.dumps([project, metadata], sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(canonical.encode())
    digest.update(text.encode())
    return digest.hexdigest()


def checked_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata, or say what is wrong with it.

    Raises:
        InvalidInputError: If it is too large or no JSON data, if its timestamp is none, or if its title, source,
            language or tags are no texts.
    """
    checked = {key: value for key, value in metadata.items() if value is not None}
    try:
        compact = json.dumps(checked, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        raise InvalidInputError(
            "metadata: its numbers must be finite; JSON has no NaN and no Infinity."
        ) from None
    size = len(compact.encode())
    if size > limits.METADATA_MAX:
        raise InvalidInputError(f"metadata: {size:,} bytes of JSON, the limit is {limits.METADATA_MAX:,}.")
    for key in ("title", "language", "timestamp"):
        _require_text(f"metadata.{key}", checked.get(key, ""))
    if "source" in checked:
        limits.checked_text("metadata.source", checked["source"], limits.SOURCE_MAX)
    tags = checked.get("tags", [])
    if not isinstance(tags, list):
        raise InvalidInputError(f"metadata.tags: must be a list of texts, not {type(tags).__name__}.")
    for place, tag in enumerate(tags):
        limits.checked_text(f"metadata.tags[{place}]", tag, limits.TAG_MAX)
    if "timestamp" in checked:
        parse_moment("metadata.timestamp", checked["timestamp"])
    return checked


def date_of(metadata: Mapping[str, Any], otherwise: datetime) -> datetime:
    """Return the metadata's timestamp, which must be valid, or the other date."""
    stated = metadata.get("timestamp")
    return otherwise if stated is None else parse_moment("metadata.timestamp", stated)


def _require_text(field: str, value: object) -> None:
    if not isinstance(value, str):
        raise InvalidInputError(f"{field}: must be text, not {type(value).__name__}.")
