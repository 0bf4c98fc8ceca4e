"""What the log says about calls: one line each, with ids and counts, and nothing that a user wrote."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.exclusion import Exclusion
from tests.logs import log_to
from tests.server.agent import ENTRY, FALSIFIED, Agent, agent_of
from tests.server.topics import TOPICS, VALUE
from tests.tool_names import NAMES

WORD = "quokka"
"""A marker in every text, tag, name and path that a test sends."""
SECRET_PATH = f"/home/{WORD}/notes.md"
SENT: dict[str, dict[str, Any]] = {
    "start_ghap": {**ENTRY, "goal": f"find the {WORD}", "hypothesis": f"the {WORD} hides in {SECRET_PATH}"},
    "update_ghap": {"note": f"no {WORD} yet", "prediction": f"a {WORD} appears"},
    "resolve_ghap": {**FALSIFIED, "result": f"{WORD} gone", "lesson": {"what_worked": f"asking the {WORD}"}},
    "get_active_ghap": {},
    "get_ghap_entry": {"ghap_id": "ghap_0"},
    "list_ghap_entries": {"project": "current"},
    "get_clusters": {"axis": "full"},
    "get_cluster_members": {"cluster_id": "full_0"},
    "validate_value": {"text": f"{VALUE} {WORD}", "cluster_id": "full_0"},
    "store_value": {"text": VALUE, "cluster_id": "full_0", "axis": "full"},
    "judge_value": {"value_id": "value_0", "ghap_id": "ghap_0", "verdict": "supports"},
    "list_values": {},
    "search_experiences": {"query": f"price cache {WORD}"},
    "add_memory": {
        "text": f"{WORD}\nID: {WORD}\nFound 7 results:",
        "metadata": {"source": SECRET_PATH, "tags": [WORD], "mood": f"{WORD} mood", WORD: [WORD]},
    },
    "search_memory": {"query": WORD, "filters": {"tags": [WORD], "source": SECRET_PATH}},
    "delete_memory": {},
    "get_stats": {},
}
"""Arguments of each tool, in an order in which every call can succeed."""
REFUSED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "start_ghap": ({**ENTRY, "goal": " ", "action": 1001 * "x", "domain": WORD}, ["action", "domain", "goal"]),
    "update_ghap": ({"note": WORD, "ghap_id": WORD}, []),
    "resolve_ghap": (
        {"status": WORD, "result": WORD, "root_cause": {"category": WORD, "description": WORD}},
        ["root_cause", "status"],
    ),
    "get_active_ghap": ({WORD: WORD}, []),
    "get_ghap_entry": ({"ghap_id": WORD}, []),
    "list_ghap_entries": ({"since": WORD}, ["since"]),
    "get_clusters": ({"axis": WORD}, ["axis"]),
    "get_cluster_members": ({"cluster_id": WORD}, ["cluster_id"]),
    "validate_value": ({"text": WORD, "cluster_id": WORD}, ["cluster_id"]),
    "store_value": ({"text": WORD, "cluster_id": "full_0", "axis": WORD}, ["axis"]),
    "judge_value": ({"value_id": WORD, "ghap_id": WORD, "verdict": WORD}, ["verdict"]),
    "list_values": ({"sort": WORD}, ["sort"]),
    "search_experiences": ({"query": WORD, "limit": WORD}, ["limit"]),
    "add_memory": ({"text": WORD, "metadata": {"tags": WORD, "timestamp": WORD}}, ["metadata"]),
    "search_memory": ({"query": WORD, "filters": {WORD: WORD}, "min_similarity": WORD}, ["filters", "min_similarity"]),
    "delete_memory": ({"memory_id": WORD}, ["memory_id"]),
    "get_stats": ({WORD: WORD}, []),
}
"""Arguments that each tool refuses, and the argument names that the log may contain."""


class Crashing:
    """A service whose every function raises what it was given."""

    def __getattr__(self, name: str) -> Any:
        if name in {"still_open", "entries"}:
            return self

        def crash(*given: object, **more: object) -> NoReturn:
            cause = OSError(5, f"{name} {given} {more}", SECRET_PATH)
            raise RuntimeError(f"{SECRET_PATH}: {given} {more}") from cause

        return crash


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    with log_to(tmp_path / "log", "debug") as path:
        yield path


def calls(log: Path, services: Services) -> dict[str, dict[str, Any]]:
    """Return the lines about calls by tool, after checking that no line contains what must not be logged."""
    text = log.read_text("utf-8")
    for secret in (WORD, *TOPICS.values(), str(services.settings.storage_path), *ENTRY.values()):
        assert secret not in text
    lines = [json.loads(line) for line in text.splitlines()]
    found = [line for line in lines if line["event"] == "tool.called"]
    named = {line["tool"]: line for line in found}
    assert len(named) == len(found)
    return named


@pytest.mark.slow
async def test_a_call_that_succeeds_is_one_line_with_its_ids_and_count(
    indexed: Services, topics: dict[str, list[str]], log: Path, agent: Agent
) -> None:
    assert list(SENT) == NAMES
    said: dict[str, str] = {}
    for tool, arguments in SENT.items():
        given = dict(arguments)
        if "cluster_id" in given:
            given["cluster_id"] = json.loads(said["get_clusters"])["clusters"][0]["cluster_id"]
        if tool in {"get_ghap_entry", "judge_value"}:
            given["ghap_id"] = json.loads(said["start_ghap"])["id"]
        if tool == "judge_value":
            given["value_id"] = json.loads(said["store_value"])["id"]
        if tool == "delete_memory":
            given["memory_id"] = said["add_memory"].split("\n")[1].removeprefix("ID: ")
        result = await agent.client.call_tool(tool, given)
        said[tool] = result.content[0].text  # type: ignore[union-attr]
        assert not result.is_error, said[tool]
    lines = calls(log, indexed)
    assert list(lines) == NAMES
    for line in lines.values():
        assert (line["outcome"], line["level"]) == ("ok", "info")
        assert line["milliseconds"] >= 0
        assert line["request"]
    ghap_id = json.loads(said["start_ghap"])["id"]
    ids = {name: [line[name] for line in lines.values() if name in line] for name in ("ghap_id", "value_id")}
    value_id = json.loads(said["store_value"])["id"]
    assert ids == {"ghap_id": [ghap_id] * 5, "value_id": [value_id] * 2}
    (memory_id,) = {line["memory_id"] for line in lines.values() if "memory_id" in line}
    assert f"ID: {memory_id}\n" in said["add_memory"]
    (cluster_id,) = {line["cluster_id"] for line in lines.values() if "cluster_id" in line}
    assert cluster_id == json.loads(said["get_clusters"])["clusters"][0]["cluster_id"]
    counts = {tool: line["count"] for tool, line in lines.items() if "count" in line}
    listings = ("list_ghap_entries", "get_clusters", "get_cluster_members", "list_values", "search_experiences")
    assert counts == {**{tool: json.loads(said[tool])["count"] for tool in listings}, "search_memory": 1}
    assert topics


async def test_a_refused_call_is_one_line_with_its_type_and_the_arguments_names(
    services: Services, log: Path, agent: Agent
) -> None:
    assert list(REFUSED) == NAMES
    for tool, (arguments, _) in REFUSED.items():
        assert (await agent.client.call_tool(tool, arguments)).is_error
    lines = calls(log, services)
    assert list(lines) == NAMES
    for tool, (_, names) in REFUSED.items():
        line = lines[tool]
        kind = "not_found" if tool in {"update_ghap", "get_ghap_entry", "delete_memory"} else "validation_error"
        assert (line["outcome"], line["type"], line.get("arguments", [])) == ("refused", kind, names), tool


async def test_a_tool_that_does_not_exist_is_not_named(services: Services, log: Path, agent: Agent) -> None:
    assert (await agent.client.call_tool(f"find_{WORD}", {WORD: WORD})).is_error
    (line,) = calls(log, services).values()
    assert (line["tool"], line["outcome"], line["type"]) == (None, "refused", "validation_error")


async def test_a_crash_is_one_line_with_where_and_of_what_type(services: Services, log: Path) -> None:
    broken: dict[type, object] = {
        **{kind: Crashing() for kind in services.injectable()},
        RedactionGate: services.redaction,
        Exclusion: services.exclusion,
    }
    async with agent_of(broken) as agent:
        for tool, arguments in SENT.items():
            given = {"memory_id": WORD} if tool == "delete_memory" else arguments
            assert (await agent.client.call_tool(tool, given)).is_error
    lines = calls(log, services)
    assert list(lines) == NAMES
    for line in lines.values():
        assert (line["outcome"], line["level"]) == ("crashed", "error")
        error = line["error"]
        assert (error["type"], error["cause"]["type"], error["cause"]["errno"]) == ("RuntimeError", "OSError", 5)
        assert any(frame.startswith("learning_memory_server.server.tools.") for frame in error["frames"])
        assert error["frames"][-1].startswith("tests.server.test_call_log.crash:")
