"""Which remedies are shown when errors come again: `python -m benchmarks.failures --data FILE [--json]`.

FILE has recorded agent sessions, one a line: session, repo, at, and calls [{tool, input, output, error}]. They are
replayed in time order, with one memory for each repository. A failing command has a remedy of its own if one of the
next five commands is similar to it and succeeds.

- repeats: failing commands whose error an earlier session of the repository had.
- with_remedy: those of them for which an earlier session had a remedy.
- shown: of these, the share for which a remedy is shown.
- precision: of those shown where the session has a remedy of its own, the share that added or removed one of the same
  words; if the session succeeded with the same command, after an edit, what was shown counts as wrong. `unknown` counts
  those shown where it has none.
- precision_plain: the same if a judge takes words as they stand between spaces, and every later command of the same
  program that shares a word for a remedy, `python --version` too.
- unheeded: what is shown if a remedy counts as useless whenever the session did not mend the error, although no agent
  of these sessions saw it.
- first_day: the later half of the sessions, after `learn-from` has read the earlier half. Without that,
  `halves.later_sessions` is shown.
- Baselines: the last remedy always; the last one if the one before it agrees; one of the repository's at random (the
  mean of 200 draws).
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.domain.limits import COMMAND_MAX
from learning_memory_server.domain.lines import shortened
from learning_memory_server.failures.commands import Change, Command, are_similar, parse
from learning_memory_server.failures.learning import Learner
from learning_memory_server.failures.remedies import KEPT, WITHIN, Case, choose
from learning_memory_server.failures.signature import error_line, normalized
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.redaction.redactor import build_redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    Rule = Callable[["Failed", Sequence["Failed"]], "Failed | None"]

DRAWS: Final = 200
COMMONEST: Final = 3
_SHELLS: Final = frozenset({"Bash", "bash", "shell"})


@dataclass(frozen=True)
class Failed:
    """A command that failed in a recorded session.

    Args:
        place: Which command of its session it is.
        signature: The error's signature.
        text: The command.
        repository: Where.
        case: What a memory knows of it in the end.
        remedy: The command that succeeded, and its place.
        plain: What a plain judge says was changed to mend it.
    """

    place: int
    signature: str
    text: str
    repository: str
    case: Case
    remedy: tuple[str, int] | None
    plain: Change | None

    def known_at(self, other: Failed) -> bool:
        """Return whether this was mended before another failure."""
        same = self.case.session == other.case.session
        return self.remedy is not None and (not same or self.remedy[1] < other.place)


Sessions = list[list[Failed]]
Memory = dict[tuple[str, str], list[Failed]]
"""What is known, oldest first, by repository and signature."""


@dataclass
class Outcome:
    """What a rule shows."""

    repeats: int = 0
    with_remedy: int = 0
    shown: int = 0
    judged: int = 0
    right: float = 0
    plainly_judged: int = 0
    plainly_right: int = 0

    def data(self) -> dict[str, Any]:
        """Return the counts and shares."""
        return {
            "shown": _share(self.shown, self.with_remedy),
            "precision": _share(self.right, self.judged),
            "repeats": self.repeats,
            "with_remedy": self.with_remedy,
            "shown_count": self.shown,
            "judged": self.judged,
            "unknown": self.shown - self.judged,
            "precision_plain": _share(self.plainly_right, self.plainly_judged),
        }


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    recorded = recorded_in(options.data)
    report = measure([_failures(session) for session in recorded])
    report["first_day"] = first_day(recorded)
    if options.json:
        print(json.dumps(report))
        return
    for name, value in report.items():
        print(f"{name}: {value}")


def measure(sessions: Sessions) -> dict[str, Any]:
    """Return all figures."""
    everything = [failed for session in sessions for failed in session]
    counts = Counter(failed.signature for failed in everything)
    commonest = {name for name, _ in counts.most_common(COMMONEST)}
    middle = len(sessions) // 2
    names = sorted({failed.repository for failed in everything})
    halves = {
        "earlier_sessions": sessions[:middle],
        "later_sessions": sessions[middle:],
        "even_repositories": _of(sessions, names[::2]),
        "odd_repositories": _of(sessions, names[1::2]),
    }
    return {
        **replay(sessions, shield).data(),
        "failures": len(everything),
        "without_commonest": replay(sessions, shield, commonest).data(),
        "halves": {name: replay(half, shield).data() for name, half in halves.items()},
        "unheeded": replay(sessions, shield, is_unheeded=True).data(),
        "last": replay(sessions, last).data(),
        "agreement": replay(sessions, agreement).data(),
        "random": _random(sessions),
    }


def read(path: Path) -> Sessions:
    """Return the failures of each session, in time order."""
    return [_failures(session) for session in recorded_in(path)]


def first_day(recorded: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what is shown in the later sessions if the earlier half of them was learned from."""
    middle = len(recorded) // 2
    memory = asyncio.run(_learned(recorded[:middle]))
    return replay([_failures(session) for session in recorded[middle:]], shield, memory=memory).data()


async def _learned(recorded: Iterable[Mapping[str, Any]]) -> Memory:
    """Return what `learn-from` keeps of sessions."""
    learner = Learner(RedactionGate(build_redactor()))
    for session in recorded:
        began = datetime.fromisoformat(session["at"])
        for place, call in enumerate(_commands(session)):
            about = {"project": session["repo"], "session": session["session"], "agent": ""}
            if call["error"]:
                at = began + timedelta(seconds=place)
                await learner.failed(**about, command=call["input"], error=call["output"], at=at)
            else:
                await learner.succeeded(**about, command=call["input"])
    memory: Memory = defaultdict(list)
    for failure in (each for error in learner.learned() for each in error):
        remedy = failure.remedy or ""
        case = Case(failure.id, failure.session, parse(failure.command), parse(remedy))
        learned = Failed(0, failure.signature, failure.command, failure.project, case, (remedy, 0), None)
        memory[failure.project, failure.signature].append(learned)
    return memory


def recorded_in(path: Path) -> list[dict[str, Any]]:
    """Return the recorded sessions, in time order."""
    content = path.read_bytes()
    lines = (gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content).splitlines()
    sessions = [json.loads(line) for line in lines if line.strip()]
    return sorted(sessions, key=lambda session: str(session["at"]))


def _commands(session: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [call for call in session["calls"] if call["tool"] in _SHELLS]


def _failures(session: Mapping[str, Any]) -> list[Failed]:
    calls = _commands(session)
    found = []
    for place, call in enumerate(calls):
        name = normalized(error_line(call["output"]) or "") if call["error"] else None
        if name is None:
            continue
        following = [
            (later["input"], place + distance)
            for distance, later in enumerate(calls[place + 1 : place + 1 + WITHIN], start=1)
            if not later["error"]
        ]
        failed = _parsed(call["input"])
        remedy = next(((text, at) for text, at in following if are_similar(failed, _parsed(text))), None)
        plain = next((text for text, _ in following if _plainly_similar(call["input"], text)), None)
        case = Case(
            f"{session['session']} {place}",
            session["session"],
            failed,
            _parsed(remedy[0]) if remedy else None,
        )
        found.append(
            Failed(
                place,
                name,
                call["input"],
                session["repo"],
                case,
                remedy,
                None if plain is None else _plain_change(call["input"], plain),
            )
        )
    return found


def _parsed(text: str) -> Command:
    """Return a command as the journal keeps it: the beginning of a long one."""
    return parse(shortened(text.strip(), COMMAND_MAX))


def replay(
    sessions: Sessions,
    rule: Rule,
    without: Collection[str] = (),
    *,
    is_unheeded: bool = False,
    memory: Memory | None = None,
) -> Outcome:
    """Return what a rule shows, session by session.

    Args:
        sessions: The failures of each.
        rule: Chooses what to show from what is known at a failure, oldest first.
        without: Signatures that are not counted.
        is_unheeded: Whether what was shown for an error that the session did not mend counts as useless.
        memory: What is known before the first session.
    """
    outcome = Outcome()
    memory = defaultdict(list) if memory is None else memory
    for failed in (failed for session in sessions for failed in session):
        past = memory[failed.repository, failed.signature]
        earlier = [other for other in past if other.case.session != failed.case.session]
        # What its own session has not mended yet is not known to be of any use.
        known = [
            other if other.known_at(failed) else replace(other, case=replace(other.case, remedy=None))
            for other in past
        ]
        shown = rule(failed, known)
        if earlier and failed.signature not in without:
            outcome.repeats += 1
            if any(other.case.change for other in earlier):
                outcome.with_remedy += 1
                if shown is not None:
                    _judge(outcome, failed, shown)
        shown_id = shown.case.id if shown is not None and is_unheeded else None
        past.append(replace(failed, case=replace(failed.case, shown=shown_id)))
    return outcome


def _judge(outcome: Outcome, failed: Failed, shown: Failed) -> None:
    outcome.shown += 1
    own, made = failed.case.change, shown.case.change
    if own is not None and made is not None:
        outcome.judged += 1
        outcome.right += made.agrees_with(own)
    if failed.plain is not None and shown.remedy is not None:
        outcome.plainly_judged += 1
        outcome.plainly_right += _plain_change(shown.text, shown.remedy[0]).agrees_with(failed.plain)


def shield(failed: Failed, known: Sequence[Failed]) -> Failed | None:
    """Choose as the product does."""
    recent = known[-KEPT:]
    supported = choose(failed.case.failed, [other.case for other in recent])
    chosen = supported.case if supported else None
    return next((other for other in recent if chosen and other.case.id == chosen.id), None)


def last(_failed: Failed, known: Sequence[Failed]) -> Failed | None:
    """Choose the last remedy, always."""
    return next((other for other in reversed(known) if other.case.change), None)


def agreement(_failed: Failed, known: Sequence[Failed]) -> Failed | None:
    """Choose the last remedy if the one before it agrees."""
    made = [(other, its) for other in known if (its := other.case.change)]
    return made[-1][0] if len(made) > 1 and made[-1][1].agrees_with(made[-2][1]) else None


def _random(sessions: Sessions) -> dict[str, Any]:
    """Return what showing any remedy of the repository's earlier sessions would come to."""
    draw = random.Random(0)
    right = judged = 0
    memory: dict[str, list[tuple[str, Change]]] = defaultdict(list)
    for failed in (failed for session in sessions for failed in session):
        past = memory[failed.repository]
        earlier = [made for session, made in past if session != failed.case.session]
        own = failed.case.change
        if earlier and own is not None:
            judged += DRAWS
            right += sum(draw.choice(earlier).agrees_with(own) for _ in range(DRAWS))
        if own:
            past.append((failed.case.session, own))
    return {"precision": _share(right, judged)}


def _of(sessions: Sessions, repositories: Iterable[str]) -> Sessions:
    wanted = set(repositories)
    return [[failed for failed in session if failed.repository in wanted] for session in sessions]


def _plain_words(text: str) -> frozenset[str]:
    return frozenset(word.strip("'\"();|&") for word in text.split("<<", maxsplit=1)[0].split()) - {""}


def _plain_program(text: str) -> str:
    steps = [step.split() for step in re.split(r"&&|;|\n", text)]
    real = [step for step in steps if step and step[0] not in ("cd", "echo")]
    words = [word for word in (real or [["cd"]])[-1] if "=" not in word] or [""]
    return re.sub(r"[\d.]+$", "", words[0].rsplit("/", 1)[-1])


def _plainly_similar(failed: str, succeeded: str) -> bool:
    return _plain_program(failed) == _plain_program(succeeded) and bool(
        _plain_words(failed) & _plain_words(succeeded)
    )


def _plain_change(failed: str, succeeded: str) -> Change:
    before, after = _plain_words(failed), _plain_words(succeeded)
    return Change(after - before, before - after)


def _share(part: float, of: int) -> float:
    return round(part / of, 3) if of else 0.0


if __name__ == "__main__":
    main()
