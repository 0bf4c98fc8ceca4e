"""How often people refuse the same again: `python -m benchmarks.refusals --data FILE [--json]`.

FILE has the calls that people refused, a JSON object a line, which may be packed: `session`, `repo`, `at` (ISO 8601),
`tool`, `input` and `words`, empty where the person wrote none.

- refusals, with_words: all calls; plans: those of ExitPlanMode and AskUserQuestion; mcp: those of MCP tools.
- heard: those of built-in tools without plans, and how many of them have words; kept: with one short line of words,
  without an address; commands: of these, those of the shell.
- named: commands of which the words name an operand or an option.
- again_*: refusals of the shell that come again in a later session of the repository, with or without words: with the
  same program; with its sub-command, too; and with what the words name, as `learning.failures.refusals` reads them.
- questions: kept words that end in a question mark, which say nothing of how to work.
- asked_tokens: of what an agent is asked about one refusal, and `asked_a_session` of all of a session that has any;
  told_tokens of one quotation. A token is taken for four characters.
- recurring: for each pair of sessions the call, its words and the later words.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measuring import Option, options_of
from benchmarks.recorded import lines_of
from learning_memory_server.index.ranking.terms import terms
from learning_memory_server.lessons.errors.parse import head, parse, subcommand
from learning_memory_server.model.memory import Refusal
from learning_memory_server.rules.hearing import question
from learning_memory_server.rules.refusals import can_be_kept, kind_of

_PLANS = ("ExitPlanMode", "AskUserQuestion")


@dataclass(frozen=True, slots=True)
class Row:
    """A call that was refused."""

    session: str
    project: str
    refusal: Refusal


def main() -> None:
    """Run the benchmark."""
    options = options_of(__doc__, data=Option(Path, is_needed=True))
    report = measure([_row(json.loads(line)) for line in lines_of(options.data)])
    if options.json:
        print(json.dumps(report))
        return
    for name, value in report.items():
        print(f"{name}: {value if not isinstance(value, list) else ''}")
        for each in value if isinstance(value, list) else ():
            print(f"  {each}")


def measure(rows: list[Row]) -> dict[str, Any]:
    """Return all figures."""
    heard = [each for each in rows if each.refusal.tool not in (*_PLANS, "?") and "__" not in each.refusal.tool]
    kept = [each for each in heard if can_be_kept(each.refusal.words)]
    shell = [each for each in heard if each.refusal.tool == "Bash"]
    commands = [each for each in kept if each.refusal.tool == "Bash"]
    asked = [
        [question([(each.refusal, "refusal_00000000")]) for each in kept if each.session == name]
        for name in sorted({each.session for each in kept})
    ]
    return {
        "refusals": len(rows),
        "with_words": sum(bool(each.refusal.words) for each in rows),
        "plans": sum(each.refusal.tool in _PLANS for each in rows),
        "mcp": sum("__" in each.refusal.tool for each in rows),
        "heard": len(heard),
        "heard_with_words": sum(bool(each.refusal.words) for each in heard),
        "kept": len(kept),
        "questions": sum(each.refusal.words.endswith("?") for each in kept),
        "commands": len(commands),
        "named": sum(_names(each.refusal) for each in commands),
        **{
            f"again_{name}": f"{len({one for one, _ in _again(shell, shell, is_same)})} of {len(shell)}"
            for name, is_same in _SAME.items()
        },
        "again_kept": f"{len({one for one, _ in _again(commands, shell, _SAME['kind'])})} of {len(commands)}",
        "asked_tokens": round(median(len(text) for texts in asked for text in texts) / 4),
        "asked_a_session": round(median(sum(map(len, texts)) for texts in asked) / 4),
        "told_tokens": round(median(len(each.refusal.told) for each in kept) / 4),
        "recurring": [
            f"{shell[one].refusal.call[:60]!r}: {shell[one].refusal.words!r}; later {shell[two].refusal.words!r}"
            for one, two in _again(shell, shell, _SAME["subcommand"])
        ],
    }


def _again(
    earlier: list[Row], later: list[Row], is_same: Callable[[Refusal, Refusal], bool]
) -> Iterator[tuple[int, int]]:
    """Yield the places of refusals, each with the place of the same in a later session of its project."""
    for one, first in enumerate(earlier):
        for two, second in enumerate(later):
            is_later = second.refusal.at > first.refusal.at and second.session != first.session
            if is_later and second.project == first.project and is_same(first.refusal, second.refusal):
                yield one, two


def _programs(call: str, words: int) -> set[tuple[str, ...]]:
    """Return the programs of a command, each with so many words of its sub-command."""
    calls = [step.call for step in parse(call).steps if step.call and step.call[0] != "cd"]
    heads = [(*head(call), call) for call in calls]
    return {(name, *subcommand(name, call[length:])[:words]) for length, name, call in heads}


def _names(refusal: Refusal) -> bool:
    """Return whether the words name an operand or an option of the command."""
    calls = [step.call for step in parse(refusal.call).steps if step.call]
    heads = [(*head(call), call) for call in calls]
    rest = " ".join(" ".join(call[length + len(subcommand(name, call[length:])[:1]) :]) for length, name, call in heads)
    return not set(terms(refusal.words)).isdisjoint(terms(rest))


_SAME: dict[str, Callable[[Refusal, Refusal], bool]] = {
    "program": lambda one, two: bool(_programs(one.call, 0) & _programs(two.call, 0)),
    "subcommand": lambda one, two: bool(_programs(one.call, 1) & _programs(two.call, 1)),
    "kind": lambda one, two: kind_of(one).has(two.tool, two.call),
}


def _row(given: dict[str, Any]) -> Row:
    call = next((given["input"][key] for key in ("command", "file_path") if key in given["input"]), "")
    at = datetime.fromisoformat(given["at"])
    return Row(given["session"], given["repo"], Refusal(given["tool"], call, given["words"], at))


if __name__ == "__main__":
    main()
