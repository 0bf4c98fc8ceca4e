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

LINE_MAX: Final = 4 * 1024 * 1024  # Bytes of a line that are read; longer lines are images
SHELLS: Final = frozenset({"Bash", "PowerShell"})  # Claude Code's tools that run commands
_SUFFIXES: Final = (".jsonl", ".jsonl.gz")
_BEGINNING: Final = 200  # Lines in which the beginning of a session is looked for. It is in the first or second one.
UNREADABLE: Final = (OSError, EOFError, zlib.error)
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
        for record in map(record_of, islice(lines_of(path), _BEGINNING)):
            folder, at = found.folder or text_of(record.get("cwd")), found.at or moment_of(record.get("timestamp"))
            found = Beginning(folder, at)
            if folder and at:
                break
    except UNREADABLE as error:
        passed.note(path, error)
    return found


def ran_in(record: dict[str, Any], part: dict[str, Any], command: str, path: Path) -> Ran | None:
    """Return the end of a command, None if it was refused or interrupted, or goes on in the background."""
    at, result = moment_of(record.get("timestamp")), record.get("toolUseResult")
    is_over = not (isinstance(result, dict) and (result.get("interrupted") or result.get("backgroundTaskId")))
    output, is_error = ends(joined(parts_of(part.get("content")))), part.get("is_error") is True
    if not (at and is_over) or (is_error and exit_status(output) is None):
        return None
    session = text_of(record.get("sessionId")) or path.name.partition(".")[0]
    folder = text_of(record.get("cwd")) or None
    return Ran("", session, command, output, is_error, at, folder, agent_of(record))


def agent_of(record: dict[str, Any]) -> str:
    """Return which of a session's agents a line is about, empty for the main one."""
    return text_of(record.get("agentId")) or ("side" if record.get("isSidechain") is True else "")


class Refused(NamedTuple):
    """A call of a built-in tool that a person refused, with the client's id of the call."""

    id: str
    tool: str
    call: str  # the command or the file, empty of other tools
    words: str  # empty if the person wrote nothing
    at: datetime
    folder: str
    session: str


def refused_by(record: dict[str, Any], part: dict[str, Any], call: tuple[str, str, str]) -> Refused | None:
    """Return a call, by its id, tool, and command or file, if a person refused it.

    Only an error of the client's own counts: whatever else has this text was written by somebody.
    """
    at, words = moment_of(record.get("timestamp")), _words_of(record, joined(parts_of(part.get("content"))))
    if part.get("is_error") is not True or not at or words is None or call[1].startswith(_DECIDED):
        return None
    return Refused(*call, words.strip(), at, text_of(record.get("cwd")), text_of(record.get("sessionId")))


def _words_of(record: dict[str, Any], said: str) -> str | None:
    """Return the words of a person who refused a call, None if nobody did."""
    result, match = record.get("toolUseResult"), _REFUSED.match(said)
    is_ours = result in (None, "User rejected tool use") or _REFUSED.match(text_of(result).removeprefix("Error: "))
    if match is None or not is_ours or record.get("toolDenialKind") not in _BY_PERSON:
        return None
    return text_of(record.get("userFeedback")) or _NOTE.split(match["words"] or "", maxsplit=1)[0]


def parts_of(content: object) -> list[dict[str, Any]]:
    """Return the parts of a message or a result; a plain text is one."""
    if isinstance(content, list):
        return [part for part in content if isinstance(part, dict)]
    return [{"type": "text", "text": content}]


def joined(parts: Iterable[dict[str, Any]]) -> str:
    """Return the text of parts."""
    return "\n".join(text_of(part.get("text")) for part in parts)


def lines_of(path: Path, read: Callable[[int], object] = lambda _: None) -> Iterator[bytes]:
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


def record_of(line: bytes) -> dict[str, Any]:
    """Return the object of a line, empty if it has none."""
    with suppress(ValueError, RecursionError):
        if isinstance(record := json.loads(line), dict):
            return record
    return {}


def text_of(value: object) -> str:
    """Return a text that can be stored, empty if the value is something else. JSON can express half a character."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def moment_of(value: object) -> datetime | None:
    """Return a moment, None if the value is something else."""
    with suppress(InvalidInputError):
        return parse_moment("timestamp", text_of(value))
    return None
