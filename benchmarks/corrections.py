"""When agents would be asked what they believed: `python -m benchmarks.corrections --data FOLDER [--list] [--json]`.

FOLDER has `corrections-people.jsonl.gz`, the prompts that follow the first one in people's sessions, each with the
beginning of the agent's answer, and `people/REPO/*.jsonl.gz`, whole transcripts. No model is asked anything.

- follow_ups, sessions: of the first file; conceded: those that somebody's list of phrases takes for an objection which
  the agent conceded; found: how many of these are a sign here, and others: signs that are none of these.
- interrupted, found_interrupted: the prompts after an interruption, and how many of them are a sign.
- asked: the questions, at most one a session; asked_share: of the sessions.
- transcripts: of the folder `people`; worked: in how many of them a program failed several times and then worked;
  refused: in how many a call was refused with a person's own words.
- tokens: of a question without near entries, about four characters each.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measuring import Option, options_of
from benchmarks.recorded import lines_of
from learning_memory_server.advice.asking.asker import worded
from learning_memory_server.advice.asking.signs import Sign, SignKind, Signs, objection_in
from learning_memory_server.advice.asking.transcript import Turn
from learning_memory_server.advice.asking.words import own_words
from learning_memory_server.lessons.errors.transcripts import Passed
from learning_memory_server.rules.past.events import Over, events_in
from learning_memory_server.shell.steps import read_steps


def main() -> None:
    """Run the benchmark."""
    options = options_of(__doc__, data=Option(Path, is_needed=True), list=Option(False, "show the questions"))
    rows = [json.loads(line) for line in lines_of(options.data / "corrections-people.jsonl.gz")]
    signs = [(row, sign) for row in rows if (sign := _sign_of(row))]
    asked = {row["session"]: (row, sign) for row, sign in reversed(signs)}
    if options.list:
        for row, sign in asked.values():
            print(f"{row['repo']} {row['at']} {sign.kind}: {sign.quote}")
    conceded = [sign for row, sign in signs if row["conceded"]]
    stopped = [sign for row, sign in signs if row["interrupted"]]
    sessions = len({row["session"] for row in rows})
    tokens = [len(worded(sign, [], None)) / 4 for _, sign in asked.values()]
    seen, transcripts = _in_transcripts(options.data / "people")
    figures = {
        "follow_ups": len(rows),
        "sessions": sessions,
        "conceded": sum(row["conceded"] for row in rows),
        "found": len(conceded),
        "others": len([row for row, _ in signs if not (row["conceded"] or row["interrupted"])]),
        "interrupted": sum(row["interrupted"] for row in rows),
        "found_interrupted": len(stopped),
        "asked": len(asked),
        "asked_share": round(len(asked) / sessions, 3),
        "tokens": round(sum(tokens) / len(tokens)),
        "transcripts": transcripts,
        **{kind.value: seen[kind] for kind in (SignKind.WORKED, SignKind.REFUSED)},
    }
    for name, value in figures.items():
        print(f"{name:18}{value}")
    if options.json:
        print(json.dumps(figures))


def _sign_of(row: dict[str, Any]) -> Sign | None:
    return objection_in(Turn(row["words"], is_interruption=row["interrupted"], answer=row["answer"]))


def _in_transcripts(folder: Path) -> tuple[Counter[SignKind], int]:
    """Return in how many transcripts there is each sign that is not said in a prompt, and how many there are."""
    found, number = Counter[SignKind](), 0
    for path in sorted(folder.glob("*/*.jsonl.gz")):
        number += 1
        found.update(set(_kinds_in(path)))
    return found, number


def _kinds_in(path: Path) -> Iterator[SignKind]:
    signs = Signs()
    for event in events_in(path, Passed()):
        if isinstance(event, Over) and not event.asked.agent:
            if event.refused and own_words(event.refused.words):
                yield SignKind.REFUSED
            if event.ran:
                signs.ran(read_steps(event.ran.command).programs, has_failed=bool(event.ran.has_failed))
        if signs.waiting:
            yield signs.waiting.kind
            signs.waiting = None


if __name__ == "__main__":
    main()
