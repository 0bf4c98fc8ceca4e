"""`setup`: shows what changes in a client's configuration, asks, and changes it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from learning_memory_server.cli.clients import claude_code
from learning_memory_server.cli.clients.catalog import CLIENTS, SERVER
from learning_memory_server.cli.clients.change import (
    addition,
    find_entry,
    removal,
    settings_addition,
    snippet,
)
from learning_memory_server.cli.clients.entry import find_launch, find_variables, is_of_this_server, new_entry
from learning_memory_server.cli.clients.names import SettingsTo
from learning_memory_server.cli.clients.places import this_machine
from learning_memory_server.cli.clients.plugin import (
    FOLDER,
    IDENTITY,
    adding,
    contents,
    discard,
    find_installed,
    is_written,
    packaged,
    removing,
    write,
)
from learning_memory_server.cli.terminal import output, show_notice
from learning_memory_server.errors import ClientSetupError, InvalidInputError
from learning_memory_server.server.settings import is_secret, load_settings
from learning_memory_server.system.paths import APPLICATION, PREFIX, config_file

if TYPE_CHECKING:
    from learning_memory_server.cli.clients.catalog import Client
    from learning_memory_server.cli.clients.change import Change
    from learning_memory_server.cli.clients.entry import Variables
    from learning_memory_server.cli.clients.names import ClientName
    from learning_memory_server.cli.clients.places import Machine

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def set_up(name: ClientName, settings_to: SettingsTo, *, yes: bool, plugin: bool = False) -> None:
    """Add this server to a client, or update its entry. Where Claude Code has the plugin, that is updated.

    Args:
        name: Which client.
        settings_to: Where the settings of this shell go.
        yes: Do not ask.
        plugin: Add the plugin in place of the server.

    Raises:
        ClientSetupError: If the client's file or command cannot be used.
        InvalidSettingsError: If a setting is invalid.
        InvalidInputError: If there is no terminal to ask on.
    """
    client, machine = CLIENTS[name], this_machine()
    if plugin and not client.own_command:
        raise InvalidInputError(f"There is no plugin for {client.title}, only for Claude Code.")
    if client.own_command and (plugin or find_installed(machine)):
        _set_up_plugin(client, settings_to, yes=yes)
        return
    entry, variables = _wanted(client, settings_to)
    change = None if client.own_command else addition(client, machine, entry)
    existing = _own_entry(client, machine, yes=yes)
    todo: list[Callable[[], None]] = []
    if settings_to is SettingsTo.FILE and variables.shared:
        todo += _prepare(settings_addition(config_file(), variables.shared))
    todo += _prepare(change) if change else _prepare_commands(claude_code.commands(existing, entry))
    question = (
        f"Add this server to {client.title}?"
        if existing is None
        else f"Change the entry of this server in {client.title}?"
    )
    if not _done(todo, question, f"{client.title} already has this server.", yes=yes):
        return
    output().print(f"{client.title} has this server now. {client.afterwards}")
    output().print(f"To see whether it starts, run: {APPLICATION} doctor --client {name}")
    if client.own_command:
        output().print(f"With hooks and skills, it is a plugin: {APPLICATION} setup {name} --plugin")


def _set_up_plugin(client: Client, settings_to: SettingsTo, *, yes: bool) -> None:
    """Add or update the plugin, and remove the server: both together would be two of each tool."""
    machine, settings, launch = this_machine(), load_settings(), find_launch()
    folder, wanted = settings.storage_path / FOLDER, contents(launch)
    shared = find_variables(client, machine, settings).shared
    todo: list[Callable[[], None]] = []
    if settings_to is not SettingsTo.NONE and shared:
        todo += _prepare(settings_addition(config_file(), shared))
    if launch.caution:
        show_notice(launch.caution)
    if not is_written(folder, wanted):
        output().print(f"The plugin is written to {folder}.")
        todo.append(lambda: write(folder, wanted))
    existing, installed = _own_entry(client, machine, yes=yes), find_installed(machine)
    commands = claude_code.commands(existing, None)
    if installed and installed[0] != IDENTITY:
        commands += removing(installed[0])
    if not (installed and installed[0] == IDENTITY):
        commands += adding(folder)
    todo += _prepare_commands(commands)
    if not _done(
        todo, f"Add the plugin to {client.title}?", f"{client.title} already has this plugin.", yes=yes
    ):
        return
    output().print(f"{client.title} has the plugin now. {client.afterwards}")
    output().print(f"To see whether its server starts, run: {APPLICATION} doctor --client {client.name}")


def remove_from(name: ClientName, *, yes: bool) -> None:
    """Remove this server from a client. Settings in `config.toml` stay: other clients and commands use them.

    Args:
        name: Which client.
        yes: Do not ask.

    Raises:
        ClientSetupError: If the client's file or command cannot be used.
        InvalidInputError: If there is no terminal to ask on.
    """
    client, machine = CLIENTS[name], this_machine()
    change = None if client.own_command else removal(client, machine)
    existing = _own_entry(client, machine, yes=yes)
    if change:
        todo = _prepare(change)
    else:
        installed = find_installed(machine)
        commands = claude_code.commands(existing, None)
        todo = _prepare_commands([*commands, *(removing(installed[0]) if installed else [])])
        if installed:
            todo.append(lambda: discard(load_settings().storage_path / FOLDER))
    question = f"Remove this server from {client.title}?"
    if _done(todo, question, f"{client.title} does not have this server.", yes=yes):
        output().print(f"{client.title} no longer has this server. Your data stays.")


def print_entry(name: ClientName, settings_to: SettingsTo, *, plugin: bool = False) -> None:
    """Print what to add to a client by hand, on standard output alone.

    Args:
        name: Which client.
        settings_to: Where the settings of this shell go.
        plugin: Print how to add the plugin.

    Raises:
        InvalidSettingsError: If a setting is invalid.
        InvalidInputError: If it has no plugin.
    """
    client = CLIENTS[name]
    if plugin:
        if not client.own_command:
            raise InvalidInputError(f"There is no plugin for {client.title}, only for Claude Code.")
        output().print(claude_code.quoted(["claude", "--plugin-dir", str(packaged())]), soft_wrap=True)
        return
    entry, _ = _wanted(client, settings_to)
    if client.own_command:
        for command in claude_code.commands(None, entry):
            output().print(claude_code.quoted(command), soft_wrap=True)
        return
    show_notice(f"In {client.locate(this_machine())}:")
    output().print(snippet(client, entry), soft_wrap=True)


def _own_entry(client: Client, machine: Machine, *, yes: bool) -> dict[str, Any] | None:
    """Return this server's entry in a client, or None.

    A person decides what to do about another server's entry under its name.

    Raises:
        ClientSetupError: If it is another server's, and nobody is asked.
    """
    existing = find_entry(client, machine)
    if existing is None or is_of_this_server(existing):
        return existing
    what = f"{client.title} has an entry {SERVER!r} that does not start this server"
    where = f"{'.'.join(client.path)} in {client.locate(machine)}"
    if yes:
        raise ClientSetupError(
            f"{what}, so nothing was changed.",
            hint=f"Rename or remove {where} yourself, or run this without --yes to see what would change.",
        )
    show_notice(f"{what} ({where}).")
    return existing


def _wanted(client: Client, settings_to: SettingsTo) -> tuple[dict[str, Any], Variables]:
    """Return the entry to write, and the settings of this shell; print what has to be known about both."""
    launch, machine = find_launch(), this_machine()
    variables = find_variables(client, machine, load_settings())
    written = dict(variables.written)
    if settings_to is not SettingsTo.CLIENT:
        # Where data and settings are is not a setting of the file.
        written = {
            name: value
            for name, value in written.items()
            if not name.startswith(PREFIX) or name == f"{PREFIX}CONFIG"
        }
    elif variables.omitted:
        for sentence in variables.omitted:
            show_notice(sentence)
    if launch.caution:
        show_notice(launch.caution)
    return new_entry(client, launch, written), variables


def _prepare(change: Change) -> list[Callable[[], None]]:
    """Show a change of a file, without our own secrets, and return what makes it."""
    if not change.is_needed:
        return []
    console = output()
    for line in change.diff():
        key = line[1:].partition("=")[0].strip()
        shown = f"{line[0]}{key} = ..." if is_secret(key, line) else line
        console.print(Text(shown, _STYLES.get(line[:1], "")), soft_wrap=True)
    if change.after is None:
        console.print(f"{change.path} was created by `setup`, so it will be removed.")
    elif change.restores:
        console.print(f"{change.path} will be what it was before `setup`.")
    elif change.copy is not None:
        console.print(f"A copy of the file is kept: {change.copy_path}")
    return [change.apply]


def _prepare_commands(commands: Sequence[Sequence[str]]) -> list[Callable[[], None]]:
    """Show commands, and return what runs them."""
    for command in commands:
        output().print(Text(f"$ {claude_code.quoted(command)}", "cyan"), soft_wrap=True)
    return [lambda: claude_code.run(commands, this_machine())] if commands else []


def _done(todo: Sequence[Callable[[], None]], question: str, as_it_is: str, *, yes: bool) -> bool:
    """Ask, and do what was shown. Return whether there was anything to do; if not, say how it is already."""
    if not todo:
        output().print(f"{as_it_is} Nothing to change.")
        return False
    _ask(question, yes=yes)
    for act in todo:
        act()
    return True


def _ask(question: str, *, yes: bool) -> None:
    """Ask on a terminal.

    Raises:
        InvalidInputError: If there is no terminal.
    """
    if yes:
        return
    if not (sys.stdin.isatty() and os.isatty(2)):
        raise InvalidInputError(
            "Nothing was changed, because there is no terminal to ask on.",
            hint="To skip the question, add --yes.",
        )
    if not typer.confirm(question, err=True):
        raise typer.Exit(1)
