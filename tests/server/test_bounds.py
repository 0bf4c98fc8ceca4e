"""Sizes and NUL are checked before anything else reads the arguments of a call."""

from typing import Any

import pytest

from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.server.boundary import Boundary
from learning_memory_server.server.calls import Calls
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.tools.catalog import TOOLS
from tests.server.agent import CALLER, ENTRY, FALSIFIED, Agent

HUGE = "x" * 30_000_000
VALUE = {"text": "check first", "cluster_id": "full_0", "axis": "full"}


class NothingPasses(RedactionGate):
    """A gate that fails if anything comes to it."""

    async def pass_data(self, data: Any, *, stored: bool = True) -> Any:
        raise AssertionError(data, stored)


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("start_ghap", {**ENTRY, "goal": HUGE}, "Field 'goal' exceeds 1000 character limit (30000000 chars)."),
        ("search_experiences", {"query": HUGE}, "Field 'query' exceeds 1000 character limit"),
        (
            "resolve_ghap",
            {**FALSIFIED, "root_cause": {"category": "oversight", "description": HUGE}},
            "Field 'root_cause.description' exceeds 2000 character limit (30000000 chars).",
        ),
        ("resolve_ghap", {**FALSIFIED, "helped": ["x", HUGE]}, "helped: is larger than 65,536 bytes of JSON."),
        ("store_value", {**VALUE, "supported_by": ["x", HUGE]}, "Field 'supported_by[1]' exceeds 100 character limit"),
        ("store_value", {**VALUE, "supported_by": ["x"] * 10_000_000}, "Field 'supported_by' exceeds 50 item limit"),
        ("start_ghap", {**ENTRY, "domain": HUGE}, "domain: is larger than 65,536 bytes of JSON."),
        ("start_ghap", {**ENTRY, "x": [[HUGE]]}, "x: is larger than 65,536 bytes of JSON."),
        ("start_ghap", {**ENTRY, HUGE: 1}, f"{'x' * 57}...: is larger than 65,536 bytes of JSON."),
        ("start_ghap", {**ENTRY, "goal": "a\x00b"}, "goal: contains a NUL character (U+0000), which no text may have."),
        ("get_stats", {"\x00": 1}, "\x00: contains a NUL character (U+0000), which no text may have."),
        ("add_memory", {"text": "x" * 10_010_001}, "Error: Invalid input - text: String should have at most 10000000"),
        ("add_memory", {"text": "x", "metadata": {"a": {"b": HUGE}}}, "Error: Invalid input - metadata: is larger than"),
        ("add_memory", {"text": "x", "metadata": {"a": [0] * 9_999_999}}, "Error: Invalid input - metadata: is larger"),
        ("search_memory", {"query": "x", "filters": {"tags": ["x"] * 51}}, "Error: Invalid input - filters.tags: "),
        ("search_memory", {"query": "\x00"}, "Error: Invalid input - query: contains a NUL character (U+0000)"),
    ],
)  # fmt: skip
async def test_what_is_too_large_or_has_a_nul_is_refused_before_it_is_read(
    services: Services, tool: str, arguments: dict[str, Any], message: str
) -> None:
    boundary = Boundary(TOOLS, {**services.injectable(), RedactionGate: NothingPasses()})

    def name_call() -> str:
        raise AssertionError

    result = await boundary.call(tool, arguments, CALLER, None, name_call)
    assert result.is_error
    assert message in result.text.encode().decode("unicode_escape")
    assert len(result.text) < 500


async def test_a_text_may_have_nul_where_nothing_is_kept(services: Services) -> None:
    calls = Calls(services.injectable(), CALLER, has_hooks=True)
    result = await calls.call(1, "hook", {"event": "PostToolUse", "command": "cat x", "output": "\x00" * 100_000})
    assert (result.text, result.is_error) == ("{}", False)


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("start_ghap", {**ENTRY, "confidence": 1.5}, "confidence: 1.5 is not allowed; expected a number from 0 to 1."),
        ("start_ghap", {**ENTRY, "confidence": "1"}, "confidence: is text ('1'); expected a number from 0 to 1."),
        ("search_experiences", {"query": "x", "min_score": -1}, "min_score: -1 is not allowed; expected a number from"),
        ("search_experiences", {"query": "x", "limit": 51}, "limit: 51 is not allowed; expected a whole number from 1"),
        ("store_value", {**VALUE, "supported_by": [""]}, "Field 'supported_by[0]' cannot be empty (1-100 characters)."),
        ("store_value", {**VALUE, "supported_by": []}, "supported_by: is a list ([]); expected a list of 1-50 items."),
        ("store_value", {**VALUE, "supported_by": ["x", 1]}, "supported_by[1]: is a number (1); expected text of 1-100"),
        ("resolve_ghap", {**FALSIFIED, "misled": "a"}, "misled: is text ('a'); expected a list."),
    ],
)  # fmt: skip
async def test_a_message_names_the_part_and_what_it_may_be(
    tool: str, arguments: dict[str, Any], message: str, agent: Agent
) -> None:
    error = await agent.refused(tool, **arguments)
    assert error["type"] == "validation_error"
    assert message in error["message"]


async def test_the_memory_tools_name_the_range_of_a_number(agent: Agent) -> None:
    result = await agent.client.call_tool("search_memory", {"query": "x", "limit": 0, "min_score": 2})
    assert getattr(result.content[0], "text", "") == (
        "Error: Invalid input - limit: Input should be greater than or equal to 1 (a whole number from 1 to 100); "
        "min_score: Input should be less than or equal to 1 (a number from 0 to 1)"
    )
