"""The commands `rules` and `rule`; several modules declare the commands below `rule`."""

from learning_memory_server.cli.command import Commands
from learning_memory_server.cli.rules import enforcing, exporting, listing, making, showing

_RULE = Commands(
    no_args_is_help=True,
    help="Tell agents what to do or not to do, in your own words (`rule add`); try, change, enforce, export or retire "
    "a rule.",
)
for part in (making, showing, enforcing, exporting):
    _RULE.add_typer(part.commands)

commands = Commands()
commands.add_typer(listing.commands)
commands.add_typer(_RULE, name="rule")
