"""The sentences of a person's existing rules: instruction files, and the feedback that Claude Code has stored.

A project has CLAUDE.md, AGENTS.md and similar files at its root. A person has the same files for all projects, and a
folder of memories for each project. The files are only read.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from typing import Any, Final

from learning_memory_server.lessons.errors.transcripts import projects_folder
from learning_memory_server.model import limits
from learning_memory_server.model.lines import counted, one_line
from learning_memory_server.model.rule import Origin, OriginKind
from learning_memory_server.rules.suggesting.markdown import plain, sentences
from learning_memory_server.rules.suggesting.written import Written
from learning_memory_server.system import files

_OF_PROJECT: Final = (
    "CLAUDE.md CLAUDE.local.md .claude/CLAUDE.md AGENTS.md .cursor/rules/**/*.mdc .cursor/rules/**/*.md"
)
_IN_CLAUDE: Final = "rules/**/*.md"
_FOLDERS: Final = 200  # Maximum number of subfolders of a rules folder
_FRONT: Final = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_FEEDBACK: Final = re.compile(r"^[ \t]*type[ \t]*:[ \t]*[\"']?feedback[\"']?[ \t]*$", re.MULTILINE)
_DESCRIPTION: Final = re.compile(r"^description\s*:[ \t]*(.*(?:\n[ \t]+\S.*)*)", re.MULTILINE)
_BLOCK: Final = re.compile(r"^[|>][+-]?\s*")

_ADDRESS: Final = re.compile(r"://|\bwww\.", re.IGNORECASE)
_EXCEPT: Final = re.compile(r"\b(?:unless|except|until|without|only|if|when|but)\b", re.IGNORECASE)
_CLAUSE: Final = re.compile(r" ?(?:[;,:(\u2014\u2013]| - ) ?|(?<=[.!?]) ")
_STATES: Final = re.compile(
    r"(?:^|[,;:.(\u2014\u2013]\s*|\b(?:please|you)\s+)(?:never|always|don'?t|do not|avoid|make sure)\b(?! \w+(?:ed|ly)\b)"
    r"|^(?:please )?only (?!\w+s\b|when\b|for\b|if\b|in\b|available\b)"
    r"|\b(?:must|must not|mustn'?t|should never|should always|is forbidden|are forbidden)\b(?! (?:be|have) (?:in|on|set|installed)\b)"
    r"|\b(?:before|after)\b.{0,80}\brun\b|\brun\b.{0,80}\b(?:before|after)\b|\b(?:at the end of|when done)\b",
    re.IGNORECASE,
)
"""Words that make a sentence an explicit instruction."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence that may be meant as a rule, and the file that contains it, in the form for a person."""

    text: str
    name: str
    kind: OriginKind = OriginKind.FILE
    is_everywhere: bool = False
    at: datetime | None = None  # when it was written down, if git knows
    words: str = ""  # for a memory with a shortened text: the original words

    @property
    def origin(self) -> Origin:
        """The file of the sentence, and its date."""
        return Origin(self.kind, self.name, self.at)

    @property
    def states(self) -> bool:
        """Whether it is an explicit instruction. Stored feedback always is."""
        return self.kind is OriginKind.MEMORY or _STATES.search(self.text) is not None


def sentences_of(
    folder: Path | None, environment: Mapping[str, str], skipped: list[str] | None = None, *, is_dated: bool = True
) -> list[Sentence]:
    """Return the sentences for a project, given its root: from its own files, its memories, and the person's files.

    Files that are not read are appended to `skipped`, each with the reason.
    """
    skipped = [] if skipped is None else skipped
    found = [*_of_project(folder, skipped, is_dated=is_dated)] if folder else []
    found += _memories(folder, environment, skipped) if folder else ()
    found += _of_person(environment, skipped)
    if len(found) > limits.RULE_SENTENCES_MAX:
        skipped.append(f"{len(found) - limits.RULE_SENTENCES_MAX:,} sentences after {limits.RULE_SENTENCES_MAX:,}")
    short = ((each, fitting(each.text)) for each in found)
    return [_fitted(each, text) for each, text in islice(short, limits.RULE_SENTENCES_MAX) if text]


def fitting(text: str) -> str:
    """Return a sentence on one line that fits a rule, cut at a clause if it is too long; empty if that is impossible.

    A clause that limits the sentence, such as "unless", is never cut off.
    """
    text = one_line(text).strip(" ,;-")
    if _ADDRESS.search(text):
        return ""
    if len(text) <= limits.RULE_MAX:
        return text
    cuts = [match.start() for match in _CLAUSE.finditer(text) if 0 < match.start() <= limits.RULE_MAX]
    cut = next((each for each in reversed(cuts) if text[:each].count("`") % 2 == 0), 0)
    return text[:cut] if cut and not _EXCEPT.search(text[cut:]) else ""


def _fitted(each: Sentence, text: str) -> Sentence:
    words = one_line(each.text) if each.kind is OriginKind.MEMORY else text
    return replace(each, text=text, words="" if words == text else words)


def _of_project(folder: Path, skipped: list[str], *, is_dated: bool) -> Iterator[Sentence]:
    patterns = [*_OF_PROJECT.split(), f".claude/{_IN_CLAUDE}"]
    for path in _found(folder, patterns, "in this project", skipped):
        name = path.relative_to(folder).as_posix()
        if found := list(sentences(_body(_read(path, name, skipped, folder)))):
            written = Written.of(folder, name) if is_dated else Written()
            yield from (Sentence(each, one_line(name), at=written.at(each)) for each in found)


def _of_person(environment: Mapping[str, str], skipped: list[str]) -> Iterator[Sentence]:
    home = projects_folder(environment).parent
    shown = "~/.claude" if home == Path.home() / ".claude" else home.name
    for path in _found(home, ["CLAUDE.md", _IN_CLAUDE], f"in {shown}", skipped):
        name = one_line(f"{shown}/{path.relative_to(home).as_posix()}")
        # A person's own file may be a link to a folder where the person keeps such files.
        yield from (Sentence(each, name, is_everywhere=True) for each in sentences(_body(_read(path, name, skipped))))


def _memories(folder: Path, environment: Mapping[str, str], skipped: list[str]) -> Iterator[Sentence]:
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(folder))
    places = [projects_folder(environment) / slug / "memory", _chosen(environment)]
    for place in filter(None, places):
        for path in _found(place, ["*.md"], "of Claude Code's memories", skipped):
            name = f"memory {path.name}"
            text = _read(path, name, skipped, place)
            front = _FRONT.match(text)
            if front and _FEEDBACK.search(front[1]):
                said = _DESCRIPTION.search(front[1])
                line = _BLOCK.sub("", said[1]).strip().strip("\"'") if said else ""
                line = " ".join(line.split()) or next(sentences(text[front.end() :]), "")
                yield Sentence(plain(line), one_line(name), OriginKind.MEMORY)


def _chosen(environment: Mapping[str, str]) -> Path | None:
    """Return the folder of memories in the person's own settings. A repository's settings are ignored."""
    content = files.read(projects_folder(environment).parent / "settings.json")
    try:
        given: Any = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        return None
    named = given.get("autoMemoryDirectory") if isinstance(given, dict) else None
    path = Path(named).expanduser() if isinstance(named, str) and "\0" not in named and named[:1] in "~/" else None
    return path if path and path.is_absolute() else None


def _found(folder: Path, patterns: list[str], where: str, skipped: list[str]) -> list[Path]:
    """Return the files that match the patterns, sorted and without duplicates; none from an unreadable folder."""
    found = dict[Path, None]()
    for pattern in patterns:
        above, star, ending = pattern.rpartition("*")
        if star:
            place = folder / above.removesuffix("**/")
            found |= dict.fromkeys(path for path in _walked(place, is_deep=bool(above)) if path.name.endswith(ending))
        else:
            found[folder / pattern] = None
    if (left := len(found) - limits.RULE_FILES_MAX) > 0:
        skipped.append(f"{counted(left, 'file')} {where} after {limits.RULE_FILES_MAX}")
    return list(islice(found, limits.RULE_FILES_MAX))


def _walked(folder: Path, *, is_deep: bool) -> list[Path]:
    walked = islice(os.walk(folder), _FOLDERS if is_deep else 1)
    return sorted(Path(place, name) for place, _, names in walked for name in names)


def _read(path: Path, name: str, skipped: list[str], folder: Path | None = None) -> str:
    """Return a file's text, empty if it is missing, too large, or a link out of the folder."""
    content, why = None, "not readable"
    with suppress(OSError, ValueError):
        if not os.path.lexists(path):
            return ""
        real = Path(os.path.realpath(path))
        if folder and not real.is_relative_to(os.path.realpath(folder)):
            why = "a link to another place"
        elif (content := files.read(real)) is None:
            about = real.stat()
            why = "too large" if about.st_size > files.READ_MAX else why
            why = why if S_ISREG(about.st_mode) else "no plain file"
        elif b"\0" in content:
            content, why = None, "no text"
    if content is None:
        skipped.append(f"{one_line(name)} ({why})")
    return (content or b"").decode("utf-8", "replace")


def _body(text: str) -> str:
    """Return a text without front matter, which only says when a client loads the file."""
    front = _FRONT.match(text)
    return text[front.end() :] if front else text
