"""The differences between clients, as data, and this server's entry in a client's file.

Sources: the clients' documentation and, for Codex and Gemini CLI, code, of November 2026. Tried with Claude Code
2.1.197, Codex 0.169.0, Gemini CLI 0.61.0, Copilot CLI 1.0.102 and opencode 1.18.33.
"""

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Final, Protocol

import typer

from learning_memory_server.cli.clients import json_text, toml_text
from learning_memory_server.errors import did_you_mean
from learning_memory_server.server.settings import Settings, is_secret
from learning_memory_server.system.ipc.jsonrpc import is_unicode
from learning_memory_server.system.locations import is_of_sandbox
from learning_memory_server.system.paths import APPLICATION, PREFIX, config_file

SERVER: Final = "learning-memory"  # The name of this server in clients. Gemini CLI does not allow underscores in it.
_SDK_PASSES: Final = frozenset({"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"})
"""The variables that the TypeScript SDK's stdio client passes to servers by default."""
_CODEX_PASSES: Final = _SDK_PASSES | {"__CF_USER_TEXT_ENCODING", "LANG", "LC_ALL", "TMPDIR", "TZ"}
_WINDOWS_NEEDS: Final = frozenset(
    "APPDATA HOMEDRIVE HOMEPATH LOCALAPPDATA PATH PATHEXT SYSTEMDRIVE SYSTEMROOT TEMP USERNAME USERPROFILE".split()
)
"""The variables that every client passes on Windows."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The platform (as in `sys.platform`) and the user for which paths are resolved."""

    platform: str
    home: Path
    environment: Mapping[str, str]

    def folder(self, variable: str) -> Path | None:
        """Return the folder in a variable, None if it is unset or relative."""
        named = Path(self.environment.get(variable, ""))
        return named if named.is_absolute() else None


def this_machine() -> Machine:
    """Return the machine and user of this process."""
    return Machine(sys.platform, Path.home(), os.environ)


def application_data(machine: Machine) -> Path:
    """Return the folder of a user's settings for desktop programs, as defined by Electron."""
    if machine.platform == "win32":
        return machine.folder("APPDATA") or machine.home / "AppData" / "Roaming"
    if machine.platform == "darwin":
        return machine.home / "Library" / "Application Support"
    return machine.folder("XDG_CONFIG_HOME") or machine.home / ".config"


class Syntax(Protocol):
    """Parses and edits the text of a file. Each function raises ValueError if it cannot."""

    def parse(self, text: str) -> dict[str, Any]:
        """Return the content; an empty dict for an empty text."""

    def put(self, text: str, path: tuple[str, ...], values: Mapping[str, Any]) -> str:
        """Return the text with values merged into the table at a path."""

    def drop(self, text: str, path: tuple[str, ...]) -> str:
        """Return the text with the table at a path removed."""


@dataclass(frozen=True, slots=True)
class Client:
    """A client.

    Args:
        name: Its name on our command line.
        title: Its name in a sentence.
        locate: Returns its configuration file of servers for all projects.
        section: The key of the servers in that file.
        program: Its command, if different from its name. If it or the file's folder exists, the client is installed.
        afterwards: The user's action that makes it read its file again.
        syntax: Edits its file.
        fixed: Fields of the server's entry other than `command`, `args` and `env`.
        passes: The variables that it passes to servers from its own environment, except on Windows; None for all.
        own_command: Whether its own command changes its servers, such as `claude mcp`.
        is_joined: Whether an entry's `command` includes the arguments, and its variables are in `environment`.
        hooks: Its file of hooks, next to `locate`, which belongs to this server as a whole; empty if there is none.
    """

    name: str
    title: str
    locate: Callable[[Machine], Path]
    section: str = "mcpServers"
    program: str = ""
    afterwards: str = "New sessions of {} have it."
    syntax: Syntax = json_text
    fixed: Mapping[str, Any] = field(default_factory=dict)
    passes: frozenset[str] | None = None
    own_command: bool = False
    is_joined: bool = False
    hooks: str = ""

    @property
    def path(self) -> tuple[str, str]:
        """The keys of this server's entry."""
        return self.section, SERVER

    def passed(self, machine: Machine) -> dict[str, str]:
        """Return the variables that a server gets from this client, not counting its entry's own."""
        if self.passes is None:
            return dict(machine.environment)
        names = _WINDOWS_NEEDS if machine.platform == "win32" else self.passes
        return {name: value for name, value in machine.environment.items() if name in names}


def _opencode_file(machine: Machine) -> Path:
    folder = (machine.folder("XDG_CONFIG_HOME") or machine.home / ".config") / "opencode"
    with_comments = folder / "opencode.jsonc"
    return with_comments if with_comments.exists() else folder / "opencode.json"


CLIENTS: Final[Mapping[str, Client]] = {
    client.name: client
    for client in (
        Client(
            "claude-code",
            "Claude Code",
            lambda machine: (machine.folder("CLAUDE_CONFIG_DIR") or machine.home) / ".claude.json",
            program="claude",
            fixed={"type": "stdio"},
            own_command=True,
        ),
        Client(
            "cursor",
            "Cursor",
            lambda machine: machine.home / ".cursor" / "mcp.json",
            afterwards="Restart Cursor.",
            passes=_SDK_PASSES,
        ),
        Client(
            "vscode",
            "VS Code",
            lambda machine: application_data(machine) / "Code" / "User" / "mcp.json",
            section="servers",
            program="code",
            afterwards="VS Code asks whether to trust the server when it first starts it.",
            fixed={"type": "stdio"},
        ),
        Client(
            "codex",
            "Codex",
            lambda machine: (machine.folder("CODEX_HOME") or machine.home / ".codex") / "config.toml",
            section="mcp_servers",
            syntax=toml_text,
            passes=_CODEX_PASSES,
        ),
        Client(
            "gemini",
            "Gemini CLI",
            lambda machine: (machine.folder("GEMINI_CLI_HOME") or machine.home) / ".gemini" / "settings.json",
            afterwards="New sessions of Gemini CLI have it, in folders that it trusts.",
        ),
        Client(
            "copilot",
            "Copilot CLI",
            lambda machine: (machine.folder("COPILOT_HOME") or machine.home / ".copilot") / "mcp-config.json",
            fixed={"type": "local", "tools": ["*"]},
            hooks="hooks/learning-memory.json",
        ),
        Client(
            "opencode",
            "opencode",
            _opencode_file,
            section="mcp",
            fixed={"type": "local"},
            is_joined=True,
            hooks="plugins/learning-memory.js",
        ),
        Client(
            "claude-desktop",
            "Claude Desktop",
            lambda machine: application_data(machine) / "Claude" / "claude_desktop_config.json",
            afterwards="Quit Claude Desktop and start it again; closing its window is not enough.",
            passes=_SDK_PASSES,
        ),
    )
}
"""The clients, by name."""


def client_names(incomplete: str) -> list[str]:
    """Return the client names that begin with a text."""
    return [name for name in CLIENTS if name.startswith(incomplete)]


def client_called(text: str) -> Client:
    """Return the client with the name that a person typed."""
    if text not in CLIENTS:
        known = f"there is no client {text!r}; there are {', '.join(CLIENTS)}."
        raise typer.BadParameter(f"{known}{did_you_mean(text, CLIENTS)}")
    return CLIENTS[text]


_UV_CACHE: Final = ("archive-v0", "environments-v2", "builds-v0")  # Folders of `uvx` and `uv run --with`
_FOLDERS: Final = ("XDG_CONFIG_HOME", "XDG_DATA_HOME")  # Variables for the folders of settings and data on Linux

_OUR_NAMES: Final = frozenset({APPLICATION, "learning_memory_server"})
_SCRIPT: Final = f"{APPLICATION}.exe" if sys.platform == "win32" else APPLICATION


@dataclass(frozen=True, slots=True)
class Launch:
    """The command with which a client starts the server.

    Attributes:
        command: An absolute path. Some launchers would download a bare name from a package index.
        arguments: The arguments.
        caution: A warning that the installation may be deleted; empty if none.
    """

    command: str
    arguments: tuple[str, ...] = ()
    caution: str | None = None


@dataclass(frozen=True, slots=True)
class Variables:
    """The settings in this process's environment that a client's sessions would not get.

    Attributes:
        written: For the entry's `env`, with absolute paths.
        shared: For `config.toml`, by key and with TOML types, including secrets.
        omitted: A sentence for each setting that is not written to the client.
    """

    written: dict[str, str]
    shared: dict[str, Any]
    omitted: tuple[str, ...]


def find_launch(
    executable: Path = Path(sys.executable),
    installed: Sequence[Path] | None = None,
    *,
    has_hub: bool = hasattr(os, "fork"),
) -> Launch:
    """Return this installation's command: the console script next to the interpreter, or in the package's record."""
    arguments = () if has_hub else ("--direct",)
    scripts = [executable.parent / _SCRIPT, *(_recorded() if installed is None else installed)]
    script = next((path for path in scripts if path.is_file()), None)
    if script is None:
        return Launch(str(executable), ("-m", "learning_memory_server", *arguments))
    caution = (
        "This copy runs from uv's cache, as with uvx, and `uv cache clean` deletes it. To keep it, run `uv tool "
        "install` with the same source, and `setup` again."
    )
    is_cached = any(part in _UV_CACHE for part in script.parts)
    return Launch(str(script), arguments, caution if is_cached else None)


def _recorded() -> list[Path]:
    try:
        files = metadata.distribution(APPLICATION).files or []
    except metadata.PackageNotFoundError:
        return []
    return [Path(os.path.normpath(str(file.locate()))) for file in files if file.name == _SCRIPT]


def new_entry(client: Client, launch: Launch, variables: Mapping[str, str]) -> dict[str, Any]:
    """Return the entry of this server for a client's file."""
    if client.is_joined:
        joined = {**client.fixed, "command": [launch.command, *launch.arguments]}
        return {**joined, "environment": dict(variables)} if variables else joined
    entry: dict[str, Any] = {**client.fixed, "command": launch.command, "args": list(launch.arguments)}
    return {**entry, "env": dict(variables)} if variables else entry


def as_others_have(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry of any client with separate `command`, `args` and `env`."""
    command = entry.get("command")
    if not isinstance(command, list):
        return dict(entry)
    return {**entry, "command": next(iter(command), None), "args": command[1:], "env": entry.get("environment", {})}


def is_of_this_server(entry: Mapping[str, Any]) -> bool:
    """Whether an entry starts this server: by its command, through a launcher such as uvx, or as a module."""
    entry = as_others_have(entry)
    words = [entry.get("command"), *(entry.get("args") or ())]
    return any(
        isinstance(word, str) and re.split(r"[\\/]", word)[-1].removesuffix(".exe") in _OUR_NAMES for word in words
    )


def find_variables(client: Client, machine: Machine, settings: Settings, *, to_client: bool = True) -> Variables:
    """Return the settings in the environment that the client's sessions need. Only the location of the data is written.

    A temporary folder, such as the one of `demo --keep`, is never written.
    """
    written: dict[str, str] = {}
    shared: dict[str, Any] = {}
    omitted, temporary = list[str](), list[str]()
    for name, raw in sorted(machine.environment.items()):
        key = name.removeprefix(PREFIX).lower()
        if name == f"{PREFIX}CONFIG" and raw:
            written[name] = str(config_file(machine.environment))
        if not raw or not name.startswith(PREFIX) or key not in Settings.model_fields:
            continue
        value = getattr(settings, key)
        if key == "project":
            omitted.append(
                f"{name} is not written: every project would get its name. Set it in the client, per project."
            )
            continue
        if isinstance(value, Path) and value.resolve().is_relative_to(Path(gettempdir()).resolve()):
            temporary.append(f"{name} is not written: {value} is in a folder for temporary files.")
            continue
        if not is_unicode(str(value)):
            temporary.append(
                f"{name} is not written: a client's file holds UTF-8 only. Name the folder by a link in ASCII."
            )
            continue
        shared[key] = _plain(value)
        if is_secret(key, raw):
            omitted.append(
                f"{name} is not written to a client's file, because it is secret. With `--settings file`, all "
                "settings go into config.toml instead."
            )
        elif to_client:
            written[name] = str(value) if isinstance(value, (str, Path)) else raw
    if client.passes is not None and machine.platform == "linux":
        written |= {
            name: str(folder)
            for name in _FOLDERS
            if name not in client.passes and (folder := machine.folder(name)) and not is_of_sandbox(str(folder))
        }
    return Variables(written, shared, (*(omitted if to_client else ()), *temporary))


def _plain(value: object) -> object:
    """Return a setting's value as a TOML type."""
    if hasattr(value, "get_secret_value"):
        return value.get_secret_value()
    if isinstance(value, Path):
        return str(value)
    return list(value) if isinstance(value, tuple) else value
