"""What the front answers by itself, as the SDK of a client reads it."""

import json

import pytest
from mcp_types.methods import validate_server_result

from learning_memory_server.errors import NoAnswerError
from learning_memory_server.system.ipc import jsonrpc


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"])
@pytest.mark.parametrize(
    "line", [jsonrpc.failure(1, "tools/call", NoAnswerError("The hub does not answer.")), jsonrpc.empty_reply(1)]
)
def test_a_reply_to_a_tool_call_is_valid_in_every_protocol(version: str, line: bytes) -> None:
    validate_server_result("tools/call", version, json.loads(line)["result"])
