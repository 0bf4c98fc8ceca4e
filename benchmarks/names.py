"""What prompts and commands are told because of a name: `python -m benchmarks.names [--entries FILE] [--json]`.

A generator with a seed makes the texts; they were written before any was told. The lessons are those of
`benchmarks/data/lessons.json` and of the values' experiences, and with --entries those of a file, in one project.

- other: 200 prompts and 500 commands that name other things than the lessons do: half a neighbour of a thing that a
  lesson names, such as a file of the same folder, half something made up. Each fifth command fails.
- same: 200 texts, half of them commands, that name what a lesson names, for something else that it says nothing about.

Each comes from a session of its own, so nothing is silent for having been told. Whatever lesson is told is wrong.
"""

import asyncio
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from learning_memory_server.lessons.names import names_in

from benchmarks.lessons import DATA, filled, lesson_of
from benchmarks.measuring import Option, options_of
from benchmarks.recorded import read_entries
from benchmarks.values import groups
from learning_memory_server.hooks.event import AFTER_FAILURE, AFTER_TOOL, PROMPT, Event
from learning_memory_server.index.document import axis_text
from learning_memory_server.model.caller import Caller, session_hash
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.server.composition.logging import configure_logging

PROMPTS: Final = 200
COMMANDS: Final = 500
SAME: Final = 200
MOST: Final = {"other": 2, "same": 10}
"""How many of each kind may be told a lesson."""
_FAILS: Final = 5
_ASKS: Final = (
    "Who wrote {}, and in which year was that?",
    "Add the licence header to {}, please.",
    "Translate the comments in {} into Spanish.",
    "How many lines does {} have without blank ones?",
    "We want to rename {} next month. List everybody who should hear of it.",
    "Draw a diagram for the new colleague that shows where {} stands.",
    "Is {} mentioned in the release notes of the spring?",
    "Write one sentence about {} for the newsletter of the department.",
    "Sort the list in the handbook so that {} comes before its neighbours.",
    "Check the spelling of every text that mentions {}.",
)
_RUNS: Final = (
    "git log --oneline -- {}",
    "wc -l {}",
    "grep -rn {} docs",
    "ls -la {}",
    "git blame -L 1,5 {}",
    "head -3 {}",
    "file {}",
    "du -sh {}",
    "sha256sum {}",
    "stat -c %U {}",
)
_ENDS: Final = ("No such file or directory", "Permission denied", "Is a directory", "unexpected end of input")
_FIRST: Final = ("amber", "cedar", "delta", "ferry", "glade", "harbor", "island", "jasper", "kernel", "lantern")
_SECOND: Final = ("basket", "compass", "drawer", "engine", "folder", "garden", "helmet", "invoice", "jacket", "kettle")
_FOLDERS: Final = ("bin", "tools", "scripts", "src", "app", "lib", "config", "deploy")


class Text(NamedTuple):
    """A prompt, or a command and what it printed."""

    prompt: str = ""
    command: str = ""
    error: str = ""


def made(named: Sequence[str], seed: int = 1) -> dict[str, list[Text]]:
    """Return the texts of each kind over lessons that name these things."""
    generator = random.Random(seed)

    def other(number: int) -> str:
        name = _neighbour(generator.choice(named), generator) if number % 2 else _new(generator)
        return name if not names_in(name) & set(named) else _new(generator)

    prompts = [Text(generator.choice(_ASKS).format(other(number))) for number in range(PROMPTS)]
    commands = [_ran(other(number), generator, fails=number % _FAILS == 0) for number in range(COMMANDS)]
    same = [
        _ran(name, generator, fails=False) if number % 2 else Text(generator.choice(_ASKS).format(name))
        for number, name in ((number, named[number // 2 % len(named)]) for number in range(SAME))
    ]
    return {"other": [*prompts, *commands], "same": same}


def named_by(lessons: Sequence[Ghap]) -> list[str]:
    """Return what lessons name."""
    return sorted({name for each in lessons for name in names_in(axis_text(each, Axis.FULL))})


def _ran(name: str, generator: random.Random, *, fails: bool) -> Text:
    command = generator.choice(_RUNS).format(name)
    return Text("", command, f"Exit code 1\n{name}: {generator.choice(_ENDS)}" if fails else "")


def _new(generator: random.Random) -> str:
    first, second = generator.choice(_FIRST), generator.choice(_SECOND)
    shapes = (
        f"{generator.choice(_FOLDERS)}/{first}-{second}",
        f"{first}_{second}",
        f"{first}{second.title()}",
        f"{first.upper()}{generator.randint(100, 999)}",
    )
    return generator.choice(shapes)


def _neighbour(name: str, generator: random.Random) -> str:
    """Return the name of something that stands next to a thing, or is called nearly like it."""
    folder, slash, last = name.rpartition("/")
    word, dot, kind = last.partition(".")
    added = generator.choice(_SECOND)
    return f"{folder}{slash}{generator.choice((f'{word}_{added}', f'{added}_{word}', added + word.title()))}{dot}{kind}"


async def told(lessons: Sequence[Ghap], texts: dict[str, list[Text]]) -> dict[str, list[tuple[Text, str]]]:
    """Return those of the texts that are told a lesson, by kind, with what is told."""
    found: dict[str, list[tuple[Text, str]]] = {kind: [] for kind in texts}
    async with filled(lessons) as services:
        for kind, each_of_kind in texts.items():
            for number, text in enumerate(each_of_kind):
                session = session_hash(f"{kind} {number}")
                services.hooks.session(session).context_at = services.clock()
                if text.prompt:
                    event = Event(PROMPT, session, prompt=text.prompt)
                else:
                    event = Event(
                        AFTER_FAILURE if text.error else AFTER_TOOL, session, command=text.command, error=text.error
                    )
                answer = await services.hooks.answer(event, Caller("shop", session))
                if "ghap_" in answer:
                    found[kind].append((text, json.loads(answer)["hookSpecificOutput"]["additionalContext"]))
    return found


def main() -> None:
    """Run the benchmark."""
    options = options_of(__doc__, entries=Option(Path))
    configure_logging("error")
    lessons = [lesson_of(number, row) for number, row in enumerate(json.loads(DATA.read_text("utf-8"))["lessons"])]
    stores = {"own": [*lessons, *(member for group in groups() for member in group.members)]}
    if options.entries:
        stores["entries"] = read_entries(options.entries)
        stores["all"] = [*stores["own"], *stores["entries"]]
    report: dict[str, Any] = {}
    for store, known in stores.items():
        texts = made(named_by(known))
        report[store] = {}
        for kind, found in asyncio.run(told(known, texts)).items():
            report[store][kind] = len(found)
            verdict = "yes" if len(found) <= MOST[kind] else "NO"
            print(f"{store}, {kind}: {len(found)} of {len(texts[kind])} are told, at most {MOST[kind]}: {verdict}")
            for text, said in found:
                print(f"  {(text.prompt or text.command)!r}\n      {said[:200]!r}")
    if options.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
