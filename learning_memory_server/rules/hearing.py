"""The user's no: heard in the client's transcript, asked about once, kept as a preference, and told as a quotation.

Nothing is ever denied here, and only a refusal that was heard here becomes a preference.
"""

import asyncio
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import structlog

from learning_memory_server.capture.memories.store import Added, MemoryStore
from learning_memory_server.errors import LearningMemoryError, NotFoundError
from learning_memory_server.lessons.errors.sanitize import tidied
from learning_memory_server.lessons.errors.transcripts import Refused, Waiting, refused_in
from learning_memory_server.model import limits
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.caller import MAIN_AGENT, Caller
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.memory import Memory, Refusal
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.rules.preferences import PreferenceLog, answer_id
from learning_memory_server.rules.refusals import can_be_kept, kind_of, refusal_of
from learning_memory_server.system.files import read_on
from learning_memory_server.system.recent import Recent

log = structlog.get_logger()

_READ_MAX: Final = 4 << 20  # Bytes of a transcript that are read at an event, of those since the last event
_FILES: Final = 8  # Subagents of a session whose transcripts are read at each event
_ASKED: Final = 3  # Refusals in one question
_TASK_MAX: Final = 20_000  # Characters of a prompt or a task that are looked at
_ENDS: Final = frozenset({TriggerKind.COMMAND, TriggerKind.ERROR, TriggerKind.FILE})
_QUESTION: Final = (
    "If that says how to work here from now on, keep it: add_memory with this `refusal` and, as text, when it applies. "
    "If it proved a belief of yours wrong, resolve that entry so."
)


@dataclass(slots=True)
class _Heard:
    """What was heard in a session, what to ask the agent and to show the person, and up to where files were read."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)  # held while it reads in a thread
    ends: dict[str, int] = field(default_factory=dict)
    waiting: Waiting = field(default_factory=Waiting)
    ended: Recent[str, None] = field(default_factory=Recent)  # calls that ran, or whose refusal was heard
    to_ask: list[str] = field(default_factory=list)
    to_show: list[str] = field(default_factory=list)
    is_begun: bool = False
    is_told: bool = False

    def hear(self, trigger: Trigger) -> list[Refused]:
        """Return the calls that were refused since the last event."""
        found: list[Refused] = []
        # What a subagent did last is written after the event of its end.
        for path in dict.fromkeys((trigger.transcript, *list(self.ends)[-_FILES:])):
            # The file of a session that is resumed has the refusals of its earlier days; a subagent's is new.
            most = _READ_MAX if path in self.ends or trigger.kind is TriggerKind.SUBAGENT_STOP else 0
            lines, self.ends[path] = read_on(Path(path), self.ends.get(path, 0), most)
            found += refused_in(lines.splitlines(), self.waiting)
        found = [each for each in found if each.id not in self.ended]
        for each in found:
            self.ended[each.id] = None
        return found


@dataclass
class Preferences:
    """The refusals of all sessions, and what is kept of them."""

    kept: PreferenceLog
    memories: MemoryStore
    redaction: RedactionGate
    is_on: bool = True
    _sessions: Recent[str, _Heard] = field(default_factory=Recent, init=False)
    _heard: Recent[str, tuple[Refusal, str]] = field(default_factory=Recent, init=False)  # with the project
    _offered: set[str] = field(default_factory=set, init=False)  # the preferences that a person was offered to promote

    async def at(self, text: str, trigger: Trigger, caller: Caller) -> tuple[str, str]:
        """Hear a trigger, and return a quotation and a question besides its `text`, and a line for the person."""
        if not self.is_on:
            return "", ""
        session = self._sessions.of(trigger.context, _Heard)
        if trigger.kind is TriggerKind.SESSION_END:
            del self._sessions[trigger.context]
        try:
            if trigger.key and trigger.kind in _ENDS:
                session.ended[trigger.key] = None
            if trigger.transcript and caller.is_attended:
                async with session.lock:
                    found = await asyncio.to_thread(session.hear, trigger)
                for refused in found:
                    await self._refused(refused, session, trigger, caller)
            said = [self._tell(session, trigger, caller), self._ask(session, trigger, caller, text)]
        except LearningMemoryError as problem:
            log.warning("preferences.skipped", reason=type(problem).__name__)
            return "", ""
        lines, session.to_show = session.to_show, []
        return "\n".join(filter(None, said)), "\n".join(lines)

    async def keep(self, caller: Caller, name: str, when: str) -> Added:
        """Keep a refusal as a preference; `when` is when it applies, as the agent says."""
        refusal, project = self._heard.get(name, (None, ""))
        if refusal is None or project != caller.project:
            hint = "It is kept already, or not of this project. Leave it out to add a memory."
            raise NotFoundError(f"refusal: no refusal {name!r} waits to be kept.", hint=hint)
        refusal = replace(refusal, when=limits.checked_text("text", one_line(when), limits.REFUSAL_WORDS_MAX))
        added = await self.memories.add(caller, refusal.told, {}, refusal=refusal)
        del self._heard[name]
        if session := self._sessions.get(refusal.sessions[0]):
            session.to_show.append(f'kept "{refusal.words}", undo: learning-memory-server forget {added.memory.id}')
        return added

    async def _refused(self, refused: Refused, session: _Heard, trigger: Trigger, caller: Caller) -> None:
        """Take a refusal: like preferences stand again, and it is to be asked about if its words can be kept."""
        refusal = await refusal_of(refused, trigger.context, caller.project, caller.folder, self.redaction)
        is_known = False
        for memory, kept in self.kept.active(caller.project):
            if kind_of(kept).has(refusal.tool, refusal.call):
                is_known |= kept.words.casefold() == refusal.words.casefold()
                sessions = tuple(dict.fromkeys((*kept.sessions, trigger.context)))
                self._change(memory, replace(kept, at=refusal.at, sessions=sessions, let_pass=0))
        if can_be_kept(refusal.words) and not is_known and caller.is_told:
            name = f"refusal_{secrets.token_hex(4)}"
            self._heard[name] = refusal, caller.project
            session.to_ask.append(name)

    def _ask(self, session: _Heard, trigger: Trigger, caller: Caller, text: str) -> str:
        """Return the question about refusals, once; after a call and at Stop only beside no other text."""
        is_moment = trigger.kind is TriggerKind.PROMPT or (
            trigger.kind in _ENDS | {TriggerKind.STOP} and not (text or trigger.is_again)
        )
        names = [name for name in session.to_ask if name in self._heard][-_ASKED:]
        if not (names and is_moment and caller.agent in {None, MAIN_AGENT}):
            return ""
        session.to_ask.clear()
        return question((self._heard[name][0], name) for name in names)

    def _tell(self, session: _Heard, trigger: Trigger, caller: Caller) -> str:
        """Return one preference that an event is about, once in a session; count the like calls that passed."""
        is_start = trigger.kind is TriggerKind.SESSION_START or (
            trigger.kind is TriggerKind.PROMPT and not session.is_begun
        )
        session.is_begun |= is_start
        tool, call = (
            ("Bash", trigger.command) if trigger.command else ("Edit" if trigger.is_edit else "Read", trigger.file)
        )
        call = tidied(one_line(call), caller.project, caller.folder) if trigger.kind in _ENDS else ""
        task = trigger.text[:_TASK_MAX] if trigger.kind in {TriggerKind.PROMPT, TriggerKind.SUBAGENT_START} else ""
        told: Memory | None = None
        for place, (memory, kept) in enumerate(self.kept.active(caller.project) if is_start or call or task else ()):
            if trigger.context in kept.sessions:
                continue
            kind, is_twice = kind_of(kept), is_start and len(kept.sessions) > 1
            is_like = bool(call) and kind.has(tool, call)
            if (is_like or is_twice or (task and kind.is_named_in(task))) and place < limits.PREFERENCES_TOLD:
                told = told or memory
            if is_like and caller.is_attended:
                self._change(memory, replace(kept, let_pass=kept.let_pass + 1))
        if told is None or told.refusal is None or session.is_told or not caller.is_told:
            return ""
        session.is_told = True
        if is_start and len(told.refusal.sessions) > 1 and told.id not in self._offered:
            self._offered.add(told.id)
            session.to_show.append(
                f'In {len(told.refusal.sessions)} sessions you said "{told.refusal.words}". To promote it to a rule, or '
                f"to end it: learning-memory-server review {answer_id(told)}"
            )
        return told.refusal.told

    def _change(self, memory: Memory, refusal: Refusal) -> None:
        self.kept.memories.add(replace(memory, refusal=refusal), at=self.kept.clock())


def question(refusals: Iterable[tuple[Refusal, str]]) -> str:
    """Return the question about refusals, each with the id by which an agent keeps it."""
    return f"{'; '.join(f'{refusal.told} ({name})' for refusal, name in refusals)}. {_QUESTION}"
