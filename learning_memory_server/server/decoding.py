"""Arguments that a client encoded as JSON text once too often, as the values that they encode.

Some clients send each object, list, number or boolean as text. A parameter whose schema admits no string cannot mean
that text, so it is decoded; a parameter that admits one is never changed.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from learning_memory_server.model import limits
from learning_memory_server.server.schema import Schema

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
"""The Python types of a JSON schema's types, without string and null."""

_LONGEST: Final = 6 * limits.METADATA_MAX
"""Characters of a text that is decoded. A longer one exceeds every limit: an escape has at most six characters."""


def decoded(arguments: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Return the arguments with each encoded value decoded if that gives a type that the lean schema admits.

    An empty text or `null` for an optional parameter is left out. All else stays as it is, to be refused.
    """
    required = schema.get("required", ())
    result: dict[str, Any] = {}
    for name, given in arguments.items():
        node = schema.get("properties", {}).get(name, {})
        types = _TYPES.get(node.get("type", ""))
        value = given
        if types and isinstance(given, str):
            if name not in required and given.strip() in ("", "null"):
                continue
            value = _decode(given, types)
        result[name] = decoded(value, node) if isinstance(value, dict) else value
    return result


def _decode(text: str, types: tuple[type, ...]) -> Any:
    """Return the value that a text encodes, or the text if it encodes none of these types."""
    if len(text) > _LONGEST:
        return text
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text
    # Not isinstance: in Python, a boolean is an int.
    return value if type(value) in types else text


def _refuse(constant: str) -> NoReturn:
    """Refuse NaN and infinities, which are not JSON."""
    raise ValueError(constant)
