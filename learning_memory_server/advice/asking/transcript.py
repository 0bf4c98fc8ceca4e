"""The turns of a session: what the person said, and how the agent's answer begins.

The client writes them to the session's transcript. Of a running session only the end is read, and only in the client's
own folder of projects, because the path comes with an event.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from learning_memory_server.lessons.errors.transcripts import (
    Refused,
    agent_of,
    moment_of,
    parts_of,
    projects_folder,
    record_of,
    refused_by,
    text_of,
)
from learning_memory_server.rules.past.events import BY_CLIENT, INTERRUPTED

TAIL: Final = 512 * 1024  # Bytes read from the end of a transcript


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the person, and what followed it. Unknown fields are empty."""

    message: str = ""
    at: datetime | None = None  # when the person wrote the message, or refused the call
    session: str = ""  # the client's name of the session
    is_interruption: bool = False  # whether the person stopped the agent to write it
    answer: str = ""  # the agent's first text after the message
    refusal: str = ""  # the person's words at the last refused call since the message


def last_turn(path: str) -> Turn:
    """Return the last turn in a transcript; empty if it cannot be read or is outside the client's folder. Blocks."""
    try:
        lines = _end_of(path)
    except (OSError, ValueError):  # The text may be an invalid file name
        return Turn()
    return next(iter(deque(turns_in(map(record_of, lines)), maxlen=1)), Turn())


def turns_in(records: Iterable[dict[str, Any]]) -> Iterator[Turn]:
    """Yield the turns in the lines of a transcript, in their order.

    A turn is yielded again with each later call in it that was refused.
    """
    turn, tools, is_stopped = Turn(), dict[str, str](), False
    for record in records:
        message = record.get("message")
        if not isinstance(message, dict) or agent_of(record) or record.get("isMeta") is True:
            continue
        for part in parts_of(message.get("content")):
            match (record.get("type"), part.get("type"), text_of(part.get("text"))):
                case ("assistant", "tool_use", _):
                    tools[text_of(part.get("id"))] = text_of(part.get("name"))
                case ("assistant", "text", text) if text and not turn.answer:
                    turn = replace(turn, answer=text)
                case ("user", "tool_result", _):
                    if refused := _refused(record, part, tools):
                        yield turn
                        turn = replace(turn, refusal=refused.words, at=refused.at)
                case ("user", "text", text) if text.startswith(INTERRUPTED):
                    is_stopped = True
                case ("user", "text", text) if text and not text.startswith(BY_CLIENT):
                    yield turn
                    said = "" if record.get("isCompactSummary") is True else text
                    at, session = moment_of(record.get("timestamp")), text_of(record.get("sessionId"))
                    turn, is_stopped = Turn(said, at, session, is_stopped), False
    yield turn


def _end_of(path: str) -> list[bytes]:
    """Return the last whole lines of a file, none if it is outside the client's folder of projects."""
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(projects_folder(os.environ))):
        return []
    with Path(path).open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - TAIL))
        lines = file.read(TAIL).split(b"\n")
    return lines[1:] if size > TAIL else lines


def _refused(record: dict[str, Any], part: dict[str, Any], tools: dict[str, str]) -> Refused | None:
    """Return the call that a result is of, if a person refused it with words."""
    identity = text_of(part.get("tool_use_id"))
    tool = tools.pop(identity, "")
    refused = refused_by(record, part, (identity, tool, "")) if tool else None
    return refused if refused and refused.words else None
