"""Other stores of this user on this machine: what a snap, a Flatpak or another shell has in a folder of its own."""

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from glob import escape, glob
from pathlib import Path
from shlex import quote
from typing import Final

from learning_memory_server.system import locations
from learning_memory_server.system.locations import APPLICATION

_SANDBOXES: Final = ("snap/*/*/.local/share", ".var/app/*/data")  # Below the home: what XDG_DATA_HOME is in each


def other_stores(storage: Path, journal: Path, environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the folders in which there is a journal with records, other than the one in use."""
    home = locations.user_home()
    without = {name: value for name, value in environment.items() if name != "XDG_DATA_HOME"}
    places = [locations.data_folder(without)]
    if (named := environment.get("XDG_DATA_HOME", "")).startswith("/"):
        places.append(os.path.join(named, APPLICATION))
    for each in _SANDBOXES:
        places += sorted(glob(os.path.join(escape(home), each, APPLICATION)))
    ours = {os.path.realpath(storage), os.path.realpath(journal.parent)}
    found = [Path(place) for place in dict.fromkeys(map(os.path.realpath, places)) if place not in ours]
    return [place for place in found if _written_at(place)]


def describe_other(store: Path) -> str:
    """Return a sentence about another store, and the commands that take its records over."""
    last = f"{datetime.fromtimestamp(_written_at(store), UTC):%Y-%m-%d}"
    return (
        f"There is a second store in {store}, last written on {last}, which is not read here. To take it over, run: "
        f"LEARNING_MEMORY_STORAGE_PATH={quote(str(store))} learning-memory-server backup ~/second.tar.gz && "
        "learning-memory-server import ~/second.tar.gz --own"
    )


def _written_at(store: Path) -> float:
    """Return when a record was last written to a store; 0 if it has none, or cannot be read."""
    latest = 0.0
    for pattern in ("journal/*.jsonl", "journal/*/*.jsonl", "journal/open/*.json"):
        for path in glob(os.path.join(escape(str(store)), pattern)):
            with suppress(OSError):
                found = os.stat(path)
                latest = max(latest, found.st_mtime if found.st_size else 0.0)
    return latest
