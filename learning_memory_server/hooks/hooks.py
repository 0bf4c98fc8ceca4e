"""What happened in a client, as its hooks say it, and what that leads to: what the agent is told, and what is kept.

Nothing is said that is not worth an agent's attention, and nothing twice: most events are answered with silence.
"""

import asyncio
import json
import os
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from learning_memory_server.advice.advisor import Advisor, Related
from learning_memory_server.advice.text import OPENING, RelatedItem, related, session_text, told_of
from learning_memory_server.advice.ties import Ties
from learning_memory_server.capture.entries.open_entries import LiveSessions
from learning_memory_server.embedding.work_queue import DaemonThread
from learning_memory_server.hooks import event as kinds
from learning_memory_server.hooks.event import Event
from learning_memory_server.lessons.errors.error_advisor import ErrorAdvisor, Known
from learning_memory_server.lessons.errors.outcomes import exit_status, run_of
from learning_memory_server.lessons.errors.pending import Ran
from learning_memory_server.lessons.files.anchoring import Anchoring
from learning_memory_server.lessons.files.freshness import name_in, project_root
from learning_memory_server.model import limits
from learning_memory_server.model.caller import MAIN_AGENT, Caller, place_in
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.lines import one_line, shortened
from learning_memory_server.model.moment import Clock
from learning_memory_server.rules.hearing import Preferences
from learning_memory_server.sharing.check import told_name
from learning_memory_server.sharing.promote import LEARNED, promoted
from learning_memory_server.system import timeouts
from learning_memory_server.system.files import read
from learning_memory_server.system.recent import Recent

_MOST: Final = 500  # What was told last that is kept
_TASKS: Final = 16  # Tasks of a session's subagents that are kept until these start: those that were given last
_AT_ONCE: Final = timedelta(seconds=2)  # Within this a start that a client may say late is that of the first prompt
_BOTH_MAX: Final = 400  # Characters of a remedy and a lesson up to which both are said


@dataclass(slots=True)
class SessionMemory:
    """What one session was reminded of and shown."""

    context_at: datetime | None = None  # when it was given its context
    # Those of subagents about to start, with their kinds.
    tasks: list[tuple[str, str]] = field(default_factory=list)
    is_begun: bool = False  # whether it had a prompt
    reminded: set[str] = field(default_factory=set)
    wrong: int = 0  # how many wrong hypotheses about files it was told


class Said(NamedTuple):
    """What an agent was told, and at which event."""

    at: datetime
    project: str
    session: str
    event: str
    text: str


@dataclass
class Hooks:
    """Answers the events of all sessions."""

    advisor: Advisor
    error_advisor: ErrorAdvisor
    anchoring: Anchoring
    preferences: Preferences
    ties: Ties
    live: LiveSessions
    clock: Clock
    said: deque[Said] = field(default_factory=lambda: deque(maxlen=_MOST), init=False)
    _sessions: Recent[str, SessionMemory] = field(default_factory=Recent, init=False)
    # A thread for each folder: others must not wait for one that hangs.
    _disks: defaultdict[str, DaemonThread] = field(default_factory=lambda: defaultdict(DaemonThread), init=False)

    def session(self, name: str) -> SessionMemory:
        """Return what is remembered of a session."""
        return self._sessions.of(name, SessionMemory)

    async def answer(self, event: Event, caller: Caller) -> str:
        """Return what a client's hook prints, JSON or nothing, and keep what the event teaches."""
        self.live.heard(caller.session)
        self.advisor.told.heard(caller.session, event.session)
        answers = {
            kinds.SESSION_START: self._session_start,
            kinds.SESSION_END: self._session_end,
            kinds.PROMPT: self._prompt,
            kinds.AFTER_TOOL: self._after_tool,
            kinds.AFTER_FAILURE: self._after_tool,
            kinds.STOP: self._stop,
            kinds.BEFORE_TOOL: self._before_tool,
            kinds.AGENT_START: self._agent_start,
            kinds.AGENT_STOP: self._stop,
            kinds.LOADED: self._loaded,
        }
        answer = answers.get(event.kind)
        if answer is None or not await self._has_disks(event, caller):
            return ""
        event = self._with_task(event) if event.kind == kinds.AGENT_START else event
        text, line = await self.preferences.told(await answer(event, caller), event, caller)
        said: dict[str, object] = {kinds.LINE: line} if line else {}
        if text:
            self.said.append(Said(self.clock(), caller.project, caller.session, event.kind, text))
            said = {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}, **said}
        return json.dumps(said, ensure_ascii=False, separators=(",", ":")) if said else ""

    async def _has_disks(self, event: Event, caller: Caller) -> bool:
        """Return whether what an event names can be looked at: a network disk that is gone holds whoever asks."""
        places = tuple(filter(None, (event.folder, caller.folder, event.file, event.transcript)))
        asked = self._disks[event.folder].submit(partial(_touch, places))
        try:
            await asyncio.wait_for(asyncio.wrap_future(asked), timeouts.GIT)
        except TimeoutError:
            return False
        return True

    async def _session_start(self, event: Event, caller: Caller) -> str:
        session, now = self.session(event.session), self.clock()
        if event.is_again and session.context_at and now - session.context_at < _AT_ONCE:
            return ""
        session.context_at = now
        told = self.advisor.told.to(caller.session, caller.agent)
        if event.kind == kinds.SESSION_START and event.source != kinds.RESUMED:
            told.clear()
        place = await asyncio.to_thread(self._place, event, caller) if event.folder else ""
        lessons = self.advisor.names.at(place, caller)
        await self.advisor.validity.freshness.judge(lessons, caller.project, caller.folder)
        if event.folder and event.session:
            # Claude Code loads it before it knows the hooks of plugins.
            await self._loaded(replace(event, file=str(Path(event.folder, LEARNED))), caller)
        return session_text(self.advisor, caller, place, told, is_alone=event.is_alone)

    def _place(self, event: Event, caller: Caller) -> str:
        """Return where an agent works: the branch, the changed files and the folder."""
        self.advisor.names.look(caller.folder)
        root = project_root(caller.folder)
        return f"{place_in(Path(event.folder))}\n{(root and name_in(root, event.folder)) or ''}"

    async def _loaded(self, event: Event, caller: Caller) -> str:
        """Keep which promoted rules the client has loaded: advice does not repeat them."""
        text = await asyncio.to_thread(_beginning, event.file)
        # One that is about some files is loaded with them, and the client tells.
        if event.kind == kinds.LOADED or not text.startswith("---"):
            self.advisor.told.rules.of(caller.session, set).update(promoted(text))
        return ""

    async def _session_end(self, event: Event, caller: Caller) -> str:
        """Forget its reminders. The session's open entry stays as it is, and its own if the session is resumed."""
        self._sessions.pop(event.session, None)
        self.live.ended(caller.session)
        return ""

    async def _prompt(self, event: Event, caller: Caller) -> str:
        session = self.session(event.session)
        # The hook at its start had no hub, or none that was ready in time.
        context = "" if session.context_at else await self._session_start(event, caller)
        patience = 0.0 if session.is_begun else timeouts.FIRST_PROMPT
        session.is_begun = True
        return f"{context}{await self._lesson_about(event.prompt, caller, patience)}"

    async def _before_tool(self, event: Event, _caller: Caller) -> str:
        """Keep a subagent's task: the event of its start does not say it."""
        tasks = self.session(event.session).tasks
        if event.prompt:
            tasks[:] = [*tasks[1 - _TASKS :], (event.kind_of_agent, event.prompt)]
        return ""

    def _with_task(self, event: Event) -> Event:
        """Return a subagent's start with its task, which is no other's then."""
        tasks = self.session(event.session).tasks
        mine = next((each for each in tasks if each[0] == event.kind_of_agent), None)
        if mine is None:
            return event
        tasks.remove(mine)
        return replace(event, prompt=mine[1])

    async def _agent_start(self, event: Event, caller: Caller) -> str:
        return await self._lesson_about(event.prompt, caller) if event.prompt else ""

    async def _lesson_about(self, task: str, caller: Caller, patience: float = 0.0, *, by_name: bool = False) -> str:
        """Return the line with a relevant lesson that the agent has not seen, if there is one."""
        if not caller.is_told:
            return ""
        entry = await self.advisor.find_lesson(task, caller, patience=patience, by_name=by_name)
        if entry is None:
            return ""
        item, source = self._learned(entry, caller)
        return f"{OPENING} This may help with the task: {item['learned']} ({source}; its goal: {item['goal']})"

    def _learned(self, entry: Ghap, caller: Caller, others: Sequence[str] = ()) -> tuple[RelatedItem, str]:
        """Return a lesson, and where it is from; `others` are more lessons about the same."""
        (item,) = related(Related((entry,)))
        whose = f", {item['shared']}" if "shared" in item else ""
        more = f", {len(others)} more: {others[0]}" if others else ""
        return item, f"learned in {item['id']}, {item['outcome']}{whose}{more}{self._words(entry, caller)}"

    def _words(self, entry: Ghap, caller: Caller) -> str:
        words = self.advisor.validity.words(entry, caller.folder)
        return f"; {words}" if words else ""

    async def _failed(self, known: Known, caller: Caller) -> str:
        """Return what an agent is told of a command that failed: its remedy, or what else is known of it."""
        said = known.remedy or known.fact
        if tied := known.tied:
            item, source = self._learned(tied.entry, caller, tied.others)
            lesson = f"Learned from this error: {item['learned']} ({source})"
            said = f"{said} {lesson}" if len(said) + len(lesson) < _BOTH_MAX else lesson  # The lesson says why
        elif known.question and (entry := await self.advisor.find_lesson(known.question, caller, tools=known.tools)):
            item, source = self._learned(entry, caller)
            said += f" This may help: {item['learned']} ({source})"
        return f"{OPENING} {said.strip()}" if said else ""

    async def _after_file(self, event: Event, caller: Caller) -> str:
        """Note what a tool has read or edited, and return a line about a hypothesis on what was read that was wrong."""
        root = project_root(caller.folder)
        name = root and name_in(root, str(Path(event.folder, event.file)))
        if not name:
            return ""
        self.anchoring.touch(caller, name, is_read=not event.is_edit)
        is_main = caller.agent in {None, MAIN_AGENT}
        memory = self.session(event.session if is_main else f"{event.session} {caller.agent}")
        if event.is_edit or not caller.is_told or memory.wrong == limits.ADVICE_SHOWN:
            return ""
        entry = await self.advisor.find_wrong(name, caller)
        if entry is None:
            return ""
        memory.wrong += 1
        believed = shortened(one_line(entry.hypothesis), limits.REMINDER_MAX)
        found = told_of(entry, limits.LESSON_ALONE_MAX)
        told = told_name(name) or "this file"
        return f"{OPENING} Of {told} this was believed, and was wrong: {believed} Learned: {found} ({entry.id}{self._words(entry, caller)})"

    async def _after_tool(self, event: Event, caller: Caller) -> str:
        if event.file:
            return await self._after_file(event, caller)
        if not event.command or event.is_background:
            return ""
        folder = event.folder
        run = run_of(event.command, event.output, event.error, at=self.clock(), project=caller.project, folder=folder)
        if run and not event.is_unknown:
            self.advisor.collector.add_run(caller, run)
        known = await self._seen(event, caller)
        told = await self._failed(known, caller) if caller.is_told else ""
        return told or ("" if event.error else await self._lesson_about(event.command, caller, by_name=True))

    async def _seen(self, event: Event, caller: Caller) -> Known:
        """Let a command's end teach what mends an error, and return what is known of this one."""
        if event.error and exit_status(event.error) is None:
            return Known()
        has_failed = bool(event.error) or (None if event.is_unknown else False)
        output, folder = event.error or event.output, event.folder or None
        about = (caller.project, event.session, event.command, output, has_failed, self.clock(), folder)
        still_open = self.advisor.collector.still_open.known_to(caller)
        ran = Ran(*about, agent=caller.agent or "", entry=still_open.id if still_open else "").with_known_end()
        return await self.error_advisor.saw(ran, lambda: caller.is_told, partial(self.ties.find, caller=caller))

    async def _stop(self, event: Event, caller: Caller) -> str:
        entry = self.advisor.collector.still_open.current(caller)
        session = self.session(event.session)
        # Whatever an agent does with a reminder, it stops again: it is told once.
        # Where nobody reads along, the last answer is the result: an answer to a reminder would take its place.
        if entry is None or event.is_again or entry.id in session.reminded or not caller.is_attended:
            return ""
        session.reminded.add(entry.id)
        return _reminder(entry)


def _touch(places: Iterable[str]) -> None:
    for place in places:
        os.path.exists(place)  # noqa: PTH110 - a path may be no name of a file


def _beginning(file: str) -> str:
    """Return the text of a plain file, whatever links to it; nothing if it cannot be read."""
    try:
        return (read(Path(os.path.realpath(file))) or b"").decode("utf-8", "replace")
    except ValueError:
        return ""


def _reminder(entry: Ghap) -> str:
    """Return what an agent is told about its open entry: what it expected, what was seen, and what closes it."""
    lines = [
        f"{OPENING} Entry {entry.id} is still open.",
        f"Goal: {shortened(one_line(entry.goal), limits.REMINDER_MAX)}",
        f"Prediction: {shortened(one_line(entry.prediction), limits.REMINDER_MAX)}",
        *(f"Seen: {run}" for run in entry.runs[-limits.REMINDER_RUNS :]),
        "resolve_ghap closes it once the outcome is known; update_ghap keeps what has changed.",
    ]
    return "\n".join(lines)
