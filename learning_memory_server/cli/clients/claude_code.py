"""Claude Code's commands `claude mcp` and `claude plugin`, and the copy of the plugin for this machine.

Claude Code rewrites its file while it runs, so the file is not edited here. The copy is a marketplace with absolute
paths, hooks that call the interpreter directly, and a script that starts the server.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from learning_memory_server.cli.clients.catalog import SERVER, Launch, Machine
from learning_memory_server.cli.clients.change import hook_command, packaged
from learning_memory_server.errors import ClientSetupError
from learning_memory_server.server.settings import without_secrets
from learning_memory_server.system import files, locations, timeouts
from learning_memory_server.system.paths import APPLICATION
from learning_memory_server.version import VERSION

NAME: Final = "learning-memory"  # The plugin's name. Its tools are `mcp__plugin_learning-memory_memory__...`.
MARKETPLACE: Final = APPLICATION
IDENTITY: Final = f"{NAME}@{MARKETPLACE}"
FOLDER: Final = "claude-code"  # The copy's folder, next to `config.toml`
_MANIFEST: Final = Path(".claude-plugin", "plugin.json")
_SERVERS: Final = Path(".mcp.json")
_HOOKS: Final = Path("hooks", "hooks.json")
_START: Final = Path("start.sh")
_SHELL: Final = "/bin/sh"
_OURS: Final = (Path(".claude-plugin"), _SERVERS, _HOOKS, _START, Path("skills"), Path("README.md"), Path("icon.png"))
"""The files that Claude Code reads; the others are for other clients."""

_Kind = TypeVar("_Kind")


class _Listed(msgspec.Struct):
    """The location of an installed plugin or a marketplace, in Claude Code's files."""

    installPath: str = ""  # noqa: N815 - its names
    installLocation: str = ""  # noqa: N815


class _Lists(msgspec.Struct):
    """The fields about plugins in Claude Code's files."""

    plugins: dict[str, list[_Listed]] = {}
    enabledPlugins: dict[str, Any] = {}  # noqa: N815


@dataclass(frozen=True, slots=True)
class Installed:
    """The plugin installed in Claude Code, from any marketplace, with the folder that Claude Code reads."""

    identity: str
    folder: Path
    is_enabled: bool = True


def commands(existing: Mapping[str, Any] | None, entry: Mapping[str, Any] | None) -> list[list[str]]:
    """Return the commands that replace one entry by another. Extra fields of the existing entry are kept."""
    remove = ["claude", "mcp", "remove", "-s", "user", SERVER]
    if entry is None:
        return [remove] if existing is not None else []
    merged = {**(existing or {}), **entry}
    if existing and "env" in existing:
        merged["env"] = {**existing["env"], **entry.get("env", {})}
    if merged == existing:
        return []
    add = ["claude", "mcp", "add-json", "-s", "user", SERVER, json.dumps(merged, ensure_ascii=False)]
    return [add] if existing is None else [remove, add]


def find_program(todo: Sequence[Sequence[str]], machine: Machine) -> str:
    """Return the path of `claude`. If it is missing, the error lists the commands to run by hand."""
    program = shutil.which("claude", path=machine.environment.get("PATH"))
    if program is None:
        lines = "\n".join(map(shown, todo))
        raise ClientSetupError(
            "The command `claude` is not on the PATH, so nothing was changed.",
            hint=f"Where it is, run this yourself:\n{lines}",
        )
    return program


def run(program: str, todo: Sequence[Sequence[str]], machine: Machine) -> None:
    """Run `claude` commands."""
    for command in todo:
        try:
            done = subprocess.run(
                [program, *command[1:]],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=timeouts.CLAUDE_COMMAND,
                check=False,
                env=dict(machine.environment),
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _failed(command, f"could not be run ({type(error).__name__}).") from None
        if done.returncode:
            said = " ".join((done.stderr or done.stdout).split())
            raise _failed(command, f"failed: {without_secrets(said) or f'exit code {done.returncode}'}")


def _failed(command: Sequence[str], how: str) -> ClientSetupError:
    return ClientSetupError(f"`{' '.join(command[:2])}` {how}", hint=f"Run it yourself:\n{shown(command)}")


def shown(command: Sequence[str]) -> str:
    """Return a command as it may be printed: `...` stands for the credentials that an entry had already."""
    return shlex.join(map(without_secrets, command))


def copy_folder(machine: Machine) -> Path:
    """Return the folder for the copy of the plugin: next to the default settings file, whatever variables say."""
    return Path(locations.default_settings_file(machine.environment, machine.platform)).with_name(FOLDER)


def contents(launch: Launch) -> dict[Path, bytes]:
    """Return the files for the copy of the packaged plugin."""
    source = packaged(FOLDER)
    ours = (path for name in _OURS for path in (_all(source / name) if (source / name).is_dir() else [source / name]))
    found = {path.relative_to(source): path.read_bytes() for path in ours}
    manifest = {**json.loads(found[_MANIFEST]), "version": VERSION}
    servers = json.loads(found[_SERVERS])
    for server in servers["mcpServers"].values():
        command = [launch.command, *launch.arguments, *server["args"]]
        if hasattr(os, "fork"):
            command = [_SHELL, f"${{CLAUDE_PLUGIN_ROOT}}/{_START}", sys.executable, *command]
        server |= {"command": command[0], "args": command[1:]}
    hooks = json.loads(found[_HOOKS])
    for groups in hooks["hooks"].values():
        for each in (each for group in groups for each in group["hooks"] if each["type"] == "command"):
            each["command"], *each["args"] = hook_command()
    found |= {_MANIFEST: _dumped(manifest), _SERVERS: _dumped(servers), _HOOKS: _dumped(hooks)}
    about = {key: manifest[key] for key in ("name", "description", "version")}
    catalog = {
        "name": MARKETPLACE,
        "owner": manifest["author"],
        "description": "The learning memory that is installed on this machine.",
        "plugins": [{**about, "source": f"./{NAME}"}],
    }
    return {
        Path(".claude-plugin", "marketplace.json"): _dumped(catalog),
        **{Path(NAME) / path: content for path, content in found.items()},
    }


def is_written(folder: Path, wanted: Mapping[Path, bytes]) -> bool:
    """Whether a folder contains exactly these files."""
    if not folder.is_dir() or {path.relative_to(folder) for path in _all(folder)} != wanted.keys():
        return False
    return all((folder / path).read_bytes() == content for path, content in wanted.items())


def write_plugin(folder: Path, wanted: Mapping[Path, bytes]) -> None:
    """Write the copy, readable by this user only."""
    try:
        for path in _all(folder) if folder.is_dir() else ():
            if path.relative_to(folder) not in wanted:
                files.remove(path)
        for path, content in wanted.items():
            files.make_private_directory((folder / path).parent)
            files.replace(folder / path, content, mode=0o600)
    except OSError as error:
        raise ClientSetupError(f"{folder} cannot be written ({error.strerror}).") from None


def find_installed(machine: Machine) -> Installed | None:
    """Return the plugin installed in Claude Code, or None."""
    for identity, places in _read(machine, "plugins/installed_plugins.json", _Lists).plugins.items():
        if identity.partition("@")[0] == NAME and places:
            folder = Path(places[0].installPath)
            if identity == IDENTITY and (ours := find_marketplace(machine)):
                # A checkout is a marketplace with this name, too.
                checkout = ours / "plugins" / FOLDER
                folder = checkout if checkout.is_dir() else ours / NAME
            enabled = _read(machine, "settings.json", _Lists).enabledPlugins
            return Installed(identity, folder, enabled.get(identity) is not False)
    return None


def find_marketplace(machine: Machine) -> Path | None:
    """Return the folder of our marketplace in Claude Code, None if it is not registered."""
    known = _read(machine, "plugins/known_marketplaces.json", dict[str, _Listed])
    return Path(known[MARKETPLACE].installLocation) if MARKETPLACE in known else None


def _read(machine: Machine, name: str, kind: type[_Kind]) -> _Kind:
    """Return the decoded content of a file of Claude Code; defaults if the file does not exist."""
    path = (machine.folder("CLAUDE_CONFIG_DIR") or machine.home / ".claude") / name
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return kind()
    except (OSError, ValueError) as error:
        raise ClientSetupError(
            f"Claude Code's list of plugins, {path}, cannot be read ({type(error).__name__})."
        ) from None


def flaw_of(installed: Installed, machine: Machine, launch: Launch) -> str:
    """Return the reason why the plugin does not work properly, as the end of a sentence; empty if it works."""
    if not installed.folder.is_dir():
        return f"its folder {installed.folder} is gone"
    if not installed.is_enabled:
        return "it is disabled"
    copy = copy_folder(machine)
    is_copy = installed.identity == IDENTITY and installed.folder.name == NAME
    if is_copy and not (installed.folder == copy / NAME and is_written(copy, contents(launch))):
        return f"{installed.folder} is a copy of another version or installation"
    return ""


def entry_of(installed: Installed) -> dict[str, Any]:
    """Return the server entry of the plugin with the command that Claude Code runs."""
    try:
        servers = json.loads((installed.folder / _SERVERS).read_bytes())["mcpServers"]
        entry: dict[str, Any] = next(iter(servers.values()))
        if entry.get("command") == _SHELL:
            _script, _interpreter, command, *arguments = entry["args"]
            return {**entry, "command": command, "args": arguments}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StopIteration):
        return {}  # The file was changed; starting the entry will show the error
    return entry


def adding(machine: Machine) -> list[list[str]]:
    """Return the commands that install the plugin, given the present state of Claude Code."""
    installed, folder = find_installed(machine), copy_folder(machine)
    is_ours = installed is not None and installed.identity == IDENTITY
    todo = [] if is_ours else removing(machine)
    if not is_ours or find_marketplace(machine) != folder:
        todo.append(["claude", "plugin", "marketplace", "add", str(folder)])
    if not is_ours:
        todo.append(["claude", "plugin", "install", "-s", "user", IDENTITY])
    elif installed and not installed.is_enabled:
        todo.append(["claude", "plugin", "enable", "-s", "user", IDENTITY])
    return todo


def removing(machine: Machine) -> list[list[str]]:
    """Return the commands that uninstall the plugin and remove our marketplace, as far as they are installed."""
    todo = []
    if installed := find_installed(machine):
        todo.append(["claude", "plugin", "uninstall", "-s", "user", installed.identity])
    if find_marketplace(machine):
        todo.append(["claude", "plugin", "marketplace", "remove", MARKETPLACE])
    return todo


def _all(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _dumped(content: object) -> bytes:
    return json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n"
