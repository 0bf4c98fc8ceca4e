"""Shell commands as their words, as a shell reads them, without filters that only shape or hide the output.

Where the reading is not certain, as with loops, subshells and substitutions, `is_certain` is false.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import dropwhile, takewhile
from typing import Final

_LONGEST: Final = 2000  # Characters of a command that are read. The rest of a longer one is a script.
_REDACTED: Final = re.compile(r"\[redacted: [^\[\]]*\]")
_WORD: Final = r"(?:\\.|\$?'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\s;&|()<>'\"\\])+"
_TOKEN: Final = re.compile(
    rf"(?P<space>(?:[ \t\r\f\v]|\\\n)+)|(?P<comment>#[^\n]*)"
    rf"|<<-?(?!<)\s*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)"
    rf"|(?P<redirection>(?:\d+|&)?(?:>>|>\||<<<|>|<)(?:&\d+|&-|\s*{_WORD}))"
    rf"|(?P<operator>\|\||&&|\|&|;;|[;&|()\n])|(?P<word>{_WORD})",
    re.DOTALL,
)
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_SUBSTITUTION: Final = re.compile(r"`|\$\((?!\()|\$\{[\w\[]*+[^\w}\[]")
_QUOTED: Final = re.compile(r"'[^']*'")
_DURATION: Final = re.compile(r"[\d.]+[smhd]?")
_VERSION: Final = re.compile(r"(?<=[A-Za-z])-?[\d.]+$")

_WRAPPERS: Final = frozenset("sudo env time nice nohup exec command timeout xvfb-run stdbuf".split())
"""Programs whose argument is the program that matters."""
_UNREADABLE: Final = frozenset(
    """
    for while until if then else elif fi case esac select function do done coproc { } ! [[ eval exec trap alias source
    . xargs disown set shopt
    """.split()
)
"""Words of the shell after which the rest is not a plain list of programs."""
_FILTERS: Final = frozenset("tail head grep egrep fgrep rg sed awk cut tr sort uniq wc cat less more tee jq".split())
_SAYING: Final = frozenset({"echo", "printf", "true", ":", "pwd"})
_ONLY_OUTPUT: Final = re.compile(r"\d*>&\d|\d*>&-|(?:\d|&)?>{1,2}\s*/dev/null")
_STATUS: Final = re.compile(r"\$\?|\$\{?PIPESTATUS\[0\]\}?")

_LOOKING: Final = frozenset(
    """
    help list ls status history log logs show version info diff ps top images describe get search view outdated
    --help -h --version -V -version -v
    """.split()
)
_READING: Final = _FILTERS - {"tee"} | frozenset(
    "which type whereis where man ls find file stat pwd echo printf tree diff".split()
)
"""Programs that only read: what they write may be another program's error."""

_WITHOUT_COMMANDS: Final = frozenset(
    "cp mv mkdir ln gcc clang g++ python node pytest mypy eslint prettier tsc black".split()
)
"""Programs whose first word is their operand."""
_RUNNERS: Final = (
    *((runner, "run") for runner in ("uv", "poetry", "pipenv", "pdm", "rye", "hatch")),
    *((runner, "exec") for runner in ("bundle", "pnpm", "yarn")),
    *((runner,) for runner in ("npx", "yarn")),
)
"""Runners of programs that are installed for the project."""
_SAME: Final = {"gradlew": "gradle", "mvnw": "mvn"}


@dataclass(frozen=True, slots=True)
class Step:
    """One of the programs that a command runs."""

    joined: str  # the operator before it
    words: tuple[str, ...]  # its words as they are written

    @property
    def start(self) -> int:
        """How many words come before the program: variables, and programs whose argument it is."""
        rest = dropwhile(lambda word: _ASSIGNMENT.match(word) is not None, self.words)
        return len(self.words) - len(list(dropwhile(_wraps, rest)))

    @property
    def call(self) -> tuple[str, ...]:
        """The program and its arguments."""
        return self.words[self.start :]

    @property
    def folder(self) -> str | None:
        """The folder that it changes to, None if it does something else."""
        return self.words[1] if len(self.words) == 2 and self.words[0] == "cd" else None


@dataclass(frozen=True, slots=True)
class Command:
    """A command."""

    steps: tuple[Step, ...]  # what it does, without what only shapes the output
    is_certain: bool  # whether this is all that it does
    is_hidden: bool = False  # whether its status is not that of its last step
    printed: tuple[str, ...] = ()  # what it prints before a status; empty before one that stands alone

    @property
    def words(self) -> frozenset[str]:
        """Its words."""
        return frozenset(word for step in self.steps for word in step.words)

    @property
    def programs(self) -> frozenset[str]:
        """The programs that it runs, by name or path; `cd` only if there is no other."""
        named = [head(step.call)[1] for step in self.steps if step.call]
        return frozenset([name for name in named if name != "cd"] or named)

    @property
    def unsaid(self) -> int:
        """The number of statuses before the end: of commands before a `;`, and a hidden last one."""
        return sum(step.joined in {"", ";", "\n"} for step in self.steps) - (not self.is_hidden)

    @property
    def only_looks(self) -> bool:
        """Whether it changes nothing, and asks what is there."""
        return all(looks(step) for step in self.steps)

    @property
    def only_reads(self) -> bool:
        """Whether its programs only read files, so that what they write says nothing of themselves."""
        return self.programs <= _READING | {"git", "cd"}


def parse(text: str) -> Command:
    """Return a command as its steps."""
    return _parsed(text[: _LONGEST + 1])  # One character more says that there is more


@lru_cache(1024)
def _parsed(text: str) -> Command:
    read = _Reader(text)
    return Command(tuple(read.steps), read.is_certain, read.is_hidden, tuple(read.printed))


class _Reader:
    """Reads a command word by word."""

    def __init__(self, text: str) -> None:
        readable = _REDACTED.sub("redacted", text[:_LONGEST])
        self.is_certain = readable == text and not text.endswith("\N{HORIZONTAL ELLIPSIS}")
        self.is_hidden, self.printed = False, dict[str, None]()
        self.steps: list[Step] = []
        words: list[str] = []
        redirections: list[str] = []
        joined, ends, place = "", list[str](), 0
        while place < len(readable):
            token = _TOKEN.match(readable, place)
            if token is None:
                self.is_certain, place = False, place + 1
                continue
            place = token.end()
            if token["comment"]:
                continue
            if word := token["word"]:
                words.append(word)
            elif token["redirection"]:
                redirections.append(token["redirection"])
            elif token["end"]:
                ends.append(token["end"])
                self.is_certain = False
            elif operator := token["operator"]:
                self._add(joined, words, redirections)
                joined, words, redirections = operator, [], []
                self.is_certain &= operator not in {"&", "(", ")", ";;"}
                while operator == "\n" and ends:
                    found = re.compile(rf"^[ \t]*{ends.pop(0)}[ \t]*$", re.MULTILINE).search(readable, place)
                    place = found.end() if found else len(readable)
        self._add(joined, words, redirections)

    def _add(self, joined: str, words: list[str], redirections: list[str]) -> None:
        if not words:
            self.is_certain &= not redirections
            return
        others = [each for each in redirections if not _ONLY_OUTPUT.fullmatch(each)]
        step = Step(joined, tuple(words))
        program = step.words[0]
        self.is_certain &= program not in _UNREADABLE
        self.is_certain &= not any(_SUBSTITUTION.search(_QUOTED.sub("", word)) for word in step.words)
        if (joined in {"|", "|&"} and program in _FILTERS and not others) or (
            joined == "||" and (program in _SAYING or program == "exit")
        ):
            self.is_hidden = True
        elif program in _SAYING and not others and (self.steps or joined):
            if joined in {";", "\n"}:
                self._says(" ".join(step.words[1:]))
        else:
            self.steps.append(step)
            self.is_hidden = False

    def _says(self, said: str) -> None:
        """Take a text that is printed in any case: it may be the status, but not that of a filter."""
        status = _STATUS.search(said)
        if status and (not self.is_hidden or "PIPE" in status.group()):
            before = said[: status.start()].replace('"', "").replace("'", "").removeprefix("-e ")
            self.printed[before] = None
        self.is_hidden = True


def program(call: Sequence[str]) -> str:
    """Return the name of the program that a call runs, without its folder and version."""
    return _without_version(call[0].replace("\\", "/").rsplit("/", 1)[-1])


def _without_version(word: str) -> str:
    """Return a word without a number at its end: `python3.11` is `python`."""
    return _VERSION.sub("", word)


def head(words: Sequence[str]) -> tuple[int, str]:
    """Return how many words name the program, with its runner, and its name: a path stays a path."""
    name = words[0].removeprefix("./")
    plain = program(words)
    if plain in {"python", "py"} and len(words) > 2 and words[1] == "-m":
        return 3, words[2]
    for runner in _RUNNERS:
        rest = words[len(runner) :]
        if tuple(words[: len(runner)]) == runner and rest and re.match(r"[\w./]", rest[0]):
            length, name = head(rest)
            return len(runner) + length, name
    if tuple(words[:2]) == ("docker", "compose"):
        return 2, "docker-compose"
    name = name if "/" in name else _without_version(name)
    return 1, _SAME.get(name, name)


def subcommand(name: str, rest: Sequence[str]) -> tuple[str, ...]:
    """Return the first words after a program that name what it does; a file or a text is none."""
    names = [word for word in rest if not word.startswith("-")][: 0 if name in _WITHOUT_COMMANDS else 2]
    return tuple(takewhile(re.compile(r"[a-z][a-z:-]*").fullmatch, names))


def looks(step: Step) -> bool:
    """Return whether a step changes nothing, and asks what is there."""
    words = step.call
    if not words or words[0] in {*_READING, "cd"}:
        return True
    length, name = head(words)
    rest = words[length:]
    asked = {*subcommand(name, rest)[:1], *(word for word in rest if word.startswith("-"))}
    return not _LOOKING.isdisjoint(asked - {"-v"} if len(rest) > 1 else asked)


def _wraps(word: str) -> bool:
    return word in _WRAPPERS or word.startswith("-") or _DURATION.fullmatch(word) is not None
