"""The tool calls of one connection."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Container, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY, InitVar, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from learning_memory_server.learning.advice.text import SessionContext
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.identity import place_in
from learning_memory_server.server.boundary import Boundary
from learning_memory_server.server.dashboard.document import Dashboard
from learning_memory_server.server.dashboard.page import as_text, page
from learning_memory_server.server.tools.catalog import OF_APPS, TOOLS, WITH_HOOKS
from learning_memory_server.server.tools.hook import HOOK, CallingAgents
from learning_memory_server.server.tools.memory import get_stats
from learning_memory_server.server.tools.toolset import Progress
from learning_memory_server.server.wire import Result

TOOL_USE: Final = "claudecode/toolUseId"
"""What Claude Code says in a call's `_meta`: the id that its hooks know the call by."""


@dataclass
class Calls:
    """Runs the calls of one connection.

    `around` is entered while a client lists or calls tools. `front` is the id of a front that repeats unanswered calls,
    with the ids in `asked_again`. `may_tell` tells whether the caller may be shown unasked what its project knows. The
    first reply and each of `get_stats` also have the `note`.
    """

    services: InitVar[Mapping[type, object]]
    caller: Caller
    _: KW_ONLY
    around: Callable[[], AbstractContextManager[None]] = nullcontext
    front: str | None = None
    asked_again: Container[object] = ()
    has_hooks: InitVar[bool] = False
    may_tell: Callable[[], bool] = lambda: True
    note: str = ""

    def __post_init__(self, services: Mapping[type, object], has_hooks: bool) -> None:
        self.tools = WITH_HOOKS if has_hooks else TOOLS
        # Which clients render pages is known only once they have said hello; the others do not see those tools.
        self._agents = CallingAgents()
        self._boundary = Boundary([*self.tools, *OF_APPS], {**services, CallingAgents: self._agents})
        self._dashboard = cast("Dashboard", services[Dashboard])
        self._session_context = cast("SessionContext", services[SessionContext])
        self._untold = self.note

    async def session_context(self) -> str:
        """Return what a new session of the caller can be told."""
        caller = replace(self.caller, is_told=self.may_tell())
        place = await asyncio.to_thread(place_in, Path(caller.folder)) if caller.folder else ""
        return self._session_context.text(caller, place)

    async def dashboard(self) -> str:
        """Return the page that shows a person what was learned in the caller's project."""
        document = await self._dashboard.document(self.caller.project, {self.caller.project: self.caller.folder})
        return page(await asyncio.to_thread(as_text, document))

    async def call(
        self,
        identity: object,
        tool: str,
        arguments: dict[str, Any],
        progress: Progress | None = None,
        *,
        tool_use: object = None,
    ) -> Result:
        """Call a tool and return its result or failure. For `tool_use` see `TOOL_USE`."""
        front = self.front
        name_call = partial(_name_of, front, identity, tool, arguments) if front else None
        with self.around():
            result = await self._boundary.call(
                tool,
                arguments,
                replace(
                    self.caller,
                    agent=self._agents.find(tool_use),
                    again=identity in self.asked_again,
                    is_told=self.may_tell(),
                ),
                progress,
                name_call,
            )
        note = self.note if tool == get_stats.__name__ else self._untold
        if not note or tool == HOOK or result.is_error:
            return result
        self._untold = ""
        return result.with_note(note)


def _name_of(front: str, identity: object, tool: str, arguments: dict[str, Any]) -> str:
    """Return a name for a call. If a client reuses an id for a different call, the names differ."""
    # Escaping could turn each character of a long text into six bytes.
    content = json.dumps([front, identity, tool, arguments], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:24]
