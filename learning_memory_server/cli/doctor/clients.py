"""Check the clients on this machine: whether they have this server, and whether it starts with their command."""

import asyncio
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final

from learning_memory_server.cli import out
from learning_memory_server.cli.clients import claude_code
from learning_memory_server.cli.clients.catalog import CLIENTS, Client, Machine, as_others_have, find_launch
from learning_memory_server.cli.clients.change import find_entry, hooks_change
from learning_memory_server.cli.doctor import Finding, Level, green, info, red, yellow
from learning_memory_server.errors import ClientSetupError, InvalidSettingsError
from learning_memory_server.system import paths, timeouts
from learning_memory_server.version import VERSION

_SETUP: Final = "learning-memory-server setup"
_ENDED: Final = "ended before it had listed its tools"
_NO_SERVER: Final = "did not answer as an MCP server does"
_TAIL: Final = 65_536
_SAID_MAX: Final = 200  # Maximum characters of a program's last output


def check_clients(machine: Machine, *, quick: bool) -> Iterator[Finding]:
    """Check every installed client."""
    found = [client for client in CLIENTS.values() if is_installed(client, machine)]
    if not found:
        yield info(f"No client that `setup` supports was found. Once there is one, run: {_SETUP} CLIENT")
    for client in found:
        yield from check_client(client, machine, quick=quick, missing=Level.INFO)


def check_client(client: Client, machine: Machine, *, quick: bool, missing: Level = Level.RED) -> Iterator[Finding]:
    """Check one client; `missing` is the level of the finding if it does not have this server."""
    try:
        entry = find_entry(client, machine)
        installed = claude_code.find_installed(machine) if client.own_command else None
        hooks = hooks_change(client, machine) if entry else None
    except ClientSetupError as error:
        yield yellow(f"Cannot tell whether {client.title} has this server. {error.in_doctor}")
        return
    if entry is not None and installed:
        yield red(
            f"{client.title} has this server and the plugin, so each tool twice; run: {_SETUP} {client.name} --plugin"
        )
        return
    if installed and (flaw := claude_code.flaw_of(installed, machine, find_launch())):
        is_there = installed.folder.is_dir()
        sentence = f"{client.title} has the plugin, but {flaw}; run: {_SETUP} {client.name} --plugin"
        yield (yellow if is_there else red)(sentence)
        if not is_there:
            return
    if hooks and hooks.is_needed:
        flaw = "no hooks" if hooks.before is None else "hooks of another version or installation"
        yield yellow(f"{client.title} has {flaw}; run: {_SETUP} {client.name}")
    entry = claude_code.entry_of(installed) if installed else entry and as_others_have(entry)
    if entry is None:
        yield Finding(missing, f"{client.title} does not have this server; run: {_SETUP} {client.name}")
        return
    command, arguments, variables = entry.get("command"), entry.get("args", []), entry.get("env", {})
    if not isinstance(command, str) or not isinstance(arguments, list) or not isinstance(variables, dict):
        yield yellow(f"{client.title} has an entry for this server that names no command, so it was not checked.")
        return
    environment = client.passed(machine) | {str(name): str(value) for name, value in variables.items()}
    if quick:
        yield green(f"{client.title} has this server; not started (--quick).")
    else:
        yield _start(client, [command, *map(str, arguments)], environment, machine)
    if finding := _compare(client, environment, machine):
        yield finding


def _start(client: Client, command: list[str], environment: Mapping[str, str], machine: Machine) -> Finding:
    # A bare name is looked up on the client's PATH, not on this process's.
    program = shutil.which(command[0], path=environment.get("PATH"))
    if program is None:
        return red(f"{client.title} would start {command[0]}, which does not exist; run: {_SETUP} {client.name}")
    try:
        tools, seconds = asyncio.run(connect([program, *command[1:]], environment, machine.home))
    except ClientSetupError as error:
        return red(f"{client.title} has this server, but cannot use it: {error.message}")
    return green(
        f"{client.title} has this server. Started the way {client.title} starts it, it listed "
        f"{out.counted(tools, 'tool')} after {seconds:.1f} s."
    )


def _compare(client: Client, environment: Mapping[str, str], machine: Machine) -> Finding | None:
    """Return a warning if the client's sessions use other data than commands in this shell."""
    try:
        here, there = (
            paths.journal_path(paths.raw_settings(each), each).resolve() for each in (machine.environment, environment)
        )
    except InvalidSettingsError as error:
        return red(f"For {client.title}: {error.message}")
    if here == there:
        return None
    return yellow(
        f"Sessions of {client.title} use the journal {there}, and commands here {here}; to write this shell's settings "
        f"into {client.title}, run: {_SETUP} {client.name}"
    )


def is_installed(client: Client, machine: Machine) -> bool:
    """Whether the client's file or folder exists, or its command is on the PATH."""
    file = client.locate(machine)
    has_folder = file.parent not in (machine.home, machine.folder("CLAUDE_CONFIG_DIR")) and file.parent.is_dir()
    return (
        has_folder
        or file.exists()
        or bool(shutil.which(client.program or client.name, path=machine.environment.get("PATH")))
    )


async def connect(
    command: Sequence[str], environment: Mapping[str, str], directory: Path, seconds: float = timeouts.HANDSHAKE
) -> tuple[int, float]:
    """Start a server on stdio, list its tools, and stop it. Return the number of tools and the seconds.

    Raises `ClientSetupError` if the server cannot be started, ends, replies with an error, or times out.
    """
    # Not at the top: `start` and `setup` need the rest of this module, but no client.
    from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client
    from mcp.types import CONNECTION_CLOSED, Implementation
    from pydantic import ValidationError

    from learning_memory_server.server.tools.catalog import HOOK

    server = StdioServerParameters(command=command[0], args=[*command[1:]], env={**environment}, cwd=directory)
    about = Implementation(name="learning-memory-server doctor", version=VERSION)
    began, tools, flaw = time.monotonic(), 0, ""

    async def refuse_noise(message: object) -> None:
        # The SDK's clients would keep waiting.
        if isinstance(message, Exception):
            deadline.reschedule(0)

    # A file, so that the server never blocks on its output.
    with TemporaryFile("w+", errors="replace") as said:
        try:
            async with stdio_client(server, said) as streams:
                # Errors are stored, not raised: the task groups would wrap them in exception groups.
                try:
                    async with (
                        asyncio.timeout(seconds) as deadline,
                        ClientSession(*streams, client_info=about, message_handler=refuse_noise) as session,
                    ):
                        try:
                            await session.initialize()
                            # The tool for the plugin's hooks is hidden from agents.
                            tools = sum(tool.name != HOOK for tool in (await session.list_tools()).tools)
                        except MCPError as error:
                            flaw = _ENDED if error.code == CONNECTION_CLOSED else _NO_SERVER
                        except (ValidationError, RuntimeError):
                            flaw = _NO_SERVER
                except TimeoutError:
                    flaw = _NO_SERVER if deadline.when() == 0 else f"did not answer within {seconds:g} s"
                took = time.monotonic() - began
        except OSError as error:
            raise ClientSetupError(f"{command[0]} cannot be started ({error.strerror}).") from None
        if flaw == _ENDED and (last := _last_words(said)):
            flaw += f": {last}"
    if flaw:
        raise ClientSetupError(f"{command[0]} {flaw}.")
    return tools, took


def _last_words(said: IO[str]) -> str:
    said.flush()
    said.seek(max(0, said.seek(0, os.SEEK_END) - _TAIL))
    lines = [line.strip() for line in said.read().splitlines() if line.strip()]
    return lines[-1][:_SAID_MAX].rstrip(".") if lines else ""
