"""Which remedy of an error to show when the error comes again, if any.

A remedy is a similar command that succeeded soon after one that failed. What was changed between the two is what is
learned: `python` became `python3`, or `cd testbed` was left out. A remedy is shown if

- it has something to say about this command: it removed a word that the command has, or only added words, some of which
  the command lacks;
- nothing in it forces, deletes, skips a check or runs what it downloads, and it asks for more rights only if this
  command
  does: a person may have meant that once; and
- at least `LEAST` of the evidence supports it. Evidence is every other session in which the error was mended: for it if
  the same words were added or removed, and against it if not, even if only a file was edited and the same command then
  succeeded. It counts by the share of words that the command that failed then has in common with the one that fails
  now. A remedy that nothing else speaks about starts with the evidence `_PRIOR`. One that was shown without the error
  being mended has that against it.

Of the remedies that are supported as well, the one whose failing command was most like this one is shown.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from learning_memory_server.failures.commands import change, likeness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from learning_memory_server.failures.commands import Change, Command

WITHIN: Final = 5
"""How many commands after one that failed can mend it."""
KEPT: Final = 20
"""How many of the newest cases of an error in a project count. With 12 or 50, the same is shown."""
LEAST: Final = 0.7
"""The least share of the evidence in favour of a remedy that is shown."""

_PRIOR: Final = 0.7
"""What a remedy has in its favour before anything else is known, of evidence that counts as one session."""
_AS_GOOD: Final = 0.1
"""Remedies within this of the best support are as good as it."""


@dataclass(frozen=True, slots=True)
class Case:
    """An error that occurred.

    Args:
        id: Its id.
        session: In which session.
        failed: The command that failed.
        remedy: The similar command that succeeded soon after; None if none did.
        shown: The id of the case whose remedy was shown for it.
    """

    id: str
    session: str
    failed: Command
    remedy: Command | None = None
    shown: str | None = None

    @property
    def change(self) -> Change | None:
        """What was changed; nothing in it if the same command succeeded, None if no similar command did."""
        return None if self.remedy is None else change(self.failed, self.remedy)


@dataclass(frozen=True, slots=True)
class Supported:
    """A case whose remedy may be shown.

    Args:
        case: The case.
        support: The share of the evidence in favour of its remedy, from 0 to 1.
        likeness: How like its failing command was to the one that has just failed, from 0 to 1.
    """

    case: Case
    support: float
    likeness: float


def choose(command: Command, cases: Sequence[Case]) -> Supported | None:
    """Return the case whose remedy to show for a command that has just failed, None for silence.

    Args:
        command: The command.
        cases: What is known of this error, oldest first.
    """
    changes = [(case, made) for case in cases if (made := case.change) is not None]
    rivals = Counter(case.session for case, _ in changes)
    # A session that met an error ten times is one witness, not ten.
    weights = [likeness(command, case.failed) / rivals[case.session] for case, _ in changes]
    useless = Counter(case.shown for case in cases if case.shown and case.remedy is None)
    supported = []
    for case, made in changes:
        if (
            case.remedy is None
            or not _is_harmless(case.remedy, command)
            or not _says_something(made, command)
        ):
            continue
        support, evidence = _PRIOR, 1.0 + useless[case.id]
        for (other, its), weight in zip(changes, weights, strict=True):
            if other.session != case.session:
                evidence += weight
                support += weight * its.agrees_with(made)
        supported.append(Supported(case, support / evidence, likeness(command, case.failed)))
    best = max((each.support for each in supported), default=0.0)
    if best < LEAST:
        return None
    enough = max(best - _AS_GOOD, LEAST)
    good = [each for each in supported if each.support >= enough]
    # Of those that are as like, the newest: max returns the first.
    return max(reversed(good), key=lambda each: each.likeness)


def _is_harmless(remedy: Command, command: Command) -> bool:
    return not remedy.is_risky and (command.is_privileged or not remedy.is_privileged)


def _says_something(made: Change, command: Command) -> bool:
    if made.removed:
        return bool(made.removed & command.words)
    return bool(made.added - command.words)
