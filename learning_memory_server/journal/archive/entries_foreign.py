"""A JSON object that another program wrote: read field by field, without dropping anything silently."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, TypeVar

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model import limits
from learning_memory_server.model.moment import parse_moment
from learning_memory_server.redaction.base import shortened_markers

Category = TypeVar("Category", bound=StrEnum)


_CLOSE: Final = 0.8
"""The lowest similarity at which a misspelling is unmistakable; at 0.75, "investigation" would match integration."""
_PREFIX_FROM: Final = 4


def find_category(kind: type[Category], name: str) -> Category | None:
    """Return the member that `name` unmistakably means, or None.

    Case, spaces and underscores do not matter. A name matches a member that it abbreviates unambiguously (`config`),
    extends (`feature-development`), or slightly misspells.
    """
    wanted = re.sub(r"[\s_-]+", "-", name.strip().casefold())
    members = {str(member): member for member in kind}
    if wanted in members:
        return members[wanted]
    related = [
        member
        for text, member in members.items()
        if (len(wanted) >= _PREFIX_FROM and text.startswith(wanted)) or wanted.startswith(f"{text}-")
    ]
    if len(related) == 1:
        return related[0]
    close = difflib.get_close_matches(wanted, members, n=1, cutoff=_CLOSE)
    return members[close[0]] if close else None


class ForeignPart:
    """A JSON object at `path` in a line, read field by field. What is changed or not read is counted in `changes`."""

    def __init__(self, path: str, data: dict[str, Any], changes: Counter[str]) -> None:
        self._path = path
        self._unread = dict(data)
        self._changes = changes

    def text(self, name: str, limit: int) -> str:
        """Return a required text, stripped."""
        return _checked(self._name(name), self._take(name), limit)

    def find_text(self, name: str, limit: int) -> str | None:
        """Return a text, or None if it is absent or blank."""
        value = self._take(name)
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        return _checked(self._name(name), value, limit)

    def texts(self, name: str, limit: int) -> tuple[str, ...]:
        """Return a list of texts; an absent one is empty."""
        items = enumerate(self._list(name))
        return tuple(_checked(f"{self._name(name)}[{index}]", item, limit) for index, item in items)

    def moment(self, name: str) -> datetime:
        """Return a required time."""
        return parse_moment(self._name(name), self.text(name, limits.ID_MAX))

    def category(self, name: str, kind: type[Category]) -> Category:
        """Return the member of a vocabulary that a text unmistakably means."""
        written = self.text(name, limits.ID_MAX)
        found = find_category(kind, written)
        if found is None:
            raise InvalidInputError(f"{self._name(name)}: {written!r} is not one of {', '.join(kind)}.")
        if written != found:
            self._changes[f"{self._name(name)} {written!r} is read as {found}"] += 1
        return found

    def flag(self, name: str) -> bool:
        """Return a boolean; an absent one is false."""
        value = self._take(name)
        if value is not None and not isinstance(value, bool):
            raise InvalidInputError(f"{self._name(name)}: must be true or false, not {type(value).__name__}.")
        return bool(value)

    def find_probability(self, name: str) -> float | None:
        """Return a number from 0 to 1, or None if it is absent."""
        value = self._take(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
            raise InvalidInputError(f"{self._name(name)}: must be a number from 0 to 1.")
        return value

    def find_part(self, name: str) -> ForeignPart | None:
        """Return an object, or None if it is absent or empty."""
        value = self._take(name)
        if value in (None, {}):
            return None
        return self._part(self._name(name), value)

    def parts(self, name: str) -> list[ForeignPart]:
        """Return a list of objects; an absent one is empty."""
        items = enumerate(self._list(name))
        return [self._part(f"{self._name(name)}[{index}]", item) for index, item in items]

    def note_difference(self, name: str, derived: object) -> None:
        """Record that a derived field differed from `derived`."""
        stated = self._take(name)
        if stated is not None and stated != derived:
            self._changes[f"{self._name(name)} {stated!r} was recomputed as {derived}"] += 1

    def note_left_out(self) -> None:
        """Record each non-empty field that was never read."""
        for name, value in self._unread.items():
            if value not in (None, "", [], {}):
                # Without list positions, so that the same field of many items is one line.
                place = re.sub(r"\[\d+\]", "[]", self._name(name))
                self._changes[f"{place} is not kept"] += 1

    def _take(self, name: str) -> Any:  # noqa: ANN401 - JSON
        return self._unread.pop(name, None)

    def _list(self, name: str) -> list[Any]:
        value = self._take(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise InvalidInputError(f"{self._name(name)}: must be a list, not {type(value).__name__}.")
        return value

    def _part(self, path: str, value: object) -> ForeignPart:
        if not isinstance(value, dict):
            raise InvalidInputError(f"{path}: must be an object, not {type(value).__name__}.")
        return ForeignPart(path, value, self._changes)

    def _name(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name


def _checked(name: str, value: object, limit: int) -> str:
    if value is None:
        raise InvalidInputError(f"{name}: missing.")
    text = limits.checked_text(name, value, limit, shortened_markers)
    try:
        text.encode()
    except UnicodeEncodeError:
        # JSON can escape half a character, which no UTF-8 file can contain.
        raise InvalidInputError(
            f"{name}: contains an unpaired surrogate (such as half an emoji), which is not valid Unicode."
        ) from None
    return text
