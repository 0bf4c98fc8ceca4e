"""Messages that the SDK cannot read: it drops them, and the client would wait for ever for an answer."""

from __future__ import annotations

import json

from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCResponse

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.server.wire import JSON

_DIGITS_MAX = 19
"""Of a number; Python refuses to convert thousands of them."""


def refusal(line: str | bytes) -> SessionMessage | None:
    """Return the answer to a line that is no readable message, or None if nobody can wait for one.

    What can be read of it decides the form: a tool call gets a tool's failure, another request an error under its
    id, and what is no request at all an error under no id, as JSON-RPC asks. Notifications and answers get none.
    """
    try:
        message = json.loads(line, parse_int=lambda digits: int(digits) if len(digits) <= _DIGITS_MAX else 0)
    except (ValueError, RecursionError):
        return _error(None, PARSE_ERROR, "The message is no JSON that can be read.")
    if not isinstance(message, dict):
        return _error(None, INVALID_REQUEST, "The message is no JSON object; batches are not supported.")
    if "id" not in message or ("method" not in message and ("result" in message or "error" in message)):
        return None
    raw = message["id"]
    identity = raw if isinstance(raw, int | str) and not isinstance(raw, bool) else None
    error = InvalidInputError(
        "The message is no JSON-RPC request, or holds half of a surrogate pair (such as an emoji that was cut) or "
        f"a number of more than {_DIGITS_MAX} digits.",
    )
    if message.get("method") == "tools/call" and identity is not None:
        result = JSON.failure(error).model_dump(by_alias=True, mode="json", exclude_none=True)
        return SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=identity, result=result))
    return _error(identity, INVALID_REQUEST, error.message)


def _error(identity: int | str | None, code: int, text: str) -> SessionMessage:
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=identity, error=ErrorData(code=code, message=text)))
