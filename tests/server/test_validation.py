import json
import re
from typing import Any

import pytest

from learning_memory_server.model.vocabulary import Axis, Domain, OutcomeStatus, RootCauseCategory
from learning_memory_server.server.decoding import decoded
from learning_memory_server.server.tools.catalog import TOOLS
from tests.server.agent import CONFIRMED, ENTRY, FALSIFIED, Agent

REQUIRED: dict[str, dict[str, Any]] = {
    "start_ghap": ENTRY,
    "update_ghap": {"note": "seen"},
    "resolve_ghap": FALSIFIED,
    "get_active_ghap": {},
    "get_ghap_entry": {"ghap_id": "ghap_0"},
    "list_ghap_entries": {},
    "get_clusters": {"axis": "full"},
    "get_cluster_members": {"cluster_id": "full_0"},
    "validate_value": {"text": "check first", "cluster_id": "full_0"},
    "store_value": {"text": "check first", "cluster_id": "full_0", "axis": "full"},
    "judge_value": {"value_id": "value_1", "ghap_id": "ghap_1", "verdict": "supports"},
    "list_values": {},
    "search_experiences": {"query": "stale cache"},
    "get_stats": {},
}
"""Valid arguments for each tool."""

STRUCTURED = [tool for tool in TOOLS if tool.wire.is_structured]
"""The tools that reply with JSON; those that reply with text are tested elsewhere."""

OPTIONAL = [
    (tool.name, name)
    for tool in STRUCTURED
    for name in tool.input_schema.get("properties", ())
    if name not in tool.input_schema.get("required", ())
]
NUMBERS = [(tool, name) for tool, name in OPTIONAL if name in ("limit", "offset")]


def with_part(arguments: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """Return the arguments with the one at `path`, such as `lesson.takeaway`, replaced."""
    name, _, rest = path.partition(".")
    return {**arguments, name: with_part(arguments.get(name) or {}, rest, value) if rest else value}


async def refusal(agent: Agent, tool: str, arguments: dict[str, Any]) -> str:
    """Return the message of a call that must fail as invalid."""
    error = await agent.refused(tool, **arguments)
    assert error["type"] == "validation_error"
    return error["message"]


STATEMENTS = ["goal", "hypothesis", "action", "prediction"]
TEXTS = [
    *(("start_ghap", part, 1_000) for part in STATEMENTS),
    *(("update_ghap", part, 1_000) for part in STATEMENTS[1:]),
    ("update_ghap", "note", 2_000),
    ("resolve_ghap", "result", 2_000),
    ("resolve_ghap", "surprise", 2_000),
    ("resolve_ghap", "root_cause.description", 2_000),
    ("resolve_ghap", "lesson.what_worked", 2_000),
    ("resolve_ghap", "lesson.takeaway", 2_000),
    ("search_experiences", "query", 1_000),
]


def with_text(tool: str, path: str, text: str) -> dict[str, Any]:
    """Return valid arguments for a tool, but for a text."""
    lesson = {"lesson": {"what_worked": "w"}} if "lesson" in path else {}
    return with_part({**REQUIRED[tool], **lesson}, path, text)


@pytest.mark.parametrize(("tool", "path", "limit"), TEXTS)
async def test_white_space_around_a_text_does_not_count_towards_its_limit(
    tool: str, path: str, limit: int, agent: Agent
) -> None:
    if tool != "start_ghap":
        await agent.call("start_ghap", **ENTRY)
    await agent.call(tool, **with_text(tool, path, f" \n{'x' * limit}\t "))


@pytest.mark.parametrize(("tool", "path", "limit"), TEXTS)
async def test_a_text_that_is_too_long_or_white_space_is_refused_with_its_field_and_limit(
    tool: str, path: str, limit: int, agent: Agent
) -> None:
    too_long = await refusal(agent, tool, with_text(tool, path, f"  {'x' * (limit + 1)} "))
    assert too_long == f"Field '{path}' exceeds {limit} character limit ({limit + 1} chars)."
    blank = await refusal(agent, tool, with_text(tool, path, " \t\n"))
    assert blank == f"Field '{path}' cannot be empty (1-{limit} characters)."


@pytest.mark.parametrize(
    ("tool", "changes", "message"),
    [
        *(
            (tool, {"text": "x" * 501}, "Field 'text' exceeds 500 character limit (501 chars).")
            for tool in ("validate_value", "store_value")
        ),
        ("get_cluster_members", {"limit": 101}, "limit: 101 is not allowed; expected a whole number from 1 to 100."),
        *(
            (tool, {"offset": -1}, "offset: -1 is not allowed; expected a whole number from 0.")
            for tool in ("list_ghap_entries", "list_values", "search_experiences", "get_clusters")
        ),
        *(
            (tool, {"project": "shop"}, "project: unknown argument; this tool takes none.")
            for tool in ("get_active_ghap", "get_stats")
        ),
        (
            "resolve_ghap",
            {"lesson": {"what_worked": "w", "takeway": "t"}},
            "lesson.takeway: unknown argument; allowed are what_worked, takeaway. Did you mean takeaway?",
        ),
        (
            "get_clusters",
            {"axis": "domain"},
            "Invalid axis 'domain'. Valid options: full, strategy, surprise, root_cause.",
        ),
        (
            "start_ghap",
            {"goal": "half an emoji: \ud83d"},
            "goal: contains an unpaired surrogate (such as half an emoji), which is not valid Unicode.",
        ),
    ],
)
async def test_a_wrong_argument_is_refused_with_what_is_allowed(
    tool: str, changes: dict[str, Any], message: str, agent: Agent
) -> None:
    assert await refusal(agent, tool, {**REQUIRED[tool], **changes}) == message


@pytest.mark.parametrize("tool", ["validate_value", "store_value"])
@pytest.mark.usefixtures("indexed")
async def test_a_value_of_500_characters_is_judged(tool: str, agent: Agent) -> None:
    error = await agent.refused(tool, **{**REQUIRED[tool], "text": f" {'x' * 500} "})
    assert error["type"] == "insufficient_data"


@pytest.mark.parametrize("code", ["\x1c", "\u2003", "\u00a0", "\u2028"])
async def test_everything_that_python_calls_white_space_is_stripped(code: str, agent: Agent) -> None:
    assert "Field 'goal' cannot be empty" in await refusal(agent, "start_ghap", {**ENTRY, "goal": f" {code} "})


@pytest.mark.parametrize(
    ("tool", "maximum"), [("list_ghap_entries", 100), ("list_values", 100), ("search_experiences", 50)]
)
async def test_a_limit_is_accepted_up_to_its_maximum(tool: str, maximum: int, agent: Agent) -> None:
    for limit in (1, maximum):
        await agent.call(tool, **REQUIRED[tool], limit=limit)
    for limit in (0, -1, maximum + 1, 10**30):
        message = await refusal(agent, tool, {**REQUIRED[tool], "limit": limit})
        assert message == (f"limit: {limit} is not allowed; expected a whole number from 1 to {maximum}.")


WRONG_VALUES: list[tuple[str, list[tuple[str, str]], list[Any]]] = [
    (
        "NAME: .*expected a whole number from ",
        NUMBERS,
        [True, 3.0, 3.5, [3], {}, "3.0", "true", "[3]", "five", '"5"', "NaN", "0x5", "5" * 5_000, "-5"],
    ),
    (
        "NAME: is .*expected (a number from 0 to 1|true or false)",
        [("start_ghap", "confidence"), ("search_experiences", "min_score"), ("list_values", "full")],
        ["yes", "True", "{}", "NaN", "-Infinity", '"true"', "[true]"],
    ),
    (
        "NAME: is .*expected a list",
        [("resolve_ghap", "helped"), ("store_value", "supported_by")],
        ["one", "one, two", "['one']", '{"0": "x"}', "5", '"[]"', "[" * 50_000],
    ),
    (
        "NAME: is .*expected text of 1-",
        [("start_ghap", "goal"), ("update_ghap", "note"), ("search_experiences", "query"), ("store_value", "text")],
        [5, True, 3.0, ["x"], {"text": "x"}],
    ),
    (
        "NAME: is .*expected an object with ",
        [("resolve_ghap", "root_cause"), ("resolve_ghap", "lesson")],
        ["what_worked: w", "{'what_worked': 'w'}", '["w"]', '"{}"', "5", "{", 5, True, ["x"]],
    ),
    (r".*full, strategy, surprise, root_cause\.", [("get_clusters", "axis")], [5, True, None, ["full"], ""]),
    (
        "NAME: .*axis_number",
        [("get_cluster_members", "cluster_id"), ("validate_value", "cluster_id"), ("store_value", "cluster_id")],
        ["full", "full_", "full_x", "full_-1", "domain_0", "_0", "full_0.5", "full_\u0663"],
    ),
    (
        "NAME: .*ISO 8601",
        [("list_ghap_entries", "since"), ("search_experiences", "since")],
        [
            *("yesterday", "2026-13-01", "2026-02-30", "12", "2026-01-31T25:00"),
            *("0001-01-01T00:00+05:00", "9999-12-31T23:59-05:00"),
        ],
    ),
]
"""What is said of wrong values, as patterns, with the arguments that they are given for and the values."""


@pytest.mark.parametrize(
    ("tool", "name", "value", "said"),
    [
        (tool, name, value, said)
        for said, arguments, values in WRONG_VALUES
        for tool, name in arguments
        for value in values
    ],
)
async def test_a_value_of_another_kind_is_refused_with_what_is_expected(
    tool: str, name: str, value: object, said: str, agent: Agent
) -> None:
    message = await refusal(agent, tool, {**REQUIRED[tool], name: value})
    assert re.match(said.replace("NAME", name), message, re.DOTALL), message


@pytest.mark.parametrize(
    ("tool", "name"), [(tool.name, name) for tool in STRUCTURED for name in tool.input_schema.get("required", ())]
)
async def test_a_required_argument_that_is_missing_or_null_is_named(tool: str, name: str, agent: Agent) -> None:
    others = {key: value for key, value in REQUIRED[tool].items() if key != name}
    assert (await refusal(agent, tool, others)).startswith(f"{name}: required; expected ")
    assert (await refusal(agent, tool, {**others, name: None})).startswith(f"{name}: ")


ENCODED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("start_ghap", {"confidence": 0.7}, {"confidence": "0.7"}),
    ("start_ghap", {"confidence": 1}, {"confidence": " 1 "}),
    ("update_ghap", {"confidence": 0.25}, {"confidence": "2.5e-1"}),
    ("list_ghap_entries", {"limit": 1, "offset": 1}, {"limit": "1", "offset": "1"}),
    ("list_values", {"full": True, "include_superseded": False}, {"full": "true", "include_superseded": "false"}),
    ("search_experiences", {"min_score": 0.5, "explain": True}, {"min_score": "0.5", "explain": "true"}),
    ("get_clusters", {"offset": 2, "include_noise": True}, {"offset": "2", "include_noise": "true"}),
    ("store_value", {"supported_by": ["ghap_1"]}, {"supported_by": '["ghap_1"]'}),
]
"""Tools with arguments as they are, and as JSON text."""


@pytest.mark.parametrize(("tool", "plain", "encoded"), ENCODED)
async def test_a_value_that_arrives_as_json_text_is_that_value(
    tool: str, plain: dict[str, Any], encoded: dict[str, Any]
) -> None:
    (schema,) = (each.input_schema for each in TOOLS if each.name == tool)
    assert decoded({**REQUIRED[tool], **encoded}, schema) == {**REQUIRED[tool], **plain}


FALSIFIED_AS_TEXT = [
    {"root_cause": json.dumps(FALSIFIED["root_cause"])},
    {"root_cause": f" {json.dumps(FALSIFIED['root_cause'], indent=1)}\n", "lesson": '{"takeaway": "null"}'},
    {"lesson": '{"what_worked": "[1]", "takeaway": null}', "helped": '["ghap_20260101_000000_abcdef"]'},
    {"lesson": "", "helped": "null", "misled": "[]"},
]


@pytest.mark.parametrize("encoded", FALSIFIED_AS_TEXT)
async def test_a_falsified_entry_is_closed_by_a_client_that_sends_objects_as_text(
    encoded: dict[str, str], agent: Agent
) -> None:
    started = await agent.call("start_ghap", **ENTRY, confidence="0.75")
    await agent.call("resolve_ghap", **{**FALSIFIED, **encoded})
    entry = await agent.call("get_ghap_entry", ghap_id=started["id"])
    assert entry["root_cause"] == FALSIFIED["root_cause"]
    assert entry["confidence"] == 0.75
    lesson = json.loads(encoded.get("lesson") or "null")
    assert entry.get("lesson") == (lesson and {name: text for name, text in lesson.items() if text})


@pytest.mark.parametrize("text", ["null", "[]", "5", '{"what_worked": "w"}', "true"])
async def test_a_text_that_looks_like_json_stays_a_text(text: str, agent: Agent) -> None:
    started = await agent.call("start_ghap", **{**ENTRY, "goal": text})
    await agent.call("update_ghap", note=text, hypothesis=f" {text} ")
    await agent.call("resolve_ghap", **CONFIRMED | {"result": text, "lesson": {"takeaway": text}})
    entry = await agent.call("get_ghap_entry", ghap_id=started["id"])
    assert (entry["goal"], entry["hypothesis"], entry["outcome_result"]) == (text, text, text)
    assert entry["notes"] == [text]
    assert entry["lesson"] == {"takeaway": text}


@pytest.mark.parametrize("absent", [None, "", "null", " \n"])
@pytest.mark.parametrize("tool", dict(OPTIONAL))
@pytest.mark.usefixtures("indexed")
async def test_null_for_an_optional_argument_equals_its_absence(tool: str, absent: str | None, agent: Agent) -> None:
    (properties,) = (each.input_schema["properties"] for each in STRUCTURED if each.name == tool)
    for name in [name for of, name in OPTIONAL if of == tool]:
        if absent is not None and ("enum" in properties[name] or properties[name]["type"] == "string"):
            continue
        arguments: dict[str, Any] = dict(CONFIRMED) if tool == "resolve_ghap" else dict(REQUIRED[tool])
        if (tool, name) == ("update_ghap", "note"):
            arguments = {"hypothesis": "the load balancer pins old sessions"}
        arguments[name] = absent
        if tool in ("update_ghap", "resolve_ghap"):
            await agent.call("start_ghap", **ENTRY)
        if tool in ("get_clusters", "get_cluster_members", "store_value"):
            assert (await agent.refused(tool, **arguments))["type"] == "insufficient_data"
        else:
            await agent.call(tool, **arguments)
        if tool == "update_ghap":
            await agent.call("resolve_ghap", **CONFIRMED)


async def test_null_inside_a_nested_argument_equals_its_absence(agent: Agent) -> None:
    (add_memory,) = (tool for tool in TOOLS if tool.name == "add_memory")
    assert decoded({"metadata": '{"tags": "null", "source": "null"}'}, add_memory.input_schema) == {
        "metadata": {"source": "null"}
    }
    await agent.resolve_new(status="confirmed", result="r", lesson={"what_worked": "w", "takeaway": None})


@pytest.mark.parametrize("tool", [tool for tool in REQUIRED if tool not in ("get_active_ghap", "get_stats")])
async def test_an_unknown_argument_is_refused_with_the_allowed_ones_and_the_closest_name(
    tool: str, agent: Agent
) -> None:
    name = next(iter(tool_arguments(tool)))
    message = await refusal(agent, tool, {**REQUIRED[tool], f"{name}s": "x"})
    assert message == (
        # What is accepted for earlier callers is not offered.
        f"{name}s: unknown argument; allowed are {', '.join(tool_arguments(tool, shown=True))}. Did you mean {name}?"
    )


@pytest.mark.parametrize(
    ("tool", "path", "typo", "meant", "allowed"),
    [
        ("start_ghap", "domain", "debuging", Domain.DEBUGGING, Domain),
        ("start_ghap", "strategy", "read_the_error", "read-the-error", None),
        ("resolve_ghap", "status", "Falsified", OutcomeStatus.FALSIFIED, OutcomeStatus),
        ("resolve_ghap", "root_cause.category", "oversigt", RootCauseCategory.OVERSIGHT, RootCauseCategory),
        ("get_clusters", "axis", "root-cause", Axis.ROOT_CAUSE, Axis),
        ("search_experiences", "axis", "suprise", Axis.SURPRISE, Axis),
        ("list_ghap_entries", "outcome", "confirm", OutcomeStatus.CONFIRMED, OutcomeStatus),
    ],
)
async def test_an_unknown_word_is_refused_with_the_vocabulary_and_the_nearest_word(
    tool: str, path: str, typo: str, meant: str, allowed: Any, agent: Agent
) -> None:
    message = await refusal(agent, tool, with_part(REQUIRED[tool], path, typo))
    called = {"status": "outcome status", "outcome": "outcome status", "root_cause.category": "root_cause category"}
    assert message.startswith(f"Invalid {called.get(path, path)} '{typo}'. Valid options: ")
    assert message.endswith(f" Did you mean {meant}?")
    assert ", ".join(allowed or ()) in message


async def test_all_problems_with_a_call_are_named_at_once(agent: Agent) -> None:
    message = await refusal(agent, "start_ghap", {**ENTRY, "goal": "", "domain": "x", "extra": 1})
    assert "Field 'goal' cannot be empty" in message
    assert "Invalid domain 'x'" in message
    assert "extra: unknown argument" in message


async def test_the_first_ten_problems_are_named_and_the_rest_counted(agent: Agent) -> None:
    message = await refusal(agent, "start_ghap", {**ENTRY, **{f"extra{n}": 1 for n in range(13)}})
    assert message.count("unknown argument") == 10
    assert message.endswith("And 3 more problems.")


async def test_a_refused_call_changes_nothing(agent: Agent) -> None:
    await agent.refused("start_ghap", **{**ENTRY, "bogus": 1})
    assert await agent.call("get_active_ghap") == {"has_active": False}


async def test_a_long_wrong_value_is_shortened(agent: Agent) -> None:
    assert len(await refusal(agent, "get_clusters", {"axis": "x" * 10_000})) < 500


async def test_an_unknown_tool_is_refused_with_the_tools_and_the_closest_name(agent: Agent) -> None:
    message = await refusal(agent, "start_gahp", ENTRY)
    assert all(tool.name in message for tool in TOOLS)
    assert message.endswith(" Did you mean start_ghap?")


def tool_arguments(name: str, *, shown: bool = False) -> dict[str, Any]:
    """Return the properties of a tool's schema, or those that clients are shown."""
    (tool,) = (tool for tool in TOOLS if tool.name == name)
    properties: dict[str, Any] = (tool.advertised_schema if shown else tool.input_schema)["properties"]
    return properties
