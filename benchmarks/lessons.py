"""What the hooks say of lessons: `python -m benchmarks.lessons [--sessions FILE] [--entries FILE]`.

- right: `benchmarks/data/lessons.json` has lessons, and what a later agent runs before it knows. Each is one of a store
  with all of them, and with twelve others. Commands are run plainly and in the ways that agents write them, some of
  which hide that the command fails: at which of its failures the lesson is told. And whether a prompt alone tells it.
- wrong: recorded sessions over stores of other projects, in which no lesson bears on anything: how many sessions are
  told one, at the prompt or at a command, and the moments.
"""

import argparse
import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from benchmarks.population import completed
from benchmarks.recorded import read_entries, read_sessions
from benchmarks.recurring import Session
from benchmarks.values import entry, groups
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Ghap, Lesson, RootCause
from learning_memory_server.model.vocabulary import RootCauseCategory
from learning_memory_server.server.composition.logging import configure_logging
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.hooks.event import AFTER_FAILURE, AFTER_TOOL, PROMPT, Event

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


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=Path)
    parser.add_argument("--entries", type=Path)
    options = parser.parse_args()
    configure_logging("error")
    asyncio.run(run(options.sessions, options.entries))


async def run(sessions: Path | None, entries: Path | None) -> None:
    """Print both tables."""
    rows = json.loads(DATA.read_text("utf-8"))["lessons"]
    lessons = [_entry(number, row) for number, row in enumerate(rows)]
    others = [replace(member, project="shop") for group in groups() for member in group.members]
    await print_right("all", rows, lessons, None)
    await print_right("with twelve others", rows, lessons, others)
    if sessions:
        recorded = read_sessions(sessions)
        await print_wrong("the values' experiences", recorded, others)
        await print_wrong("these lessons", recorded, lessons)
        if entries:
            foreign = read_entries(entries)
            await print_wrong("the entries", recorded, foreign)
            await print_wrong("the entries and these lessons", recorded, [*foreign, *lessons])


async def print_right(
    name: str, rows: Sequence[dict[str, Any]], lessons: Sequence[Ghap], others: Sequence[Ghap] | None
) -> None:
    """Print when each lesson is told, in a store with all of them or with some others."""
    found: dict[str, Counter[str]] = {}
    wrong = 0
    for place, (row, lesson) in enumerate(zip(rows, lessons, strict=True)):
        drawn = random.Random(place).sample(others, FEW) if others else lessons
        async with filled([*(each for each in drawn if each is not lesson), lesson]) as services:
            for way, shape in WAYS.items():
                told = [text async for text in _told(services, row, way, shape)]
                first = next((when for when, text in told if lesson.id in text), "not told")
                kind = "a tool of the project" if row.get("prompt") else "a common program"
                found.setdefault(f"{kind}, {way}", Counter())[first] += 1
                wrong += any("ghap_" in text and lesson.id not in text for _, text in told)
            if prompt := row.get("prompt"):
                text = await _answer(services, Event(PROMPT, "a prompt", prompt=prompt))
                first = "told" if lesson.id in text else "not told"
                found.setdefault("a tool of the project, prompt", Counter())[first] += 1
                wrong += "ghap_" in text and lesson.id not in text
    print(f"{name}: {wrong} told another lesson")
    for kind, counts in found.items():
        print(f"  {kind:38}" + "  ".join(f"{when} {count}" for when, count in sorted(counts.items())))


async def _told(services: Services, row: dict[str, Any], way: str, shape: str) -> AsyncIterator[tuple[str, str]]:
    failed = 0
    for command, output, status in row["calls"]:
        failed += bool(status)
        ran = shape.format(command)
        if status and way in {"plain", "folder"}:
            event = Event(AFTER_FAILURE, way, command=ran, error=f"Exit code {status}\n{output}")
        else:
            shown = 0 if "tail" in way else status
            rest = f"\nrc={shown}" if "status" in way else ""
            rest += "\nREADME.md" if "more" in way else ""
            event = Event(AFTER_TOOL, way, command=ran, output=output + rest)
        yield f"failure {failed}" if failed else "before", await _answer(services, event)


async def _answer(services: Services, event: Event) -> str:
    """Return what a hook says but for the context of a session."""
    services.hooks.session(event.session).context_at = services.clock()
    return await services.hooks.answer(event, Caller("shop", "b" * 16))


async def print_wrong(name: str, sessions: Sequence[Session], entries: Sequence[Ghap]) -> None:
    """Print at what recorded sessions are told a lesson of another project."""
    moments = []
    async with filled(entries) as services:
        for session in sessions:
            happened = [Event(PROMPT, session.id, prompt=session.task)]
            for ran in session.calls:
                event = Event(AFTER_TOOL, session.id, command=ran.command, output=ran.output)
                failed = replace(event, name=AFTER_FAILURE, output="", error=f"Exit code 1\n{ran.output}")
                happened.append(failed if ran.has_failed else event)
            answers = [(event, await _answer(services, event)) for event in happened]
            moments += [(session.id, event, text) for event, text in answers if "ghap_" in text]
    told = len({session for session, *_ in moments})
    print(f"{name}, {len(entries)} entries: {told} of {len(sessions)} sessions are told one")
    for _, event, text in moments:
        said = json.loads(text)["hookSpecificOutput"]["additionalContext"]
        print(f"  {event.kind}: {(event.command or event.prompt)[:90]!r}\n      {said[-160:]!r}")


@asynccontextmanager
async def filled(entries: Sequence[Ghap]) -> AsyncIterator[Services]:
    """Open services over a store of one project with these entries, which answer however long it takes."""
    async with completed([replace(each, project="shop") for each in entries]) as services:
        services.hooks.advisor.within = None
        yield services


def _entry(number: int, row: dict[str, Any]) -> Ghap:
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
