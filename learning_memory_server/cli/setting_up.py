"""The command that adds this server to a client, and its options."""

from typing import Annotated

import typer

from learning_memory_server.cli.clients.names import ClientName, SettingsTo

clients = typer.Typer()


@clients.command()
def setup(  # noqa: PLR0913 - one for each option
    client: Annotated[ClientName, typer.Argument(metavar="CLIENT", help=f"{', '.join(ClientName)}.")],
    remove: Annotated[bool, typer.Option("--remove", help="Take out what was added.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    show: Annotated[
        bool, typer.Option("--print", help="Print what to add by hand, and change nothing.")
    ] = False,
    settings: Annotated[
        SettingsTo,
        typer.Option(
            "--settings",
            help="Where LEARNING_MEMORY_* variables of this shell go: into the client's entry, into config.toml, "
            "or nowhere.",
        ),
    ] = SettingsTo.CLIENT,
    plugin: Annotated[
        bool,
        typer.Option(
            "--plugin", help="Claude Code only: the plugin, with hooks and skills, in place of the server."
        ),
    ] = False,
) -> None:
    """Add this server to a client, for all projects: show the change, ask, and make it.

    Everything else in the client's file stays as it is, comments included, and
    a copy of the file is kept next to it. With --remove, the file becomes what
    it was. Claude Code is changed by its own command, `claude mcp`.

    The plugin for Claude Code has this server, too, so the one replaces the
    other. Its hooks read no client's entry: with --plugin, the variables of this
    shell go into config.toml.

    Many clients pass few variables on to servers, so settings that are only in
    this shell would not reach them.
    """
    from learning_memory_server.cli.setup import print_entry, remove_from, set_up  # noqa: PLC0415

    if show:
        print_entry(client, settings, plugin=plugin)
    elif remove:
        remove_from(client, yes=yes)
    else:
        set_up(client, settings, yes=yes, plugin=plugin)
