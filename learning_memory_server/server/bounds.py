"""What is checked of arguments before anything else reads them: their sizes, and that no text contains NUL.

Redaction, validation and JSON take seconds for a text of 60 MB, and everybody else waits meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from learning_memory_server.model import limits

if TYPE_CHECKING:
    from learning_memory_server.server.schema import Schema

    Place = tuple[str | int, ...]

_NUL: Final = PydanticCustomError("nul", "contains a NUL character (U+0000), which no text may have")
_TOO_LARGE: Final = PydanticCustomError(
    "too_large", "is larger than {limit} bytes of JSON", {"limit": f"{limits.METADATA_MAX:,}"}
)
"""For the parts that have no limit of their own, together."""
_SPARE: Final = 10_000
"""Characters by which a text may be too long here: a limit counts what is stored, and in the place of a secret, of a
private key's 3,000 characters for example, that is a marker."""
_ITEM: Final = 2
"""The fewest bytes of an item in JSON."""


def require_bounded(arguments: Mapping[str, Any], schema: Schema) -> None:
    """Raise `ValidationError`, naming the parts as pydantic would, if arguments are too large or contain NUL."""
    if flaws := list(_flaws(arguments, schema)):
        raise ValidationError.from_exception_data("arguments", flaws, input_type="json")


def _flaws(arguments: Mapping[str, Any], schema: Schema) -> Iterator[InitErrorDetails]:
    rest = limits.METADATA_MAX + _SPARE
    # Not by recursion: JSON may be nested nearly as deep as Python can go.
    parts: deque[tuple[Place, Any, Schema]] = deque([((), arguments, schema)])
    while parts:
        place, part, node = parts.popleft()
        if isinstance(part, str):
            most, spare, length = node.get("maxLength"), _SPARE, len(part)
            rest -= length if most is None else 0
            if most is not None and length > most:
                length = len(part.strip())
        elif isinstance(part, list | dict):
            most, spare, length = node.get("maxItems"), 0, len(part)
            rest -= _ITEM * length if most is None else 0
        else:
            continue
        if most is not None and length > most + spare:
            about = {"field_type": "Value", "max_length": most, "actual_length": length}
            yield InitErrorDetails(type="too_long", loc=place, input=part, ctx=about)
        elif isinstance(part, str) and "\x00" in part:
            yield InitErrorDetails(type=_NUL, loc=place, input=part)
        elif rest < 0:
            yield InitErrorDetails(type=_TOO_LARGE, loc=place[:1], input=part)
            return
        elif not isinstance(part, str):
            parts.extend(_inside(place, part, node))


def _inside(
    place: Place, part: list[Any] | dict[str, Any], node: Schema
) -> Iterator[tuple[Place, Any, Schema]]:
    """Yield what is directly in a part: items, and keys that the schema does not know, which are texts, too."""
    if isinstance(part, list):
        of_each = node.get("items", {})
        yield from (((*place, number), item, of_each) for number, item in enumerate(part))
        return
    known = node.get("properties", {})
    for key, value in part.items():
        yield (*place, key), value, known.get(key, {})
        if key not in known:
            yield place or (key,), key, {}
