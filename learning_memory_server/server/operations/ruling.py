"""The operation that writes what a person has said of rules."""

from dataclasses import replace
from typing import Any

import msgspec

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.codec import MALFORMED, RULE
from learning_memory_server.model import limits
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.rule import RULE_ID, Rule
from learning_memory_server.redaction.base import shortened_markers
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


def _checked(number: int, fields: dict[str, Any]) -> Rule:
    """Return a rule as it may be stored: a sentence of one line, under an id that nobody can guess."""
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
