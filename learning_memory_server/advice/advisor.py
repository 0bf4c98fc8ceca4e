"""The only way for advice to reach an agent.

Each trigger is observed first; then the room chooses what is shown, and the log gets one line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.advice import sentences, text
from learning_memory_server.advice.budget import BUDGETS
from learning_memory_server.advice.candidates import Candidate, Observed, Shown
from learning_memory_server.advice.filters import Situation, passes
from learning_memory_server.advice.finder import NotReadyError
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.model.advice import Advice, AdviceKind, Item, Reason, TriggerKind
from learning_memory_server.model.caller import MAIN_AGENT, Caller
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.rule import Rule
from learning_memory_server.model.trigger import RESUMED, Trigger
from learning_memory_server.model.value import Value
from learning_memory_server.rules.session import Judged, Meeting, RuleSession, Ruling

if TYPE_CHECKING:
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
        shown, state.has_written = list[Shown](), False
        for each in triggers:
            trigger, answer = await self._once(each, caller, state)
            shown.append(answer)
        if not state.has_written:  # One event, one write
            self.rules.save(state.rules.first_breaches())
        if trigger.kind is TriggerKind.SESSION_END:
            self.live.ended(caller.session)
            self.sessions.end(state)
        line = "\n".join(each.line for each in shown if each.line)
        return replace(shown[-1], text="".join(each.text for each in shown), line=line)

    async def _once(self, trigger: Trigger, caller: Caller, state: SessionState) -> tuple[Trigger, Shown]:
        """Return the observed trigger and its advice: a call that its client reports twice counts once."""
        if not trigger.key:
            return await self._at_one(trigger, caller, state)
        name = f"{trigger.kind} {trigger.key} {trigger.command}"
        answer = state.answers.of(name, lambda: asyncio.create_task(self._at_one(trigger, caller, state)))
        return await asyncio.shield(answer)

    async def _at_one(self, trigger: Trigger, caller: Caller, state: SessionState) -> tuple[Trigger, Shown]:
        """Return the observed trigger and its advice."""
        if trigger.kind is TriggerKind.SESSION_START:
            state.started_at = self.clock()
        judged = await self.rules.observe(trigger, caller, state.rules)
        trigger = replace(trigger, content="", before="")  # It is kept for as long as the answer
        if trigger.kind is TriggerKind.CALL and not (judged and judged.broken):
            if judged:
                self._meet(judged, trigger, caller, state)
            return trigger, Shown()
        trigger, observed = await self.observer.observe(trigger, caller, state)
        if trigger.kind not in BUDGETS or (trigger.kind is TriggerKind.COMMAND and judged is None):
            return trigger, Shown()
        observed = replace(observed, judged=judged, session=state.rules)
        entry = trigger.entry or self.observer.collector.still_open.current(caller)
        line = self._line(trigger, caller, entry, state.context)
        if line.key and (known := self.log.find(line.id)):
            candidates = self._candidates_of(known)
            return trigger, self._shown(trigger, candidates, caller, met_again(candidates, trigger, caller))
        try:
            offered, notice = await self.room.offered(trigger, observed, caller), ""
        except NotReadyError:
            offered, notice = [], text.NOT_READY
        # Nothing awaits from here on: two calls of an agent at once are not shown the same.
        situation = self._situation(trigger, caller, state)
        candidates = self.room.passing(offered, situation)
        candidates, meeting = self._settled(candidates, judged, trigger, caller, state)
        state.has_written |= bool(observed.failure or candidates)
        if observed.failure:
            self.log.record_failure(self._with_advice(observed.failure, candidates, trigger))
        elif candidates:
            self.log.record(replace(line, items=tuple(each.item() for each in candidates)))
        shown = replace(self._shown(trigger, candidates, caller, meeting), notice=notice)
        is_start = trigger.kind is TriggerKind.SESSION_START
        return trigger, self._at_start(shown, offered, situation) if is_start else shown

    def _at_start(self, shown: Shown, offered: Sequence[Candidate], situation: Situation) -> Shown:
        """Return what is shown at a start, with what is not: rules without room, and lessons of an unknown folder."""
        rules = [each for each in offered if each.kind is AdviceKind.RULE and passes(each, situation)]
        unconfirmed = text.UNCONFIRMED if text.hides(offered, situation.caller) else ""
        left = sentences.left_out(sum(each not in shown.candidates for each in rules))
        return replace(shown, text=f"{shown.text}{unconfirmed}", line=left)

    def _settled(
        self, candidates: list[Candidate], judged: Judged | None, trigger: Trigger, caller: Caller, state: SessionState
    ) -> tuple[list[Candidate], Meeting]:
        """Return what is shown of rules at an act, which depends on how often their agent has met them."""
        rules = [each.rule for each in candidates if each.kind is AdviceKind.RULE]
        meeting, met = Meeting(), tuple(rules)
        if trigger.kind is TriggerKind.CALL and judged:
            meeting = self._meet(replace(judged, broken=tuple(rules)), trigger, caller, state)
            met = meeting.rules
        elif trigger.kind in {TriggerKind.COMMAND, TriggerKind.FILE}:
            met = tuple(state.rules.tell(caller.agent or MAIN_AGENT, rules))
        elif trigger.kind in {TriggerKind.STOP, TriggerKind.SUBAGENT_STOP}:
            state.rules.remind_at_end(rules)
        return [each for each in candidates if each.kind is not AdviceKind.RULE or each.rule in met], meeting

    def _meet(self, judged: Judged, trigger: Trigger, caller: Caller, state: SessionState) -> Meeting:
        agent = caller.agent or MAIN_AGENT
        return state.rules.meet(agent, trigger.key, judged, self.clock(), is_attended=caller.is_attended)

    async def would_show(self, trigger: Trigger, caller: Caller) -> Shown:
        """Return what a new agent would be shown at a call, in a session that a person attends; nothing is recorded."""
        state = RuleSession()
        judged = await self.rules.observe(trigger, caller, state)
        if judged is None or not judged.broken:
            return Shown()
        offered = await self.room.offered(trigger, Observed(judged=judged, session=state), caller)
        candidates = self.room.passing(offered, Situation(trigger, caller, self.room.lessons))
        judged = replace(judged, broken=tuple(each.rule for each in candidates))
        meeting = state.meet(MAIN_AGENT, "", judged, self.clock(), is_attended=caller.is_attended)
        return self._shown(trigger, candidates, caller, meeting)

    def close(self) -> None:
        """Write how rules fared in the sessions that have not ended."""
        self.sessions.close()

    def _situation(self, trigger: Trigger, caller: Caller, state: SessionState) -> Situation:
        agent = caller.agent or MAIN_AGENT
        since = state.context_since if agent == MAIN_AGENT else None
        shown = self.log.shown_to(state.context, agent, since)
        return Situation(trigger, caller, self.room.lessons, shown, state.loaded | state.rules.loaded)

    def _line(self, trigger: Trigger, caller: Caller, entry: Ghap | None, context: str) -> Advice:
        """Return the line of the log about a trigger, with nothing that is shown yet."""
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

    def _with_advice(self, failure: Failure, candidates: Sequence[Candidate], trigger: Trigger) -> Failure:
        """Return a failure with the advice at it, and whether it came although its agent had advice."""
        same = self.log.failures.of(failure.project, failure.signature)
        mine = (each for each in same if (each.session, each.agent) == (failure.session, failure.agent))
        came_again = any(each.advice for each in mine)
        advice = candidates[0].item() if candidates else None
        context = "" if trigger.context == failure.session else trigger.context
        return replace(failure, advice=advice, again=came_again, context=context)

    def _candidates_of(self, advice: Advice) -> list[Candidate]:
        """Return the candidates of a line of the log, without those that were forgotten since."""
        found = ((item, self._thing_of(item)) for item in advice.items)
        return [Candidate(thing, item.reason or Reason.SIMILAR, score=item.score) for item, thing in found if thing]

    def _thing_of(self, item: Item) -> Ghap | Value | Rule | None:
        if item.kind is AdviceKind.RULE:
            return self.rules.log.find(item.id)
        entries = self.room.lessons.collector.look_up([item.id]).found
        return entries[0] if entries else self.room.lessons.shared.entries.get(item.id) or self.values.find(item.id)

    def _shown(
        self, trigger: Trigger, candidates: Sequence[Candidate], caller: Caller, meeting: Meeting | None = None
    ) -> Shown:
        said = text.text_at(trigger, candidates, self.room.notes(caller))
        if meeting is None or not meeting.rules:
            return Shown(tuple(candidates), said)
        now = self.clock()
        return Shown(
            tuple(candidates),
            sentences.beside(meeting, now),
            line=sentences.person_of(meeting),
            decision=sentences.decision_of(meeting, now),
        )


def met_again(candidates: Sequence[Candidate], trigger: Trigger, caller: Caller) -> Meeting | None:
    """Return what was decided of a call that the log has: one that is asked about once more."""
    if trigger.kind is not TriggerKind.CALL:
        return None
    rules = tuple(each.rule for each in candidates)
    is_asked = caller.is_attended and all(each.is_enforced for each in rules)
    return Meeting(Ruling.ASK if is_asked else Ruling.DENY, rules)
