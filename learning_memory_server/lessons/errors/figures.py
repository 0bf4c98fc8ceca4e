"""Figures of errors for a person: how often each came, and which command worked next."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final

from learning_memory_server.lessons.errors.jobs import without_message
from learning_memory_server.lessons.errors.outcomes import is_check
from learning_memory_server.lessons.errors.sanitize import is_exception
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.moment import as_seen
from learning_memory_server.shell.steps import read_steps

_OF_PLACE: Final = re.compile(
    r"command not found|: not found$|no such (?:file|folder|directory|option|command|subcommand)|no module named"
    r"|cannot find (?:module|package)|script not found|missing script|path does not exist|usage:|permission denied"
    r"|(?:unknown|unrecogni[sz]ed|unexpected|illegal|invalid) (?:sub)?(?:command|option|argument|flag)"
    r"|could not connect|connection refused",
    re.IGNORECASE,
)
"""Lines about the machine or about how something was called, not about the code that is written."""
_OF_SHELL: Final = re.compile(r"(?:\(eval\)|\S*sh):")
_OF_TESTS: Final = re.compile(r"\btests?\b.*\bfail", re.IGNORECASE)
_MESSAGE_OPTIONS: Final = frozenset({"-m", "-am", "--message"})
_NO_FILE: Final = re.compile(
    r"(?:ls|cat|head|tail|grep|rg|sed|wc|stat|find|diff|cp|mv|rm)\b.*no such file", re.IGNORECASE
)
"""Lines about a file that an agent looked for in vain: it is answered by that."""


@dataclass(frozen=True, slots=True)
class Figures:
    """How often an error came, and what worked next."""

    project: str
    line: str  # the line that names the error, as `command` had it last
    command: str  # the command that failed with it most often
    times: int  # how many commands failed with it
    sessions: int  # in how many sessions
    last_seen: datetime
    is_of_check: bool = False  # whether one of the commands tests, builds or checks the code
    followed: str = ""  # the command that worked next in most sessions; empty if none did
    followed_in: int = 0  # in how many sessions it did
    stayed_away: int = 0  # in how many of those the error did not come again

    @property
    def is_about_the_place(self) -> bool:
        """Whether the error is of a tool or of the machine, not of the code that is written."""
        is_own = any(_is_own(step.call) for step in read_steps(self.command).steps) and not _OF_SHELL.match(self.line)
        if is_own or _NO_FILE.match(self.line) or _OF_TESTS.search(self.line) or self.line.endswith(":"):
            return False
        return self.is_of_call or not (self.is_of_check or is_exception(self.line))

    @property
    def is_of_call(self) -> bool:
        """Whether the line says that something is not there, or was called in a wrong way."""
        return _OF_PLACE.search(self.line) is not None


def figures_of(known: Sequence[Failure]) -> Figures:
    """Return the figures of failures with one error, at least one."""
    known = sorted(known, key=lambda each: as_seen(each.created_at))
    sessions: dict[str, list[Failure]] = defaultdict(list)
    for each in known:
        sessions[each.session].append(each)
    followed = _most_usual([[each.worked for each in failures if each.worked] for failures in sessions.values()])
    after = [
        [each for each in failures if each.worked and plain_command(each.worked) == plain_command(followed)]
        for failures in sessions.values()
    ]
    command = _most_usual([[each.command] for each in known])
    lines = [each.named_line for each in known if plain_command(each.command) == plain_command(command)]
    last_ones = [failures[-1] for failures in sessions.values()]
    return Figures(
        known[-1].project,
        lines[-1],
        command,
        times=len(known),
        sessions=len(sessions),
        last_seen=known[-1].created_at,
        is_of_check=any(is_check(without_message(each.command)) for each in known),
        followed=followed,
        followed_in=sum(map(bool, after)),
        stayed_away=sum(
            bool(found) and found[-1] is last and not any(each.returned for each in found)
            for found, last in zip(after, last_ones, strict=True)
        ),
    )


def _is_own(call: Sequence[str]) -> bool:
    """Return whether a call runs a program by its path, as one under work; tools are in folders named `bin`."""
    return bool(call) and "/" in call[0] and "bin" not in re.split(r"[/.]", call[0])


def _most_usual(commands: Iterable[Iterable[str]]) -> str:
    """Return the command that is in most of the lists, in its shortest form; empty if there is none."""
    found, forms = Counter[str](), defaultdict[str, set[str]](set)
    for each in commands:
        plain = {plain_command(command): command for command in each}
        found.update(plain.keys())
        for name, command in plain.items():
            forms[name].add(command)
    if not found:
        return ""
    best = min(found, key=lambda name: (-found[name], len(name), name))
    return min(forms[best], key=lambda command: (len(command), command))


@lru_cache(4096)
def plain_command(text: str) -> str:
    """Return a command without filters, redirections and messages, which make no other command of it."""
    command = read_steps(text)
    if not command.is_certain:
        return one_line(without_message(text))
    parts = [
        (step.joined, " ".join(_without_message(step.words))) for step in command.steps if step.words[:2] != ("cd", ".")
    ]
    return " ".join(f"{joined} {words}" if number else words for number, (joined, words) in enumerate(parts))


def _without_message(words: Sequence[str]) -> list[str]:
    """Return the words of a command without the message of a commit."""
    if words[0] != "git" or "commit" not in words[:4]:
        return list(words)
    pairs = zip(("", *words[:-1]), words, strict=True)
    return [word for before, word in pairs if not {before, word} & _MESSAGE_OPTIONS]
