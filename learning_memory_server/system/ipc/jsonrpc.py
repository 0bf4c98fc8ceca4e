"""JSON-RPC messages of clients: valid ones, and the answers to others, under their id or null."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from learning_memory_server.errors import LearningMemoryError
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INTERNAL_ERROR: Final = -32603

APPS: Final = "io.modelcontextprotocol/ui"  # MCP Apps: the extension of clients that render pages in a chat
OWN_ID: Final = "learning-memory-front/"  # The beginning of the ids of a front's own requests. It drops their answers.

NOTHING_SAID: Final = "{}"  # The answer to a hook without a message: Claude Code passes empty texts on


class Frame:
    """A parsed line. Its `message` is empty unless it is valid; `flaw` is the reason in a sentence, with its `code`.

    The identity is None if an answer cannot have it. Flaws of notifications and responses are never answered.
    """

    __slots__ = ("code", "flaw", "identity", "is_answered", "message", "method", "parameters")

    def __init__(
        self,
        identity: str | int | None,
        method: str,
        parameters: object = None,
        *,
        flaw: str | None = None,
        code: int = INVALID_REQUEST,
        is_answered: bool = True,
    ) -> None:
        self.identity = identity
        self.method = method
        self.parameters = parameters
        self.message: dict[str, Any] = {}
        self.flaw = flaw
        self.code = code
        self.is_answered = is_answered

    @property
    def is_request(self) -> bool:
        """Whether it is valid and must be answered by a server."""
        return self.flaw is None and self.identity is not None and bool(self.method)

    @property
    def is_hook(self) -> bool:
        """Whether a client's hook asks, and not its model."""
        asked = self.parameters if self.is_request and self.method == "tools/call" else None
        return isinstance(asked, dict) and asked.get("name") == "hook"


class LineSplitter:
    """Splits a stream into lines. A line of more than `limit` bytes is not kept: None stands for it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._is_too_long = False

    def feed(self, data: bytes) -> list[bytes | None]:
        """Add data from the stream and return the lines that are now complete."""
        lines: list[bytes | None] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._add(data[start : end + 1])
            if self._is_too_long:
                lines.append(None)
            elif self._rest.strip():
                lines.append(bytes(self._rest))
            self._rest.clear()
            self._is_too_long = False
            start = end + 1
        self._add(data[start:])
        return lines

    def _add(self, data: bytes) -> None:
        self._rest += data
        if self._is_too_long or len(self._rest) > self._limit:
            self._is_too_long = True
            self._rest.clear()


def read(line: bytes) -> Frame:
    """Return what a line is."""
    try:
        message = json.loads(line.decode())
    except UnicodeDecodeError:
        return Frame(None, "", flaw="The message is not valid UTF-8.", code=PARSE_ERROR)
    except (ValueError, RecursionError):
        # Python also refuses numbers of thousands of digits, and arrays that are nested a thousand deep.
        return Frame(None, "", flaw="The message is not valid JSON.", code=PARSE_ERROR)
    if not isinstance(message, dict):
        return Frame(None, "", flaw="The message is not a JSON object; batches are not supported.")
    return _checked(message)


def whole_letters(line: bytes) -> bytes:
    """Return a hook's call with `?` for half an emoji, because a hook cannot repeat a call; other lines unchanged."""
    frame = read(line)
    return json.dumps(frame.message, ensure_ascii=False).encode("utf-8", "replace") if frame.is_hook else line


def too_long(limit: int) -> Frame:
    """Return what stands for a line that was not kept."""
    return Frame(None, "", flaw=f"The message is longer than {limit} bytes and was not processed. Split it.")


def failure(identity: str | int | None, method: str, error: LearningMemoryError, code: int = INTERNAL_ERROR) -> bytes:
    """Return the line that answers a request with an error: a tool call with a tool's failure."""
    outcome: dict[str, Any]
    if method == "tools/call" and identity is not None:
        text = json.dumps({"error": error.to_body()}, separators=(",", ":"))
        outcome = {"result": _result(text, is_error=True)}
    else:
        outcome = {"error": {"code": code, "message": error.sentence}}
    # As ASCII: an id may contain half a surrogate pair, which UTF-8 has no bytes for.
    return json.dumps({"jsonrpc": "2.0", "id": identity, **outcome}).encode() + b"\n"


def empty_reply(identity: str | int | None) -> bytes:
    """Return the line that answers a hook's call with nothing."""
    result = _result(NOTHING_SAID, is_error=False)
    return json.dumps({"jsonrpc": "2.0", "id": identity, "result": result}).encode() + b"\n"


def _result(text: str, *, is_error: bool) -> dict[str, Any]:
    # The protocol of 2026-07-28 requires `resultType`; earlier ones let results have what they do not know.
    return {"content": [{"type": "text", "text": text}], "isError": is_error, "resultType": "complete"}


def _checked(message: dict[str, Any]) -> Frame:
    identity, method, parameters = _identity(message.get("id")), message.get("method"), message.get("params")
    if "method" not in message and ("result" in message or "error" in message):
        return Frame(identity, "", is_answered=False)
    flaw = None
    if not isinstance(method, str) or not method:
        flaw = "`method` must be a string that is not empty."
    elif message.get("jsonrpc") != "2.0":
        flaw = '`jsonrpc` must be "2.0".'
    elif "id" in message and identity is None:
        flaw = "`id` must be a string or an integer."
    elif isinstance(identity, str) and not is_unicode(identity):
        flaw = "`id` contains half a surrogate pair, such as a truncated emoji."
    elif parameters is not None and not isinstance(parameters, dict):
        flaw = "`params` must be an object."
    elif "error" in message:
        flaw = "The message has both `method` and `error`."
    if flaw:
        flaw = f"The message is not a JSON-RPC request: {flaw}"
    is_answered = "id" in message or "method" not in message
    name = method if isinstance(method, str) else ""
    frame = Frame(identity, name, parameters, flaw=flaw, is_answered=is_answered)
    frame.message = {} if flaw else message
    return frame


def _identity(value: object) -> str | int | None:
    # In Python, true is an integer.
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


def is_unicode(text: str) -> bool:
    """Return whether a text contains no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
