"""`rules`: the sentences that a person has said yes to, and how they fared; `rule show` and `rule test` of one."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from learning_memory_server.cli import out
from learning_memory_server.cli.access import open_connection
from learning_memory_server.cli.command import Commands, Offline, Result, current_project, open_settings
from learning_memory_server.cli.listing import Facts
from learning_memory_server.cli.person import only_you
from learning_memory_server.cli.showing import Fact
from learning_memory_server.cli.waiting import show_waiting
from learning_memory_server.errors import InvalidInputError, NotFoundError
from learning_memory_server.model.caller import folder_of
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.moment import as_seen
from learning_memory_server.model.rule import OriginKind, Rule, RuleCount, RuleState, Unattended
from learning_memory_server.rules.log import Fared
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.views import rule_views

LEAST: Final = 4  # Characters of the beginning of an id that names a rule
_SESSIONS: Final = 5  # How many sessions `rule show` lists, the last ones
_HOUR: Final = 3_600

commands = Commands()
rule = Commands(no_args_is_help=True, help="One rule: make, show, try, change, enforce or retire it.")
commands.add_typer(rule, name="rule")

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Its id; the beginning is enough.")]


class Switch(StrEnum):
    """Whether rules are shown."""

    OFF = "off"
    ON = "on"


class Time(StrEnum):
    """For how long."""

    HOUR = "1h"


@commands.command(example="off 1h")
async def rules(
    switch: Annotated[
        Switch | None, typer.Argument(metavar="[off|on]", help="Pause all rules, or end the pause.")
    ] = None,
    time: Annotated[
        Time | None, typer.Argument(metavar="[1h]", help="Pause for an hour; else until the open sessions have ended.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also what you declined, put off or retired.")] = False,
) -> Result | None:
    """List the rules that apply in this project, and how often agents followed and broke them.

    `before` counts past calls until your yes, the rest is since then. A
    reminder is a call that was not run, with the rule as the reason. Where a
    rule comes from a file, its name is shown.
    """
    settings = open_settings()
    if switch:
        await _switch(switch, time)
        return None
    stored = Offline(settings)
    found = rules_of(stored, current_project(settings))
    fared = stored.rule_counts.fared(found)
    shown = [each for each in found if each.state is RuleState.ACCEPTED or every]
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
    """Return what a person has answered that applies in a project: accepted first, then the newest first."""
    found = [each for each in stored.rule_log.all() if not each.imported]
    mine = [each for each in found if each.is_everywhere or each.project == project]
    return sorted(mine, key=lambda each: (each.state is RuleState.ACCEPTED, as_seen(each.changed_at)), reverse=True)


def find_rule(stored: Offline, name: str) -> Rule:
    """Return the rule that an id names, or the beginning of one, with or without `rule_`."""
    known = {each.id: each for each in stored.rule_log.all() if not each.imported}
    wanted = one_line(name).removeprefix(rule_views.PREFIX)
    alike = [each for each in known if each.removeprefix(rule_views.PREFIX).startswith(wanted)]
    if len(wanted) < LEAST:
        raise InvalidInputError(f"ID: {LEAST} characters of it are needed.", hint="`rules` shows the ids.")
    if len(alike) != 1:
        many = f"{len(alike)} rules have" if alike else "No rule has"
        raise NotFoundError(f"{many} an id that begins with {wanted!r}.", hint="`rules --all` shows the ids.")
    return known[alike[0]]


def _record(each: Rule, fared: Fared) -> out.Record:
    is_accepted = each.state is RuleState.ACCEPTED
    facts: Facts = [
        out.identity(rule_views.short_id(each.id)),
        f"{'since' if is_accepted else each.state} {out.date(each.changed_at)}",
        rule_views.whose(each.origin),
        rule_views.where_of(each) if each.is_everywhere or each.folder else "",
        "enforced" if each.is_enforced else "",
    ]
    before = rule_views.before_of(each)
    said = [rule_views.when_of(each), f"before: {before}" if before else "", f"since: {rule_views.since_of(fared)}"]
    # Nobody can count what no machine sees.
    said = said if each.pattern else said[:1]
    return out.Record(facts, each.text, "; ".join(filter(None, said)) if is_accepted else "", " - ")


@rule.command(example="3f2a91")
async def show(name: IdArgument) -> None:
    """Show everything about one rule: your words, where it applies, how it fared, and what agents see."""
    settings = open_settings()
    stored = Offline(settings)
    found = find_rule(stored, name)
    counts = stored.rule_counts.about(found.id)
    last = next((each.call for each in reversed(counts) if each.call), "")
    unattended = "stopped" if found.unattended is Unattended.STOP else "run, with a reminder"
    enforced = f"yes: you are asked before a call that breaks it; where nobody can be asked, it is {unattended}"
    seen, asks = await _seen(settings, found)
    out.facts(
        [
            *facts_of(found),
            ("state", f"{found.state}, {out.date(found.changed_at)}"),
            ("enforced", enforced if found.is_enforced else None),
            ("before", rule_views.before_of(found)),
            ("since", rule_views.since_of(stored.rule_counts.fared([found])[found.id])),
            *(
                ("", f"{out.date(each.created_at)}  {_counts(each)}  {out.one_line(each.call)}")
                for each in counts[-_SESSIONS:]
            ),
            ("last", f"`{out.one_line(last)}` broke it" if last else None),
            ("you see" if asks else "agents see", seen or "nothing"),
        ]
    )


async def _seen(settings: Settings, found: Rule, command: str = "", file: str = "", text: str = "") -> tuple[str, bool]:
    """Return what is seen of a rule, as the hooks would say it, and whether by a person who is asked."""
    folder = str(folder_of(os.environ)) if found.project == current_project(settings) else ""
    path = str(Path.cwd() / file) if file else ""
    async with open_connection(settings, "rule") as connection:
        reply = await connection.run(
            "what_agents_see", name=found.id, folder=folder, command=command, file=path, text=text
        )
    return str(reply["text"]).strip(), bool(reply["asks"])


def facts_of(found: Rule, *, is_new: bool = False) -> list[Fact]:
    """Return a rule as a person decides about it: what it says, whose it is, when and where."""
    at = found.origin.at
    origin = f"{rule_views.whose(found.origin)}{f', {out.date(at)}' if at else ''}"
    if found.origin.kind is OriginKind.ADDED and found.origin.name:
        origin += f"; before it was edited, it was from {found.origin.name}"
    return [
        ("rule", None if is_new else out.identity(found.id)),
        ("text", found.text),
        ("words", f"{found.words}{f' ({out.date(at)})' if at else ''}" if found.words else None),
        ("from", None if is_new else origin),
        ("when", rule_views.when_of(found)),
        ("where", rule_views.where_of(found)),
    ]


def _counts(each: RuleCount) -> str:
    return f"{each.followed:,} followed, {each.reminded:,} reminded, {each.broken:,} broken"


@rule.command("test", example="3f2a91 'git push --force'")
async def attempt(
    name: IdArgument,
    command: Annotated[str, typer.Argument(metavar="[COMMAND]", help="A command, in quotes.")] = "",
    file: Annotated[str, typer.Option("--file", metavar="PATH", help="A file that an agent would edit.")] = "",
    text: Annotated[str, typer.Option("--text", help="With --file: what the edit writes.")] = "",
) -> None:
    """Show what an agent would see of a rule before a command, or before an edit of a file: nothing is run."""
    if bool(command) is bool(file):
        raise InvalidInputError("Give either a COMMAND or a --file.")
    settings = open_settings()
    found = find_rule(Offline(settings), name)
    if found.state is not RuleState.ACCEPTED:
        out.say(f"Nothing: the rule is {found.state}.")
        return
    seen, asks = await _seen(settings, found, command, file, text)
    if asks:
        out.say("You are asked, in Claude Code:", "bold")
    out.say(seen or f"Nothing: this does not break the rule. Agents see it {rule_views.when_of(found)}.")
