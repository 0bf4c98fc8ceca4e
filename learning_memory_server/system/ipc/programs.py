"""The choice of the program for the hub, where installations of several versions share data.

Programs are ranked by the newest journal format that they read, then by version. A hub whose own files have changed
gives way. Two folders of the same rank have no order: the running hub stays. The storage folder records the last
program. Importing this takes a few milliseconds.
"""

from __future__ import annotations

import json
import os
import sys

import learning_memory_server
from learning_memory_server.system import locations
from learning_memory_server.version import JOURNAL_FORMAT, VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any, Final

    Program = Mapping[str, Any]  # What `this_program` returns

RECORD: Final = "hub.json"  # The record's file, in the storage folder
_PACKAGE: Final = __name__.partition(".")[0]


def this_program() -> dict[str, Any]:
    """Return what this process runs, how to start it, and a fingerprint of the sources that are on the disk now."""
    sources = []
    # os.walk is three times as fast as Path.rglob.
    package = os.path.dirname(learning_memory_server.__file__)
    for folder, folders, files in os.walk(package):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in files:
            if name.endswith(".py"):
                state = os.stat(os.path.join(folder, name))
                sources.append(f"{folder[len(package) :]}/{name} {state.st_size} {state.st_mtime_ns}")
    return {
        "version": VERSION,
        "journal": JOURNAL_FORMAT,
        "fingerprint": locations.digest("\n".join(sorted(sources))),
        "executable": sys.executable,
        "folder": os.path.dirname(package),
    }


def outranks(this: Program, other: Program) -> bool:
    """Return whether a program reads a newer format of the journal than another, or the same and is a later version."""
    return _rank(this) > _rank(other)


def replaces(this: Program, hub: Program) -> bool:
    """Return whether the hub, which is this process, gives way to another program; both as they were at their start."""
    if this["fingerprint"] == hub["fingerprint"]:
        return False
    if this["folder"] == hub["folder"]:
        return bool(this["journal"] >= hub["journal"]) and this_program()["fingerprint"] != hub["fingerprint"]
    return outranks(this, hub)


def to_start(storage: Path) -> list[Program]:
    """Return the programs that can be started as the hub, the one to try first at the beginning."""
    own = this_program()
    found: dict[str, Program] = {own["folder"]: own}
    for program in _recorded(storage):
        # In the same folder, an upgrade or downgrade has replaced what was recorded.
        if (
            program["folder"] not in found
            and os.access(program["executable"], os.X_OK)
            and os.path.isdir(os.path.join(program["folder"], _PACKAGE))
        ):
            found[program["folder"]] = program
    return sorted(found.values(), key=_rank, reverse=True)


def record(storage: Path, program: Program, successor: Program | None = None) -> None:
    """Record the program that has opened the journal, and the one that it gives way to."""
    from learning_memory_server.system import files

    files.replace(storage / RECORD, json.dumps({"program": program, "successor": successor}).encode())


def _recorded(storage: Path) -> list[Program]:
    try:
        # A pipe in its place must not keep the front waiting
        with os.fdopen(os.open(storage / RECORD, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            state = os.fstat(file.fileno())
            written = json.loads(file.read())
        found = [each for each in (written["successor"], written["program"]) if each]
        for program in found:
            _rank(program)
            os.fspath(program["executable"]), os.fspath(program["folder"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
    # What another user could have written is not run.
    return found if state.st_uid == os.geteuid() and not state.st_mode & 0o022 else []


def _rank(program: Program) -> tuple[int, tuple[int, ...]]:
    parts = str(program["version"]).split(".")
    return int(program["journal"]), tuple(int(part) for part in parts if part.isdigit())
