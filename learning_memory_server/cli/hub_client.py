"""A command's connection to the hub that runs, if one does. Nothing here starts one."""

from __future__ import annotations

import json
import os
import socket
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server import rendezvous
from learning_memory_server.cli.conversation import Conversation
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

HUNG_AFTER: Final = 8.0
"""Seconds without a sign of life after which a command gives up on the hub."""
_VERSION: Final = "2025-11-25"
"""The protocol that `call_tool` speaks."""
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
        connection = _connected(path, place, hung_after)
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
        self._front = os.urandom(12).hex()
        self._build = rendezvous.build()

    def control(self, command: str, **fields: object) -> dict[str, Any]:
        """Give the hub a command and return its reply.

        Raises:
            DeadlineExceededError: If the hub gives no sign of life for long.
            StorageUnavailableError: If it ends meanwhile.
            LearningMemoryError: If it refuses; the error is the hub's own.
        """
        with self._conversation() as hub:
            hub.send({**self._hello("control"), "command": command, **fields})
            reply = hub.receive()
        if "error" in reply:
            raise _error(reply["error"])
        return reply

    def call_tool(self, name: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Call a tool as an agent would and return its structured reply. It may take its time.

        Raises:
            DeadlineExceededError: If the hub gives no sign of life for long.
            StorageUnavailableError: If it ends meanwhile, or refuses this session.
            LearningMemoryError: If the tool refuses; the error is the tool's own.
        """
        with self._conversation() as hub:
            hub.send(
                {
                    **self._hello("session"),
                    "settings": self.place.settings,
                    "project": self.place.project,
                    "directory": os.environ.get("CLAUDE_PROJECT_DIR") or str(Path.cwd()),
                    "session": self._front,
                    "front": self._front,
                }
            )
            if refused := hub.receive().get("refused"):
                raise StorageUnavailableError(f"The memory hub refused this command: {refused}.")
            hub.ask(
                1,
                "initialize",
                protocolVersion=_VERSION,
                capabilities={},
                clientInfo={"name": "learning-memory-server", "version": self._build["version"]},
            )
            hub.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
            result = hub.ask(2, "tools/call", name=name, arguments=dict(arguments))
        if result.get("isError"):
            raise _error(json.loads(result["content"][0]["text"])["error"])
        payload: dict[str, Any] = result["structuredContent"]
        return payload

    def _hello(self, role: str) -> dict[str, Any]:
        return {
            "hello": rendezvous.PROTOCOL,
            "role": role,
            "build": self._build,
            "journal": str(self.place.journal),
            "storage": str(self.place.storage),
        }

    @contextmanager
    def _conversation(self) -> Iterator[Conversation]:
        connection, self._first = self._first, None
        connection = connection or _connected(self._path, self.place, self._hung_after)
        if connection is None:
            raise _ended()
        try:
            with connection:
                yield Conversation(connection, self._hung_after)
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


def _connected(path: Path, place: rendezvous.Place, hung_after: float) -> socket.socket | None:
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
