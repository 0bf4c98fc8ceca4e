"""What a client reads before its first call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from learning_memory_server.domain import limits
from learning_memory_server.domain.value import ValueOrder
from learning_memory_server.domain.vocabulary import (
    Axis,
    Domain,
    OutcomeStatus,
    ResponseFormat,
    RootCauseCategory,
    Strategy,
)
from learning_memory_server.server.app import INSTRUCTIONS, TOOLS
from tests.server.agent import agent_of
from tests.tool_names import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from enum import StrEnum

    from learning_memory_server.server.services import Services

STRUCTURED = [tool for tool in TOOLS if tool.wire.is_structured]
SCHEMAS = {tool.name: tool.input_schema for tool in TOOLS}
DESCRIPTION_BYTES = 2048


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a schema, itself included."""
    if isinstance(schema, dict):
        yield schema
    for child in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from nodes(child)


def at(tool: str, path: str) -> dict[str, Any]:
    """Return the schema of an argument, such as `root_cause.category`."""
    node = SCHEMAS[tool]
    for name in path.split("."):
        node = node["properties"][name]
    return node


async def test_a_client_sees_all_tools_as_they_are_defined(services: Services) -> None:
    async with agent_of(services) as agent:
        assert list(agent.tools) == NAMES
        for tool in TOOLS:
            seen = agent.tools[tool.name]
            assert seen.input_schema == tool.input_schema
            assert seen.output_schema == tool.output_schema
            assert (seen.title, seen.description) == (tool.title, tool.description)


async def test_a_client_sees_the_instructions_and_they_are_not_cut(services: Services) -> None:
    async with agent_of(services) as agent:
        assert agent.client.instructions == INSTRUCTIONS
    assert len(INSTRUCTIONS.encode()) <= DESCRIPTION_BYTES
    assert {name for name in NAMES if name in INSTRUCTIONS} >= {"start_ghap", "search_experiences"}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_descriptions_are_not_cut_and_begin_distinctly(tool: Any) -> None:
    assert 0 < len(tool.description.encode()) <= DESCRIPTION_BYTES
    first = tool.description.split(".")[0]
    assert [other.name for other in TOOLS if other.description.split(".")[0] == first] == [tool.name]


async def test_every_tool_carries_all_four_hints(services: Services) -> None:
    writes = {"start_ghap", "update_ghap", "resolve_ghap", "store_value", "add_memory", "delete_memory"}
    async with agent_of(services) as agent:
        for name, tool in agent.tools.items():
            hints = tool.annotations
            assert hints is not None
            assert hints.read_only_hint is (name not in writes)
            assert hints.idempotent_hint is (name not in writes or name == "add_memory")
            assert hints.destructive_hint is (name == "delete_memory")
            assert hints.open_world_hint is False


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_plain_objects_that_forbid_what_they_do_not_name(name: str) -> None:
    schema = SCHEMAS[name]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    for node in nodes(schema):
        assert not {"$ref", "$defs", "anyOf", "oneOf", "allOf"} & node.keys()
        if node.get("type") == "object" and node is not at_or_none(name, "metadata"):
            assert node["additionalProperties"] is False


def at_or_none(name: str, argument: str) -> Any:
    """Return the schema of an argument, if the tool has it."""
    return SCHEMAS[name].get("properties", {}).get(argument)


def test_only_the_metadata_of_a_memory_may_have_parts_of_any_name() -> None:
    assert SCHEMAS["add_memory"]["properties"]["metadata"]["additionalProperties"] == {}


@pytest.mark.parametrize("tool", STRUCTURED, ids=lambda tool: tool.name)
def test_output_schemas_are_plain_objects(tool: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(tool.output_schema)
    assert tool.output_schema["type"] == "object"
    assert not any({"$ref", "$defs"} & node.keys() for node in nodes(tool.output_schema))


@pytest.mark.parametrize(
    ("path", "vocabulary"),
    [
        ("start_ghap domain", Domain),
        ("start_ghap strategy", Strategy),
        ("update_ghap strategy", Strategy),
        ("resolve_ghap status", OutcomeStatus),
        ("resolve_ghap root_cause.category", RootCauseCategory),
        ("list_ghap_entries domain", Domain),
        ("list_ghap_entries outcome", OutcomeStatus),
        ("get_clusters axis", Axis),
        ("store_value axis", Axis),
        ("list_values axis", Axis),
        ("list_values sort", ValueOrder),
        ("search_experiences axis", Axis),
        ("search_experiences domain", Domain),
        ("search_experiences outcome", OutcomeStatus),
        ("search_experiences strategy", Strategy),
    ],
)
def test_enums_are_the_vocabularies(path: str, vocabulary: type[StrEnum]) -> None:
    assert at(*path.split())["enum"] == [member.value for member in vocabulary]


def test_no_other_enum_is_advertised() -> None:
    enums = [node["enum"] for schema in SCHEMAS.values() for node in nodes(schema) if "enum" in node]
    vocabularies = [
        [*vocabulary]
        for vocabulary in (
            Domain,
            Strategy,
            OutcomeStatus,
            RootCauseCategory,
            Axis,
            ResponseFormat,
            ValueOrder,
        )
    ]
    assert all(enum in vocabularies for enum in enums)
    assert len(enums) == 16


@pytest.mark.parametrize(
    ("path", "limit"),
    [
        *(
            (f"start_ghap {part}", limits.STATEMENT_MAX)
            for part in ("goal", "hypothesis", "action", "prediction")
        ),
        *((f"update_ghap {part}", limits.STATEMENT_MAX) for part in ("hypothesis", "action", "prediction")),
        ("update_ghap note", limits.NARRATIVE_MAX),
        ("resolve_ghap result", limits.NARRATIVE_MAX),
        ("resolve_ghap surprise", limits.NARRATIVE_MAX),
        ("resolve_ghap root_cause.description", limits.NARRATIVE_MAX),
        ("resolve_ghap lesson.what_worked", limits.NARRATIVE_MAX),
        ("resolve_ghap lesson.takeaway", limits.NARRATIVE_MAX),
        ("validate_value text", limits.VALUE_MAX),
        ("store_value text", limits.VALUE_MAX),
        ("search_experiences query", limits.QUERY_MAX),
    ],
)
def test_text_limits_are_the_domains(path: str, limit: int) -> None:
    node = at(*path.split())
    assert (node["type"], node["minLength"], node["maxLength"]) == ("string", 1, limit)


@pytest.mark.parametrize(
    ("tool", "default", "maximum"),
    [
        ("list_ghap_entries", 20, 100),
        ("get_cluster_members", 50, 100),
        ("list_values", 20, 100),
        ("search_experiences", 10, 50),
    ],
)
def test_number_limits_and_their_defaults_are_advertised(tool: str, default: int, maximum: int) -> None:
    node = at(tool, "limit")
    assert (node["default"], node["minimum"], node["maximum"]) == (default, 1, maximum)


@pytest.mark.parametrize(
    "tool",
    ["list_ghap_entries", "get_clusters", "get_cluster_members", "list_values", "search_experiences"],
)
def test_every_listing_takes_an_offset(tool: str) -> None:
    assert at(tool, "offset")["default"] == 0
