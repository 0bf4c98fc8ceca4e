"""What shows entries copes with those that were written afterwards, without domain, strategy, action and prediction."""

import json
import re
from pathlib import Path
from typing import Final

import pytest

from learning_memory_server.model.caller import Caller, session_hash
from learning_memory_server.server.claims import caller_of
from tests.laws.arguments import COMMANDS_OF_RULES, calls, command_lines
from tests.laws.program import AGENTS_TOOLS, Agent, Program, commands
from tests.laws.sowing import OTHER, TOPIC, id_in

pytestmark = pytest.mark.slow

SHOW_ENTRIES: Final = {
    *("get_ghap_entry", "list_ghap_entries", "search_experiences", "get_cluster_members"),
    *("command show", "command list"),
}
"""What shows resolved entries, each of which was written afterwards."""
_EMPTY: Final = re.compile(r"\bNone\b|\bnull\b|: *,|, *,|\(\)|\bundefined\b")
"""What a text has in the place of something that is missing."""
LOST: Final = "failed unexpectedly"


@pytest.fixture
async def caller(program: Program) -> Caller:
    return caller_of(program.environment, program.services.settings)


@pytest.fixture
async def ids(program: Program, caller: Caller) -> dict[str, list[str]]:
    """The ids of what a store has of which every entry was written afterwards."""
    async with program.agent(caller) as agent:
        entries = [await afterwards(agent, number, TOPIC if number < 14 else OTHER) for number in range(22)]
        again = await agent.call("resolve_ghap", status="confirmed", result="as before", same_as=entries[0])
        await program.services.writer.settle()
        (cluster, *_) = (await agent.call("get_clusters", axis="full"))["clusters"]
        value = await agent.call("store_value", text=TOPIC, cluster_id=cluster["cluster_id"], supported_by=entries[:2])
        memory = id_in((await agent.call("add_memory", text=TOPIC))["text"])
    return {
        "ghap_id": [entries[0], again["id"]],
        "value_id": [value["id"]],
        "memory_id": [memory],
        "cluster_id": [cluster["cluster_id"]],
    }


async def afterwards(agent: Agent, number: int, topic: str) -> str:
    """Write what was believed, now that it is known, and return the entry's id."""
    reply = await agent.call(
        "resolve_ghap",
        goal=f"{topic} goal{number}",
        hypothesis=f"{topic} because of part{number}",
        status="falsified",
        result=f"still so {number}",
        surprise=f"{topic} is not about part{number}",
        root_cause={"category": "oversight", "description": f"{topic} was never looked at"},
        lesson={"takeaway": f"{topic}, so look first"},
    )
    assert reply["afterwards"] is True
    return str(reply["id"])


def known(ids: dict[str, list[str]], place: Path) -> dict[str, list[str]]:
    """Return what is said for arguments."""
    return {
        **ids,
        "ID": [name for names in ids.values() for name in names],
        **COMMANDS_OF_RULES,
        **{name: [TOPIC] for name in ("query", "QUERY", "text", "surprise", "cause", "takeaway", "result")},
        **{name: ["2026-01-01"] for name in ("since", "DATE")},
        **{name: ["current"] for name in ("project", "NAME")},
        **{name: ["a-tag"] for name in ("tags", "source")},
        "CLIENT": ["codex"],
        "about": ["lesson_of_nobody"],
        "folder": ["."],
        "resolve name": ids["ghap_id"],
        "learn-from path": [str(place)],
        "backup path": [str(place / "backup.tar.gz")],
        "import path": [str(place / "backup.tar.gz")],
    }


async def test_every_tool_and_every_command_copes_with_them(
    program: Program, caller: Caller, ids: dict[str, list[str]], work: Path
) -> None:
    showing = set()
    async with program.agent(Caller(caller.project, session_hash("reader"))) as agent:
        for name, tool in AGENTS_TOOLS.items():
            for arguments in calls(tool.input_schema, known(ids, work)):
                said = await agent.ask(name, **arguments)
                assert LOST not in said.text, (name, arguments, said.text)
                assert not _EMPTY.search(said.text), (name, arguments, said.text)
                showing |= {name} if '"afterwards":true' in said.text else set()
        for uri, text in (await agent.resources()).items():
            assert LOST not in text, uri
    backup = await program.command("backup", str(work / "backup.tar.gz"))
    assert not backup.is_refused, backup.text
    for name, words in command_lines(known(ids, work)):
        # It raises if the command crashes.
        said = await program.command(*words)
        assert LOST not in said.text, (words, said.text)
        assert "--json" in words or not _EMPTY.search(said.text), (words, said.text)
        showing |= {f"command {name}"} if "afterwards" in said.text else set()
    assert showing >= SHOW_ENTRIES
    assert {f"command {name}" for name in commands()} >= {f"command {name}" for name in ("split", "share", "backup")}


async def test_they_are_clustered_by_surprise_and_root_cause_and_not_by_strategy(
    program: Program, caller: Caller, ids: dict[str, list[str]]
) -> None:
    async with program.agent(caller) as agent:
        assert ids["cluster_id"] == ["full_0"]
        for axis in ("surprise", "root_cause"):
            found = await agent.call("get_clusters", axis=axis)
            assert sorted(each["size"] for each in found["clusters"]) == [8, 14]
        refused = await agent.ask("get_clusters", axis="strategy")
    assert "has 0 of the 20 experiences" in refused.text


async def test_the_page_and_calibration_tell_them_apart_and_copies_are_forgotten_too(
    program: Program, caller: Caller, ids: dict[str, list[str]]
) -> None:
    name, again = ids["ghap_id"]

    page = await program.services.dashboard.document(caller.project)

    shown = {each["id"]: each for each in page["entries"]}
    assert shown[name]["afterwards"] is True
    assert shown[again]["same_as"] == name
    assert not {"domain", "strategy", "action", "prediction"} & shown[name].keys()
    assert page["axes"]["strategy"]["wanted"] == 0
    said = await program.command("forget", name, "--yes")
    assert f"These entries repeat its goal and hypothesis, and go, too: {again}." in said.text
    assert not {name, again} & {each.id for each in program.services.collector.all()}
    exported = json.loads((await program.command("calibration", "--json")).text)
    assert exported["afterwards"] == 21
    assert exported["overall"]["total"] == 0
