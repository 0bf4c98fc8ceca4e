"""The names of calls: a program without its folder, version and runner, its sub-command, and whether it only reads."""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from learning_memory_server.shell import calls, wrappers

FILTERS: Final = frozenset("tail head grep egrep fgrep rg sed awk cut tr sort uniq wc cat less more tee jq".split())
READING: Final = FILTERS - {"tee"} | frozenset(
    "which type whereis where man ls find file stat pwd echo printf tree diff".split()
)
"""Programs that only read: their output may contain another program's error."""
_LOOKING: Final = frozenset(
    """
    help list ls status history log logs show version info diff ps top images describe get search view outdated
    --help -h --version -V -version -v
    """.split()
)
_SHELL: Final = frozenset({"cd", "command"})  # `command -v` only looks up; with other words it is not a call itself
_WITHOUT_COMMANDS: Final = frozenset(
    "cp mv mkdir ln gcc clang g++ python node pytest mypy eslint prettier tsc black".split()
)
"""Programs whose first word is an operand."""
_VERSION: Final = re.compile(r"(?<=[A-Za-z])-?[\d.]+$")
_PROGRAM: Final = re.compile(r"[\w./]")
_SUBCOMMAND: Final = re.compile(r"[a-z][a-z:-]*")
_SAME: Final = {"gradlew": "gradle", "mvnw": "mvn"}


def program(call: Sequence[str]) -> str:
    """Return the name of the program that a call runs, without folder and version."""
    return _without_version(call[0].replace("\\", "/").rsplit("/", 1)[-1])


def _without_version(word: str) -> str:
    """Return a word without a version number at its end: `python3.11` becomes `python`."""
    return _VERSION.sub("", word)


def head(words: Sequence[str]) -> tuple[int, str]:
    """Return the number of words up to and including the program, and the program's name. A path stays a path."""
    length, words = len(words), tuple(words)
    while (rest := _run(words)) and _PROGRAM.match(rest[0]):
        words = rest
    length -= len(words)
    if words[1:2] == ("-m",) and words[2:] and program(words) in {"python", "py"}:
        return length + 3, words[2]
    if words[:2] == ("docker", "compose"):
        return length + 2, "docker-compose"
    name = words[0].removeprefix("./")
    name = name if "/" in name else _without_version(name)
    return length + 1, _SAME.get(name, name)


def _run(words: calls.Words) -> calls.Words:
    """Return the call that a project runner runs; empty for any other call."""
    if words[0] == "yarn" and words[1:2] not in {("exec",), ("dlx",)}:
        return words[1:]
    return calls.wrapped(words, wrappers.RUNNERS)


def subcommand(name: str, rest: Sequence[str]) -> tuple[str, ...]:
    """Return the sub-command after a program: its first words, unless they are files or texts."""
    names = [word for word in rest if not word.startswith("-")][: 0 if name in _WITHOUT_COMMANDS else 2]
    return tuple(takewhile(_SUBCOMMAND.fullmatch, names))


def looks(call: Sequence[str]) -> bool:
    """Whether a call only reads, and changes nothing."""
    if not call or call[0] in READING or call[0] in _SHELL:
        return True
    length, name = head(call)
    rest = call[length:]
    asked = {*subcommand(name, rest)[:1], *(word for word in rest if word.startswith("-"))}
    return not _LOOKING.isdisjoint(asked - {"-v"} if len(rest) > 1 else asked)
