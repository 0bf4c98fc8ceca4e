"""A stream as lines, of which those that are too long are not kept."""

from __future__ import annotations

from learning_memory_server.system.ipc import discovery, jsonrpc


class Overlong:
    """The ends of a line that was too long to keep."""

    __slots__ = ("head", "tail")

    def __init__(self, head: bytes, tail: bytes) -> None:
        self.head = head
        self.tail = tail


class LineSplitter:
    """Splits a stream into lines. Of a line of more than `limit` bytes, only the ends are kept."""

    def __init__(self, limit: int = discovery.FRAME_MAX) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._head: bytes | None = None

    def feed(self, data: bytes) -> list[bytes | Overlong]:
        """Add data from the stream and return the lines that are now complete."""
        lines: list[bytes | Overlong] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._add(data[start : end + 1])
            if self._head is not None:
                lines.append(Overlong(self._head, bytes(self._rest)))
            elif self._rest.strip():
                lines.append(bytes(self._rest))
            self._rest.clear()
            self._head = None
            start = end + 1
        self._add(data[start:])
        return lines

    def _add(self, data: bytes) -> None:
        self._rest += data
        if self._head is None and len(self._rest) > self._limit:
            self._head = bytes(self._rest[: jsonrpc.HEAD])
        if self._head is not None:
            del self._rest[: -jsonrpc.TAIL]
