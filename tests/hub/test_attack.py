"""Sessions send generated calls and frames, many of them wrong, while their hub is killed repeatedly."""

import json
import os
import random
import re
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.server.tools.catalog import TOOLS
from tests.acceptance.hubs import ENTRY, IN_PROC, memory_in, until
from tests.acceptance.wire import ERAS, Wire
from tests.generated_arguments import Generator
from tests.services import opened

pytestmark = IN_PROC

SESSIONS = 4
CALLS = 400
KILLS = 4
AHEAD = 12
"""Requests of a session that may be unanswered at the same time."""
WORD = re.compile(r"tok[0-9]+x[0-9]+z")
"""A word that occurs in one request only."""
ANSWERED = (
    '{"jsonrpc":"1.0","id":ID,"method":"ping"}',
    '{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":[]}',
    '{"jsonrpc":"2.0","id":ID,"method":"ping","params":{"a":"\\ud83d"}}',
    '{"hub":"again","ids":[ID],"id":ID}',
)
UNANSWERED = (
    *("garbage", '{"hub":"drain"}', '{"hub":"again","ids":[1,2,3]}', '{"jsonrpc":"2.0","method":"x"}', "\x00"),
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_stats","arguments":' + "[" * 3000,
)
"""Lines that must be answered under their id, and lines that have none, or none that can be read."""


class Attacker:
    """A session: what it has sent, and what was acknowledged."""

    def __init__(self, wire: Wire, number: int) -> None:
        self._wire, self._number = wire, number
        self._chance = random.Random(number)
        self._open: list[str] = []
        self._memories: dict[str, str] = {}
        self._waiting: list[tuple[int, str, str]] = []
        self._cancelled: set[int] = set()
        self._generator = Generator(self._chance, self._open, longest=10_000)
        self.written: set[str] = set()
        self.deleted: set[str] = set()
        self.may_be_deleted: set[str] = set()
        """Of what is deleted by a hub that is killed, nobody may hear."""
        self.sent = 0

    def attack(self) -> None:
        while self.sent < CALLS:
            self.sent += 1
            kind = self._chance.random()
            if kind < 0.6:
                self._send(*self._valid())
            elif kind < 0.85:
                tool = self._chance.choice(TOOLS)
                self._send(tool.name, self._generator.arguments(tool.input_schema), "")
            elif kind < 0.87:
                self._cancelled.add(self._wire.send_call("search_experiences", query="the price cache"))
                cancelled = {"requestId": max(self._cancelled)}
                frame = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}
                self._wire.send_line(json.dumps(frame))
            elif kind < 0.93:
                self._wire.send_line(self._chance.choice(UNANSWERED))
            else:
                self._wire.send_line(self._chance.choice(ANSWERED).replace("ID", str(-self.sent)))
                self._waiting.append((-self.sent, "", ""))
            while len(self._waiting) > AHEAD:
                self._take()
        while self._waiting:
            self._take()

    def end(self) -> None:
        """Leave, and check that nothing was answered twice."""
        assert self._wire.close() == 0
        with pytest.raises(EOFError):
            self._wire.answer(0)
        assert self._wire.unasked() <= {None, *self._cancelled}

    def _send(self, tool: str, arguments: dict[str, Any], word: str) -> None:
        self._waiting.append((self._wire.send_call(tool, **arguments), tool, word))

    def _take(self) -> None:
        request, tool, word = self._waiting.pop(0)
        answer = self._wire.answer(request)
        result = answer.get("result", {"isError": True})
        if not tool or result["isError"]:
            return
        self.written |= {word} - {""}
        if tool == "start_ghap":
            self._open.append(result["structuredContent"]["id"])
        elif tool == "add_memory" and word:
            self._memories[result["content"][0]["text"].partition("ID: ")[2].split("\n")[0]] = word
        elif tool == "delete_memory" and word:
            self.deleted.add(word)

    def _valid(self) -> tuple[str, dict[str, Any], str]:
        word = f"tok{self._number}x{self.sent}z"
        tool = self._chance.choice(("start", "start", "update", "resolve", "resolve", "add", "delete", "read"))
        if tool == "start":
            return "start_ghap", {**ENTRY, "goal": f"understand {word}"}, word
        if tool == "add":
            return (
                "add_memory",
                {"text": f"It happens, {word}. " + "It happens. " * self._chance.choice((1, 300))},
                word,
            )
        if tool == "delete" and self._memories:
            memory, word = self._memories.popitem()
            self.may_be_deleted.add(word)
            return "delete_memory", {"memory_id": memory}, word
        if tool == "update" and self._open:
            return "update_ghap", {"note": word, "ghap_id": self._open[-1]}, word
        if tool == "resolve" and self._open:
            return "resolve_ghap", {"status": "confirmed", "result": word, "ghap_id": self._open.pop(0)}, word
        return "search_memory", {"query": "what happens", "limit": 5}, ""


def _have_sent(attackers: list[Attacker], calls: int) -> bool:
    return sum(each.sent for each in attackers) >= calls


async def test_nothing_is_lost_doubled_or_left_unanswered(tmp_path: Path) -> None:
    storage = tmp_path / "data"
    storage.mkdir(mode=0o700)
    with memory_in(storage) as memory, ThreadPoolExecutor(SESSIONS) as threads:
        attackers = [
            Attacker(memory.greeted(f"session {n}", ERAS[n % 2], log_level="warning"), n) for n in range(SESSIONS)
        ]
        attacks = [threads.submit(each.attack) for each in attackers]
        for kill in range(1, KILLS + 1):
            has_begun = partial(_have_sent, attackers, kill * SESSIONS * CALLS // (KILLS + 1))
            until(has_begun, "the sessions stand still", 120)
            os.kill(memory.hub(), signal.SIGKILL)
        for done in attacks:
            done.result(120)
        for each in attackers:
            each.end()
        memory.command("hub", "stop")
        until(lambda: not memory.processes(), "a process is left")

    assert '"outcome": "crashed"' not in (storage / "hub.log").read_text("utf-8")
    written = set().union(*(each.written for each in attackers))
    deleted, may_be = (
        set().union(*sets)
        for sets in ([each.deleted for each in attackers], [each.may_be_deleted for each in attackers])
    )
    assert len(written) > SESSIONS * CALLS / 4
    async with opened(storage) as services:
        assert services.journal.damage() == []
        entries, memories = services.collector.list_resolved(), services.memory_log.all()
        found = Counter(WORD.findall(repr([*entries, *services.journal.open_entries(), *memories])))
        assert deleted <= written - found.keys() <= may_be
        assert set(found.values()) == {1}
        await services.index.open()
        await services.writer.find_pending()
        await services.writer.reconciler.catch_up()
        assert await services.writer.find_pending() == 0
        assert (await services.index.counts())["experiences_full"] == len(entries)
