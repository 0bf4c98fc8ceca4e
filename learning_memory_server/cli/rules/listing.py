"""`rules`: list the rules of a project with their counts, or pause them."""

from enum import StrEnum
from typing import Annotated, Final

import typer

from learning_memory_server.cli import out
from learning_memory_server.cli.access import open_connection
from learning_memory_server.cli.command import Commands, Offline, Result, current_project, open_settings
from learning_memory_server.cli.listing import Facts
from learning_memory_server.cli.rules.person import only_you
from learning_memory_server.cli.rules.status import paused_words
from learning_memory_server.cli.rules.waiting import show_waiting
from learning_memory_server.model.moment import as_seen, utc_now
from learning_memory_server.model.rule import Rule, RuleState
from learning_memory_server.rules.log import Fared
from learning_memory_server.server.views import rule_views

LEAST: Final = 4  # Minimum characters of a shortened id
_SESSIONS: Final = 5  # Maximum number of sessions listed by `rule show`
_HOUR: Final = 3_600

commands = Commands()


class Switch(StrEnum):
    """Whether rules are switched on."""

    OFF = "off"
    ON = "on"


class Time(StrEnum):
    """The duration of a pause."""

    HOUR = "1h"


@commands.command(example="off 1h")
async def rules(
    switch: Annotated[
        Switch | None, typer.Argument(metavar="[off|on]", help="Pause all rules, or end the pause.")
    ] = None,
    time: Annotated[
        Time | None,
        typer.Argument(metavar="[1h]", help="Pause for an hour; otherwise until the open sessions have ended."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also the sentences that you declined, put off or retired.")
    ] = False,
) -> Result | None:
    """List your rules in this project, and how often agents followed and broke each rule.

    `before` counts the calls of past sessions until your yes, `since` the calls
    after it. A call is `reminded` if it was not run, with the rule as the
    reason. A rule that comes from a file has the file's name.
    """
    settings = open_settings()
    if switch:
        await _switch(switch, time)
        return None
    stored = Offline(settings)
    found = rules_of(stored, current_project(settings))
    fared = stored.rule_counts.fared(found)
    shown = [each for each in found if each.state is RuleState.ACCEPTED or every]
    if paused := paused_words(settings, utc_now()):
        out.say(paused, "yellow")
    out.records(_record(each, fared[each.id]) for each in shown)
    if not shown:
        out.say('No rules here yet. To make one: learning-memory-server rule add "We use pnpm, not npm"')
    if left := len(found) - len(shown):
        out.say(f"{out.counted(left, 'sentence')} declined, put off or retired: learning-memory-server rules --all")
    await show_waiting(stored)
    return Result({"rules": [rule_views.rule(each, fared[each.id]) for each in found]})


async def _switch(switch: Switch, time: Time | None) -> None:
    only_you("rules", switch, time or "")
    settings = open_settings()
    seconds = 0 if switch is Switch.ON else _HOUR if time else None
    async with open_connection(settings, "rules") as connection:
        await connection.run("rules_off", seconds=seconds)
    if switch is Switch.ON:
        out.say("Rules are shown again.")
    else:
        how_long = "in any session for an hour" if time else "in the sessions that are open now"
        out.say(f"No rule is shown {how_long}. To end that: learning-memory-server rules on")


def rules_of(stored: Offline, project: str) -> list[Rule]:
    """Return the rules that a person has answered in a project: accepted ones first, then newest first."""
    found = [each for each in stored.rule_log.all() if each.applies_in(project) and not each.imported]
    return sorted(found, key=lambda each: (each.state is RuleState.ACCEPTED, as_seen(each.changed_at)), reverse=True)


def _record(each: Rule, fared: Fared) -> out.Record:
    is_accepted = each.is_accepted
    facts: Facts = [
        out.identity(rule_views.short_id(each.id)),
        f"{'since' if is_accepted else each.state} {out.date(each.changed_at)}",
        rule_views.whose(each.origin),
        rule_views.where_of(each) if each.is_everywhere or each.folder else "",
        "enforced" if each.is_enforced else "",
    ]
    before = rule_views.before_of(each)
    said = [rule_views.when_of(each), f"before: {before}" if before else "", f"since: {rule_views.since_of(fared)}"]
    # Breaches without a pattern cannot be counted.
    said = said if each.pattern else said[:1]
    return out.Record(facts, each.text, "; ".join(filter(None, said)) if is_accepted else "", " - ")
