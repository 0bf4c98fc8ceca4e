"""Ask an agent about a belief that turned out to be wrong, at a quiet moment and at most once a session.

The agent answers with one call, `resolve_ghap`. If it makes no such call, nothing is recorded. Subagents and unattended
sessions are never asked.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import Final

import structlog

from learning_memory_server.advice import constants
from learning_memory_server.advice.asking.signs import Sign, SignKind, objection_in
from learning_memory_server.advice.asking.transcript import Turn, last_turn
from learning_memory_server.advice.finder import LessonFinder, NotReadyError
from learning_memory_server.advice.sessions import SessionState
from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.model import limits
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.caller import MAIN_AGENT, Caller
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.lines import one_line, shortened
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.shell.steps import read_steps
from learning_memory_server.system import timeouts

log = structlog.get_logger()

_ENDED: Final = frozenset({TriggerKind.COMMAND, TriggerKind.ERROR, TriggerKind.FILE})
"""The triggers after a tool call."""
_REQUEST: Final = (
    "If a belief of yours was wrong that another session could share, keep it now with one call of resolve_ghap: status "
    "falsified, your goal, the hypothesis you held, result, surprise, root_cause, and a lesson that says what to do "
    "instead. If it is about today only, do nothing."
)
_SAID: Final = {
    SignKind.REFUSED: 'Your user refused a call: "{}".',
    SignKind.INTERRUPTED: 'Your user stopped you: "{}".',
    SignKind.CONCEDED: 'Your user objected, and you agreed: "{}".',
    SignKind.WORKED: "{} failed several times before it worked.",
}


@dataclass(frozen=True, slots=True)
class Asker:
    """Looks for signs of a wrong belief, and writes the question."""

    finder: LessonFinder
    collector: ObservationCollector
    redaction: RedactionGate
    is_on: bool  # the setting `questions`

    def note(self, trigger: Trigger, caller: Caller, state: SessionState) -> None:
        """Record the signs of wrong beliefs in an event, before advice is chosen."""
        signs = state.signs
        if trigger.kind is TriggerKind.PROMPT:
            signs.objection = ""  # An objection without an answer in the same turn is dropped
        if signs.is_asked or not self._may_ask(caller):
            return
        if trigger.kind is TriggerKind.PROMPT:
            signs.may_object = True
            signs.message = trigger.text
            signs.unanswered.clear()
        elif trigger.kind is TriggerKind.CALL:
            signs.may_object |= bool(signs.unanswered)
            signs.unanswered.add(trigger.key)
        elif trigger.kind in _ENDED:
            signs.unanswered.discard(trigger.key)
            has_failed = trigger.kind is TriggerKind.ERROR
            is_over = trigger.command and not (trigger.is_unknown or trigger.is_background)
            if is_over and (has_failed or signs.failures):
                signs.ran(read_steps(trigger.command).programs, has_failed=has_failed)
        elif trigger.kind is TriggerKind.STOP:
            signs.may_object |= bool(signs.unanswered)

    async def question(self, trigger: Trigger, caller: Caller, state: SessionState) -> str:
        """Return the question for a quiet moment; empty if there is none to ask now.

        A moment is quiet after a successful edit, after a command that works again, or at the end of work.
        """
        signs = state.signs
        is_end = trigger.kind is TriggerKind.STOP and not trigger.is_again
        is_edit = trigger.kind is TriggerKind.FILE and trigger.is_edit
        has_worked = trigger.kind is TriggerKind.COMMAND and not trigger.is_unknown
        if signs.is_asked or not self._may_ask(caller) or not (is_end or is_edit or has_worked):
            return ""
        if signs.may_object and trigger.transcript:
            turn = await asyncio.to_thread(last_turn, trigger.transcript)
            if signs.message and not turn.is_about(signs.message):  # The client has not written it yet
                turn = Turn(signs.message)
            if is_end and not turn.answer:  # Nor the answer
                turn = replace(turn, answer=trigger.text)
            signs.may_object = not (turn.answer or is_end)  # The client may write a line late
            if sign := objection_in(turn):
                signs.see(sign)
        sign = signs.waiting
        if sign is None or (has_worked and sign.kind.is_of_person):
            return ""
        sign = replace(sign, quote=(await self.redaction.pass_data({"quote": sign.quote})).data["quote"])
        near = await self._near(sign, caller)
        if signs.is_asked:  # A concurrent call of this agent got the question first
            return ""
        signs.is_asked, signs.waiting = True, None
        signs.objection = sign.quote if sign.kind.is_of_person else ""
        log.info("question.asked", about=sign.kind.value)
        return worded(sign, near, self.collector.still_open.current(caller))

    def _may_ask(self, caller: Caller) -> bool:
        is_main = (caller.agent or MAIN_AGENT) == MAIN_AGENT
        return self.is_on and is_main and caller.is_attended and caller.is_told

    async def _near(self, sign: Sign, caller: Caller) -> list[Ghap]:
        """Return the entries nearest to a sign; empty if the search fails or times out."""
        try:
            async with asyncio.timeout(timeouts.ADVICE + timeouts.HOOK_LESSON):
                found = await self.finder.find([sign.quote], caller)
        except (NotReadyError, LearningMemoryError, TimeoutError):
            return []
        near = sorted((each for each in found.scored if each.score >= constants.NAMED), key=lambda each: -each.score)
        return [each.entry for each in near[: constants.NEAR_ENTRIES]]


def worded(sign: Sign, near: list[Ghap], current: Ghap | None) -> str:
    """Return the text of a question."""
    lines = [_SAID[sign.kind].format(sign.quote), _REQUEST]
    if near:
        named = "; ".join(f"{each.id}: {shortened(one_line(each.goal), limits.ADVICE_GOAL_MAX)}" for each in near)
        lines.append(f"If one of these says it already, give its id as same_as instead of goal and hypothesis: {named}")
    if current:
        goal = shortened(one_line(current.goal), limits.ADVICE_GOAL_MAX)
        lines.append(
            f"If your open entry {current.id} ({goal}) is about this, resolve it: without goal and hypothesis."
        )
    return "\n".join(lines)
