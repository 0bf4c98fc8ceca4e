"""A command's connection to the hub that runs, if one does. Nothing here starts one."""

from __future__ import annotations

import json
import socket
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server import rendezvous
from learning_memory_server.errors import (
    DeadlineExceededError,
    EmbeddingUnavailableError,
    InsufficientDataError,
    InvalidInputError,
    LearningMemoryError,
    NoActiveGhapError,
    NotFoundError,
    StorageUnavailableError,
)
from learning_memory_server.journal.lock import holder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from learning_memory_server.server.operations.report import Report

HUNG_AFTER: Final = 8.0
"""Seconds without a sign of life after which a command gives up on the hub."""
_END_SECONDS: Final = 30.0
"""How long a hub may take to end: its calls have ten seconds, and then the index is flushed."""
_LOOK_SECONDS: Final = 0.05
_ERRORS: Final = {
    kind.wire_type: kind
    for kind in (
        LearningMemoryError,
        InvalidInputError,
        NotFoundError,
        NoActiveGhapError,
        InsufficientDataError,
        StorageUnavailableError,
        EmbeddingUnavailableError,
        DeadlineExceededError,
    )
}


def find_hub(place: rendezvous.Place, *, hung_after: float = HUNG_AFTER) -> HubClient | None:
    """Return the hub that holds the data, or None if none listens.

    Args:
        place: The data.
        hung_after: Seconds without a sign of life after which a question to the hub fails.

    Raises:
        DeadlineExceededError: If it has not accepted connections for long.
    """
    for path in place.sockets():
        connection = _connect(path, place, hung_after)
        if connection is not None:
            return HubClient(place, path, connection, hung_after)
    return None


class HubClient:
    """Asks the hub, one connection for each question.

    Attributes:
        place: The data that the hub is expected to hold.

    Args:
        place: The same.
        path: The hub's socket.
        connection: A connection that was made already, for the first question.
        hung_after: Seconds without a sign of life after which a question fails.
    """

    def __init__(
        self, place: rendezvous.Place, path: Path, connection: socket.socket, hung_after: float
    ) -> None:
        self.place = place
        self._path = path
        self._first: socket.socket | None = connection
        self._hung_after = hung_after
        self._build = rendezvous.build()

    def control(self, command: str, report: Report | None = None, **fields: object) -> dict[str, Any]:
        """Give the hub a command and return its reply. It may take its time.

        Args:
            command: `status`, `stop`, or an operation.
            report: Is told how far the hub is.
            fields: What the operation takes.

        Raises:
            DeadlineExceededError: If the hub gives no sign of life for long.
            StorageUnavailableError: If it ends meanwhile.
            LearningMemoryError: If it refuses; the error is the hub's own.
        """
        with self._connected() as connection:
            connection.settimeout(self._hung_after)
            hello = {**self._hello(), "command": command, "fields": fields}
            connection.sendall(json.dumps(hello).encode() + b"\n")
            with connection.makefile("rb") as lines:
                # Each sign of life is a line, so a wait for one is never longer than a hub may be silent.
                while (line := lines.readline()).startswith(rendezvous.PRIVATE):
                    progress = rendezvous.read_progress(line)
                    if progress and report:
                        report(progress["doing"], progress["done"], progress["total"])
            if not line:
                raise EOFError
            reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise _error(reply["error"])
        return reply

    async def operate(self, report: Report, name: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Have the hub run an operation; see `control`."""
        return self.control(name, report, **fields)

    def is_older(self, status: Mapping[str, Any]) -> bool:
        """Tell whether the hub that said this of itself runs older code than this command."""
        build = status.get("build")
        return build is None or rendezvous.is_newer(self._build, build)

    def end(self) -> int:
        """Ask the hub to end, wait until it has let go of the data, and return which process it was.

        Raises:
            DeadlineExceededError: If it hangs, or does not end in time.
        """
        began = time.monotonic()
        pid: int = self.control("stop")["pid"]
        while (holder(self.place.journal) or {}).get("pid") == pid:
            if time.monotonic() - began > _END_SECONDS:
                raise DeadlineExceededError(
                    f"The hub (process {pid}) was asked to end {_END_SECONDS:.0f} seconds ago and still runs.",
                    hint=f"If it does not end by itself: kill -KILL {pid}; what it has acknowledged is kept.",
                )
            time.sleep(_LOOK_SECONDS)
        return pid

    def _hello(self) -> dict[str, Any]:
        return {
            "hello": rendezvous.PROTOCOL,
            "role": "control",
            "build": self._build,
            "journal": str(self.place.journal),
            "storage": str(self.place.storage),
        }

    @contextmanager
    def _connected(self) -> Iterator[socket.socket]:
        connection, self._first = self._first, None
        connection = connection or _connect(self._path, self.place, self._hung_after)
        if connection is None:
            raise _ended()
        try:
            with connection:
                yield connection
        except TimeoutError:
            raise _hangs(self.place, self._hung_after) from None
        except (OSError, EOFError):
            raise _ended() from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            # Another version may say other things.
            raise LearningMemoryError(
                f"The memory hub's answer was not understood ({error!r}).",
                hint="Run `learning-memory-server hub stop` to have the present version started.",
            ) from error


def _connect(path: Path, place: rendezvous.Place, hung_after: float) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(hung_after)
    try:
        connection.connect(str(path))
    except (BlockingIOError, TimeoutError):
        # Its queue of connections is full.
        connection.close()
        raise _hangs(place, hung_after) from None
    except OSError:
        connection.close()
        return None
    return connection


def _error(body: Mapping[str, Any]) -> LearningMemoryError:
    kind = _ERRORS.get(body["type"], LearningMemoryError)
    return kind(body["message"], hint=body.get("hint"))


def _ended() -> LearningMemoryError:
    return StorageUnavailableError(
        "The memory hub has ended before it answered.",
        hint="Run the command again. What it has acknowledged is kept.",
    )


def _hangs(place: rendezvous.Place, hung_after: float) -> LearningMemoryError:
    pid = (holder(place.journal) or {}).get("pid")
    return DeadlineExceededError(
        f"The memory hub (process {pid}) has not given a sign of life for {hung_after:g} seconds.",
        hint="Try again. If it stays so, end it "
        + (f"(kill -KILL {pid})" if pid else "")
        + "; what it has acknowledged is kept, and the next session starts another.",
    )
