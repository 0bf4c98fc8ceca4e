"""Answers the events of clients' sessions: most of them with silence."""

import asyncio
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from learning_memory_server.advice.advisor import Advisor
from learning_memory_server.embedding.work_queue import DaemonThread
from learning_memory_server.hooks.event import answer_of, trigger_of
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.system import timeouts

_LOOKING: Final = frozenset(
    {TriggerKind.SESSION_START, TriggerKind.PROMPT, TriggerKind.FILE, TriggerKind.LOADED, TriggerKind.SUBAGENT_START}
)
"""The triggers at which something in the project's folder is looked at."""


@dataclass
class Hooks:
    """Answers the events of all sessions."""

    advisor: Advisor
    # A thread for each folder: others must not wait for one that hangs.
    _disks: defaultdict[str, DaemonThread] = field(default_factory=lambda: defaultdict(DaemonThread), init=False)

    async def answer(self, event: Mapping[str, object], caller: Caller, context: str) -> str:
        """Return what a client's hook prints, JSON or nothing; for `context` see `Trigger`."""
        trigger = trigger_of(event, context)
        if trigger is None or not await self._has_disks(trigger, caller):
            return ""
        return answer_of(str(event["event"]), await self.advisor.at(trigger, caller))

    async def _has_disks(self, trigger: Trigger, caller: Caller) -> bool:
        """Return whether what a trigger names can be looked at: a network disk that is gone holds whoever asks."""
        if trigger.kind is TriggerKind.CALL:
            return True  # It only names files
        folders = (trigger.folder, caller.folder) if trigger.kind in _LOOKING else ()
        paths = tuple(filter(None, (*folders, trigger.file, trigger.transcript)))
        if not paths:
            return True
        asked = self._disks[trigger.folder].submit(partial(_touch, paths))
        try:
            await asyncio.wait_for(asyncio.wrap_future(asked), timeouts.GIT)
        except TimeoutError:
            return False
        return True


def _touch(paths: Iterable[str]) -> None:
    for path in paths:
        os.path.exists(path)  # noqa: PTH110 - a path may be no name of a file
