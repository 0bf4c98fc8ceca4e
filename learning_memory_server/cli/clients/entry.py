"""What a client's entry of this server says: the command on this machine, and the settings that its sessions need."""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from learning_memory_server.cli.clients.catalog import Client, Machine
from learning_memory_server.server.settings import Settings, is_secret
from learning_memory_server.system.paths import APPLICATION, PREFIX, config_file

_UV_CACHE: Final = ("archive-v0", "environments-v2", "builds-v0")
"""Folders of uv's cache in which `uvx` and `uv run --with` build environments."""
_FOLDERS: Final = ("XDG_CONFIG_HOME", "XDG_DATA_HOME")
"""Variables that decide where settings and data are on Linux."""


_OUR_NAMES: Final = frozenset({APPLICATION, "learning_memory_server"})
_SCRIPT: Final = f"{APPLICATION}.exe" if sys.platform == "win32" else APPLICATION


@dataclass(frozen=True, slots=True)
class Launch:
    """How a client starts the server.

    Args:
        command: An absolute path. A name could be fetched from a package index by some launcher.
        arguments: The arguments.
        caution: What could end it, if anything.
    """

    command: str
    arguments: tuple[str, ...] = ()
    caution: str | None = None


@dataclass(frozen=True, slots=True)
class Variables:
    """The settings of this process that a client's sessions would not see.

    Args:
        written: For the entry's `env`, absolute where they are paths.
        shared: For `config.toml`, by key and with its types: what is in `written`, and secrets.
        omitted: A sentence for each setting that is not written to a client.
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
    """Return how to start this installation.

    The console script is next to the interpreter or, after `pip install --user`, in the installation's record.
    """
    arguments = () if has_hub else ("--direct",)
    scripts = [executable.parent / _SCRIPT, *(_recorded() if installed is None else installed)]
    script = next((path for path in scripts if path.is_file()), None)
    if script is None:
        return Launch(str(executable), ("-m", "learning_memory_server", *arguments))
    if any(part in _UV_CACHE for part in script.parts):
        return Launch(
            str(script),
            arguments,
            "This copy runs from uv's cache, as with uvx, and `uv cache clean` deletes it. To keep it, run `uv tool "
            "install` with the same source, and `setup` again.",
        )
    return Launch(str(script), arguments)


def _recorded() -> list[Path]:
    try:
        files = metadata.distribution(APPLICATION).files or []
    except metadata.PackageNotFoundError:
        return []
    return [Path(os.path.normpath(str(file.locate()))) for file in files if file.name == _SCRIPT]


def new_entry(client: Client, launch: Launch, variables: Mapping[str, str]) -> dict[str, Any]:
    """Return the entry of this server in a client's file."""
    entry: dict[str, Any] = {
        **client.fixed,
        "command": launch.command,
        "args": list(launch.arguments),
    }
    return {**entry, "env": dict(variables)} if variables else entry


def is_of_this_server(entry: Mapping[str, Any]) -> bool:
    """Return whether an entry starts this server, whoever wrote it.

    It may name the command, a launcher such as uvx, or the module.
    """
    words = [entry.get("command"), *(entry.get("args") or ())]
    return any(
        isinstance(word, str) and re.split(r"[\\/]", word)[-1].removesuffix(".exe") in _OUR_NAMES
        for word in words
    )


def find_variables(client: Client, machine: Machine, settings: Settings) -> Variables:
    """Return the settings in the environment that the client's sessions need."""
    written: dict[str, str] = {}
    shared: dict[str, Any] = {}
    omitted = []
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
        shared[key] = _plain(value)
        if is_secret(key, raw):
            omitted.append(
                f"{name} is not written to a client's file, because it is secret. With `--settings file`, all "
                "settings go into config.toml instead."
            )
        else:
            written[name] = str(value) if isinstance(value, (str, Path)) else raw
    if client.passes is not None and machine.platform == "linux":
        written |= {
            name: str(folder)
            for name in _FOLDERS
            if name not in client.passes and (folder := machine.folder(name))
        }
    return Variables(written, shared, tuple(omitted))


def _plain(value: object) -> object:
    """Return a setting's value as TOML has it."""
    if hasattr(value, "get_secret_value"):
        return value.get_secret_value()
    if isinstance(value, Path):
        return str(value)
    return list(value) if isinstance(value, tuple) else value
