"""The operations on rules: write a person's answers, keep suggestions, pause rules, and try what agents see."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import msgspec

from learning_memory_server.errors import InvalidInputError, NotFoundError
from learning_memory_server.journal.checks import checked_rule
from learning_memory_server.journal.kinds import MALFORMED, RULE
from learning_memory_server.model import limits
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.rule import RULE_ID, OriginKind, Rule, RuleState, When
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.redaction.base import shortened_markers
from learning_memory_server.rules.folders import folders_of
from learning_memory_server.rules.session import Ruling
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.operations.report import Report


async def rule(services: Services, _report: Report, *, rules: list[dict[str, Any]]) -> dict[str, Any]:
    """Write what a person has said of rules, as in journal lines, in one append; the reply has their ids.

    A rule whose id is known replaces that one. Secrets in the sentences are replaced with markers.
    """
    redacted = await services.redaction.pass_data({"rules": rules})
    said = [_checked(number, each) for number, each in enumerate(redacted.data["rules"])]
    services.rule_log.add(*(services.journal.names.renamed(each) for each in said), at=services.clock())
    return {"kept": [each.id for each in said], "redacted": dict(redacted.kinds)}


async def suggest(services: Services, _report: Report, *, rules: list[dict[str, Any]]) -> dict[str, Any]:
    """Keep sentences of an agent, as in journal lines, until a person has answered them; the reply has the new ids.

    No agent is shown them before a person's yes. A sentence whose id is known, or was forgotten, is passed over.
    """
    redacted = await services.redaction.pass_data({"rules": rules})
    said = [_unanswered(_checked(number, each)) for number, each in enumerate(redacted.data["rules"])]
    new = services.rule_log.add_new(map(services.journal.names.renamed, said), at=services.clock())
    return {"kept": [each.id for each in new], "redacted": dict(redacted.kinds)}


def _unanswered(said: Rule) -> Rule:
    """Return a sentence that waits for a person's answer."""
    checked = checked_rule(replace(said, imported=True))
    origin = replace(said.origin, kind=OriginKind.PAST)
    return replace(checked, origin=origin, state=RuleState.POSTPONED)


def _checked(number: int, fields: dict[str, Any]) -> Rule:
    """Return a rule as it may be stored: a sentence of one line, under an id of this program."""
    place = f"rules[{number}]"
    try:
        said = RULE.decode(fields)
    except (*MALFORMED, msgspec.ValidationError) as error:
        raise InvalidInputError(f"{place}: {error}.") from None
    if not RULE_ID(said.id):
        raise InvalidInputError(f"{place}.id: is no id of a rule.")
    text = limits.checked_text(f"{place}.text", one_line(said.text), limits.RULE_MAX, shortened_markers)
    words = one_line(said.words)[: limits.RULE_MAX]
    return replace(said, text=text, words="" if words == text else words, imported=False)


async def rules_off(services: Services, _report: Report, *, seconds: int | None) -> dict[str, Any]:
    """Show no rules for so many seconds, 0 to show them again; None: to the sessions that run now, until they end."""
    until = None if seconds is None else services.clock() + timedelta(seconds=seconds)
    services.advisor.sessions.rules_off(until)
    return {"until": until and until.isoformat()}


_TRIGGERS: Final = {
    When.CALL: TriggerKind.CALL,
    When.FILE: TriggerKind.CALL,
    When.TOPIC: TriggerKind.PROMPT,
    When.DONE: TriggerKind.STOP,
}


async def what_agents_see(
    services: Services, _report: Report, *, name: str, folder: str, command: str, file: str, text: str
) -> dict[str, Any]:
    """Return what an agent would see of a rule, by its id, before a command or an edit, else at the rule's own trigger.

    The `text` is empty if it would see nothing; `asks` says whether a person would be asked.
    """
    if not (found := services.rule_log.find(name)):
        raise NotFoundError(f"There is no rule {name}.")
    if found.state is not RuleState.ACCEPTED:
        return {"text": "", "asks": False}
    kind = TriggerKind.CALL if command or file else _TRIGGERS.get(found.when, TriggerKind.SESSION_START)
    is_known = bool(command or file or found.pattern is None)
    trigger = Trigger(
        kind,
        folder=folder,
        folders=await asyncio.to_thread(folders_of, folder),
        text=" ".join(found.topic),
        command=command,
        file=file,
        content=text,
        is_edit=bool(file),
    )
    caller = Caller(found.project, "", folder=folder)
    broken = [found] if kind is TriggerKind.CALL and not is_known else []
    shown = await services.advisor.would_show(trigger, caller, broken)
    if not any(each.id == name for each in shown.candidates):
        return {"text": "", "asks": False}
    said = shown.decision.reason if shown.decision else shown.text
    return {"text": said, "asks": shown.meeting.ruling is Ruling.ASK}
