"""A person's sentence as a rule: how it is parsed, compared and stored, and the limits of a rule."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from learning_memory_server.cli import out
from learning_memory_server.cli.access import Connection
from learning_memory_server.cli.command import Offline
from learning_memory_server.cli.sharing import secrets_finder
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.kinds import RULE
from learning_memory_server.model import limits
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.rule import Rule, RuleState, When
from learning_memory_server.redaction.base import shortened_markers
from learning_memory_server.rules.forms.table import form_of
from learning_memory_server.rules.suggesting.suggestions import Matter, conflicts
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.views import rule_views
from learning_memory_server.system.invisible import bare

_AGREED: Final = "Agents see it from the next call on in running sessions that have the hooks, and in every new one."


def sentence(settings: Settings, text: str) -> str:
    """Return a person's sentence in the form to store: redacted and on one line."""
    clean = secrets_finder(settings).redact(one_line(text)).text
    if clean and not any(map(str.isalnum, bare(text))):
        raise InvalidInputError("TEXT: has no letter that can be seen.")
    return limits.checked_text("TEXT", clean, limits.RULE_MAX, shortened_markers)


def formed(each: Rule) -> Rule:
    """Return a rule with the pattern of its sentence, if the sentence has one."""
    found = form_of(each.text)
    if found is None:
        return each
    return replace(each, when=found.when, pattern=found.pattern, folder=each.folder or found.folder)


def same(stored: Offline, new: Rule) -> Rule | None:
    """Return a rule with the same meaning and scope that a person has already answered, preferring an accepted one."""
    matter = Matter.of(new)
    said = [each for each in stored.rule_log.all() if not each.imported and _place(each) == _place(new)]
    accepted = (each for each in said if each.state is RuleState.ACCEPTED and Matter.of(each).is_same(matter))
    return next(accepted, next((each for each in said if Matter.of(each).text == matter.text), None))


def contradicted(stored: Offline, new: Rule) -> list[Rule]:
    """Return the accepted rules that contradict a new one."""
    pairs = conflicts([new], stored.rule_log.all())
    return [each for pair in pairs for each in pair if isinstance(each, Rule) and each is not new]


def retired(rule: Rule, at: datetime) -> Rule:
    """Return a rule in its retired state."""
    return replace(rule, state=RuleState.RETIRED, is_enforced=False, changed_at=at)


def _place(each: Rule) -> tuple[str, str, bool]:
    return ("" if each.is_everywhere else each.project, each.folder, each.is_everywhere)


async def keep(connection: Connection, rules: Sequence[Rule]) -> None:
    """Write a person's answers."""
    await connection.run("rule", rules=[RULE.encode(each) for each in rules])


def show_agreed(rules: Sequence[Rule]) -> None:
    """Print when agents see the accepted rules, and how to test one."""
    out.say(_AGREED)
    name = next((rule_views.short_id(each.id) for each in rules if each.pattern), None)
    if name:
        out.say(f"To try it: learning-memory-server rule test {name} 'COMMAND'", is_line=True)


def bounds_of(each: Rule) -> str:
    """Return a sentence about the limits of a rule; empty if breaches can be detected before the call."""
    if each.pattern:
        return ""
    place = " Its folder then makes no difference." if each.folder else ""
    if each.when in {When.SESSION, When.CALL, When.FILE}:
        return (
            "No call can be recognized as a breach of this sentence. Agents are shown it at each session's start, and "
            f"nothing is counted.{place}"
        )
    return f"A machine cannot see a breach of this sentence, so nothing is counted.{place}"


def can_be_enforced(each: Rule) -> bool:
    """Whether a breach of a rule can be detected before the call or edit."""
    return each.pattern is not None and each.when in {When.CALL, When.FILE}
