"""Learn from a trigger before there is advice: runs of tests, failures, files, tasks, and the place of the work."""

import asyncio
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from learning_memory_server.advice.candidates import Observed
from learning_memory_server.advice.loading import loaded_at
from learning_memory_server.advice.names import Names
from learning_memory_server.advice.sessions import SessionState
from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.journal.records import FailureLog
from learning_memory_server.lessons.errors.outcomes import exit_status, is_test_or_build, run_of
from learning_memory_server.lessons.errors.watch import Ran
from learning_memory_server.lessons.files.anchoring import Anchoring
from learning_memory_server.lessons.files.freshness import name_in, project_root
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.caller import Caller, place_in
from learning_memory_server.model.moment import Clock
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.rules.folders import folders_of
from learning_memory_server.rules.log import RuleLog
from learning_memory_server.system import timeouts

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Observer:
    """Learns from triggers. A command whose failure cannot be recorded counts as not seen."""

    collector: ObservationCollector
    failures: FailureLog
    anchoring: Anchoring
    names: Names
    rules: RuleLog
    redaction: RedactionGate
    clock: Clock

    async def observe(self, trigger: Trigger, caller: Caller, state: SessionState) -> tuple[Trigger, Observed]:
        """Return the trigger as sources see it, and what it has shown."""
        if trigger.kind is TriggerKind.COMMAND:
            return await self._command(trigger, caller, state)
        if trigger.kind is TriggerKind.FILE:
            return trigger, await self._file(trigger, caller)
        if trigger.kind is TriggerKind.SESSION_START:
            await self._load(trigger, caller, state)
            return trigger, Observed(place=await self.place(trigger.folder, caller.folder) if trigger.folder else "")
        if trigger.kind is TriggerKind.LOADED:
            await self._load(trigger, caller, state)
        elif trigger.kind is TriggerKind.SUBAGENT_TASK and trigger.text:
            state.add_task(trigger.kind_of_agent, trigger.text)
        elif trigger.kind is TriggerKind.SUBAGENT_START:
            trigger = replace(trigger, text=state.take_task(trigger.kind_of_agent))
        patience = 0.0
        if trigger.kind is TriggerKind.PROMPT:
            patience = 0.0 if state.is_begun else timeouts.FIRST_PROMPT
            state.is_begun = True
        if trigger.kind in {TriggerKind.PROMPT, TriggerKind.SUBAGENT_START}:
            self.names.note(trigger.text, caller)
        return trigger, Observed(patience=patience)

    async def _load(self, trigger: Trigger, caller: Caller, state: SessionState) -> None:
        rules = self.rules.accepted(caller.project)
        state.loaded |= await asyncio.to_thread(loaded_at, trigger, trigger.folder or caller.folder, rules)

    async def place(self, folder: str, project_folder: str) -> str:
        """Return where an agent works: the branch, the changed files and the folder, a line each."""
        return await asyncio.to_thread(place_of, self.names, folder, project_folder)

    async def _file(self, trigger: Trigger, caller: Caller) -> Observed:
        name = await asyncio.to_thread(_name_of, str(Path(trigger.folder, trigger.file)), caller.folder)
        if not name:
            return Observed()
        self.anchoring.touch(caller, name, is_read=not trigger.is_edit)
        return Observed(file=name)

    async def _command(self, trigger: Trigger, caller: Caller, state: SessionState) -> tuple[Trigger, Observed]:
        """Return a failed command as an error."""
        nothing = trigger, Observed()
        if not trigger.command or trigger.is_background or (trigger.error and exit_status(trigger.error) is None):
            return nothing
        try:
            await self._keep_run(trigger, caller)
            ended = await state.watch.saw(self._ran(trigger, caller))
            self.failures.add_worked(ended.worked, at=self.clock())
        except LearningMemoryError as problem:
            log.warning("failure.skipped", reason=type(problem).__name__)
            return nothing
        # What errors name is in use, too.
        self.names.note(ended.question or trigger.command, caller)
        if not ended.question:
            return nothing
        observed = Observed(line=ended.line, question=ended.question, tools=ended.tools, failure=ended.failure)
        return replace(trigger, kind=TriggerKind.ERROR), observed

    async def _keep_run(self, trigger: Trigger, caller: Caller) -> None:
        """Add the end of a test or build to the agent's open entry."""
        if trigger.is_unknown or not is_test_or_build(trigger.command):
            return
        (command,) = await self.redaction.pass_texts(trigger.command)
        run = run_of(
            command, trigger.output, trigger.error, at=self.clock(), project=caller.project, folder=trigger.folder
        )
        if run:
            self.collector.add_run(caller, run)

    def _ran(self, trigger: Trigger, caller: Caller) -> Ran:
        entry = self.collector.still_open.known_to(caller)
        is_known = bool(trigger.error) or not trigger.is_unknown
        return Ran(
            project=caller.project,
            session=caller.session,
            command=trigger.command,
            output=trigger.error or trigger.output,
            has_failed=bool(trigger.error) if is_known else None,
            at=self.clock(),
            folder=trigger.folder or None,
            top=caller.folder,
            agent=caller.agent or "",
            entry=entry.id if entry else "",
        )


def _name_of(file: str, project_folder: str) -> str | None:
    """Return the name of a file in a project, None if it is elsewhere or private. For a thread: it asks the disk."""
    root = project_root(project_folder)
    return name_in(root, file) if root else None


def place_of(names: Names, folder: str, project_folder: str) -> str:
    """Return where an agent works: the branch, the changed files and the folder, a line each. For a thread."""
    names.look(project_folder)
    root = project_root(project_folder)
    return f"{place_in(Path(folder))}\n{(root and name_in(root, folder)) or ''}"


def look_at(paths: Iterable[str], folder: str) -> tuple[str, ...]:
    """Look at paths, and return the folders of the project of a folder. For a thread that a dead disk may hold."""
    for path in paths:
        os.path.exists(path)  # noqa: PTH110 - a path may be no name of a file
    return folders_of(folder)
