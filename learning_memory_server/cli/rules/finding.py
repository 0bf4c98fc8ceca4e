"""Find a rule by its id."""

from typing import Annotated, Final

import typer

from learning_memory_server.cli.command import Offline
from learning_memory_server.errors import InvalidInputError, NotFoundError
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.rule import Rule
from learning_memory_server.server.views import rule_views

_LEAST: Final = 4  # Minimum characters of a shortened id

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Its id; the beginning is enough.")]


def find_rule(stored: Offline, name: str) -> Rule:
    """Return the rule with an id, which may be shortened and lack the prefix `rule_`."""
    known = {each.id: each for each in stored.rule_log.all() if not each.imported}
    wanted = one_line(name).removeprefix(rule_views.PREFIX)
    alike = [each for each in known if each.removeprefix(rule_views.PREFIX).startswith(wanted)]
    if len(wanted) < _LEAST:
        raise InvalidInputError(f"ID: {_LEAST} characters of it are needed.", hint="`rules` shows the ids.")
    if len(alike) != 1:
        many = f"{len(alike)} rules have" if alike else "No rule has"
        raise NotFoundError(f"{many} an id that begins with {wanted!r}.", hint="`rules --all` shows the ids.")
    return known[alike[0]]
