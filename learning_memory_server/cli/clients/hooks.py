"""Files of hooks that `setup` writes for clients: whole files of ours, which start this installation's interpreter.

The interpreter itself starts in half the time of an installed script, and needs no PATH.
"""

import json
import os
import shlex
import sys
from pathlib import Path

from learning_memory_server.cli.clients.catalog import Client, Machine
from learning_memory_server.cli.clients.change import Change, read
from learning_memory_server.hub.front import hook
from learning_memory_server.system.paths import APPLICATION


def packaged(name: str) -> Path:
    """Return the folder of what a client reads: in the package, or next to it in a checkout."""
    installed = Path(__file__).with_name("plugins")
    return (installed if installed.is_dir() else Path(__file__).parents[3] / "plugins") / name


def hook_command() -> list[str]:
    """Return the command `hook` of this installation."""
    return [sys.executable, "-I", "-S", hook.__file__]


def hooks_change(client: Client, machine: Machine, *, remove: bool = False) -> Change | None:
    """Return the change that writes a client's hooks, or removes them; None if `setup` writes none for it."""
    if not client.hooks or not hasattr(os, "fork"):
        return None
    path = client.locate(machine).parent / client.hooks
    text = (packaged(client.name) / path.name).read_text("utf-8")
    # A list of words in a program, and the line of a shell in JSON.
    text = text.replace(f'"{APPLICATION}", "hook"', json.dumps(hook_command())[1:-1])
    text = text.replace(f"{APPLICATION} hook", json.dumps(shlex.join(hook_command()))[1:-1])
    advice = f"Change {path} yourself, or make it writable and try again."
    return Change(path, read(path), None if remove else text.encode(), None, advice)
