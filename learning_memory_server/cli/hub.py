"""`hub status`, `hub stop` and `hub logs`."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.cli.access.connection import running_hub
from learning_memory_server.cli.access.describing import (
    describe_model,
    describe_pending,
    describe_seconds,
    in_the_way,
)
from learning_memory_server.cli.access.reading import holder_of, open_settings
from learning_memory_server.cli.access.stopping import stop_running_hub
from learning_memory_server.cli.terminal import (
    counted,
    output,
    readable_size,
    show_facts,
    show_json,
    working,
    write_line,
)
from learning_memory_server.journal.codec import lean
from learning_memory_server.system.files import is_at
from learning_memory_server.system.ipc.discovery import LOG

if TYPE_CHECKING:
    from learning_memory_server.cli.access.hub_client import HubClient
    from learning_memory_server.server.settings import Settings

_FOLLOW_SECONDS: Final = 0.25
_SHOWN: Final = (
    *("pid", "version", "uptime_seconds", "sessions", "model", "runtime", "points", "pending", "journal"),
    *("settings_current", "notice", "error"),
)
"""What JSON shows of a hub's state."""


def show_hub(*, as_json: bool) -> None:
    """Print the hub's state, or that none is running.

    Args:
        as_json: Print a `HubDocument`.
    """
    settings = open_settings()
    hub = running_hub()
    if as_json:
        show_json({"running": hub is not None, **(hub_facts(hub) if hub else {})})
        return
    if hub is None:
        _show_none(settings)
        return
    status = hub.control("status")
    points = status["points"]
    show_facts(
        [
            ("process", str(status["pid"])),
            ("version", status["version"]),
            ("uptime", describe_seconds(status["uptime_seconds"])),
            ("sessions", f"{status['sessions']:,}"),
            ("model", describe_model(status)),
            (
                "index",
                "not open, or its server does not answer"
                if points is None
                else counted(sum(points.values()), "point"),
            ),
            *((f"  {name}", f"{count:,}") for name, count in (points or {}).items()),
            ("pending", describe_pending(status)),
            ("journal", f"{status['journal']} ({readable_size(status['journal_bytes'])})"),
            ("settings", f"out of date. {notice}" if (notice := status.get("notice")) else "up to date"),
            ("runs on", status["executable"]),
            ("log", str(settings.storage_path / LOG)),
        ]
    )


def hub_facts(hub: HubClient) -> dict[str, Any]:
    """Return the state of a hub, as JSON shows it."""
    status = hub.control("status")
    facts = {
        **status,
        "uptime_seconds": round(status["uptime_seconds"]),
        "settings_current": status["settings"] == hub.place.settings,
    }
    return lean({name: facts.get(name) for name in _SHOWN})


def stop_hub() -> None:
    """Stop the hub and wait until it has released the data. One that does not answer is ended by a signal.

    Raises:
        DeadlineExceededError: If it does not end.
        StorageUnavailableError: If it cannot be made sure which process it is.
    """
    settings = open_settings()
    began = time.monotonic()
    with working("Waiting for the hub to finish its calls"):
        pid = stop_running_hub()
    if pid is None:
        _show_none(settings)
        return
    output().print(f"The hub (process {pid}) ended after {time.monotonic() - began:.1f} s.")


def show_logs(count: int, *, follow: bool) -> None:
    """Print the end of the hub's log.

    Args:
        count: How many lines.
        follow: Then print every new line, until interrupted.
    """
    path = open_settings().storage_path / LOG
    if not path.exists() and not follow:
        output().print(f"There is no log yet. The hub writes it to {path}.")
        return
    # A log that grows too large is renamed; its lines come first.
    earlier = path.with_name(f"{LOG}.1")
    position = path.stat().st_size if path.exists() else 0
    for line in deque(chain(_lines(earlier), _lines(path, end=position)), maxlen=count):
        write_line(_printable(line))
    if follow:
        for line in _new_lines(path, position):
            write_line(_printable(line))


def _show_none(settings: Settings) -> None:
    who = holder_of(settings)
    if who and "socket" in who:
        output().print(f"A hub (process {who['pid']}) is starting or ending; try again in a moment.")
        return
    output().print(in_the_way(who) if who else "No hub is running; the next session starts one.")


def _lines(path: Path, *, end: int | None = None) -> Iterator[bytes]:
    """Yield the lines of a file up to a byte offset; none if there is no file."""
    try:
        with path.open("rb") as file:
            for line in file:
                if end is not None and file.tell() > end:
                    return
                yield line
    except FileNotFoundError:
        return


def _new_lines(path: Path, position: int) -> Iterator[bytes]:
    """Yield lines after a byte offset as they are written, even when a new file replaces the log."""
    line = b""
    while True:
        with suppress(FileNotFoundError), path.open("rb") as file:
            file.seek(position)
            while True:
                # Checked before reading, so that lines written before the file was renamed are not missed.
                is_present = is_at(path, file.fileno())
                part = file.readline()
                line += part
                if line.endswith(b"\n"):
                    yield line
                    line = b""
                elif not part and not is_present:
                    break
                elif not part:
                    time.sleep(_FOLLOW_SECONDS)
        position = 0
        time.sleep(_FOLLOW_SECONDS)


def _printable(line: bytes) -> str:
    """Return a log line without control characters: libraries write there too, and a terminal would obey them."""
    text = line.decode("utf-8", "replace").rstrip("\r\n").expandtabs()
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
