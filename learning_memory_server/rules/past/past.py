"""How often rules were broken and followed in past sessions, as if they had been there."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from learning_memory_server.model import limits
from learning_memory_server.model.rule import CallForm, Pattern, When
from learning_memory_server.rules.forms.wording import needed

_ENDS: Final = "end of work"
CALL: Final = "call"
_EDITS: Final = "edit"
_UNITS: Final = {
    ("git", "commit"): ("commit", "commits"),
    ("git", "push"): ("push", "pushes"),
    ("gh", "pr", "create"): ("pull request", "pull requests"),
    ("gh", "pr", "merge"): ("merge", "merges"),
}
"""Names of calls that count only if they worked."""
_MISSING: Final = 3  # Checks that are named, those that were missing most often
_SELDOM: Final = 9  # Times as many acts that followed a rule as broke it are good news


@dataclass(frozen=True, slots=True)
class Past:
    """How a rule would have fared: acts that broke it and that followed it, in past sessions."""

    broken: int = 0
    followed: int = 0
    days: tuple[tuple[date, int, int], ...] = ()  # a day, and how many broke and followed it; oldest first
    sessions: int = 0  # with a breach
    last: datetime | None = None  # when it was broken last
    call: str = ""  # the last call or file that broke it
    refused: int = 0  # calls that would have broken it, but were refused by a person
    worked: int = 0  # calls that broke it and were no errors
    latest: int = 0  # of the last `limits.RULE_CALLS_LAST` calls, how many broke it
    unit: str = CALL
    missing: tuple[tuple[CallForm, int], ...] = ()  # which of several checks had not run, before how many; most first

    @property
    def matched(self) -> int:
        """How many acts it is about."""
        return self.broken + self.followed

    @property
    def mostly_works(self) -> bool:
        """Whether what breaks it worked in most cases: it is no call that fails."""
        return self.worked * 2 > self.broken

    @property
    def is_frequent(self) -> bool:
        """Whether a rule would stop so many calls that it must not."""
        return self.latest * limits.RULE_CALLS_SHARE > limits.RULE_CALLS_LAST

    @property
    def in_words(self) -> str:
        """How often it was broken, as a person reads it, and which of several checks were missing how often."""
        named = [f"{needed(form)} in {number:,}" for form, number in self.missing[:_MISSING]]
        more = f" and {len(self.missing) - _MISSING} more" if len(self.missing) > _MISSING else ""
        return f"{self._counts} (missing: {', '.join(named)}{more})" if named else self._counts

    @property
    def _counts(self) -> str:
        if self.broken * _SELDOM <= self.followed:
            return f"followed in {self.followed:,} of {self.matched:,} {plural(self.unit)}, broken in {self.broken:,}"
        if self.followed:
            return f"broken in {self.broken:,} of {self.matched:,} {plural(self.unit)}"
        if self.unit == CALL:
            return f"broken by {self.broken:,} {self.unit if self.broken == 1 else plural(self.unit)}"
        return f"broken in {self.broken:,} of {self.broken:,} {self.unit if self.broken == 1 else plural(self.unit)}"


def plural(unit: str) -> str:
    """Return the plural of a unit."""
    return dict(_UNITS.values()).get(unit, "ends of work" if unit == _ENDS else f"{unit}s")


def unit_of(when: When, pattern: Pattern) -> str:
    """Return what a person calls the acts that a pattern is about."""
    if when is When.DONE:
        return _ENDS
    words = {each.words for each in (*pattern.broken, *pattern.about)}
    for head, (unit, _) in _UNITS.items():
        if words and all(each[: len(head)] == head for each in words):
            return unit
    return _EDITS if not words and (pattern.files or pattern.contents) else CALL
