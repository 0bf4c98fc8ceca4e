"""Claude Code's transcripts: their places, and the shell commands and refused calls in them.

A session is a file of JSON lines, `<session>.jsonl`, in a folder of `~/.claude/projects`; subagents have files next to
it or below. A command is a `tool_use` and a `tool_result` with the same id. The format is not documented and changes,
so that unknown lines are passed over.
"""

import errno
import gzip
import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count, islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.lessons.errors.outcomes import exit_status
from learning_memory_server.lessons.errors.sanitize import ends
from learning_memory_server.lessons.errors.watch import Ran
from learning_memory_server.model.moment import parse_moment
from learning_memory_server.system.recent import Recent

LINE_MAX: Final = 4 * 1024 * 1024  # Bytes of a line that are read; longer lines are images
SHELLS: Final = frozenset({"Bash", "PowerShell"})  # Claude Code's tools that run commands
_SUFFIXES: Final = (".jsonl", ".jsonl.gz")
_BEGINNING: Final = 200  # Lines in which the beginning of a session is looked for. It is in the first or second one.
_RELEVANT: Final = (b'"tool_use"', b'"tool_result"')
_UNREADABLE: Final = (OSError, EOFError, zlib.error)
_REJECTED: Final = b"The tool use was rejected (eg. if it was a file edit, the"
_REFUSED: Final = re.compile(
    r"(?:The user doesn't want to proceed with this tool use|Permission for this tool use was denied)\. "
    r"The tool use was rejected \(eg\. if it was a file edit, the new_string was NOT written to the file\)\."
    r"(?: (?:To tell you how to proceed, the|The) user said:\n(?P<words>.*))?",
    re.DOTALL,
)
"""How the client begins the result of a call that a person refused, by the main agent and by a subagent."""
_NOTE: Final = re.compile(r"\s(?:Note: )?The user's next message may contain a correction or preference\.")
"""The addition for agents that have a memory."""
_BY_PERSON: Final = (None, "user-rejected")
"""What a line says of who denied a call: earlier clients say nothing, and have another text for rules."""
_DECIDED: Final = ("ExitPlanMode", "AskUserQuestion", "mcp__")  # How tools begin whose errors are about something else


class Beginning(NamedTuple):
    """Where and when a session began, as far as its transcript says so."""

    folder: str = ""
    at: datetime | None = None


@dataclass(slots=True)
class Passed:
    """Lines that were passed over."""

    lines: int = 0  # how many lines were damaged, or longer than `LINE_MAX`
    files: Counter[str] = field(default_factory=Counter)  # files that could not be read, with the reason
    outside: int = 0  # symbolic links to something outside of the folder

    def note(self, path: Path, error: Exception) -> None:
        """Note that a file could not be read."""
        self.files[f"{path.name}: {getattr(error, 'strerror', None) or type(error).__name__}"] += 1


def projects_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder that has one of each project."""
    own = environment.get("CLAUDE_CONFIG_DIR")
    return (Path(own) if own else Path.home() / ".claude") / "projects"


def find_transcripts(place: Path, passed: Passed) -> list[Path]:
    """Return the transcripts in a folder and below, or the file itself, without following links elsewhere."""
    if not place.is_dir():
        if not place.is_file():
            raise FileNotFoundError(errno.ENOENT, "neither a file nor a folder", str(place))
        return [place]
    os.scandir(place).close()
    root = place.resolve()
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            if not name.endswith(_SUFFIXES):
                continue
            if not Path(os.path.realpath(path)).is_relative_to(root):  # A link may lead to itself
                passed.outside += 1
            elif path.is_file():
                found.append(path)
    return sorted(found)


def beginning_of(path: Path, passed: Passed) -> Beginning:
    """Return where and when a transcript's session began."""
    found = Beginning()
    try:
        for record in map(_record, islice(_lines(path), _BEGINNING)):
            folder, at = found.folder or _text(record.get("cwd")), found.at or _moment(record.get("timestamp"))
            found = Beginning(folder, at)
            if folder and at:
                break
    except _UNREADABLE as error:
        passed.note(path, error)
    return found


def commands_in(path: Path, passed: Passed, read: Callable[[int], object] = lambda _: None) -> Iterator[Ran]:
    """Yield the commands of a transcript that succeeded or failed, in the order of their ends, line by line.

    Commands in the background, and refused or interrupted ones, are left out. `read` gets the number of bytes read.
    """
    waiting = Waiting()
    try:
        for line in _lines(path, read):
            if line and not any(mark in line for mark in _RELEVANT):
                continue
            if record := _record(line):
                yield from _ended(record, path, waiting)
            else:
                passed.lines += 1
    except _UNREADABLE as error:
        passed.note(path, error)


# The tool and the command or file of calls without a result, by their ids: in an interrupted session, some never end.
Waiting = Recent[str, tuple[str, str]]


def _results(record: dict[str, Any], waiting: Waiting) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield the results in a line, each after the id, the tool and the command or file of its call; keep new calls."""
    message = record.get("message")
    for part in _parts(message.get("content")) if isinstance(message, dict) else ():
        kinds = record.get("type"), part.get("type")
        if kinds == ("assistant", "tool_use") and isinstance(given := part.get("input"), dict):
            keys = ("command", "file_path", "notebook_path")
            call = next(filter(None, (_text(given.get(key)) for key in keys)), "")
            waiting[_text(part.get("id"))] = _text(part.get("name")), call
        elif kinds == ("user", "tool_result"):
            name = _text(part.get("tool_use_id"))
            if asked := waiting.pop(name, None):
                yield name, *asked, part


def _ended(record: dict[str, Any], path: Path, waiting: Waiting) -> Iterator[Ran]:
    """Yield the commands that a line says have ended."""
    agent = _text(record.get("agentId")) or ("side" if record.get("isSidechain") is True else "")
    at, result = _moment(record.get("timestamp")), record.get("toolUseResult")
    is_over = not (isinstance(result, dict) and (result.get("interrupted") or result.get("backgroundTaskId")))
    for _, tool, asked, part in _results(record, waiting):
        if tool in SHELLS and asked and at and is_over:
            output, is_error = ends(_joined(_parts(part.get("content")))), part.get("is_error") is True
            if not is_error or exit_status(output) is not None:
                session = _text(record.get("sessionId")) or path.name.partition(".")[0]
                folder = _text(record.get("cwd")) or None
                yield Ran("", session, asked, output, is_error, at, folder, agent)


class Refused(NamedTuple):
    """A call of a built-in tool that a person refused, with the client's id of the call."""

    id: str
    tool: str
    call: str  # the command or the file, empty of other tools
    words: str  # empty if the person wrote nothing
    at: datetime
    folder: str
    session: str


def refused_in(lines: Iterable[bytes], waiting: Waiting) -> Iterator[Refused]:
    """Yield the calls that a person refused, as far as lines of a transcript tell, and keep those that wait.

    Only an error of the client's own counts: whatever else has this text was written by somebody.
    """
    for line in lines:
        record = _record(line) if b'"tool_use"' in line or _REJECTED in line else {}
        for name, tool, call, part in _results(record, waiting):
            at, words = _moment(record.get("timestamp")), _words_of(record, _joined(_parts(part.get("content"))))
            if part.get("is_error") is True and at and words is not None and not tool.startswith(_DECIDED):
                folder, session = _text(record.get("cwd")), _text(record.get("sessionId"))
                yield Refused(name, tool, call, words.strip(), at, folder, session)


def refusals_in(path: Path) -> Iterator[Refused]:
    """Yield the calls of a transcript that a person refused; nothing more once it cannot be read."""
    with suppress(*_UNREADABLE):
        yield from refused_in(_lines(path), Waiting())


def _words_of(record: dict[str, Any], said: str) -> str | None:
    """Return the words of a person who refused a call, None if nobody did."""
    result, match = record.get("toolUseResult"), _REFUSED.match(said)
    is_ours = result in (None, "User rejected tool use") or _REFUSED.match(_text(result).removeprefix("Error: "))
    if match is None or not is_ours or record.get("toolDenialKind") not in _BY_PERSON:
        return None
    return _text(record.get("userFeedback")) or _NOTE.split(match["words"] or "", maxsplit=1)[0]


def _parts(content: object) -> list[dict[str, Any]]:
    """Return the parts of a message or a result; a plain text is one."""
    if isinstance(content, list):
        return [part for part in content if isinstance(part, dict)]
    return [{"type": "text", "text": content}]


def _joined(parts: Iterable[dict[str, Any]]) -> str:
    return "\n".join(_text(part.get("text")) for part in parts)


def _lines(path: Path, read: Callable[[int], object] = lambda _: None) -> Iterator[bytes]:
    """Yield the lines of a file, which may be packed, as people do with old ones. One that is too long is empty."""
    with path.open("rb") as raw, gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw as file:
        for number in count(1):
            line = file.readline(LINE_MAX + 1)
            if not line:
                return
            is_long = len(line) > LINE_MAX
            yield b"" if is_long else line
            while is_long and line and not line.endswith(b"\n"):
                line = file.readline(LINE_MAX)
            if number % 500 == 0:
                read(raw.tell())


def _record(line: bytes) -> dict[str, Any]:
    """Return the object of a line, empty if it has none."""
    with suppress(ValueError, RecursionError):
        if isinstance(record := json.loads(line), dict):
            return record
    return {}


def _text(value: object) -> str:
    """Return a text that can be stored, empty if the value is something else. JSON can express half a character."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _moment(value: object) -> datetime | None:
    with suppress(InvalidInputError):
        return parse_moment("timestamp", _text(value))
    return None
