"""`replay --transcripts`: what past sessions would have been told of the errors that came again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.cli import recurring
from learning_memory_server.cli.recurring import Call, Session
from learning_memory_server.composition.services import open_services
from learning_memory_server.domain.caller import Caller
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.hooks import event as events
from learning_memory_server.hooks.event import Event
from learning_memory_server.transcripts.claude_code import Passed, commands_in, find_transcripts, task_in

if TYPE_CHECKING:
    from learning_memory_server.settings import Settings

Told = dict[tuple[str, int], str]
"""What was said at a session's commands, by the session and the command's place; empty for silence."""
START: Final = -2
PROMPT: Final = -1
"""The places of a session's start and of its first prompt."""


def sessions_in(place: Path) -> list[Session]:
    """Return the sessions of Claude Code's transcripts, in time order; subagents are sessions of their own.

    Raises:
        InvalidInputError: If the place cannot be read.
    """
    found = []
    try:
        paths = find_transcripts(place, Passed())
    except OSError as error:
        raise InvalidInputError(f"{place} cannot be read ({error.strerror}).") from None
    for path in paths:
        ran = list(commands_in(path, Passed()))
        task = task_in(path)
        if ran:
            calls = tuple(call_of(each.command, each.output, has_failed=each.has_failed) for each in ran)
            name = Path(ran[0].folder or "").name or place.name
            found.append(Session(path.stem, name, ran[0].at, calls, task.prompt if task else ""))
    return sorted(found, key=lambda session: (session.at, session.id))


async def tell(settings: Settings, sessions: Sequence[Session]) -> Told:
    """Return what the hooks say as sessions go through time in a temporary store.

    Args:
        settings: The settings; where things are kept does not matter.
        sessions: The sessions, in time order.
    """
    told: Told = {}
    with TemporaryDirectory() as folder:
        now = sessions[0].at if sessions else None
        elsewhere = {"storage_path": Path(folder), "journal_path": None, "qdrant_url": None}
        here = settings.model_copy(update=elsewhere)
        async with open_services(here, purpose="replay", clock=lambda: now) as services:  # type: ignore[arg-type, return-value]
            for session in sessions:
                caller = Caller(session.project, session.id)
                happened = [
                    Event(events.SESSION_START, session.id),
                    Event(events.PROMPT, session.id, prompt=session.task),
                    *(_ended(session, call) for call in session.calls),
                ]
                for place, event in enumerate(happened, start=START):
                    now = session.at + timedelta(seconds=place)
                    told[session.id, place] = await services.hooks.answer(event, caller)
    return told


def call_of(command: str, output: str, *, has_failed: bool | None) -> Call:
    """Return a command that ended."""
    return Call(command, output, "") if has_failed else Call(command, None, output)


def _ended(session: Session, call: Call) -> Event:
    name = events.AFTER_TOOL if call.error is None else events.AFTER_FAILURE
    return Event(name, session.id, command=call.command, error=call.error or "", output=call.output)


async def compare(settings: Settings, sessions: Sequence[Session]) -> dict[str, Any]:
    """Return the figures of silence, of always telling the last success, and of this server."""
    found = recurring.failures(sessions)
    last, told = recurring.last_success(found), await tell(settings, sessions)
    ways: dict[str, Told] = {"nothing": {}, "last success": last, "this server": told}
    return {
        name: recurring.figures(
            recurring.rows(found, said, "failure"),
            sum(len(text.encode()) for text in said.values()),
            len(told) - sum(map(bool, said.values())),
        )
        for name, said in ways.items()
    }
