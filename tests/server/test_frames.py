from __future__ import annotations

from typing import Any

import pytest
from mcp.types import JSONRPCError, JSONRPCResponse

from learning_memory_server.server.frames import refusal


@pytest.mark.parametrize(
    "line",
    [
        '{"id": true}',
        '{"id": 1.5, "method": 5}',
        "not json",
        "[" * 100_000,
        "[]",
        '[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
        "5",
        "\ud83d",
    ],
)
def test_what_is_no_request_is_answered_under_no_id(line: str) -> None:
    answer = refusal(line)

    assert answer is not None
    assert isinstance(answer.message, JSONRPCError)
    assert answer.message.id is None


@pytest.mark.parametrize("identity", [7, "seven"])
def test_a_request_that_cannot_be_read_is_answered_under_its_id(identity: Any) -> None:
    quoted = f'"{identity}"' if isinstance(identity, str) else identity
    for params in ('{"query":"\\ud83d"}', "5", f'{{"limit":{"9" * 5000}}}'):
        answer = refusal(f'{{"jsonrpc":"2.0","id":{quoted},"method":"tools/list","params":{params}}}')
        assert answer is not None
        assert isinstance(answer.message, JSONRPCError)
        assert answer.message.id == identity


def test_a_tool_call_that_cannot_be_read_fails_as_a_tool_does() -> None:
    answer = refusal('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud83d"}}')

    assert answer is not None
    assert isinstance(answer.message, JSONRPCResponse)
    assert answer.message.result["isError"] is True
    assert '"type":"validation_error"' in answer.message.result["content"][0]["text"]


@pytest.mark.parametrize(
    "line", ['{"jsonrpc":"2.0","method":"notifications/x","params":5}', '{"jsonrpc":"2.0","id":1,"result":5}']
)
def test_notifications_and_answers_get_no_answer(line: str) -> None:
    assert refusal(line) is None
