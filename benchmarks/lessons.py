"""What the hooks say of lessons: `python -m benchmarks.lessons [--sessions FILE ...] [--entries FILE]`.

- right: `benchmarks/data/lessons.json` has lessons, and what a later agent runs before it knows. Each is one of a store
  with all of them, and with twelve others. Commands are run plainly and in the ways that agents write them, some of
  which hide that the command fails: at which of its failures the lesson is told. And whether a prompt alone tells it.
- ties: an entry is open in each of these sessions, with its task as its texts, and resolved at its end: what its errors
  are tied to is told in later ones. Then each line that a lesson knows is printed in the folder of another project.
- wrong: recorded sessions over stores of other projects, in which no lesson bears on anything: how many sessions are
  told one, at the prompt or at a command, and the moments.
"""

import argparse
import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.population import completed
from benchmarks.recorded import read_entries, read_sessions
from benchmarks.recurring import Session, ended, prompted
from benchmarks.values import entry, groups
from learning_memory_server.advice.log import AdviceLog
from learning_memory_server.advice.sources.base import Source
from learning_memory_server.advice.sources.lessons import LessonsSource
from learning_memory_server.advice.ties import programs_of
from learning_memory_server.model import limits
from learning_memory_server.model.caller import MAIN_AGENT, Caller, session_hash
from learning_memory_server.model.entry import Beginning, Ghap, Lesson, Outcome, RootCause
from learning_memory_server.model.vocabulary import Domain, OutcomeStatus, RootCauseCategory, Strategy
from learning_memory_server.server.composition.logging import configure_logging
from learning_memory_server.server.composition.services import Services, open_services
from learning_memory_server.server.settings import Settings

DATA: Final = Path(__file__).parent / "data" / "lessons.json"
WAYS: Final = {
    "plain": "{}",
    "status": '{} 2>&1; echo "rc=$?"',
    "folder": "cd /work/shop && {} 2>&1",
    "tail": "{} 2>&1 | tail -20",
    "tail, status": "{} 2>&1 | tail -20; echo rc=$?",
    "true": "{} || true",
    "status, more": "{}; echo rc=$?; ls",
    "loop": "for each in 1; do {}; done",
}
FEW: Final = 12
_ALSO: Final = (
    ("List {} in the handbook", "{} stands between its neighbours by name", "The handbook sorts {} by its owner"),
    ("Make {} start faster", "{} is slow because of its size", "{} reads the whole configuration at each start"),
)
"""What two other lessons are about."""
_TIED: Final = "Learned at `"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=Path, nargs="*", default=[])
    parser.add_argument("--entries", type=Path)
    options = parser.parse_args()
    configure_logging("error")
    asyncio.run(run(options.sessions, options.entries))


async def run(sessions: Sequence[Path], entries: Path | None) -> None:
    """Print both tables."""
    rows = json.loads(DATA.read_text("utf-8"))["lessons"]
    lessons = [lesson_of(number, row) for number, row in enumerate(rows)]
    others = [replace(member, project="shop") for group in groups() for member in group.members]
    await print_right("all", rows, lessons, None)
    await print_right("with twelve others", rows, lessons, others)
    await print_right("met, one of three about its tool", rows, lessons, others, of_three=True)
    for recorded in map(read_sessions, sessions):
        await print_ties(recorded)
        await print_wrong("the values' experiences", recorded, others)
        await print_wrong("these lessons", recorded, lessons)
        if entries:
            foreign = read_entries(entries)
            await print_wrong("the entries", recorded, foreign)
            await print_wrong("the entries and these lessons", recorded, [*foreign, *lessons])


async def print_right(
    name: str,
    rows: Sequence[dict[str, Any]],
    lessons: Sequence[Ghap],
    others: Sequence[Ghap] | None,
    *,
    of_three: bool = False,
) -> None:
    """Print when each lesson is told, in a store with all of them or with some others.

    With `of_three` an agent met the errors while its entry was open, and two later lessons are about the same tool.
    """
    found: dict[str, Counter[str]] = {}
    wrong = 0
    for place, (row, lesson) in enumerate(zip(rows, lessons, strict=True)):
        drawn = random.Random(place).sample(others, FEW) if others else lessons
        async with filled(
            [*(each for each in drawn if each is not lesson), *([] if of_three else [lesson])]
        ) as services:
            near = set[str]()
            if of_three:
                lesson = await _met(services, row, lesson)  # noqa: PLW2901 - it has an id of its own
            near = {each.id for each in services.collector.list_resolved()} - {
                each.id for each in (*lessons, *(others or ()))
            }
            for way, shape in WAYS.items():
                told = [text async for text in _told(services, row, way, shape)]
                first = next((when for when, text in told if lesson.id in text), "not told")
                kind = "a tool of the project" if row.get("prompt") else "a common program"
                found.setdefault(f"{kind}, {way}", Counter())[first] += 1
                wrong += any(
                    "ghap_" in text and not any(each in text for each in (near or {lesson.id})) for _, text in told
                )
            if prompt := row.get("prompt"):
                text = await _answer(services, prompted(prompt), "a prompt")
                first = "told" if lesson.id in text else "not told"
                found.setdefault("a tool of the project, prompt", Counter())[first] += 1
                wrong += "ghap_" in text and not any(each in text for each in (near or {lesson.id}))
    print(f"{name}: {wrong} told another lesson")
    for kind, counts in found.items():
        print(f"  {kind:38}" + "  ".join(f"{when} {count}" for when, count in sorted(counts.items())))


async def _met(services: Services, row: dict[str, Any], lesson: Ghap) -> Ghap:
    """Let an agent meet the errors while it has the entry open, and two others keep something else about the tool."""
    caller = Caller("shop", "a" * 16, MAIN_AGENT)
    begun = {name: getattr(lesson, name) for name in Beginning.__required_keys__}
    services.collector.start(caller, **begun)
    for command, output, status in (*row["calls"], (*row["calls"][-1][:1], "done", 0)):
        error = f"Exit code {status}\n{output}" if status else ""
        event = ended(command, error or output, has_failed=bool(error))
        await services.hooks.answer(event, caller, caller.session)
    end = lesson.outcome
    texts = {name: getattr(end, name) for name in ("status", "result", "surprise", "root_cause", "lesson")}
    met = services.collector.resolve(caller, None, services.ties.met, **texts)
    (tool,) = sorted(programs_of(next(command for command, _, status in row["calls"] if status)))[-1:]
    for number, (goal, guess, takeaway) in enumerate(_ALSO):
        made = entry(20_000 + number, goal.format(tool), guess.format(tool), "f", "It is not", against=False)
        end = replace(made.outcome, lesson=Lesson("", takeaway.format(tool)), resolved_at=met.outcome.resolved_at)
        services.collector.add_resolved([replace(made, project="shop", resolution=end)])
    await services.writer.complete()
    return met


async def _told(services: Services, row: dict[str, Any], way: str, shape: str) -> AsyncIterator[tuple[str, str]]:
    failed = 0
    for command, output, status in row["calls"]:
        failed += bool(status)
        ran = shape.format(command)
        if status and way in {"plain", "folder"}:
            event = ended(ran, f"Exit code {status}\n{output}", has_failed=True)
        else:
            shown = 0 if "tail" in way else status
            rest = f"\nrc={shown}" if "status" in way else ""
            rest += "\nREADME.md" if "more" in way else ""
            event = ended(ran, output + rest, has_failed=False)
        yield f"failure {failed}" if failed else "before", await _answer(services, event, way)


async def _answer(services: Services, event: dict[str, str], session: str) -> str:
    """Return what a hook says but for the context of a session."""
    return await answer(services, event, Caller("shop", "b" * 16), session)


async def answer(services: Services, event: dict[str, str], caller: Caller, session: str) -> str:
    """Return what a hook says to a caller but for the context of a session, by the client's name of that."""
    services.advisor.sessions.hear(caller, session).started_at = services.clock()
    return await services.hooks.answer(event, caller, session)


async def print_wrong(name: str, sessions: Sequence[Session], entries: Sequence[Ghap]) -> None:
    """Print at what recorded sessions are told a lesson of another project."""
    moments = []
    async with filled(entries) as services:
        for session in sessions:
            happened = [prompted(session.task), *_happened(session)]
            answers = [(event, await _answer(services, event, session.id)) for event in happened]
            moments += [(session.id, event, text) for event, text in answers if "ghap_" in text]
    told = len({session for session, *_ in moments})
    print(f"{name}, {len(entries)} entries: {told} of {len(sessions)} sessions are told one")
    for _, event, text in moments:
        said = json.loads(text)["hookSpecificOutput"]["additionalContext"]
        about = event.get("command") or event["prompt"]
        print(f"  {event['event']}: {about[:90]!r}\n      {said[-160:]!r}")


async def print_ties(sessions: Sequence[Session]) -> None:
    """Print each moment at which a session is told of an earlier one's entry because of an error."""
    told, known = [], dict[str, str]()
    with TemporaryDirectory() as folder:
        settings = Settings(storage_path=Path(folder), journal_path=None, qdrant_url=None)
        async with open_services(settings, purpose="replay") as services:
            for session in sessions:
                caller = Caller(session.project, session_hash(session.id), MAIN_AGENT)
                task = session.task[: limits.STATEMENT_MAX].strip() or "-"
                begun: Beginning = {
                    "domain": Domain.DEBUGGING,
                    "strategy": Strategy.SYSTEMATIC_ELIMINATION,
                    "goal": task,
                    "hypothesis": task,
                    "action": task,
                    "prediction": task,
                }
                services.collector.start(caller, **begun)
                for event in _happened(session):
                    text = await answer(services, event, caller, caller.session)
                    told += [(session, event, text)] if _TIED in text else []
                end: Outcome = {"status": OutcomeStatus.CONFIRMED, "result": task, "lesson": Lesson("", task)}
                entry = services.collector.resolve(caller, None, services.ties.met, **end)
                known |= {each.line: entry.id for each in entry.errors}
            tied = [each for entry in services.collector.list_resolved() for each in entry.errors if each.is_tied]
            elsewhere = 0
            for number, line in enumerate(known):
                event = ended("make report", f"Exit code 1\n{line}", has_failed=True)
                foreign = Caller("foreign", f"{number:016}")
                elsewhere += _TIED in await answer(services, event, foreign, foreign.session)
    print(
        f"ties: {len(tied)} of {len(known)} lines are tied; {len(told)} told in {len(sessions)} sessions, "
        f"{elsewhere} of {len(known)} elsewhere"
    )
    for session, event, text in told:
        said = json.loads(text)["hookSpecificOutput"]["additionalContext"]
        print(
            f"  {session.task[:160]!r}\n    {event['command'][:160]!r}\n    {event.get('error', '')[-200:]!r}\n"
            f"      {said[:330]!r}"
        )


def _happened(session: Session) -> Iterator[dict[str, str]]:
    for ran in session.calls:
        output = f"Exit code 1\n{ran.output}" if ran.has_failed else ran.output
        yield ended(ran.command, output, has_failed=bool(ran.has_failed))


@asynccontextmanager
async def filled(entries: Sequence[Ghap]) -> AsyncIterator[Services]:
    """Open services over a store of one project with these entries, which answer however long it takes.

    However often a lesson was shown, its name is enough: each text stands for the first of a machine.
    """
    async with completed([replace(each, project="shop") for each in entries]) as services:
        services.room.has_deadline = False
        services.room.sources = [_without_wear(each) for each in services.room.sources]
        yield services


def _without_wear(source: Source) -> Source:
    return replace(source, log=_NeverShown()) if isinstance(source, LessonsSource) else source


class _NeverShown(AdviceLog):
    def __init__(self) -> None:
        pass

    def times_shown(self, _name: str) -> int:
        return 0


def lesson_of(number: int, row: dict[str, Any]) -> Ghap:
    """Return a lesson as an agent recorded it whose guess was wrong."""
    made = entry(10_000 + number, row["goal"], row["hypothesis"], "f", row["result"], against=False)
    end = replace(
        made.outcome,
        surprise=row["surprise"],
        root_cause=RootCause(RootCauseCategory.MISLEADING_SYMPTOM, row["cause"]),
        lesson=Lesson(row["result"], row["takeaway"]),
    )
    return replace(made, action=row["action"], prediction=row["prediction"], resolution=end)


if __name__ == "__main__":
    main()
