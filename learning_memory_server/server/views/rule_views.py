"""Rules, and how they fared, as commands and the page show them, and in plain words."""

from typing import Any, Final

from typing_extensions import TypedDict

from learning_memory_server.model import rule as rules
from learning_memory_server.model.lines import counted, one_line, shortened
from learning_memory_server.model.project import short_name
from learning_memory_server.model.rule import Origin, OriginKind, Rule, Suggestion, When
from learning_memory_server.rules.forms.table import in_words
from learning_memory_server.rules.log import Fared
from learning_memory_server.server.views import fields

PREFIX: Final = rules.PREFIX
short_id: Final = rules.short_id  # of an id, by which a person names a rule
_NAME: Final = 80  # Characters of the name of a file or of a call: the beginning tells which one it is
_WITHOUT_PATTERN: Final = {
    When.SESSION: "at each session's start",
    When.CALL: "at each session's start",
    When.FILE: "at each session's start",
    When.TOPIC: "at a prompt about {}",
    When.DONE: "before an agent ends its work",
}


class RuleView(TypedDict):
    """A rule, and how often it was followed and broken: since the yes, but for `broken_before`.

    `state` is accepted, declined, postponed or retired. `reminded` counts calls that were not run, with the rule as
    the reason, and `broken` those that ran nevertheless.
    """

    id: str
    text: str
    state: str
    reminded: int
    followed: int
    broken: int
    broken_before: int


def rule(each: Rule, fared: Fared) -> dict[str, Any]:
    """Return a `RuleView`."""
    return fields(RuleView, each, fared)


def on_page(each: Rule, fared: Fared) -> dict[str, Any]:
    """Return a rule as the page shows it."""
    return {
        **rule(each, fared),
        "short_id": short_id(each.id),
        "project": each.project,
        "is_everywhere": each.is_everywhere,
        "is_enforced": each.is_enforced,
        "when": when_of(each),
        "where": where_of(each),
        "whose": whose(each.origin),
        "at": each.changed_at.isoformat(),
        "since": since_of(fared),
        "before": before_of(each),
    }


def when_of(each: Rule | Suggestion) -> str:
    """Say when agents are shown a rule."""
    if each.pattern:
        return in_words(each.pattern, each.when)
    topic = each.topic if isinstance(each, Rule) else ()
    return _WITHOUT_PATTERN[each.when].format(" or ".join(map(one_line, topic)) or "its topic")


def where_of(each: Rule | Suggestion) -> str:
    """Say where a rule applies."""
    project = "all of your projects" if each.is_everywhere else one_line(short_name(each.project))
    return f"in {one_line(each.folder)}/ of {project}" if each.folder else f"in {project}"


def whose(origin: Origin) -> str:
    """Say where the sentence of a rule comes from."""
    name = shortened(one_line(origin.name), _NAME)
    said = {
        OriginKind.ADDED: "you",
        OriginKind.FILE: name,
        OriginKind.MEMORY: f"Claude Code's {name}",
        OriginKind.REFUSAL: f"your refusal of `{name}`" if name else "a refusal of yours",
        OriginKind.REPORT: f"`{name}` in past sessions" if name else "past sessions",
        OriginKind.PREFERENCE: "a preference that you kept",
        OriginKind.IMPORTED: "another store",
        OriginKind.PAST: f"an agent, from {name}" if name else "an agent",
        OriginKind.VALUE: f"the value {name}",
        OriginKind.LESSON: f"the lesson of {name}, which came again although it had been shown",
    }
    return said[origin.kind]


def before_of(each: Rule) -> str:
    """Say how often a rule was broken before the yes; nothing if the past has no call that it is about."""
    return f"{each.broken_before:,} of {each.matched_before:,} broken" if each.matched_before else ""


def since_of(fared: Fared) -> str:
    """Say how a rule has fared since the yes."""
    parts = [(fared.followed, "followed"), (fared.reminded, "reminded"), (fared.broken, "broken")]
    parts += [(fared.stopped, "stopped")] if fared.stopped else []
    where = f" in {counted(fared.sessions, 'session')}" if fared.sessions else ""
    return f"{', '.join(f'{count:,} {word}' for count, word in parts)}{where}"
