"""`rule add` and `rule edit`: make a rule from a person's sentence, or change the sentence, after one question."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Annotated

import typer

from learning_memory_server.cli import out
from learning_memory_server.cli.access import open_connection
from learning_memory_server.cli.command import Commands, Offline, current_project, open_settings, open_settings_here
from learning_memory_server.cli.rules.finding import IdArgument, find_rule
from learning_memory_server.cli.rules.keeping import (
    bounds_of,
    can_be_enforced,
    contradicted,
    formed,
    keep,
    retired,
    same,
    sentence,
    show_agreed,
)
from learning_memory_server.cli.rules.person import accepts, only_you
from learning_memory_server.cli.rules.showing import facts_of
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model.caller import folder_of
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.rule import Origin, OriginKind, Pattern, Rule, RuleState, When, new_rule_id
from learning_memory_server.rules.forms.given import call_form, glob_of
from learning_memory_server.rules.forms.table import form_of
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.views import rule_views

commands = Commands()


@commands.command(example='"We use pnpm, not npm"')
async def add(
    text: Annotated[list[str], typer.Argument(metavar="TEXT", help="The rule, in one sentence.")],
    call: Annotated[str, typer.Option("--call", metavar="COMMAND", help="Before calls such as 'git push'.")] = "",
    file: Annotated[str, typer.Option("--file", metavar="GLOB", help="Before an edit of such a file.")] = "",
    topic: Annotated[
        list[str] | None, typer.Option("--topic", metavar="WORD", help="At a prompt with this word; may be repeated.")
    ] = None,
    done: Annotated[bool, typer.Option("--done", help="Before an agent ends its work.")] = False,
    everywhere: Annotated[bool, typer.Option("--everywhere", help="In all of your projects.")] = False,
    folder: Annotated[str, typer.Option("--folder", metavar="FOLDER", help="Only in this folder.")] = "",
) -> None:
    """Make a rule: agents see your sentence before they break it, and you see how often they still do.

    Shows when and where agents will see the rule, and asks once; Enter is a
    yes. The sentence itself says when, unless an option does. Quotes are needed
    only around signs that your shell reads.
    """
    time = _Time(call, file.strip(), tuple(filter(None, map(one_line, topic or ()))), done)
    places = [*(("--folder", folder) if folder else ()), "--everywhere" if everywhere else ""]
    only_you("rule", "add", " ".join(text), *time.options(), *places)
    if everywhere and folder:
        raise InvalidInputError("Give either --everywhere or --folder.")
    settings = open_settings() if everywhere else open_settings_here()
    stored = Offline(settings)
    new = time.set(_made(settings, " ".join(text), folder, everywhere=everywhere))
    if known := same(stored, new):
        if known.state is RuleState.ACCEPTED:
            _show_known(known)
            return
        if known.state is not RuleState.RETIRED:
            new = replace(new, id=known.id, created_at=known.created_at)
    others = contradicted(stored, new)
    _show_new(new, others, stored.projects.all())
    if not accepts(f"Remind agents of this {'in all of these projects' if everywhere else rule_views.where_of(new)}?"):
        out.say("Nothing was kept.")
        return
    new = replace(new, replaces=others[0].id if others else "")
    async with open_connection(settings, "rule add") as connection:
        await keep(connection, [new, *(retired(each, new.changed_at) for each in others)])
    show_agreed([new])


@dataclass(frozen=True, slots=True)
class _Time:
    """The time at which agents see a rule, according to at most one option."""

    call: str
    file: str
    topics: tuple[str, ...]
    done: bool

    def __post_init__(self) -> None:
        if sum(map(bool, (self.call, self.file, self.topics, self.done))) > 1:
            raise InvalidInputError("Give only one of --call, --file, --topic and --done.")

    def options(self) -> list[str]:
        """Return the options in their command-line form."""
        given = [("--call", self.call), ("--file", self.file), *(("--topic", each) for each in self.topics)]
        return [word for name, said in given if said for word in (name, said)] + ["--done"] * self.done

    def set(self, new: Rule) -> Rule:
        """Return a rule with the time from an option, otherwise with the time from its sentence."""
        if self.call:
            return replace(new, when=When.CALL, pattern=Pattern(broken=(call_form(self.call),)))
        if self.file:
            return replace(new, when=When.FILE, pattern=Pattern(files=(glob_of(self.file, _top()),)))
        if self.topics:
            return replace(new, when=When.TOPIC, topic=self.topics)
        shaped = formed(new)
        return replace(new, when=When.DONE) if self.done and shaped.when is not When.DONE else shaped


def _made(settings: Settings, text: str, folder: str, *, everywhere: bool) -> Rule:
    """Return a rule for a sentence that a person has typed."""
    now = utc_now()
    return Rule(
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


def _inside(folder: str) -> str:
    """Return a folder relative to the project's root, empty if none was given."""
    if not folder.strip():
        return ""
    path, top = (Path.cwd() / folder).resolve(), Path(_top())
    if not path.is_relative_to(top) or path == top:
        raise InvalidInputError(f"--folder: {out.one_line(folder)} is no folder inside of this project.")
    return str(PurePosixPath(path.relative_to(top)))


def _top() -> str:
    """Return the top folder of the project."""
    from learning_memory_server.sharing.tree import top_of

    return str(top_of(folder_of({}).resolve()).resolve())


def _show_known(known: Rule) -> None:
    name = rule_views.short_id(known.id)
    out.say(f'You have this rule already, since {out.date(known.changed_at)}: {name}, "{known.text}"')
    out.say(f"To put it in other words: learning-memory-server rule edit {name} TEXT", "dim", is_line=True)


def _show_new(new: Rule, others: Iterable[Rule], projects: Iterable[str]) -> None:
    """Show a new rule and its effects before the question."""
    out.facts(facts_of(new, is_new=True))
    is_for_start = new.when is When.SESSION
    _show_bounds(new, "To choose another time, add --call, --file, --topic or --done." if is_for_start else "")
    for each in others:
        name = rule_views.short_id(each.id)
        out.say(f'It contradicts your rule {name}, "{each.text}": a yes retires that.', "yellow")
    if new.is_everywhere:
        out.say(f"Your projects: {', '.join(map(out.one_line, projects)) or new.project}.")


def _show_bounds(each: Rule, more: str) -> None:
    if said := bounds_of(each):
        out.say(f"{said} {more}".strip(), "yellow")


@commands.command(example='3f2a91 "We use pnpm, not npm or yarn"')
async def edit(
    name: IdArgument, text: Annotated[list[str], typer.Argument(metavar="TEXT", help="The new sentence.")]
) -> None:
    """Change the sentence of a rule, and with it when agents see it. The counts stay.

    It is your sentence then; `rule show` still says where it came from.
    """
    settings = open_settings()
    old = find_rule(Offline(settings), name)
    only_you("rule", "edit", name, " ".join(text))
    if old.state is not RuleState.ACCEPTED:
        raise InvalidInputError(f"This rule is {old.state}: agents do not see it.", hint="`rule add` makes a new one.")
    new = reworded(old, sentence(settings, " ".join(text)))
    out.facts(facts_of(new))
    _show_bounds(new, "It is no longer enforced." if old.is_enforced and not new.is_enforced else "")
    loses_calls = old.pattern is not None and new.pattern is None
    if not accepts(f"Change this rule? It was: {old.text}", enter=not loses_calls):
        out.say("Nothing was changed.")
        return
    async with open_connection(settings, "rule edit") as connection:
        await keep(connection, [new])
    show_agreed([new])


def reworded(old: Rule, text: str) -> Rule:
    """Return a rule with another sentence. Its pattern stays if it came from an option, not from the old sentence."""
    shape = form_of(old.text)
    is_formed = (shape.pattern if shape else None) == old.pattern
    plain = old
    if is_formed and not old.topic:
        is_said = shape is not None and shape.folder == old.folder
        plain = replace(old, when=When.SESSION, pattern=None, folder="" if is_said else old.folder)
    now = utc_now()
    if text != old.text and old.origin.kind is not OriginKind.ADDED:
        # The original sentence must not become a suggestion again.
        origin = Origin(OriginKind.ADDED, rule_views.whose(old.origin), now)
        plain = replace(plain, origin=origin, words=old.words or old.text)
    new = formed(replace(plain, text=text, changed_at=now))
    return replace(new, is_enforced=old.is_enforced and can_be_enforced(new))
