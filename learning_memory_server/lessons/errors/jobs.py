"""The jobs of commands: the names of their calls, their checks, and whether two commands do the same job."""

import re
from typing import Final

from learning_memory_server.lessons.errors.outcomes import is_check
from learning_memory_server.model.failure import Failure
from learning_memory_server.shell.naming import head, subcommand
from learning_memory_server.shell.steps import Step, read_steps

_RUNS: Final = frozenset({"run", "exec"})  # Sub-commands that are followed by the name of a script or program
_MESSAGE: Final = re.compile(r"(\bgit commit\b[^\n\"']{0,80}?) (?:-a?m|--message) .*", re.DOTALL)
HOOKED: Final = frozenset({"git commit", "git push"})  # Their hooks check the code


def without_message(text: str) -> str:
    """Return a command up to the message of a commit."""
    return _MESSAGE.sub(r"\1", text)


def call_name(step: Step) -> str:
    """Return the program that a step runs, with its sub-command or script: `bun run test`, `go build`."""
    if not step.call:
        return ""
    length, name = head(step.call)
    rest = step.call[length:]
    while name == "git" and rest[:1] and rest[0] in {"-C", "-c"}:
        rest = rest[2:]
    named = subcommand(name, rest)
    return " ".join((name, *named[: 2 if named[:1] and named[0] in _RUNS else 1]))


def calls_of(text: str) -> list[str]:
    """Return the names of the calls of a command, without changes of the folder."""
    names = map(call_name, read_steps(without_message(text)).steps)
    return [name for name in names if name and name.partition(" ")[0] not in {"cd", "export", "echo"}]


def check_of(failure: Failure) -> str:
    """Return the name of the check that failed; empty if the command has none, or several that the line leaves open."""
    steps = read_steps(without_message(failure.command)).steps
    names = list(dict.fromkeys(call_name(step) for step in steps if is_check(" ".join(step.words))))
    names = names or [name for name in map(call_name, steps) if name in HOOKED]
    if len(names) > 1:
        names = [
            name
            for name in names
            if re.search(rf"[\[\"]{re.escape(name.rpartition(' ')[2])}[\]\"]", failure.named_line)
        ]
    return names[0] if len(names) == 1 else ""


def is_same_job(failed: str, followed: str) -> bool:
    """Return whether a command does what the failed one should: the same call, or another program with its words.

    One that only leaves steps out does not.
    """
    before, after = read_steps(without_message(failed)), read_steps(without_message(followed))
    kept = {step.words for step in after.steps}
    if kept < {step.words for step in before.steps}:
        return False
    if _jobs(failed) & _jobs(followed):
        return True
    if before.programs == after.programs:
        return False
    both = before.words & after.words
    programs = before.programs & after.words | after.programs & before.words
    return bool(programs) and 2 * len(both) > max(len(before.words), len(after.words))


def _jobs(text: str) -> set[str]:
    """Return the names of the calls of a command; `lint:fix` is the same job as `lint`."""
    return {name.partition(":")[0] for name in calls_of(text)}
