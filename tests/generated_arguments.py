"""Arguments for any tool, made from its schema: valid ones, with some parts replaced by what no caller should send."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from learning_memory_server.server.schema import Schema

    Place = tuple[dict[str, Any] | list[Any], str | int, Schema]

_WORDS: Final = (
    "the", "price", "cache", "returned", "stale", "totals", "after", "every", "deploy", "one", "worker", "kept",
)  # fmt: skip
_FORMS: Final = (
    "ghap_20260101_000000_abcdef",
    "value_20260101_000000_abcdef",
    "00000000-0000-4000-8000-000000000000",
    "full_0",
    "root_cause_999999999",
    "full_" + "9" * 90,
)
"""What ids look like that name nothing."""
_STRANGE: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1.0, 0.5, 1e308, -1e308, 10**18, 2**63, 10**400, -(10**400), "", " ", "\u00a0", "\x00",
    "a\x00b", "\ud83d", "\u202e", "0", "current", "nobody's project", "2026-13-01", "0001-01-01", "9999-12-31T23:59:59-14:00",
    [], [""], [" "], ["\x00"], [None], [[]], [{}], ["a"] * 51, ["x" * 300], [""] * 1_000, {}, {"a": {"b": []}}, {"": ""},
)  # fmt: skip
"""What may stand where something else is expected."""
_KEYS: Final = ("goals", "limit", "offset", "", " ", "\x00", "\ud83d", "x" * 10_000, "__proto__")
"""Names of arguments that are not there."""


class Generator:
    """Makes arguments.

    Args:
        chance: Where all choices come from.
        ids: Ids that exist, used as well as those that do not; it may grow.
        longest: Characters of the longest text.
    """

    def __init__(self, chance: random.Random, ids: Sequence[str] = (), longest: int = 100_000) -> None:
        self._chance = chance
        self._ids = ids
        self._longest = longest

    def arguments(self, schema: Schema) -> dict[str, Any]:
        """Return arguments for a schema, of which up to three parts are wrong."""
        arguments: dict[str, Any] = self._value(schema, "")
        for _ in range(self._chance.choice((0, 1, 1, 1, 2, 3))):
            # What is replaced may be what held another place.
            if places := list(_places(arguments, schema)):
                holder, key, node = self._chance.choice(places)
                holder[key] = self._wrong(node, holder[key])  # type: ignore[index]
        if self._chance.random() < 0.1:
            arguments[self._chance.choice(_KEYS)] = self._strange()
        return arguments

    def _value(self, node: Schema, name: str) -> Any:
        if "enum" in node:
            return self._chance.choice(node["enum"])
        kind = node.get("type")
        if kind == "object":
            required = node.get("required", ())
            return {
                key: self._value(part, key)
                for key, part in node.get("properties", {}).items()
                if key in required or self._chance.random() < 0.4
            }
        if kind == "array":
            return [self._value(node["items"], name) for _ in range(self._chance.randint(1, 3))]
        if kind in {"integer", "number", "boolean"}:
            number = self._chance.randint(node.get("minimum", 0), min(node.get("maximum", 50), 100))
            return {"integer": number, "number": self._chance.random(), "boolean": number > 0}[kind]
        return self._text(name)

    def _text(self, name: str) -> str:
        if name.endswith("id") or name in {"helped", "misled", "supported_by", "contradicted_by", "supersedes"}:
            return self._chance.choice((*_FORMS, *self._ids[-5:]))
        if name in {"since", "date_from", "date_to", "timestamp"}:
            return self._chance.choice(("2026-01-31", "2026-01-31T10:00:00+02:00"))
        return " ".join(self._chance.choices(_WORDS, k=self._chance.randint(5, 12)))

    def _wrong(self, node: Schema, given: Any) -> Any:
        """Return something in place of a part: at its limits, of another kind, or broken inside."""
        limit = node.get("maxLength", 1_000)
        kinds: list[Any] = [self._strange()]
        if node.get("type") == "string":
            kinds += [
                *(["x" * (limit + 1), " " * limit + "x" * limit + " "] if limit < self._longest else []),
                "long " * (self._longest // 5),
                f"{given}\x00",
                f"{given}\ud800",
                "\U0001f600" * min(limit, self._longest),
            ]
        if node.get("type") == "array":
            some = [*given, "x"] if isinstance(given, list) else ["x"]
            too_many = some * (node.get("maxItems", 50) + 1)
            kinds += [too_many, [*some, ""], [*some, None], [*some, *some], "x", some * 500]
        if node.get("type") in {"integer", "number"}:
            low, high = node.get("minimum", 0), node.get("maximum", 10**9)
            kinds += [low - 1, high + 1, -(10**30), 10**30, high + 0.5, f"{low}"]
        if node.get("type") == "object":
            more = {self._chance.choice(_KEYS): self._strange()}
            kinds += [[given], {}, {**given, **more} if isinstance(given, dict) else {}]
        return self._chance.choice(kinds)

    def _strange(self) -> Any:
        return copy.deepcopy(self._chance.choice(_STRANGE))


def _places(holder: dict[str, Any] | list[Any], node: Schema) -> Iterator[Place]:
    """Yield each part that is given, where it is, and its schema."""
    items: list[tuple[Any, Any]] = list(holder.items() if isinstance(holder, dict) else enumerate(holder))
    for key, part in items:
        of_part = node.get("properties", {}).get(key, {}) if isinstance(holder, dict) else node.get("items", {})
        yield holder, key, of_part
        if isinstance(part, dict | list):
            yield from _places(part, of_part)
