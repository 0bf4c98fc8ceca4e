"""`hub status`, `hub stop` and `hub logs`: looking at the hub from outside, and ending it."""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Final

import typer

from learning_memory_server.cli.access import holder_of, open_settings
from learning_memory_server.cli.connection import running_hub
from learning_memory_server.cli.status import describe_model, describe_pending, describe_seconds, in_the_way
from learning_memory_server.cli.terminal import counted, megabytes, output, show_facts, working
from learning_memory_server.journal.files import is_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from learning_memory_server.server.config import Settings

_LOG: Final = "hub.log"
_FOLLOW_SECONDS: Final = 0.25


def show_hub() -> None:
    """Print what the hub says about itself, or that there is none."""
    settings = open_settings()
    hub = running_hub()
    if hub is None:
        _show_none(settings)
        return
    status = hub.control("status")
    points = status["points"]
    if status["settings"] != hub.place.settings:
        note = "others than these; `learning-memory-server hub stop` ends it, and the next session starts it anew"
    else:
        note = "the present ones"
    show_facts(
        [
            ("process", str(status["pid"])),
            ("version", status["version"]),
            ("uptime", describe_seconds(status["uptime_seconds"])),
            ("sessions", f"{status['sessions']:,}"),
            ("model", describe_model(status)),
            ("index", "not open yet" if points is None else counted(sum(points.values()), "point")),
            *((f"  {name}", f"{count:,}") for name, count in (points or {}).items()),
            ("pending", describe_pending(status)),
            ("journal", f"{status['journal']} ({megabytes(status['journal_bytes'])})"),
            ("settings", note),
            ("runs on", status["executable"]),
            ("log", str(settings.storage_path / _LOG)),
        ]
    )


def stop_hub() -> None:
    """End the hub, and wait until it has let go of the data.

    Raises:
        DeadlineExceededError: If it hangs, or does not end in time.
    """
    settings = open_settings()
    hub = running_hub()
    if hub is None:
        _show_none(settings)
        return
    began = time.monotonic()
    with working("Waiting for the hub to finish its calls"):
        pid = hub.end()
    output().print(f"The hub (process {pid}) has ended, after {time.monotonic() - began:.1f} s.")


def show_logs(count: int, *, follow: bool) -> None:
    """Print the end of the hub's log.

    Args:
        count: How many lines.
        follow: Go on with every new line, until interrupted.
    """
    path = open_settings().storage_path / _LOG
    if not path.exists() and not follow:
        output().print(f"There is no log yet; the hub writes it to {path}.")
        return
    # What was set aside when it grew too large comes first.
    earlier = path.with_name(f"{_LOG}.1")
    position = path.stat().st_size if path.exists() else 0
    for line in deque(chain(_lines(earlier), _lines(path, end=position)), maxlen=count):
        typer.echo(_printable(line))
    if follow:
        try:
            for line in _new_lines(path, position):
                typer.echo(_printable(line))
        except KeyboardInterrupt:
            return


def _show_none(settings: Settings) -> None:
    who = holder_of(settings)
    if who and "socket" in who:
        output().print(f"A hub (process {who['pid']}) is starting or ending; try again in a moment.")
        return
    output().print(in_the_way(who) if who else "No hub runs; the next session starts one.")


def _lines(path: Path, *, end: int | None = None) -> Iterator[bytes]:
    """Return the lines of a file up to a byte; none if there is no file."""
    try:
        with path.open("rb") as file:
            for line in file:
                if end is not None and file.tell() > end:
                    return
                yield line
    except FileNotFoundError:
        return


def _new_lines(path: Path, position: int) -> Iterator[bytes]:
    """Return the lines after a byte as they come, also from a new file in the old one's place."""
    line = b""
    while True:
        with suppress(FileNotFoundError), path.open("rb") as file:
            file.seek(position)
            while True:
                # Asked before reading: what was written before the file was set aside is read, too.
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
    """Return a line of the log as it may be shown: libraries write there, too, and a terminal would obey them."""
    text = line.decode("utf-8", "replace").rstrip("\r\n").expandtabs()
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
