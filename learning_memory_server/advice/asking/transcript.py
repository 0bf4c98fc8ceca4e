"""The last turn of a running session: the person's message, and the beginning of the agent's answer.

The client writes it to the session's transcript. Only the end of the file is read, and only in the client's own folder
of projects, because the path comes from an event.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from learning_memory_server.lessons.errors.transcripts import (
    agent_of,
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
    """The last message of the person, and the agent's response. Unknown fields are empty."""

    message: str = ""
    is_interruption: bool = False  # whether the person stopped the agent to write it
    answer: str = ""  # the agent's first text after the message
    refusal: str = ""  # the person's words at the last refused call since the message


def last_turn(path: str) -> Turn:
    """Return the last turn in a transcript; empty if it cannot be read or is outside the client's folder. Blocks."""
    try:
        lines = _end_of(path)
    except (OSError, ValueError):  # The text may be an invalid file name
        return Turn()
    turn, tools, is_stopped = Turn(), dict[str, str](), False
    for record in map(record_of, lines):
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
                    turn = _after(turn, record, part, tools)
                case ("user", "text", text) if text.startswith(INTERRUPTED):
                    is_stopped = True
                case ("user", "text", text) if text and not text.startswith(BY_CLIENT):
                    turn, is_stopped = Turn(text, is_stopped), False
    return turn


def _end_of(path: str) -> list[bytes]:
    """Return the last whole lines of a file, none if it is outside the client's folder of projects."""
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(projects_folder(os.environ))):
        return []
    with Path(path).open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - TAIL))
        lines = file.read(TAIL).split(b"\n")
    return lines[1:] if size > TAIL else lines


def _after(turn: Turn, record: dict[str, Any], part: dict[str, Any], tools: dict[str, str]) -> Turn:
    """Return the turn after a tool result, which may be a refusal with words."""
    identity = text_of(part.get("tool_use_id"))
    tool = tools.pop(identity, "")
    refused = refused_by(record, part, (identity, tool, "")) if tool else None
    return replace(turn, refusal=refused.words) if refused and refused.words else turn
