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

from learning_memory_server.lessons.errors.transcripts import projects_folder, record_of
from learning_memory_server.rules.past.events import Over, Prompt, Said, events_of

TAIL: Final = 512 * 1024  # Bytes read from the end of a transcript
_COMPARED: Final = 10  # Words at the beginning of a message that tell it from others


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the person, and what followed it. Unknown fields are empty."""

    message: str = ""
    at: datetime | None = None  # when the person wrote the message, or refused the call
    session: str = ""  # the client's name of the session
    is_interruption: bool = False  # whether the person stopped the agent to write it
    answer: str = ""  # the agent's first text after the message
    refusal: str = ""  # the person's words at the last refused call since the message

    def is_about(self, message: str) -> bool:
        """Whether it is the turn of a message, as a hook got it: a client may add to it, or cut it."""
        mine, other = self.message.split(), message.split()
        return mine[:_COMPARED] == other[:_COMPARED]


def last_turn(path: str) -> Turn:
    """Return the last turn in a transcript; empty if it cannot be read or is outside the client's folder. Blocks."""
    try:
        lines = _end_of(path)
    except (OSError, ValueError):  # The text may be an invalid file name
        return Turn()
    return deque(turns_in(map(record_of, lines), Path(path)), maxlen=1)[0]


def turns_in(records: Iterable[dict[str, Any]], path: Path) -> Iterator[Turn]:
    """Yield the turns in the lines of a transcript, in their order.

    A turn is yielded again with each later call in it that was refused.
    """
    turn, is_stopped = Turn(), False
    for event in events_of(records, path):
        if isinstance(event, Said) and not (event.agent or turn.answer):
            turn = replace(turn, answer=event.text)
        elif isinstance(event, Over) and not event.asked.agent and event.refused and event.refused.words:
            yield turn
            turn = replace(turn, refusal=event.refused.words, at=event.refused.at)
        elif isinstance(event, Prompt) and event.is_interruption:
            is_stopped = True
        elif isinstance(event, Prompt) and not event.is_more:
            yield turn
            turn = Turn("" if event.is_summary else event.text, event.at, event.session, is_stopped)
            is_stopped = False
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
