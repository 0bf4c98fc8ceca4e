"""Answers the events of clients' sessions: most of them with silence."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from learning_memory_server.advice.advisor import Advisor
from learning_memory_server.advice.observer import look_at
from learning_memory_server.embedding.work_queue import DaemonThread
from learning_memory_server.hooks.event import answer_of, trigger_of
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.system import timeouts
from learning_memory_server.system.recent import Recent

_LOOKING: Final = frozenset(
    {TriggerKind.SESSION_START, TriggerKind.PROMPT, TriggerKind.FILE, TriggerKind.LOADED, TriggerKind.SUBAGENT_START}
)
"""The triggers at which something in the project's folder is looked at."""
_MAKING: Final = "worktree"  # What is in a command that makes or removes a folder of the project


@dataclass
class Hooks:
    """Answers the events of all sessions."""

    advisor: Advisor
    # A thread for each folder: others must not wait for one that hangs.
    _disks: Recent[str, DaemonThread] = field(default_factory=Recent, init=False)

    async def answer(self, event: Mapping[str, object], caller: Caller, context: str) -> str:
        """Return what a client's hook prints, JSON or nothing; for `context` see `Trigger`."""
        trigger = trigger_of(event, context)
        looked = trigger and await self._look(trigger, caller)
        return answer_of(str(event["event"]), await self.advisor.at(looked, caller)) if looked else ""

    async def _look(self, trigger: Trigger, caller: Caller) -> Trigger | None:
        """Return a trigger with the folders of the project, if what it names can be looked at, else None.

        A network disk that is gone holds whoever asks. A call only names files, and waits for no disk.
        """
        is_about_folder = trigger.kind in _LOOKING or _MAKING in trigger.command
        folders = (trigger.folder, caller.folder) if is_about_folder else ()
        paths = tuple(filter(None, (*folders, trigger.file)))
        if not paths or trigger.kind is TriggerKind.CALL:
            return trigger
        asked = self._disks.of(trigger.folder, DaemonThread).submit(
            look_at, paths, caller.folder if is_about_folder else ""
        )
        try:
            found = await asyncio.wait_for(asyncio.wrap_future(asked), timeouts.GIT)
        except TimeoutError:
            return None
        return replace(trigger, folders=found)
