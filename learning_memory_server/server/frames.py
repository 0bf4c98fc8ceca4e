"""Messages that the SDK cannot read: it drops them, and the client would wait for ever for an answer."""

from __future__ import annotations

import json

from mcp.shared.message import SessionMessage
from mcp.types import ErrorData, JSONRPCError, JSONRPCResponse

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.server.boundary import failure

_INVALID_REQUEST = -32600
_DIGITS_MAX = 19
"""Of a number; Python refuses to convert thousands of them."""


def refusal(line: str | bytes) -> SessionMessage | None:
    """Return the answer to a line that is no readable message, or None if nobody waits for one.

    Text with half of a surrogate pair, such as an emoji that was cut, is JSON but no Unicode.
    """
    try:
        message = json.loads(line, parse_int=lambda digits: int(digits) if len(digits) <= _DIGITS_MAX else 0)
    except ValueError:
        return None
    if not isinstance(message, dict) or "method" not in message or "id" not in message:
        return None
    error = InvalidInputError(
        "The message cannot be read: it holds half of a surrogate pair, such as an emoji that was cut, or a "
        f"number of more than {_DIGITS_MAX} digits.",
    )
    if message["method"] == "tools/call":
        result = failure(error).model_dump(by_alias=True, mode="json", exclude_none=True)
        return SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=message["id"], result=result))
    fault = ErrorData(code=_INVALID_REQUEST, message=error.message)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=message["id"], error=fault))
