"""Events of past sessions, from one pass over each file: prompts, calls before they ran, and their ends."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from learning_memory_server.lessons.errors.transcripts import (
    SHELLS,
    UNREADABLE,
    Passed,
    Refused,
    agent_of,
    lines_of,
    moment_of,
    parts_of,
    ran_in,
    record_of,
    refused_by,
    text_of,
)
from learning_memory_server.lessons.errors.watch import Ran
from learning_memory_server.shell.shortening import LONG_MAX
from learning_memory_server.system.recent import Recent

_NAMES: Final = frozenset({"command", "file_path"} | {"notebook_path"})
_PROMPT_MAX: Final = 20_000  # Maximum characters of a prompt
BASH: Final = "Bash"  # The tool for shell commands
EDITS: Final = frozenset({"Edit", "MultiEdit", "Write"} | {"NotebookEdit"})
_CALL: Final = b'"tool_use"'
_RESULT: Final = b'"tool_result"'
_PROMPT: Final = b'"type":"user"'
_SPACED_PROMPT: Final = b'"type": "user"'
_KINDS: Final = frozenset({"assistant", "user"})
_PROGRESS: Final = b'"parentToolUseID"'  # A copy of a subagent's record
_QUEUED: Final = b'"enqueue"'
_INTERRUPTED: Final = "[Request interrupted by user"
_BY_CLIENT: Final = tuple("<local-command- <bash- <task-notification> <system-reminder> Caveat:".split())
"""The beginnings of texts that the client wrote as the user."""


class Prompt(NamedTuple):
    """A person's message to the main agent; `is_more` if it came while the agent worked."""

    session: str
    text: str
    at: datetime | None
    is_more: bool = False
    is_interruption: bool = False
    is_summary: bool = False  # of the earlier conversation: the context is new


class Asked(NamedTuple):
    """A tool call, before it ran."""

    id: str
    session: str
    agent: str
    tool: str
    given: dict[str, Any]
    folder: str
    at: datetime | None

    @property
    def call(self) -> str:
        """The command or the file of the call."""
        return next(filter(None, (text_of(self.given.get(key)) for key in sorted(_NAMES))), "")


class Over(NamedTuple):
    """The end of a call: the result of a command, or a refusal."""

    asked: Asked
    at: datetime | None
    is_error: bool
    has_run: bool  # False if it was refused or stopped
    ran: Ran | None = None
    refused: Refused | None = None


class Said(NamedTuple):
    """A text that an agent wrote to its person."""

    session: str
    agent: str
    text: str


Event = Prompt | Asked | Over


def events_in(path: Path, passed: Passed, read: Callable[[int], object] = lambda _: None) -> Iterator[Event]:
    """Yield the events of a transcript in order; `read` is called with the number of bytes read."""
    waiting = Recent[str, Asked]()
    try:
        for line in lines_of(path, read):
            has_calls = not line or _RESULT in line or _CALL in line
            is_other = not (has_calls or _PROMPT in line or _SPACED_PROMPT in line or _QUEUED in line)
            if is_other or _PROGRESS in line:
                continue
            if record := _record(line):
                yield from (event for event in _events(record, path, waiting) if not isinstance(event, Said))
            elif has_calls:
                passed.lines += 1
    except UNREADABLE as error:
        passed.note(path, error)


def events_of(records: Iterable[dict[str, Any]], path: Path) -> Iterator[Event | Said]:
    """Yield the events in records of a transcript in order, and the texts of agents."""
    waiting = Recent[str, Asked]()
    for record in records:
        yield from _events(record, path, waiting)


def _record(line: bytes) -> dict[str, Any]:
    """Return the object in a line. The slow parser may accept input that the fast one rejects: invalid UTF-8."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return record_of(line)
    return found if isinstance(found, dict) else {}


def _events(record: dict[str, Any], path: Path, waiting: Recent[str, Asked]) -> Iterator[Event | Said]:
    kind, message = record.get("type"), record.get("message")
    is_more = kind == "queue-operation" and record.get("operation") == "enqueue"
    if not is_more and not (isinstance(message, dict) and kind in _KINDS):
        return
    at, session = _moment(record.get("timestamp")), text_of(record.get("sessionId")) or path.name.partition(".")[0]
    if is_more:
        yield Prompt(session, text_of(record.get("content")), at, is_more=True)
    parts = parts_of(message.get("content")) if isinstance(message, dict) else []
    said, agent = list[str](), agent_of(record)
    for part in parts:
        name = part.get("type")
        if (kind, name) == ("assistant", "tool_use") and isinstance(given := part.get("input"), dict):
            folder = text_of(record.get("cwd"))
            asked = Asked(text_of(part.get("id")), session, agent, text_of(part.get("name")), given, folder, at)
            waiting[asked.id] = asked
            yield asked
        elif (kind, name) == ("assistant", "text"):
            yield Said(session, agent, text_of(part.get("text")))
        elif (kind, name) == ("user", "tool_result"):
            if before := waiting.pop(text_of(part.get("tool_use_id")), None):
                yield _over(record, part, before, path, at)
        elif (kind, name) == ("user", "text"):
            said.append(text_of(part.get("text")))
    text = "\n".join(said)
    if text and not agent and record.get("isMeta") is not True and not text.startswith(_BY_CLIENT):
        is_summary = record.get("isCompactSummary") is True
        is_interruption = text.startswith(_INTERRUPTED)
        yield Prompt(session, text, at, is_interruption=is_interruption, is_summary=is_summary)


def _moment(value: object) -> datetime | None:
    """Return a timestamp. The client's own format is parsed in a third of the time of others."""
    if isinstance(value, str) and value.endswith("Z"):
        with suppress(ValueError):
            if (at := datetime.fromisoformat(value)).tzinfo is UTC:
                return at
    return moment_of(value)


def _over(record: dict[str, Any], part: dict[str, Any], asked: Asked, path: Path, at: datetime | None) -> Over:
    is_error = part.get("is_error") is True
    refused = refused_by(record, part, (asked.id, asked.tool, asked.call)) if is_error else None
    ran = ran_in(record, part, asked.call, path) if asked.tool in SHELLS and asked.call else None
    has_run = refused is None and (ran is not None or not is_error)
    return Over(asked, at, is_error, has_run, ran, refused)


def matters(event: Event) -> bool:
    """Whether a rule may be about an event."""
    tool = event.asked.tool if isinstance(event, Over) else event.tool if isinstance(event, Asked) else ""
    return not tool or tool in SHELLS or tool in EDITS


def slim(event: Event) -> Event:
    """Return an event without the output of commands and the texts of edits, which may be large."""
    if isinstance(event, Prompt):
        return event._replace(text=event.text[:_PROMPT_MAX])
    asked = event if isinstance(event, Asked) else event.asked
    kept = {key: text_of(asked.given[key])[:LONG_MAX] for key in _NAMES if key in asked.given}
    asked = asked._replace(given=kept)
    return asked if isinstance(event, Asked) else event._replace(asked=asked, ran=None)
