"""What followed on an error: every cure, with how it fared, for a person; and those that a person has approved.

An agent is told by rule only what `remedies.remedy_for` returns. Anything else waits for a person's yes, which is for
the digest of both commands.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from learning_memory_server.lessons.errors.changes import applied
from learning_memory_server.lessons.errors.outcomes import is_check
from learning_memory_server.lessons.errors.parse import head, parse, program
from learning_memory_server.lessons.errors.remedies import NEVER, Remedy, mended, remedy_for
from learning_memory_server.lessons.files.freshness import split_at_top
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.limits import COMMAND_MAX
from learning_memory_server.model.lines import shortened
from learning_memory_server.redaction.base import MARKER
from learning_memory_server.system.files import read
from learning_memory_server.system.invisible import hides

_CURE: Final = "cure_"
_ELLIPSIS: Final = "\N{HORIZONTAL ELLIPSIS}"
_SHOWN: Final = 120  # Characters of a cure in a sentence
_FOLLOWED: Final = 3  # Cures of an error in a list
_FETCHES: Final = re.compile(
    r"\b(?:curl|wget|iwr|irm|iex|invoke-\w+|npx|bunx|uvx|pipx|dlx|eval|source|install|add|sync|upgrade|migrate)\b"
    r"|\b(?:npm|pnpm|yarn) (?:ci|exec|x|create|init)\b|\b(?:docker|podman) (?:run|pull)\b|--with\b|://"
    r"|\bgit (?:clean|checkout|restore|clone|submodule)\b|--(?:no-verify|privileged|admin|prod|amend)\b|@latest\b"
    r"|\bgit (?:branch|tag) -[dDfmM]|\bgh \w{1,20} (?:merge|create|close|edit|run|set)\b|\bgh api\b|\bdown -v\b"
    r"|\b(?:ssh|scp|sftp|rsync|nc|telnet|pkexec|runas|crontab|systemctl|launchctl|osascript|fuser|mv|tee)\b"
    # What an interpreter is given as a text is a program of its own.
    r"|(?<![\w.-])(?:python[\d.]{0,5}|py|node|bash|sh|zsh|ruby|perl|php|deno|bun|pwsh|powershell)"
    r"(?: -[WX] ?\S{1,40}| -\w{1,20}){0,3}? (?:-\w{0,3}[cer]|--eval|-enc\w{0,20})\b",
    re.IGNORECASE,
)
"""Programs of a command that fetch and run, or delete, besides those that no rule allows."""
_INTERPRETERS: Final = frozenset("python py node bash sh zsh ruby perl php deno bun pwsh powershell source .".split())
_RECIPES: Final = dict(
    pair.split(":")
    for pair in (
        "make:GNUmakefile,makefile,Makefile gmake:GNUmakefile,makefile,Makefile just:justfile,Justfile,.justfile "
        "rake:Rakefile mise:mise.toml task:Taskfile.yml,Taskfile.yaml nox:noxfile.py tox:tox.ini npm:package.json "
        "docker-compose:compose.yaml,compose.yml,docker-compose.yaml,docker-compose.yml pnpm:package.json "
        "yarn:package.json bun:package.json"
    ).split()
)
"""The files that say what a program runs: of several, the program reads one that is there."""
_IS_FILE, _IS_DIR = os.path.isfile, os.path.isdir  # Of a path, a word that is too long for a name would raise


@dataclass(frozen=True, slots=True)
class Cure:
    """The changes of a command that fixed an error, in one or more sessions."""

    cases: tuple[Failure, ...]  # the failures that it mended, oldest first
    sessions: int  # how many sessions it followed in
    met: int  # how many sessions met the error
    away: int  # after which of those that it followed in the error did not come at it
    is_own: bool  # whether these are sessions of this machine

    @property
    def last(self) -> Failure:
        """The case to show: the last that can be approved, one of this machine before others."""
        return max(self.cases, key=lambda each: (flaw(each) is None, not each.imported))

    @property
    def days(self) -> int:
        """On how many days it was found."""
        return len({each.created_at.date() for each in self.cases})

    @property
    def fared(self) -> str:
        """What a person reads of it."""
        whose = "own" if self.is_own else "imported"
        plural = "s" * (self.met != 1)
        text = shortened(ascii_of(self.last.remedy or ""), _SHOWN)
        return (
            f"in {self.sessions} of {self.met} {whose} session{plural} `{text}` followed, and the error stayed away "
            f"in {self.away}"
        )


def cure_id(failure: Failure) -> str:
    """Return the id of a cure: a digest of its error and of both commands."""
    error = failure.id.rpartition("_")[0]
    parts = "\0".join((error, failure.command, failure.remedy or ""))
    return f"{_CURE}{_short(parts)}"


def cures_of(known: Sequence[Failure]) -> list[Cure]:
    """Return the cures of an error, what followed in most sessions first."""
    own = [each for each in known if not each.imported] or list(known)
    found: dict[object, list[Failure]] = {}
    for each in known:
        if each.remedy and each.remedy != each.command and (made := mended(each.command, each.remedy)):
            # Filters of the output make no other cure.
            steps = tuple(step.words for step in parse(each.remedy).steps)
            found.setdefault(made.edits or steps or each.remedy, []).append(each)
    cures = []
    for edits, cases in found.items():
        sessions = {each.session for each in cases if each in own}
        again = {
            each.session
            for each in own
            for case in cases
            if each.session == case.session
            and (each.command == case.remedy or ((made := mended(case.command, each.command)) and made.edits == edits))
        }
        met = len({each.session for each in own})
        cures.append(Cure(tuple(cases), len(sessions), met, len(sessions - again), not own[0].imported))
    return sorted(cures, key=lambda each: -each.sessions)


def followed(known: Sequence[Failure]) -> str:
    """Say which other commands followed an error, the most frequent first, and how they fared; nothing if none did."""
    return "; ".join(each.fared for each in cures_of(known)[:_FOLLOWED])


def is_by_rule(cure: Cure, known: Sequence[Failure]) -> bool:
    """Return whether agents are told a cure without a person's yes."""
    told = remedy_for(cure.last.command, known, named=cure.last.named)
    made = mended(cure.last.command, cure.last.remedy or "")
    return bool(told and made and (change := mended(cure.last.command, told.text)) and change.edits & made.edits)


def flaw(failure: Failure) -> str | None:
    """Return why no person can approve a cure, None if one can: both commands must be whole and seen."""
    for text in (failure.command, failure.remedy or ""):
        if text.endswith(_ELLIPSIS) or len(text) >= COMMAND_MAX:
            return "it was too long to be kept whole"
        if MARKER.search(text):
            return "it has a mark of redaction"
        if len(text.splitlines()) != 1 or not text.isprintable() or hides(text):
            return "it has several lines, or something that nobody sees"
    return None


def is_risky(text: str) -> bool:
    """Return whether a command may destroy, publish, fetch and run, or ask for rights, or cannot be read surely."""
    command = parse(text)
    plain = re.sub(r"[\"'\\]", "", text)
    plain = f"{plain}\n{plain.casefold()}"
    is_piped = any(
        step.joined in {"|", "|&"} and program(step.call or ("",)) in _INTERPRETERS for step in command.steps
    )
    writes = any(step.redirections for step in command.steps)
    return not command.is_certain or is_piped or writes or bool(NEVER.search(plain) or _FETCHES.search(plain))


def ascii_of(text: str) -> str:
    """Return a text with everything but ASCII escaped."""
    return text.encode("ascii", "backslashreplace").decode()


def files_of(text: str, top: str, folder: str = "") -> tuple[str, ...]:
    """Return the files of a project that a command runs, each after a digest of its content, as they are now.

    `folder` is where the command runs, relative to the project's top, as are the names.
    """
    names = dict.fromkeys(_run_by(text, top, f"{folder}/" if folder else "")) if top else ()
    return tuple(f"{_digest(Path(top, name), top)} {name}" for name in names)


def _run_by(text: str, folder: str, below: str) -> Iterator[str]:
    """Yield the names of files that are there: programs, scripts, modules, what a runner reads, what options name.

    A test or a linter looks at other files, which count for every other program. An option may name the folder.
    """
    for step in parse(text).steps:
        if step.folder is not None:
            below = f"{Path(below, step.folder)}/"
            continue
        given = [word.strip("'\"`<> ") for word in (*step.words, *step.redirections)]
        for word in set(given).difference(step.words):
            yield from _run_by(word, folder, below)  # A shell gets it as a text
        name = head(step.call or ("",))[1]
        recipes = ",".join(_RECIPES.get(program([word]), "") for word in (*given, name))
        places, names, before = {below}, set(recipes.split(",")), ""
        for word in given:
            parts = {word, word.rpartition("=")[2], word[2:] if re.match(r"-\w", word) else ""} - {""}
            places |= {f"{below}{part}/" for part in parts if _IS_DIR(f"{folder}/{below}{part}")}
            if is_check(name) and not before.startswith("-") and not os.access(f"{folder}/{below}{word}", os.X_OK):
                parts -= {word}
            names |= parts
            names |= {f"{part.replace('.', '/')}{end}" for part in parts for end in (".py", "/__main__.py")}
            before = word
        found = (f"{place}{name}" for place in places for name in names if name[:1] not in {"", "/", "~"})
        yield from sorted(each for each in found if _IS_FILE(f"{folder}/{each}"))


def _digest(path: Path, folder: str) -> str:
    """Return what changes with a file; nothing if there is none."""
    with suppress(OSError, ValueError):
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(os.path.realpath(folder)):
            return _short(str(real))
        if real.is_file():
            about = real.stat()
            return _short(read(real) or f"{about.st_size} {about.st_mtime_ns}")
    return ""


def _short(data: bytes | str) -> str:
    data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return hashlib.sha256(data).hexdigest()[:16]


def approved(
    command: str, known: Sequence[Failure], folder: str | None, answer: Callable[[str], tuple[str, ...] | None]
) -> Remedy | None:
    """Return what a person has approved for a command that failed.

    `answer` returns the files that a cure with a yes ran, None without a yes.
    """
    for each in reversed(known):
        files = answer(cure_id(each)) if each.remedy and flaw(each) is None else None
        if files is None or not each.remedy:
            continue
        text = each.remedy if each.command == command else _edited(command, each)
        # A file that the cure runs has changed since, or cannot be seen from here.
        if text and files == files_of(each.remedy, *split_at_top(folder or "")):
            return Remedy(text, 1.0, each)
    return None


def without_never(known: Sequence[Failure], is_never: Callable[[str], bool]) -> list[Failure]:
    """Return the failures of an error without those that were mended in a way that a person wants told to no agent."""
    return [
        each
        for cure in cures_of(known)
        if not any(is_never(cure_id(case)) for case in cure.cases)
        for each in cure.cases
    ]


def _edited(command: str, failure: Failure) -> str | None:
    """Return a command with the edits of a cure, None if they say nothing about it, or more than they did there."""
    made = mended(failure.command, failure.remedy or "")
    if not made or not made.edits or not made.is_exact:
        return None
    text: str | None = command
    for edit in made.edits:
        text = text and applied(parse(text), edit)
    return text if text and (not is_risky(text) or is_risky(failure.remedy or "")) else None
