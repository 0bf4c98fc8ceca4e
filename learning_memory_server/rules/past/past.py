"""How often past sessions would have broken and followed rules."""

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
"""Units for calls that count only if they succeeded."""
_MISSING: Final = 3  # Maximum number of missing checks to list, most frequent first
_SELDOM: Final = 9  # The ratio of followed to broken acts from which a rule counts as mostly followed


@dataclass(frozen=True, slots=True)
class Past:
    """The counts that a rule would have in past sessions: acts that broke it, and acts that followed it."""

    broken: int = 0
    followed: int = 0
    days: tuple[tuple[date, int, int], ...] = ()  # date, broken, followed; oldest first
    sessions: int = 0  # with a breach
    last: datetime | None = None  # time of the last breach
    call: str = ""  # the last call or file that broke it
    refused: int = 0  # calls that a person refused, and that would have broken it
    worked: int = 0  # breaches that succeeded
    latest: int = 0  # breaches among the last `limits.RULE_CALLS_LAST` calls
    unit: str = CALL
    missing: tuple[tuple[CallForm, int], ...] = ()  # checks that had not run, with the number of breaches, most first

    @property
    def matched(self) -> int:
        """The number of acts that the rule is about."""
        return self.broken + self.followed

    @property
    def mostly_works(self) -> bool:
        """Whether most breaches succeeded, so that the rule is not about a call that fails."""
        return self.worked * 2 > self.broken

    @property
    def is_frequent(self) -> bool:
        """Whether a rule would stop too many calls."""
        return self.latest * limits.RULE_CALLS_SHARE > limits.RULE_CALLS_LAST

    @property
    def in_words(self) -> str:
        """The number of breaches in words, with the missing checks."""
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
    """Return the unit for the acts that a pattern is about, in words."""
    if when is When.DONE:
        return _ENDS
    words = {each.words for each in (*pattern.broken, *pattern.about)}
    for head, (unit, _) in _UNITS.items():
        if words and all(each[: len(head)] == head for each in words):
            return unit
    return _EDITS if not words and (pattern.files or pattern.contents) else CALL
