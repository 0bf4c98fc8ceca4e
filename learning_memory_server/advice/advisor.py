"""The only way for advice to reach an agent.

Each trigger is observed first; then the room chooses what is shown, and the log gets one line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.advice import sentences, text
from learning_memory_server.advice.budget import BUDGETS
from learning_memory_server.advice.candidates import Candidate, Observed, Shown
from learning_memory_server.advice.filters import Situation, passes
from learning_memory_server.advice.finder import NotReadyError
from learning_memory_server.errors import JournalUnavailableError, LearningMemoryError
from learning_memory_server.model.advice import Advice, AdviceKind, Item, Reason, TriggerKind
from learning_memory_server.model.caller import MAIN_AGENT, Caller
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.rule import Rule
from learning_memory_server.model.trigger import RESUMED, Trigger
from learning_memory_server.model.value import Value
from learning_memory_server.rules.session import Meeting, RuleSession, met_again

if TYPE_CHECKING:
    from learning_memory_server.advice.asking.asker import Asker
    from learning_memory_server.advice.log import AdviceLog
    from learning_memory_server.advice.observer import Observer
    from learning_memory_server.advice.room import Room
    from learning_memory_server.advice.sessions import Sessions, SessionState
    from learning_memory_server.capture.entries.open_entries import LiveSessions
    from learning_memory_server.lessons.values.log import ValueLog
    from learning_memory_server.model.moment import Clock
    from learning_memory_server.rules.applying import Rules

_AT_ONCE: Final = timedelta(seconds=2)  # Within this, a start that a client may say late is that of the first prompt

log = structlog.get_logger()


@dataclass(eq=False)
class Advisor:
    """Decides what an agent is shown at a trigger."""

    room: Room
    values: ValueLog
    log: AdviceLog
    sessions: Sessions
    observer: Observer
    rules: Rules
    asker: Asker
    live: LiveSessions
    clock: Clock

    async def at(self, trigger: Trigger, caller: Caller) -> Shown:
        """Record and return the advice for an agent at a trigger. It never raises an error.

        It runs next to an agent's work, and after calls that have saved something, which must not fail for it. Advice
        that could not be recorded is not shown.
        """
        try:
            return await self._at(trigger, caller)
        except LearningMemoryError as problem:
            log.warning("advice.failed", reason=type(problem).__name__)
        except Exception:  # A mistake of ours must not fail a call that has saved an entry
            log.exception("advice.failed")
        return Shown()

    async def _at(self, trigger: Trigger, caller: Caller) -> Shown:
        now = self.clock()
        if not trigger.is_of_entry:  # The server knows by itself how long a session that makes calls is connected
            self.live.heard(caller.session)
        state = self.sessions.hear(caller, trigger.context)
        triggers = [trigger]
        if trigger.kind is TriggerKind.SESSION_START:
            if trigger.is_again and state.started_at and now - state.started_at < _AT_ONCE:
                return Shown()
            if trigger.source != RESUMED:
                state.context_since = now
        elif trigger.kind is TriggerKind.PROMPT and state.started_at is None:
            # The hook at the session's start had no hub, or none that was ready in time.
            triggers.insert(0, replace(trigger, kind=TriggerKind.SESSION_START))
        shown, has_written = list[Shown](), False
        for each in triggers:
            answer, is_line = await self._once(each, caller, state)
            shown.append(answer)
            has_written |= is_line
        if trigger.kind is TriggerKind.SESSION_END:
            self.live.ended(caller.session)
            self.sessions.end(state)
        elif not has_written:  # One event, one write
            self.rules.save(state.rules.first_breaches())
        line = "\n".join(each.line for each in shown if each.line)
        return replace(shown[-1], text="".join(each.text for each in shown), line=line)

    async def _once(self, trigger: Trigger, caller: Caller, state: SessionState) -> tuple[Shown, bool]:
        """Return the advice at a trigger, and whether it is in the log: a call that is reported twice counts once."""
        if not trigger.key:
            return await self._at_one(trigger, caller, state)
        name = f"{trigger.kind} {trigger.key} {trigger.command}"
        answer = state.answers.of(name, lambda: asyncio.create_task(self._at_one(trigger, caller, state)))
        return await asyncio.shield(answer)

    async def _at_one(self, trigger: Trigger, caller: Caller, state: SessionState) -> tuple[Shown, bool]:
        """Return the advice at a trigger, and whether it is in the log."""
        if trigger.kind is TriggerKind.SESSION_START:
            state.started_at = self.clock()
        self.rules.observe(trigger, caller, state.rules)
        trigger, observed = await self.observer.observe(trigger, caller, state)
        self.asker.note(trigger, caller, state)
        shown, is_line = await self._chosen(trigger, observed, caller, state)
        # A question waits for a moment at which nothing else is said. At the end of work, it says what is open itself.
        is_only_reminder = trigger.kind is TriggerKind.STOP and not shown.meeting.rules
        if shown.decision or (shown.text and not is_only_reminder):
            return shown, is_line
        question = await self.asker.question(trigger, caller, state)
        return (replace(shown, text=f"{question}\n") if question else shown), is_line

    async def _chosen(
        self, trigger: Trigger, observed: Observed, caller: Caller, state: SessionState
    ) -> tuple[Shown, bool]:
        """Return what the room chooses, and whether it is in the log."""
        rules = self._rules_in(self._situation(trigger, caller, state))
        if not rules and trigger.kind not in BUDGETS:
            return Shown(), False
        line = self._line(trigger, caller, state.context)
        if line.key and (known := self.log.find(line.id)):
            return self._shown_again(known, trigger, caller), False
        meeting = await self.rules.meet(rules, trigger, caller, state.rules)
        offered, notice = await self._offered(trigger, observed, caller, meeting)
        # Nothing awaits from here on: two calls of an agent at once are not shown the same.
        situation = self._situation(trigger, caller, state)
        candidates = [*_of(meeting.rules), *self.room.passing(offered, situation)]
        try:
            if observed.failure:
                self.log.record_failure(observed.failure, [each.item() for each in candidates], trigger.context)
            elif candidates:
                self.log.record(replace(line, items=tuple(each.item() for each in candidates)))
        except LearningMemoryError as problem:
            # What a person wants does not wait for a disk that is full; lessons do.
            if not meeting.rules:
                raise
            log.warning("advice.not_logged", reason=type(problem).__name__)
            candidates = _of(meeting.rules)
        shown = replace(self._shown(trigger, candidates, caller, meeting), notice=notice)
        if trigger.kind is TriggerKind.SESSION_START:
            shown = self._with_left_out(shown, offered, situation)
        return shown, bool(observed.failure or candidates)

    async def _offered(
        self, trigger: Trigger, observed: Observed, caller: Caller, meeting: Meeting
    ) -> tuple[list[Candidate], str]:
        """Return what the room offers, and a notice if it cannot offer anything yet."""
        try:
            return await self.room.offered(trigger, observed, caller), ""
        except NotReadyError:
            return [], text.NOT_READY
        except JournalUnavailableError:
            # What a person wants does not wait for what others keep.
            if not meeting.rules:
                raise
            return [], ""

    def _rules_in(self, situation: Situation) -> list[Rule]:
        """Return the rules that an agent may meet: only these are judged and counted."""
        situation = replace(situation, shown=())  # How often an agent meets a rule is another matter
        accepted = _of(self.rules.log.accepted(situation.caller.project))
        return [each.rule for each in accepted if passes(each, situation)]

    def _with_left_out(self, shown: Shown, offered: Sequence[Candidate], situation: Situation) -> Shown:
        """Add two notices to the advice at a start: about rules without room, and about an unconfirmed folder."""
        rules = [each for each in offered if each.kind is AdviceKind.RULE and passes(each, situation)]
        unconfirmed = text.UNCONFIRMED if text.hides(offered, situation.caller) else ""
        left = sentences.left_out(sum(each not in shown.candidates for each in rules))
        return replace(shown, text=f"{shown.text}{unconfirmed}", line=left)

    async def would_show(self, trigger: Trigger, caller: Caller, broken: Sequence[Rule] = ()) -> Shown:
        """Return the rules that a new agent would be shown after an edit. Nothing is recorded.

        `broken` are the rules that a call breaks, if the trigger does not say what the call is.
        """
        situation = Situation(trigger, caller, self.room.lessons)
        state, room = RuleSession(folders=trigger.folders), self.room.of_person()
        state.agent(MAIN_AGENT).work.is_edited = True
        if broken:
            meeting = met_again(broken, is_attended=caller.is_attended)
        else:
            meeting = await self.rules.meet(self._rules_in(situation), trigger, caller, state)
        offered = await room.offered(trigger, Observed(), caller)
        return self._shown(trigger, [*_of(meeting.rules), *room.passing(offered, situation)], caller, meeting)

    def objection(self, caller: Caller) -> str:
        """Return the person's words that an agent was asked about and has not answered yet; empty if there are none."""
        return self.sessions.hear(caller, "").signs.objection

    def answered(self, caller: Caller) -> None:
        """Note that an agent has answered."""
        self.sessions.hear(caller, "").signs.objection = ""

    def close(self) -> None:
        """Write how rules fared in the sessions that have not ended."""
        self.sessions.close()

    def _situation(self, trigger: Trigger, caller: Caller, state: SessionState) -> Situation:
        agent = caller.agent or MAIN_AGENT
        since = state.context_since if agent == MAIN_AGENT else None
        shown = self.log.shown_to(state.context, agent, since)
        has_rules = state.rules_off_until is None or self.clock() >= state.rules_off_until
        return Situation(trigger, caller, self.room.lessons, shown, state.loaded, has_rules)

    def _line(self, trigger: Trigger, caller: Caller, context: str) -> Advice:
        """Return the line of the log about a trigger, with nothing that is shown yet."""
        entry = trigger.entry or self._open_entry(caller)
        return Advice(
            channel=trigger.kind,
            items=(),
            project=caller.project,
            created_at=self.clock(),
            ghap_id=entry.id if entry else "",
            revision=entry.iteration_count if entry else 0,
            session=caller.session,
            context="" if context == caller.session else context,
            agent=caller.agent or "",
            key=f"{entry.id} {entry.iteration_count}" if trigger.is_of_entry and entry else trigger.key,
        )

    def _open_entry(self, caller: Caller) -> Ghap | None:
        """Return the caller's open entry; None also while entries cannot be read."""
        with suppress(JournalUnavailableError):
            return self.observer.collector.still_open.current(caller)
        return None

    def _shown_again(self, advice: Advice, trigger: Trigger, caller: Caller) -> Shown:
        """Return the advice of a line of the log once more. Things that were forgotten since are left out."""
        found = ((item, self._thing_of(item)) for item in advice.items)
        candidates = [Candidate(it, item.reason or Reason.SIMILAR, score=item.score) for item, it in found if it]
        rules = [each.rule for each in candidates if trigger.kind is TriggerKind.CALL]
        return self._shown(trigger, candidates, caller, met_again(rules, is_attended=caller.is_attended))

    def _thing_of(self, item: Item) -> Ghap | Value | Rule | None:
        if item.kind is AdviceKind.RULE:
            return self.rules.log.find(item.id)
        entries = self.room.lessons.collector.look_up([item.id]).found
        return entries[0] if entries else self.room.lessons.shared.entries.get(item.id) or self.values.find(item.id)

    def _shown(self, trigger: Trigger, candidates: Sequence[Candidate], caller: Caller, meeting: Meeting) -> Shown:
        now = self.clock()
        return Shown(
            tuple(candidates),
            text.text_at(trigger, candidates, self.room.notes(caller)) or sentences.beside(meeting, now),
            line=sentences.person_of(meeting),
            decision=sentences.decision_of(meeting, now),
            meeting=meeting,
        )


def _of(rules: Sequence[Rule]) -> list[Candidate]:
    return [Candidate(each, Reason.RULE) for each in rules]
