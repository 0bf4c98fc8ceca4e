"""Which remedies are told when errors come again: `python -m benchmarks.failures --data FILE [--json]`.

FILE has recorded sessions (formats: `benchmarks.recorded`). They are replayed in time order, with one memory for each
repository, through the product's own watching and deciding; `benchmarks.recurrence` compares the whole server with
plain ways, by a rule that knows nothing of it. The working directory is not known, so nothing is told that depends on
a file.

- repeats: failing commands whose error an earlier session of the repository had.
- with_remedy: those of them for which an earlier session found a similar command, other than the same, that succeeded.
- may_be_told: those for which an earlier session's remedy is of an allowed kind, and says something about the command,
  however many sessions found it.
- shown: those for which a remedy is told, as a share of may_be_told; `of_all` of with_remedy.
- precision: of those shown where the session has a remedy of its own, the share that added or removed one of the same
  words; if the session succeeded with the same command, after an edit, what was shown counts as wrong.
- hidden_too: the same with failures that a filter, `|| true` or a printed status hides.
- first_day: the later half of the sessions, after `learn-from` has read the earlier half.
- alarms: commands whose status is their own and is 0 though an error is recognized in what they wrote (`false`), and
  those whose status is hidden and in which one is recognized (`found`), with how many of each there are.
"""

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.measuring import Option, options_of
from benchmarks.recorded import read_sessions
from benchmarks.recurring import Session
from learning_memory_server.lessons.errors.error_advisor import Learner
from learning_memory_server.lessons.errors.parse import parse
from learning_memory_server.lessons.errors.pending import PendingFailures
from learning_memory_server.lessons.errors.remedies import remedy_for
from learning_memory_server.lessons.errors.sanitize import shows_error
from learning_memory_server.model.failure import Failure
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.redaction.redactor import build_redactor


@dataclass(slots=True)
class Moment:
    """A failing command whose error an earlier session had.

    Args:
        failure: The failure, with what mended it in the end.
        told: The command that was told.
        has_remedy: Whether an earlier session had one.
        may_be_told: Whether one of an allowed kind.
    """

    failure: Failure
    told: str | None
    has_remedy: bool
    may_be_told: bool


@dataclass(slots=True)
class Memory:
    """What is known, by repository and signature, and the moments so far."""

    known: dict[tuple[str, str], dict[str, Failure]] = field(default_factory=lambda: defaultdict(dict))
    moments: list[Moment] = field(default_factory=list)
    failures: int = 0

    def failed(self, failure: Failure) -> None:
        """Take a failure, and note what is told."""
        self.failures += 1
        error = self.known[failure.project, failure.signature]
        past = list(error.values())
        earlier = [each for each in past if each.session != failure.session]
        if earlier:
            told = remedy_for(failure.command, past, named=failure.named, session=failure.session)
            mended = [each for each in earlier if each.remedy and each.remedy != each.command]
            may = told is not None or any(_is_allowed(failure, each) for each in mended)
            self.moments.append(Moment(failure, told and told.text, bool(mended), may))
        error.setdefault(failure.id, failure)

    def mended(self, name: str, remedy: str) -> None:
        """Take what a command has mended."""
        for error in self.known.values():
            if name in error:
                error[name] = replace(error[name], remedy=remedy)
        for each in self.moments:
            if each.failure.id == name and each.failure.remedy is None:
                each.failure = replace(each.failure, remedy=remedy)


def main() -> None:
    """Run the benchmark."""
    options = options_of(__doc__, data=Option(Path, is_needed=True))
    report = asyncio.run(measure(read_sessions(options.data)))
    if options.json:
        print(json.dumps(report))
        return
    for name, value in report.items():
        print(f"{name}: {value}")


async def measure(sessions: Sequence[Session]) -> dict[str, Any]:
    """Return all figures."""
    plain = await replay(sessions, hidden_too=False)
    counts = Counter(each.failure.signature for each in plain.moments)
    commonest = {name for name, _ in counts.most_common(3)}
    middle = len(sessions) // 2
    names = sorted({each.project for each in sessions})
    parts = {
        "earlier_sessions": sessions[:middle],
        "later_sessions": sessions[middle:],
        "even_repositories": [each for each in sessions if each.project in names[::2]],
        "odd_repositories": [each for each in sessions if each.project in names[1::2]],
    }
    return {
        "failures": plain.failures,
        **figures(plain.moments),
        "without_commonest": figures([each for each in plain.moments if each.failure.signature not in commonest]),
        **{name: figures((await replay(part, hidden_too=False)).moments) for name, part in parts.items()},
        "hidden_too": figures((await replay(sessions, hidden_too=True)).moments),
        "first_day": figures((await first_day(sessions)).moments),
        "alarms": alarms(sessions),
    }


async def replay(sessions: Sequence[Session], *, hidden_too: bool, memory: Memory | None = None) -> Memory:
    """Return what is told in sessions.

    Args:
        sessions: The sessions, in time order.
        hidden_too: Whether failures are recognized that a command's status does not show.
        memory: What is known before the first.
    """
    memory = memory or Memory()
    pending = PendingFailures(RedactionGate(build_redactor()))
    for session in sessions:
        for ran in session.calls:
            seen = ran if ran.has_failed or hidden_too else replace(ran, output="")
            result = await pending.saw(seen.with_known_end())
            for name, remedy in result.mended.items():
                memory.mended(name, remedy)
            if result.failure:
                memory.failed(result.failure)
    return memory


async def first_day(sessions: Sequence[Session]) -> Memory:
    """Return what is told in the later half of the sessions, after the earlier half was learned from."""
    middle = len(sessions) // 2
    learner, memory = Learner(RedactionGate(build_redactor())), Memory()
    for session in sessions[:middle]:
        for ran in session.calls:
            await learner.saw(ran.with_known_end())
    for failure in (each for error in learner.learned() for each in error):
        memory.known[failure.project, failure.signature][failure.id] = failure
    return await replay(sessions[middle:], hidden_too=True, memory=memory)


def figures(moments: Sequence[Moment]) -> dict[str, Any]:
    """Return the counts and shares."""
    may = [each for each in moments if each.may_be_told]
    shown = [each for each in moments if each.told]
    with_remedy = [each for each in moments if each.has_remedy]
    judged = [each for each in shown if each.failure.remedy]
    right = [each for each in judged if _agree(each, each.failure.command, each.told or "")]
    return {
        "repeats": len(moments),
        "with_remedy": len(with_remedy),
        "may_be_told": len(may),
        "shown_count": len(shown),
        "shown": _share(len(shown), len(may)),
        "of_all": _share(len(shown), len(with_remedy)),
        "judged": len(judged),
        "precision": _share(len(right), len(judged)),
    }


def alarms(sessions: Sequence[Session]) -> dict[str, int]:
    """Return how often an error is recognized in what a command wrote although its status is 0."""
    counts: Counter[str] = Counter()
    for ran in (ran for session in sessions for ran in session.calls if not ran.has_failed):
        command = parse(ran.command)
        is_error = shows_error(ran.output) and not command.only_reads
        counts["hidden" if command.is_hidden else "known"] += 1
        if is_error:
            counts["found" if command.is_hidden else "false"] += 1
    return dict(counts)


def _is_allowed(failure: Failure, other: Failure) -> bool:
    """Return whether another failure's remedy would be told if many sessions had found it."""
    days = [replace(other, session=str(day), created_at=other.created_at + timedelta(days=day)) for day in range(3)]
    return remedy_for(failure.command, days, named=failure.named) is not None


def _agree(moment: Moment, failed: str, told: str) -> bool:
    """Return whether what was told added or removed one of the words that the session's own remedy did."""
    added, removed = _difference(failed, told)
    others_added, others_removed = _difference(moment.failure.command, moment.failure.remedy or "")
    return bool(added & others_added or removed & others_removed)


def _difference(before: str, after: str) -> tuple[frozenset[str], frozenset[str]]:
    return parse(after).words - parse(before).words, parse(before).words - parse(after).words


def _share(part: float, of: int) -> float:
    return round(part / of, 3) if of else 0.0


if __name__ == "__main__":
    main()
