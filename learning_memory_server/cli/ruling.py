"""`rule add`, `edit`, `enforce` and `retire`: what a person says of a rule, each after at most one question."""

import shlex
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Annotated

import typer

from learning_memory_server.cli import out
from learning_memory_server.cli.access import open_connection
from learning_memory_server.cli.command import Offline, current_project, open_settings
from learning_memory_server.cli.person import accepts, only_you
from learning_memory_server.cli.rule_keeping import (
    bounds_of,
    contradicted,
    formed,
    keep,
    retired,
    same,
    sentence,
    show_agreed,
)
from learning_memory_server.cli.rules import IdArgument, facts_of, find_rule, rule
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model.caller import folder_of
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.rule import (
    Origin,
    OriginKind,
    Pattern,
    Rule,
    RuleState,
    Unattended,
    When,
    new_rule_id,
)
from learning_memory_server.rules.forms.given import call_form, glob_of
from learning_memory_server.rules.forms.table import form_of
from learning_memory_server.server.views import rule_views


@rule.command(example='"We use pnpm, not npm"')
async def add(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The rule, in one sentence.")],
    call: Annotated[str, typer.Option("--call", metavar="COMMAND", help="Before calls such as 'git push'.")] = "",
    file: Annotated[str, typer.Option("--file", metavar="GLOB", help="Before an edit of such a file.")] = "",
    topic: Annotated[
        list[str] | None, typer.Option("--topic", metavar="WORD", help="At a prompt with this word; may be repeated.")
    ] = None,
    done: Annotated[bool, typer.Option("--done", help="Before an agent ends its work.")] = False,
    everywhere: Annotated[bool, typer.Option("--everywhere", help="In all of your projects.")] = False,
    folder: Annotated[str, typer.Option("--folder", metavar="FOLDER", help="Only in this folder.")] = "",
) -> None:
    """Make a rule: agents are shown it before they break it, and you see how often they still do.

    Shows what the rule will do, and asks once; Enter is a yes. When agents see
    it is read from the sentence, unless an option says it.
    """
    topics = tuple(filter(None, map(one_line, topic or ())))
    if sum(map(bool, (call, file, topics, done))) > 1:
        raise InvalidInputError("Give one of --call, --file, --topic and --done.")
    options = [each for name in topics for each in ("--topic", name)]
    options += [
        each
        for name, said in (("--call", call), ("--file", file), ("--folder", folder))
        if said
        for each in (name, said)
    ]
    options += [name for name, is_set in (("--done", done), ("--everywhere", everywhere)) if is_set]
    only_you("rule", "add", text, *options)
    if everywhere and folder:
        raise InvalidInputError("Give either --everywhere or --folder.")
    settings = open_settings()
    stored, now = Offline(settings), utc_now()
    new = Rule(
        id=new_rule_id(),
        text=sentence(settings, text),
        project=current_project(settings),
        state=RuleState.ACCEPTED,
        origin=Origin(OriginKind.ADDED, at=now),
        created_at=now,
        changed_at=now,
        is_everywhere=everywhere,
        folder=_inside(folder),
    )
    new = _chosen(new, call, file, topics, done=done)
    if known := same(stored, new):
        if known.state is RuleState.ACCEPTED:
            name = rule_views.short_id(known.id)
            out.say(f'You have this rule already, since {out.date(known.changed_at)}: {name}, "{known.text}"')
            out.say(f"To put it in other words: learning-memory-server rule edit {name} TEXT", "dim", is_line=True)
            return
        new = replace(new, id=known.id, created_at=known.created_at)
    out.facts(facts_of(new, is_new=True))
    is_for_start = new.when is When.SESSION
    _show_bounds(new, "--call, --file, --topic or --done choose another time." if is_for_start else "")
    others = contradicted(stored, new)
    for each in others:
        out.say(
            f'It contradicts your rule {rule_views.short_id(each.id)}, "{each.text}": a yes retires that.', "yellow"
        )
    if everywhere:
        out.say(f"Your projects: {', '.join(map(out.one_line, stored.projects.all())) or new.project}.")
    where = "in all of these projects" if everywhere else f"in {rule_views.where_of(new).removeprefix('in ')}"
    if not accepts(f"Remind agents of this {where}?"):
        out.say("Nothing was kept.")
        return
    async with open_connection(settings, "rule add") as connection:
        new = replace(new, replaces=others[0].id if others else "")
        await keep(connection, [new, *(retired(each, now) for each in others)])
    show_agreed([new])


def _show_bounds(each: Rule, more: str) -> None:
    if said := bounds_of(each):
        out.say(f"{said} {more}".strip(), "yellow")


def _chosen(new: Rule, call: str, file: str, topics: tuple[str, ...], *, done: bool) -> Rule:
    """Return a rule with the time that an option says, else with the one of its form."""
    shaped = formed(new)
    if call:
        return replace(new, when=When.CALL, pattern=Pattern(broken=(call_form(call),)))
    if file:
        return replace(new, when=When.FILE, pattern=Pattern(files=(glob_of(file, _top()),)))
    if topics:
        return replace(new, when=When.TOPIC, topic=topics)
    if done and shaped.when is not When.DONE:
        return replace(new, when=When.DONE)
    return shaped


def _inside(folder: str) -> str:
    """Return a folder relative to the project's root, empty if none was named."""
    if not folder.strip():
        return ""
    path, top = (Path.cwd() / folder).resolve(), Path(_top())
    if not path.is_relative_to(top) or path == top:
        raise InvalidInputError(f"--folder: {out.one_line(folder)} is no folder inside of this project.")
    return str(PurePosixPath(path.relative_to(top)))


def _top() -> str:
    """Return the folder of the project."""
    from learning_memory_server.sharing.tree import top_of

    return str(top_of(folder_of({}).resolve()).resolve())


@rule.command(example='3f2a91 "We use pnpm in web/, not npm"')
async def edit(
    name: IdArgument, text: Annotated[str, typer.Argument(metavar="TEXT", help="The new sentence.")]
) -> None:
    """Change the sentence of a rule, and with it when agents see it. The counts stay."""
    only_you("rule", "edit", name, text)
    settings = open_settings()
    old = find_rule(Offline(settings), name)
    new = reworded(old, sentence(settings, text))
    out.facts(facts_of(new))
    _show_bounds(new, "It is enforced no more." if old.is_enforced and not new.is_enforced else "")
    if not accepts(f"Change this rule? It was: {old.text}"):
        out.say("Nothing was changed.")
        return
    async with open_connection(settings, "rule edit") as connection:
        await keep(connection, [new])
    show_agreed([new])


def reworded(old: Rule, text: str) -> Rule:
    """Return a rule with another sentence. A pattern that an option made stays; one of the old sentence's form goes."""
    shape = form_of(old.text)
    is_formed = (shape.pattern if shape else None) == old.pattern
    plain = replace(old, when=When.SESSION, pattern=None) if is_formed and not old.topic else old
    new = formed(replace(plain, text=text, changed_at=utc_now()))
    return replace(new, is_enforced=old.is_enforced and can_be_enforced(new))


def can_be_enforced(each: Rule) -> bool:
    """Return whether a call or an edit is seen that breaks a rule, before it is run."""
    return each.pattern is not None and each.when in {When.CALL, When.FILE}


@rule.command(example="3f2a91 --unattended stop")
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
    only_you("rule", "enforce", name, *(("--unattended", unattended) if unattended else ()), "--off" if off else "")
    settings = open_settings()
    old = find_rule(Offline(settings), name)
    if old.state is not RuleState.ACCEPTED:
        raise InvalidInputError(f"{old.text}: is {old.state}, so there is nothing to enforce.")
    if not off and not can_be_enforced(old):
        raise InvalidInputError(
            f"This rule cannot be enforced: agents see it {rule_views.when_of(old)}, and no call breaks it.",
            hint="Add it again with --call or --file.",
        )
    if off:
        new = replace(old, is_enforced=False, changed_at=utc_now())
    else:
        said = unattended or (Unattended.STOP if _stops() else Unattended.RUN)
        new = replace(old, is_enforced=True, unattended=said, changed_at=utc_now())
    async with open_connection(settings, "rule enforce") as connection:
        await keep(connection, [new])
    if off:
        out.say(f"Agents are only reminded again: {old.text}")
        return
    alone = "is not run" if new.unattended is Unattended.STOP else "runs after a reminder"
    out.say(
        f"In Claude Code you are asked before each call that breaks it. Where nobody can be asked, the call {alone}."
    )
    out.say("Other clients show the rule, and cannot ask.")
    out.say(f"Undo: learning-memory-server rule enforce {rule_views.short_id(new.id)} --off", "dim", is_line=True)


def _stops() -> bool:
    return typer.confirm("Where nobody can be asked, stop the call?", default=False, err=True)


@rule.command(example="3f2a91")
async def retire(name: IdArgument) -> None:
    """Take a rule back: agents see it no more. The counts stay."""
    only_you("rule", "retire", name)
    settings = open_settings()
    old = find_rule(Offline(settings), name)
    async with open_connection(settings, "rule retire") as connection:
        await keep(connection, [retired(old, utc_now())])
    out.say(f"Retired: {old.text}")
    again = f"To have it again: learning-memory-server rule add {shlex.quote(old.text)}"
    out.say(again, "dim", is_line=True)
