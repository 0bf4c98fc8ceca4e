"""Every reply fits, and paging ends: no reply is longer than a client can read, and each offset leads on, to an end."""

import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any, Final

import pytest

from learning_memory_server.cli.access import Connection
from learning_memory_server.model import limits
from learning_memory_server.model.caller import Caller, session_hash
from tests.laws.arguments import COMMANDS_OF_RULES, calls, command_lines
from tests.laws.program import AGENTS_TOOLS, TOOLS, Agent, Program, Said
from tests.laws.sowing import TOPIC, id_in

pytestmark = pytest.mark.slow

CALLER: Final = Caller("p" * limits.PROJECT_MAX, session_hash("longest"))
ALIKE: Final = 14
"""Experiences of one topic, which are a cluster."""
APART: Final = 50
"""Others: with those, more than a reply can hold, and more than are named as being in no cluster."""
MEMORIES: Final = 25
FAILURES: Final = 15
SESSIONS: Final = 12
"""Sessions that have left an entry open."""
OPERATIONS: Final = 100
"""What a command asks the hub for at most before it is taken to go on for ever: the others need a tenth."""
TAILS: Final = ("x", '"', "\\", "\u202e", "\u00e9")
"""What texts end with: JSON doubles some characters, and others are shown by their names."""


class EndlessError(Exception):
    """A command asked the hub for more than any command should."""


def text(length: int, number: int, topic: str = "") -> str:
    """Return a text of exactly this length, of a topic or of words that no other text has."""
    begins = f"number{number} {topic or ' '.join(f'w{number}x{part}' for part in range(6))} "[: length // 2]
    return begins + TAILS[number % len(TAILS)] * (length - len(begins))


async def fill(program: Program) -> dict[str, list[str]]:
    """Store the longest texts that are allowed, and more of everything than a reply can hold. Return ids."""
    async with program.agent(CALLER) as agent:
        entries = [await resolved(agent, number, TOPIC if number < ALIKE else "") for number in range(ALIKE + APART)]
        longest = {"source": text(limits.SOURCE_MAX, 1), "tags": [text(limits.TAG_MAX, each) for each in range(5)]}
        facts = {**longest, "title": text(5_000, 1), "extra": json.dumps({"fact": text(4_000, 1)})}
        memories = [
            id_in((await agent.call("add_memory", text=text(4_000, number), metadata=facts))["text"])
            for number in range(MEMORIES)
        ]
        memories.append(id_in((await agent.call("add_memory", text=f"{TOPIC} " * 2_000))["text"]))
        await program.services.writer.settle()
        (cluster, *_) = (await agent.call("get_clusters", axis="full"))["clusters"]
        values = [await value(agent, cluster["cluster_id"], number, entries[:ALIKE]) for number in range(20)]
    for number in range(SESSIONS):
        async with program.agent(replace(CALLER, session=session_hash(f"left {number}"))) as agent:
            await agent.call("start_ghap", domain="testing", strategy="ask-user", **statements(number, TOPIC))
    for number in range(FAILURES):
        command = {"command": text(limits.COMMAND_MAX, number)}
        given = {"hook_event_name": "PostToolUseFailure", "session_id": "f", "tool_name": "Bash", "tool_input": command}
        error = f"Exit code 1\nerror: {text(limits.SIGNATURE_MAX, number)}"
        await program.hook({**given, "error": error}, program.storage, project=CALLER.project)
    return {"ghap_id": entries, "memory_id": memories, "value_id": values, "cluster_id": [cluster["cluster_id"]]}


def statements(number: int, topic: str) -> dict[str, str]:
    """Return the four statements of an entry, as long as they may be."""
    names = ("goal", "hypothesis", "action", "prediction")
    return {name: text(limits.STATEMENT_MAX, number, topic) for name in names}


async def resolved(agent: Agent, number: int, topic: str) -> str:
    """Resolve an entry with every text as long as it may be, and return its id."""
    long = text(limits.NARRATIVE_MAX, number, topic)
    started = await agent.call("start_ghap", domain="testing", strategy="ask-user", **statements(number, topic))
    for part in range(12 if number == 0 else 0):
        later = {name: each for name, each in statements(part, topic).items() if name != "goal"}
        await agent.call("update_ghap", **later, note=long)
    await agent.call(
        "resolve_ghap",
        status="falsified",
        result=long,
        surprise=long,
        root_cause={"category": "oversight", "description": long},
        lesson={"what_worked": long, "takeaway": long},
    )
    return str(started["id"])


async def value(agent: Agent, cluster_id: str, number: int, supported_by: list[str]) -> str:
    """Store a value as long as it may be, and return its id."""
    said = f"{TOPIC} number{number} " * limits.VALUE_MAX
    stored = {"text": said[: limits.VALUE_MAX].strip(), "cluster_id": cluster_id, "axis": "full"}
    return str((await agent.call("store_value", **stored, supported_by=supported_by))["id"])


def known(ids: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return what is said for arguments: the first ids, and texts as long as they may be."""
    some = {name: each[:2] for name, each in ids.items()}
    return {
        **some,
        "ID": [each[0] for each in ids.values()],
        **COMMANDS_OF_RULES,
        **{name: [f"{TOPIC} " * 20] for name in ("query", "QUERY")},
        **{name: [text(limits.VALUE_MAX, 1, TOPIC)] for name in ("text", "surprise", "cause", "takeaway", "result")},
        **{name: ["2026-01-01"] for name in ("since", "DATE")},
        **{name: [CALLER.project] for name in ("project", "NAME")},
        **{name: [text(limits.TAG_MAX, 1)] for name in ("tags", "source")},
        "CLIENT": ["codex"],
        "about": ["lesson_of_nobody"],
        "folder": ["."],
        "resolve name": [ids["ghap_id"][0]],
        "learn-from path": ["."],
        "backup path": ["backup.tar.gz"],
        "import path": ["backup.tar.gz"],
    }


async def pages(agent: Agent, tool: str, arguments: Mapping[str, Any]) -> AsyncIterator[Said]:
    """Yield each page of a reply; raise `EndlessError` if one leads to itself or to an earlier one."""
    offset = -1
    given = dict(arguments)
    while True:
        said = await agent.ask(tool, **given)
        yield said
        found = [] if said.is_refused else re.findall(NEXT[TOOLS[tool].wire.is_structured], said.text)
        if not found:
            return
        name, following = found[-1]
        if int(following) <= offset:
            raise EndlessError(tool)
        offset = int(following)
        given[name] = offset


NEXT: Final = {True: re.compile(r'"(offset)":(\d+)[,}](?!.*"offset":)'), False: re.compile(r"(text_offset)[=: ]+(\d+)")}
"""How a reply says where the next page begins: data, and texts."""


async def test_every_reply_fits_and_paging_ends(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = await fill(program)
    too_long, endless, most = set(), set(), 0
    async with program.agent(replace(CALLER, session=session_hash("reader"))) as agent:
        for name, tool in AGENTS_TOOLS.items():
            for arguments in calls(tool.input_schema, known(ids)):
                try:
                    async for said in pages(agent, name, arguments):
                        most = max(most, len(said.text))
                        if len(said.text) > limits.REPLY_MAX and not arguments.get("full_text"):
                            too_long.add(name)
                except EndlessError:
                    endless.add(name)
    # Or it would show nothing.
    assert most > limits.REPLY_MAX * 0.9
    found = too_long, endless, await unending(program, ids, monkeypatch)
    assert found == (set(), set(), set())


async def unending(program: Program, ids: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the commands that ask for more and more."""
    asked = list[str]()

    async def run(self: Connection, operation: str, doing: str = "", /, **fields: object) -> dict[str, Any]:
        asked.append(operation)
        if len(asked) > OPERATIONS:
            raise EndlessError
        return await as_it_is(self, operation, doing, **fields)

    as_it_is = Connection.run
    monkeypatch.setattr(Connection, "run", run)
    found = set()
    for name, words in command_lines(known(ids)):
        asked.clear()
        result = await program.run(*words)
        if len(asked) > OPERATIONS:
            found.add(name)
        else:
            assert result.exception is None or isinstance(result.exception, SystemExit), (words, result.exc_info)
    return found
