"""`rule export`: print a patch that adds a rule to the files that clients load."""

from pathlib import Path
from typing import Annotated, Final

import typer

from learning_memory_server.cli import out
from learning_memory_server.cli.command import Commands, Offline, open_settings
from learning_memory_server.cli.rules.finding import IdArgument, find_rule
from learning_memory_server.cli.rules.person import only_you
from learning_memory_server.cli.sharing import repository
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.rule import RuleState
from learning_memory_server.sharing import tree
from learning_memory_server.sharing.promote import LEARNED, OTHERS, patch, with_line, with_rule
from learning_memory_server.system.files import read

_ONLY: Final = f"Only this file: {LEARNED}, {' or '.join(OTHERS)}."

commands = Commands()


@commands.command(example="3f2a91 --only AGENTS.md")
def export(name: IdArgument, only: Annotated[str, typer.Option("--only", metavar="FILE", help=_ONLY)] = "") -> None:
    """Print a patch that adds a rule to the files that clients load, for `git apply`. Nothing is changed.

    The files are Claude Code's own file of rules, and CLAUDE.md and AGENTS.md
    of this repository if they exist. The patch has the sentence, and none of
    your other words.
    """
    if only and only not in {LEARNED, *OTHERS}:
        raise InvalidInputError(f"--only: one of {', '.join((LEARNED, *OTHERS))}.")
    found = find_rule(Offline(open_settings()), name)
    if found.state is not RuleState.ACCEPTED:
        raise InvalidInputError(
            f"This rule is {found.state}, so no file gets it: {one_line(found.text)}",
            hint="`learning-memory-server rules` lists those that agents follow.",
        )
    only_you("rule", "export", name, *(("--only", only) if only else ()))
    top, changes = repository(), list[str]()
    for file in [only] if only else [LEARNED, *(each for each in OTHERS if (top / each).exists())]:
        before = text_of(top, file)
        sentence, since = one_line(found.text), f"your rule, {found.changed_at:%Y-%m-%d}"
        text = before or ""
        after = with_rule(text, found.id, sentence, since) if file == LEARNED else with_line(text, sentence)
        changes.append(patch(file, before, after))
    for change in filter(None, changes):
        # Unchanged, because wrapping in a terminal would break the patch.
        out.say(change.removesuffix("\n"), is_line=True) if out.stdout().is_terminal else typer.echo(change, nl=False)
    if not any(changes):
        out.notice("These files have it already.")
    elif sum(map(bool, changes)) > 1:
        out.notice("A client needs only one of these files; --only FILE prints the patch of one.")


def text_of(top: Path, name: str) -> str | None:
    """Return the text of a file in a repository, None if it does not exist."""
    if tree.is_linked(top, name):
        raise InvalidInputError(f"{name} is a link, so it is not looked at.")
    path = top / name
    if not path.exists():
        return None
    if (data := read(path)) is None:
        raise InvalidInputError(f"{name} is too long, or no plain file.")
    return data.decode("utf-8", "surrogateescape")
