"""JSON schemas without dead weight, the bounds of arguments, and validation errors in plain sentences.

Bounds are checked first: redaction, validation and JSON take seconds for a text of 60 MB.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from learning_memory_server.errors import did_you_mean
from learning_memory_server.model import limits
from learning_memory_server.model.lines import preview

Schema = dict[str, Any]
HIDDEN: Final = {"hidden": True}  # In the schema of an argument that is accepted, and not shown to clients
JsonPath = tuple[str | int, ...]

_KINDS: Final = {
    str: "text",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
    type(None): "null",
}
_CALLED: Final = {"status": "outcome status", "outcome": "outcome status", "root_cause.category": "root_cause category"}
"""What messages call an argument, where that is not its name."""
_NUMBERS: Final = {"integer": "a whole number", "number": "a number"}
_OUT_OF_RANGE: Final = ("less_than", "greater_than")
_OF_ANY_PART: Final = frozenset({"nul", "too_large"})
"""Kinds of problems, from `flaws_of`, that say nothing of what is allowed in their place."""
TOO_LONG: Final = frozenset({"too_long", "string_too_long"})
_NUL: Final = PydanticCustomError("nul", "contains a NUL character (U+0000), which no text may have")
_TOO_LARGE: Final = PydanticCustomError(
    "too_large", "is larger than {limit} bytes of JSON", {"limit": f"{limits.METADATA_MAX:,}"}
)
"""For the parts that have no limit of their own, together."""
_SPARE: Final = 10_000
"""Characters by which a text may be too long here: a limit counts what is stored, and in the place of a secret, of a
private key's 3,000 characters for example, that is a marker."""
_ITEM: Final = 2  # The fewest bytes of an item in JSON


def lean_schema(schema: Schema) -> Schema:
    """Return the schema with its references inlined, and without titles, nulls and class docstrings."""
    definitions = schema.get("$defs", {})

    def lean(node: Any) -> Any:
        if isinstance(node, list):
            return [lean(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            target = lean(definitions[node["$ref"].rpartition("/")[2]])
            # The docstring of a vocabulary is for readers of the code.
            return {**{k: v for k, v in target.items() if k != "description"}, **lean(_without(node, "$ref"))}
        alternatives = [item for item in node.get("anyOf", ()) if item.get("type") != "null"]
        if len(alternatives) == 1:
            return lean({**alternatives[0], **_without(node, "anyOf")})
        return {
            key: {name: lean(item) for name, item in value.items()} if key == "properties" else lean(value)
            for key, value in node.items()
            if key not in ("title", "$defs", "minLength", "minItems") and not (key == "default" and value is None)
        }

    result: Schema = lean(_without(schema, "description"))
    return result


def advertised_schema(schema: Schema) -> Schema:
    """Return what clients are shown of a lean schema: without limits of ids and names, false, 0, and what is hidden."""

    def shown(node: Any) -> Any:
        if not isinstance(node, dict):
            return node
        return {
            key: {name: shown(part) for name, part in _shown(value).items()} if key == "properties" else shown(value)
            for key, value in node.items()
            if not (key == "maxLength" and value <= limits.PROJECT_MAX) and not (key == "default" and not value)
        }

    result: Schema = shown(schema)
    return result


def _shown(properties: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return the properties that clients are shown."""
    return {name: node for name, node in properties.items() if not node.keys() >= HIDDEN.keys()}


def flaws_of(arguments: Mapping[str, Any], schema: Schema) -> Iterator[InitErrorDetails]:
    """Yield the parts of arguments that are too large or contain NUL, named as pydantic would name them."""
    rest = limits.METADATA_MAX + _SPARE
    # Not by recursion: JSON may be nested nearly as deep as Python can go.
    parts: deque[tuple[JsonPath, Any, Schema]] = deque([((), arguments, schema)])
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


def _inside(place: JsonPath, part: list[Any] | dict[str, Any], node: Schema) -> Iterator[tuple[JsonPath, Any, Schema]]:
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


def explain(error: ValidationError, schema: Schema) -> str:
    """Return what is wrong with the arguments and what is allowed, one sentence per problem."""
    problems = error.errors(include_url=False)
    sentences = [_sentence(problem, schema) for problem in problems[: limits.PROBLEMS_SHOWN]]
    if len(problems) > limits.PROBLEMS_SHOWN:
        sentences.append(f"And {len(problems) - limits.PROBLEMS_SHOWN} more problems.")
    return " ".join(sentences)


def explain_fields(error: ValidationError, schema: Schema) -> str:
    """Return `field: message` for each problem, with pydantic's own message."""
    problems = error.errors(include_url=False, include_context=False)
    parts = [_field_message(problem, schema) for problem in problems[: limits.PROBLEMS_SHOWN]]
    if len(problems) > limits.PROBLEMS_SHOWN:
        parts.append(f"and {len(problems) - limits.PROBLEMS_SHOWN} more")
    return "; ".join(parts)


def _field_message(problem: ErrorDetails, schema: Schema) -> str:
    name = preview(".".join(map(str, problem["loc"])), limits.QUOTED_MAX)
    message = problem["msg"]
    if _is_empty(problem):
        message = "cannot be empty or whitespace-only"
    elif problem["type"] == "too_long" and isinstance(problem["input"], str):
        # Pydantic calls the characters of a stripped text items.
        message = message.replace("Value", "String").replace("items after validation", "characters")
    elif problem["type"] == "extra_forbidden":
        known = _shown(_at(schema, problem["loc"][:-1]).get("properties", {}))
        message += f" (allowed are {', '.join(known)})." + did_you_mean(problem["loc"][-1], known)
        message = message.removesuffix(".")
    elif problem["type"].startswith(_OUT_OF_RANGE):
        message += f" ({_expectation(_at(schema, problem['loc']))})"
    return f"{name}: {message}"


def _sentence(problem: ErrorDetails, schema: Schema) -> str:
    location, given, kind = problem["loc"], problem["input"], problem["type"]
    name, node = name_of(location), _at(schema, location)
    if kind == "extra_forbidden":
        known = _shown(_at(schema, location[:-1]).get("properties", {}))
        allowed = f"; allowed are {', '.join(known)}" if known else "; this tool takes none"
        return f"{name}: unknown argument{allowed}.{did_you_mean(location[-1], known)}"
    if kind in _OF_ANY_PART:
        return f"{name}: {problem['msg']}."
    if "enum" in node and kind != "missing":
        hint = did_you_mean(given, node["enum"]) if isinstance(given, str) else ""
        options = ", ".join(node["enum"])
        return f"Invalid {_CALLED.get(name, name)} {shorten(given)}. Valid options: {options}.{hint}"
    return _size_fault(problem, name, node) or f"{name}: {_fault(problem)}; expected {_expectation(node)}."


def _size_fault(problem: ErrorDetails, name: str, node: Schema) -> str | None:
    given = problem["input"]
    if _is_empty(problem):
        return f"Field '{name}' cannot be empty (1-{node['maxLength']} characters)."
    if problem["type"] not in TOO_LONG:
        return None
    most = problem["ctx"]["max_length"]
    if isinstance(given, str):
        return f"Field '{name}' exceeds {most} character limit ({len(given.strip())} chars)."
    return f"Field '{name}' exceeds {most} item limit ({len(given)} items)."


def _is_empty(problem: ErrorDetails) -> bool:
    return problem["type"] in ("too_short", "string_too_short") and isinstance(problem["input"], str)


def _fault(problem: ErrorDetails) -> str:
    given = problem["input"]
    if problem["type"] == "missing":
        return "required"
    if problem["type"].startswith(_OUT_OF_RANGE):
        return f"{shorten(given)} is not allowed"
    return f"is {_KINDS.get(type(given), 'of another kind')} ({shorten(given)})"


def _expectation(node: Schema) -> str:
    if "enum" in node:
        return f"one of {', '.join(node['enum'])}"
    kind = node.get("type")
    if kind == "string":
        return f"text of 1-{node['maxLength']} characters" if "maxLength" in node else "text"
    if kind in _NUMBERS:
        low, high = node.get("minimum"), node.get("maximum")
        return f"{_NUMBERS[kind]} from {low}" + ("" if high is None else f" to {high}")
    if kind == "array":
        return f"a list of 1-{node['maxItems']} items" if "maxItems" in node else "a list"
    if kind == "object":
        return f"an object with {', '.join(node.get('properties', {}))}"
    return "true or false" if kind == "boolean" else str(kind or "a value")


def _at(schema: Schema, location: Sequence[str | int]) -> Schema:
    """Return the schema of a part; an empty one if the schema does not know the part."""
    node = schema
    for part in location:
        node = node.get("items", {}) if isinstance(part, int) else node.get("properties", {}).get(part, {})
    return node


def name_of(location: Sequence[str | int]) -> str:
    """Return how messages name a part, such as `supported_by[2]`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return preview("".join(parts).removeprefix("."), limits.QUOTED_MAX)


def shorten(value: object) -> str:
    """Return a value as a message quotes it."""
    return preview(repr(value), limits.QUOTED_MAX)


def _without(node: Schema, key: str) -> Schema:
    return {name: value for name, value in node.items() if name != key}
