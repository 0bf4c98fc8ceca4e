"""`setup`: show the change to a client's configuration, ask, and make it."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from shutil import rmtree
from typing import Annotated, Any

import typer

from learning_memory_server.cli import out
from learning_memory_server.cli.clients import catalog, claude_code
from learning_memory_server.cli.clients.change import (
    Change,
    addition,
    by_hand,
    copy_path,
    find_entry,
    hooks_change,
    packaged,
    removal,
    settings_addition,
)
from learning_memory_server.cli.command import Commands, Result, YesOption
from learning_memory_server.cli.models import fetch_model
from learning_memory_server.cli.sharing import offer_join
from learning_memory_server.errors import ClientSetupError, InvalidInputError
from learning_memory_server.server.settings import load_settings, without_secrets
from learning_memory_server.system.paths import config_file
from learning_memory_server.system.stores import describe_other, other_stores

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


class SettingsTo(StrEnum):
    """Where `setup` writes the settings from the environment."""

    CLIENT = "client"
    FILE = "file"
    NONE = "none"


commands = Commands()


@commands.command(json_help="Print JSON. Nothing is changed without --yes.", example="cursor")
def setup(
    client: Annotated[
        catalog.Client | None,
        typer.Argument(
            metavar="[CLIENT]",
            help=f"One of {', '.join(catalog.CLIENTS)}.",
            parser=catalog.client_called,
            autocompletion=catalog.client_names,
        ),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take out what was added.")] = False,
    yes: YesOption = False,
    show: Annotated[bool, typer.Option("--print", help="Print what to add by hand, and change nothing.")] = False,
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
        typer.Option("--plugin", help="Claude Code only: the plugin, with hooks and skills, in place of the server."),
    ] = False,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="NAME",
            help="Download a model from huggingface.co, and load it once to check that it works: `owner/name`, or one of "
            "the ONNX files that it brings, such as `owner/name/onnx/model_quantized.onnx`.",
        ),
    ] = "",
) -> Result:
    """Add this server to a client, for all projects: show the change, ask, and make it.

    Everything else in the client's file stays as it is, comments included, and
    a copy of the file is kept next to it. With --remove, the file becomes what
    it was. Claude Code is changed by its own command, `claude mcp`.

    The plugin for Claude Code has this server, too, so the one replaces the
    other. Copilot CLI and opencode get hooks, too. Hooks read no client's entry:
    for these clients and the plugin, the variables of this shell go into
    config.toml.

    Many clients pass few variables on to servers, so settings that are only in
    this shell would not reach them.

    With --model, a model is downloaded; without a client, nothing else is done.
    Nothing else uses the network for a model. The default model needs no
    download: it comes with this package.
    """
    if model:
        fetch_model(model)
    if client is None:
        if not model:
            names = ", ".join(catalog.CLIENTS)
            raise InvalidInputError(f"Name a CLIENT: one of {names}.", hint="`start` finds those on this machine.")
        return Result({"client": None, "changed": False, "text": ""})
    if plugin and (show or not remove) and not client.own_command:
        raise InvalidInputError(f"There is no plugin for {client.title}, only for Claude Code.")
    changed, text = False, ""
    if show:
        text = _entry_to_add(client, settings, plugin=plugin)
        out.say(text, is_line=True)
    elif remove:
        changed = remove_from(client, yes=yes)
    else:
        changed = set_up(client, settings, plugin=plugin, yes=yes)
        here = load_settings()
        for each in other_stores(here.storage_path, here.journal_directory):
            out.notice(describe_other(each))
        offer_join(here)
    return Result({"client": client.name, "changed": changed, "text": text})


def set_up(
    client: catalog.Client, settings_to: SettingsTo = SettingsTo.CLIENT, *, plugin: bool = False, yes: bool
) -> bool:
    """Add this server or its plugin to a client, after a question. Return whether anything changed."""
    machine = catalog.this_machine()
    is_plugin = bool(client.own_command and (plugin or claude_code.find_installed(machine)))
    entry, shared = _wanted(client, settings_to, is_plugin=is_plugin)
    change = None if client.own_command else addition(client, machine, entry)
    existing = _own_entry(client, machine, yes=yes)
    todo = _prepare(settings_addition(config_file(), shared)) if shared else []
    if is_plugin:
        todo += _prepare_plugin(machine, existing)
    else:
        todo += _prepare(change) if change else _prepare_commands(claude_code.commands(existing, entry))
        todo += _prepare_hooks(hooks_change(client, machine))
    question = "Add this server to" if existing is None else "Change the entry of this server in"
    question = "Add the plugin to" if is_plugin else question
    already = f"{client.title} already has this {'plugin' if is_plugin else 'server'}."
    if not _done(todo, f"{question} {client.title}?", already, yes=yes):
        return False
    what, starts = ("the plugin", "its server starts") if is_plugin else ("this server", "it starts")
    out.say(f"{client.title} has {what} now. {client.afterwards.format(client.title)}")
    out.say(f"To see whether {starts}, run: learning-memory-server doctor --client {client.name}")
    if client.own_command and not is_plugin:
        out.say(f"With hooks and skills, it is a plugin: learning-memory-server setup {client.name} --plugin")
    return True


def _prepare_plugin(machine: catalog.Machine, existing: Mapping[str, Any] | None) -> list[Callable[[], None]]:
    """Prepare to add the plugin and to remove the server: with both, each tool would exist twice."""
    folder, wanted = claude_code.copy_folder(machine), claude_code.contents(catalog.find_launch())
    todo: list[Callable[[], None]] = []
    if not claude_code.is_written(folder, wanted):
        out.say(f"The plugin will be written to {folder}.")
        todo.append(lambda: claude_code.write_plugin(folder, wanted))
    return todo + _prepare_commands([*claude_code.commands(existing, None), *claude_code.adding(machine)])


def remove_from(client: catalog.Client, *, yes: bool, if_there: bool = False) -> bool:
    """Remove this server (not the settings) from a client. Return whether it was there; if not, silent `if_there`."""
    machine = catalog.this_machine()
    change = None if client.own_command else removal(client, machine)
    existing = _own_entry(client, machine, yes=yes)
    if change:
        todo = [*_prepare(change), *_prepare_hooks(hooks_change(client, machine, remove=True))]
    else:
        todo = _prepare_commands([*claude_code.commands(existing, None), *claude_code.removing(machine)])
        if (folder := claude_code.copy_folder(machine)).is_dir():
            out.say(f"The plugin's copy will be removed: {folder}", is_line=True)
            todo.append(lambda: rmtree(folder, ignore_errors=True))
    question = f"Remove this server from {client.title}?"
    if not todo and if_there:
        return False
    if done := _done(todo, question, f"{client.title} does not have this server.", yes=yes):
        out.say(f"{client.title} no longer has this server. Your data stays.")
    return done


def _entry_to_add(client: catalog.Client, settings_to: SettingsTo, *, plugin: bool) -> str:
    """Return the text to add to a client by hand."""
    if plugin:
        return shlex.join(["claude", "--plugin-dir", str(packaged(claude_code.FOLDER))])
    entry, _ = _wanted(client, settings_to)
    if client.own_command:
        return "\n".join(map(shlex.join, claude_code.commands(None, entry)))
    place, text = by_hand(client, catalog.this_machine(), entry)
    out.notice(f"Add this {place}:")
    if hooks := hooks_change(client, catalog.this_machine()):
        out.notice(f"Its hooks, in {hooks.path}, are written without --print.")
    return text


def _own_entry(client: catalog.Client, machine: catalog.Machine, *, yes: bool) -> dict[str, Any] | None:
    """Return this server's entry in a client, or None. A person decides about another server's entry with its name."""
    existing = find_entry(client, machine)
    if existing is None or catalog.is_of_this_server(existing):
        return existing
    what = f"{client.title} has an entry {catalog.SERVER!r} that does not start this server"
    where = f"{'.'.join(client.path)} in {client.locate(machine)}"
    if yes:
        raise ClientSetupError(
            f"{what}, so nothing was changed.",
            hint=f"Rename or remove {where} yourself, or run this without --yes to see what would change.",
        )
    out.notice(f"{what} ({where}).")
    return existing


def _wanted(
    client: catalog.Client, settings_to: SettingsTo, *, is_plugin: bool = False
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Return the entry to write, and the settings for `config.toml`. Prints the notices about both."""
    launch, machine = catalog.find_launch(), catalog.this_machine()
    # Hooks do not read a client's entry.
    to_client = settings_to is SettingsTo.CLIENT and not (client.hooks or is_plugin)
    variables = catalog.find_variables(client, machine, load_settings(), to_client=to_client)
    for sentence in filter(None, (*variables.omitted, launch.caution)):
        out.notice(sentence)
    shared = {} if to_client or settings_to is SettingsTo.NONE else variables.shared
    return catalog.new_entry(client, launch, variables.written), shared


def _prepare(change: Change) -> list[Callable[[], None]]:
    """Show a change to a file, with secrets hidden, and return the actions that make it, like each `_prepare`."""
    if not change.is_needed:
        return []
    for line in change.diff():
        out.say(without_secrets(line), _STYLES.get(line[:1], ""), is_line=True)
    if change.after is None:
        out.say(f"{change.path} was created by `setup`, so it will be removed.")
    elif change.restores:
        out.say(f"{change.path} will be what it was before `setup`.")
    elif change.copy is not None:
        out.say(f"A copy of the file will be kept: {copy_path(change.path)}")
    return [change.apply]


def _prepare_hooks(change: Change | None) -> list[Callable[[], None]]:
    if change is None or not change.is_needed:
        return []
    done = "written to" if change.after else "removed from"
    out.say(f"The hooks will be {done} {change.path}.", is_line=True)
    return [change.apply]


def _prepare_commands(commands: Sequence[Sequence[str]]) -> list[Callable[[], None]]:
    if not commands:
        return []
    machine = catalog.this_machine()
    program = claude_code.find_program(commands, machine)
    for command in commands:
        out.say(f"$ {claude_code.shown(command)}", "cyan", is_line=True)
    return [lambda: claude_code.run(program, commands, machine)]


def _done(todo: Sequence[Callable[[], None]], question: str, as_it_is: str, *, yes: bool) -> bool:
    """Ask, and run the actions. Return whether there were any; if not, print the present state."""
    if not todo:
        out.say(f"{as_it_is} Nothing to change.")
        return False
    if not (yes or out.can_ask()):
        raise InvalidInputError(
            "Nothing was changed, because there is no terminal to ask on.", hint="To skip the question, add --yes."
        )
    if not out.agrees(question, yes=yes):
        raise typer.Exit(1)
    for act in todo:
        act()
    return True
