"""Check of the clients on this machine: whether they have this server, and whether it starts as they start it."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.cli.clients.catalog import CLIENTS
from learning_memory_server.cli.clients.change import find_entry
from learning_memory_server.cli.clients.claude_code import find_plugin_entry
from learning_memory_server.cli.clients.connecting import connect
from learning_memory_server.cli.doctor.finding import Finding, Level, green, red, yellow
from learning_memory_server.cli.doctor.settings import check_files
from learning_memory_server.cli.terminal import counted
from learning_memory_server.errors import ClientSetupError, InvalidSettingsError
from learning_memory_server.system import paths

if TYPE_CHECKING:
    from learning_memory_server.cli.clients.catalog import Client, ClientName, Machine

_TOPIC: Final = "client"


async def check_clients(machine: Machine, *, quick: bool) -> AsyncIterator[Finding]:
    """Check every client that is installed."""
    found = [client for client in CLIENTS.values() if _is_installed(client, machine)]
    if not found:
        yield green(_TOPIC, "No client that `setup` supports was found.")
    for client in found:
        async for finding in _check(client, machine, quick=quick, missing=Level.GREEN):
            yield finding


async def check_client(name: ClientName, machine: Machine, *, quick: bool) -> AsyncIterator[Finding]:
    """Check one client, which must have this server."""
    for finding in check_files(machine.environment):
        yield finding
    async for finding in _check(CLIENTS[name], machine, quick=quick, missing=Level.RED):
        yield finding


async def _check(client: Client, machine: Machine, *, quick: bool, missing: Level) -> AsyncIterator[Finding]:
    try:
        entry = find_entry(client, machine)
        plugin = find_plugin_entry(machine) if client.own_command else None
    except ClientSetupError as error:
        yield yellow(_TOPIC, f"Cannot tell whether {client.title} has this server. {error.sentence}")
        return
    if entry is not None and plugin is not None:
        yield red(
            _TOPIC,
            f"{client.title} has this server and the plugin, so each tool twice; run: {_setup(client)} --plugin",
        )
        return
    entry = plugin if entry is None else entry
    if entry is None:
        sentence = f"{client.title} does not have this server; run: {_setup(client)}"
        yield Finding(missing, _TOPIC, sentence)
        return
    command, arguments, variables = entry.get("command"), entry.get("args", []), entry.get("env", {})
    if not isinstance(command, str) or not isinstance(arguments, list) or not isinstance(variables, dict):
        yield yellow(
            _TOPIC,
            f"{client.title} has an entry for this server that names no command, so it was not checked.",
        )
        return
    environment = client.passed(machine) | {str(name): str(value) for name, value in variables.items()}
    if quick:
        yield green(_TOPIC, f"{client.title} has this server; not started (--quick).")
    else:
        yield await _start(client, [command, *map(str, arguments)], environment, machine)
    if finding := _compare(client, environment, machine):
        yield finding


async def _start(
    client: Client, command: list[str], environment: Mapping[str, str], machine: Machine
) -> Finding:
    # A name is looked up on the client's PATH, not on this process's.
    program = shutil.which(command[0], path=environment.get("PATH"))
    if program is None:
        return red(
            _TOPIC, f"{client.title} would start {command[0]}, which does not exist; run: {_setup(client)}"
        )
    try:
        server = await connect([program, *command[1:]], environment, machine.home)
    except ClientSetupError as error:
        return red(_TOPIC, f"{client.title} has this server, but cannot use it: {error.message}")
    tools = counted(server.tools, "tool")
    return green(
        _TOPIC,
        f"{client.title} has this server. Started the way {client.title} starts it, it listed {tools} after "
        f"{server.seconds:.1f} s.",
    )


def _compare(client: Client, environment: Mapping[str, str], machine: Machine) -> Finding | None:
    """Return a warning if the client's sessions use other data than commands here."""
    try:
        here, there = _journal(machine.environment), _journal(environment)
    except InvalidSettingsError as error:
        return red(_TOPIC, f"For {client.title}: {error.message}")
    if here == there:
        return None
    return yellow(
        _TOPIC,
        f"Sessions of {client.title} use the journal {there}, and commands here {here}; to write this shell's settings "
        f"into {client.title}, run: {_setup(client)}",
    )


def _journal(environment: Mapping[str, str]) -> Any:  # noqa: ANN401 - a path
    raw = paths.raw_settings(environment)
    return paths.journal_path(raw, environment).resolve()


def _is_installed(client: Client, machine: Machine) -> bool:
    """Return whether the client has its file or its folder, or is on the PATH."""
    file = client.locate(machine)
    has_folder = (
        file.parent not in (machine.home, machine.folder("CLAUDE_CONFIG_DIR")) and file.parent.is_dir()
    )
    return (
        has_folder
        or file.exists()
        or bool(shutil.which(client.program, path=machine.environment.get("PATH")))
    )


def _setup(client: Client) -> str:
    return f"{paths.APPLICATION} setup {client.name}"
