"""JSON schemas as small as they can be, and what they say about a wrong argument."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

Schema = dict[str, Any]

_KINDS: Final = {
    str: "text",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
    type(None): "null",
}
_SHOWN: Final = 60
"""Characters of a wrong value or name that a message repeats."""
_PROBLEMS_SHOWN: Final = 10


def lean_schema(schema: Schema) -> Schema:
    """Return the schema with its references inlined and without titles, nulls and class docstrings.

    A client reads each schema into its context, so every word counts; and some do not resolve references.
    An optional argument may be null, which means absent; that need not be advertised.
    """
    definitions = schema.get("$defs", {})

    def lean(node: Any) -> Any:  # noqa: ANN401 - JSON
        if isinstance(node, list):
            return [lean(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            target = lean(definitions[node["$ref"].rpartition("/")[2]])
            # A vocabulary's docstring is for readers of the code.
            return {**{k: v for k, v in target.items() if k != "description"}, **lean(_without(node, "$ref"))}
        alternatives = [item for item in node.get("anyOf", ()) if item.get("type") != "null"]
        if len(alternatives) == 1:
            return lean({**alternatives[0], **_without(node, "anyOf")})
        return {
            key: {name: lean(item) for name, item in value.items()} if key == "properties" else lean(value)
            for key, value in node.items()
            if key not in ("title", "$defs") and not (key == "default" and value is None)
        }

    result: Schema = lean(_without(schema, "description"))
    return result


def explain(error: ValidationError, schema: Schema) -> str:
    """Return what is wrong with the arguments and what is allowed, one sentence for each problem."""
    problems = error.errors(include_url=False)
    sentences = [_sentence(problem, schema) for problem in problems[:_PROBLEMS_SHOWN]]
    if len(problems) > _PROBLEMS_SHOWN:
        sentences.append(f"And {len(problems) - _PROBLEMS_SHOWN} more problems.")
    return " ".join(sentences)


def explain_fields(error: ValidationError, schema: Schema) -> str:
    """Return `field: message` for each problem with the arguments, the message as pydantic has it."""
    problems = error.errors(include_url=False, include_context=False)
    parts = [_field_message(problem, schema) for problem in problems[:_PROBLEMS_SHOWN]]
    if len(problems) > _PROBLEMS_SHOWN:
        parts.append(f"and {len(problems) - _PROBLEMS_SHOWN} more")
    return "; ".join(parts)


def _field_message(problem: ErrorDetails, schema: Schema) -> str:
    name = _clipped(".".join(map(str, problem["loc"])))
    message = problem["msg"]
    if problem["type"] in ("too_short", "too_long") and isinstance(problem["input"], str):
        # Pydantic counts a stripped text's characters as items.
        message = message.replace("Value", "String").replace("items after validation", "characters")
        message = message.replace("item after validation", "character")
    elif problem["type"] == "extra_forbidden":
        location = [part for part in problem["loc"] if isinstance(part, str)]
        known = _at(schema, location[:-1]).get("properties", {})
        message += f" (allowed are {', '.join(known)})." + did_you_mean(location[-1], known)
        message = message.removesuffix(".")
    return f"{name}: {message}"


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Return a sentence with the nearest known word, with a space before it, or nothing."""
    close = difflib.get_close_matches(str(word).strip().lower().replace("_", "-"), known, n=1)
    close = close or difflib.get_close_matches(str(word).strip().lower(), known, n=1)
    return f" Did you mean {close[0]}?" if close else ""


def _sentence(problem: ErrorDetails, schema: Schema) -> str:
    location = [part for part in problem["loc"] if isinstance(part, str)]
    name, given = ".".join(location), problem["input"]
    if problem["type"] == "extra_forbidden":
        known = _at(schema, location[:-1]).get("properties", {})
        allowed = f"; allowed are {', '.join(known)}" if known else "; none are taken"
        return f"{_clipped(name)}: unknown argument{allowed}.{did_you_mean(location[-1], known)}"
    node = _at(schema, location)
    if problem["type"] == "missing":
        return f"{name}: required; expected {_expectation(node)}."
    hint = did_you_mean(given, node["enum"]) if "enum" in node and isinstance(given, str) else ""
    return f"{name}: {_fault(problem, given)}; expected {_expectation(node)}.{hint}"


def _fault(problem: ErrorDetails, given: object) -> str:
    if problem["type"] in ("too_short", "string_too_short"):
        return "is empty"
    if problem["type"] in ("too_long", "string_too_long"):
        return f"has {len(str(given).strip())} characters"
    if problem["type"] == "enum" or problem["type"].startswith(("less_than", "greater_than")):
        return f"{shorten(given)} is not allowed"
    return f"is {_KINDS.get(type(given), 'of another kind')} ({shorten(given)})"


def _expectation(node: Schema) -> str:
    if "enum" in node:
        return f"one of {', '.join(node['enum'])}"
    kind = node.get("type")
    if kind == "string":
        return (
            f"text of {node.get('minLength', 0)}-{node['maxLength']} characters"
            if "maxLength" in node
            else "text"
        )
    if kind == "integer":
        low, high = node.get("minimum"), node.get("maximum")
        return f"a whole number from {low} to {high}" if high is not None else f"a whole number from {low}"
    if kind == "object":
        return f"an object with {', '.join(node.get('properties', {}))}"
    return str(kind or "a value")


def _at(schema: Schema, location: Sequence[str]) -> Schema:
    node = schema
    for part in location:
        node = node.get("properties", {}).get(part, {})
    return node


def shorten(value: object) -> str:
    """Return a value as a message shows it."""
    return _clipped(repr(value))


def _clipped(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _without(node: Schema, key: str) -> Schema:
    return {name: value for name, value in node.items() if name != key}
