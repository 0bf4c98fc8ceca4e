"""`rule enforce` and `rule retire`: change the state of a rule."""

import shlex
from dataclasses import replace
from typing import Annotated

import typer

from learning_memory_server.cli import out
from learning_memory_server.cli.access import open_connection
from learning_memory_server.cli.command import Commands, Offline, open_settings
from learning_memory_server.cli.rules.finding import IdArgument, find_rule
from learning_memory_server.cli.rules.keeping import can_be_enforced, keep, retired
from learning_memory_server.cli.rules.person import only_you
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.rule import RuleState, Unattended
from learning_memory_server.server.views import rule_views

commands = Commands()


@commands.command(example="3f2a91 --unattended stop")
async def enforce(
    name: IdArgument,
    unattended: Annotated[
        Unattended | None,
        typer.Option("--unattended", help="Where Claude Code can ask no one, `run` the call or `stop` it."),
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Only remind agents again.")] = False,
) -> None:
    """Let Claude Code ask you before a call that breaks a rule. A yes is for that one call.

    Without --unattended, one question chooses what happens in `claude -p`,
    where Claude Code can ask no one. Other clients only show rules.
    """
    settings = open_settings()
    old = find_rule(Offline(settings), name)
    only_you("rule", "enforce", name, *(("--unattended", unattended) if unattended else ()), "--off" if off else "")
    if old.state is not RuleState.ACCEPTED:
        raise InvalidInputError(f"This rule is {old.state}, so there is nothing to enforce: {old.text}")
    if not off and not can_be_enforced(old):
        raise InvalidInputError(
            f"This rule cannot be enforced: agents see it {rule_views.when_of(old)}, and no call is known to break it.",
            hint="Retire it, and add it again with --call or --file.",
        )
    if off:
        new = replace(old, is_enforced=False, changed_at=utc_now())
    else:
        said = unattended or (Unattended.STOP if _stops() else Unattended.RUN)
        new = replace(old, is_enforced=True, unattended=said, changed_at=utc_now())
    async with open_connection(settings, "rule enforce") as connection:
        await keep(connection, [new])
    if off:
        out.say(f"From now on, agents are only reminded of it: {old.text}")
        return
    alone = "is not run" if new.unattended is Unattended.STOP else "runs after a reminder"
    out.say(
        f"In Claude Code you are asked before each call that breaks it. Where nobody can be asked, the call {alone}."
    )
    out.say("Other clients show the rule to agents, and cannot ask you.")
    out.say(f"Undo: learning-memory-server rule enforce {rule_views.short_id(new.id)} --off", "dim", is_line=True)


def _stops() -> bool:
    return typer.confirm("Where nobody can be asked, stop the call?", default=False, err=True)


@commands.command(example="3f2a91")
async def retire(name: IdArgument) -> None:
    """Take a rule back: agents no longer see it. The counts stay."""
    settings = open_settings()
    old = find_rule(Offline(settings), name)
    only_you("rule", "retire", name)
    async with open_connection(settings, "rule retire") as connection:
        await keep(connection, [retired(old, utc_now())])
    out.say(f"Retired: {old.text}")
    again = f"To take that back: learning-memory-server rule add {shlex.quote(old.text)}"
    out.say(again, "dim", is_line=True)
