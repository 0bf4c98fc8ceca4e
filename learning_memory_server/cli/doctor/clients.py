"""Check of the clients on this machine: whether they have this server, and whether it starts as they start it."""

import asyncio
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final

from learning_memory_server.cli import out
from learning_memory_server.cli.clients import claude_code
from learning_memory_server.cli.clients.catalog import CLIENTS, Client, Machine, as_others_have, find_launch
from learning_memory_server.cli.clients.change import find_entry, hooks_change
from learning_memory_server.cli.doctor import Finding, Level, green, red, yellow
from learning_memory_server.errors import ClientSetupError, InvalidSettingsError
from learning_memory_server.system import paths, timeouts
from learning_memory_server.version import VERSION

_SETUP: Final = f"{paths.APPLICATION} setup"
_LINE_MAX: Final = 16 * 1024 * 1024
_TAIL: Final = 65_536
_SAID_MAX: Final = 200
"""Characters of a program's last words that are shown."""


def check_clients(machine: Machine, *, quick: bool) -> Iterator[Finding]:
    """Check every client that is installed."""
    found = [client for client in CLIENTS.values() if is_installed(client, machine)]
    if not found:
        yield green("No client that `setup` supports was found.")
    for client in found:
        yield from check_client(client, machine, quick=quick, missing=Level.GREEN)


def check_client(client: Client, machine: Machine, *, quick: bool, missing: Level = Level.RED) -> Iterator[Finding]:
    """Check one client; `missing` is how bad it is if it does not have this server."""
    try:
        entry = find_entry(client, machine)
        installed = claude_code.find_installed(machine) if client.own_command else None
        hooks = hooks_change(client, machine) if entry else None
    except ClientSetupError as error:
        yield yellow(f"Cannot tell whether {client.title} has this server. {error.sentence}")
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
    # A name is looked up on the client's PATH, not on this process's.
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
    """Return a warning if the client's sessions use other data than commands here."""
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
    """Return whether the client has its file or its folder, or is on the PATH."""
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
    """Start a server on stdio, greet it, list its tools, and end it. It may take as long to end, up to five seconds.

    Returns how many tools it has, and the seconds from the start of its process to their list.

    Raises `ClientSetupError` if it cannot be started, ends, answers with an error or something else, or is late.
    """
    began = time.monotonic()
    # A file, so that the server never waits for a reader of what it says.
    with TemporaryFile() as said:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=said,
                env=dict(environment),
                cwd=directory,
                limit=_LINE_MAX,
            )
        except OSError as error:
            raise ClientSetupError(f"{command[0]} cannot be started ({error.strerror}).") from None
        try:
            async with asyncio.timeout(seconds):
                tools = await _converse(process)
            took = time.monotonic() - began
        except TimeoutError:
            raise ClientSetupError(f"{command[0]} did not answer within {seconds:g} s.") from None
        except ValueError:
            raise ClientSetupError(f"{command[0]} did not answer as an MCP server does.") from None
        except (EOFError, ConnectionError):
            await _end(process, min(seconds, timeouts.SERVER_ENDS))
            said.seek(max(0, said.seek(0, os.SEEK_END) - _TAIL))
            lines = [line.strip() for line in said.read().decode(errors="replace").splitlines() if line.strip()]
            last = lines[-1][:_SAID_MAX].rstrip(".") if lines else ""
            raise ClientSetupError(
                f"{command[0]} ended before it had listed its tools{f': {last}' if last else ''}."
            ) from None
        finally:
            await _end(process, min(seconds, timeouts.SERVER_ENDS))
    return tools, took


async def _converse(process: asyncio.subprocess.Process) -> int:
    """Greet the server, and return how many tools it lists. Notifications are ignored."""
    assert process.stdin is not None and process.stdout is not None  # noqa: PT018 - pipes were asked for
    about = {"name": "learning-memory-server doctor", "version": VERSION}
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about}
    steps: list[tuple[int, str, list[dict[str, object]]]] = [
        (1, "serverInfo", [{"id": 1, "method": "initialize", "params": opening}]),
        (2, "tools", [{"method": "notifications/initialized"}, {"id": 2, "method": "tools/list"}]),
    ]
    result: dict[str, Any] = {}
    for number, field, messages in steps:
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        await process.stdin.drain()
        reply: Any = {}
        while reply.get("id") != number:
            if not (line := await process.stdout.readline()):
                raise EOFError
            reply = json.loads(line)
            if not isinstance(reply, dict):
                raise ValueError(line)  # noqa: TRY004 - as json.loads raises
        result = reply.get("result")
        if not isinstance(result, dict) or field not in result:
            raise ValueError(line)
    return len(result["tools"])


async def _end(process: asyncio.subprocess.Process, seconds: float) -> None:
    """End the server as a client does: close its input, wait, and then kill it."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
