"""`kill -9` in the middle of writing: what was acknowledged is there afterwards."""

import random
from pathlib import Path

import pytest

from tests.acceptance.hubs import ENTRY
from tests.acceptance.wire import Wire, payload_of, running
from tests.services import opened

pytestmark = pytest.mark.slow

ROUNDS = 10
WRITES = 50
AHEAD = 8
"""Requests in flight at the same time, so that a kill interrupts some."""


def start_entries(wire: Wire, count: int) -> list[str]:
    requests = [
        wire.send_call("start_ghap", **{**ENTRY, "goal": f"survive the end number {number}"}) for number in range(count)
    ]
    return [payload_of(wire.answer(request))["id"] for request in requests]


def resolve_until_killed(wire: Wire, ids: list[str], kill_after: int) -> set[str]:
    """Resolve the entries, kill the server after some answers, and return the ids that were acknowledged.

    An entry that an earlier round resolved without an answer counts too: the server says so.
    """
    waiting: list[tuple[str, int]] = []
    acknowledged: set[str] = set()
    todo = iter(ids)
    for answered in range(len(ids)):
        while len(waiting) < AHEAD and (ghap_id := next(todo, None)):
            request = wire.send_call("resolve_ghap", status="confirmed", result=f"result of {ghap_id}", ghap_id=ghap_id)
            waiting.append((ghap_id, request))
        if answered == kill_after:
            break
        ghap_id, request = waiting.pop(0)
        acknowledge(wire, ghap_id, request, acknowledged)
    wire.kill()
    for ghap_id, request in waiting:
        try:
            acknowledge(wire, ghap_id, request, acknowledged)
        except EOFError:
            break
    return acknowledged


def acknowledge(wire: Wire, ghap_id: str, request: int, acknowledged: set[str]) -> None:
    result = wire.answer(request)["result"]
    if result["isError"]:
        assert f"{ghap_id} is already resolved" in result["content"][0]["text"]
    acknowledged.add(ghap_id)


def journal_of(wire: Wire) -> list[str]:
    """Return the ids of every entry that the server lists, in order."""
    reply = wire.call("list_ghap_entries", limit=100)
    ids = [entry["id"] for entry in reply["results"]]
    while "offset" in reply:
        reply = wire.call("list_ghap_entries", limit=100, offset=reply["offset"])
        ids += [entry["id"] for entry in reply["results"]]
    return ids


async def test_ten_kills_lose_no_acknowledged_entry(tmp_path: Path) -> None:
    chance = random.Random(9)
    acknowledged: set[str] = set()
    unanswered: list[str] = []
    for _ in range(ROUNDS):
        with running(tmp_path, log_level="error") as wire:
            ids = unanswered + start_entries(wire, WRITES - len(unanswered))
            now = resolve_until_killed(wire, ids, kill_after=chance.randrange(WRITES // 4, WRITES))
        acknowledged |= now
        unanswered = [ghap_id for ghap_id in ids if ghap_id not in now]

    with running(tmp_path, log_level="error") as wire:
        listed = journal_of(wire)
        assert len(listed) == len(set(listed))
        lost = acknowledged - set(listed)
        assert not lost, f"{len(lost)} of {len(acknowledged)} acknowledged entries are not in the journal"
        # Waits until the index has caught up, or fails with the reason why it has not.
        wire.call("get_clusters", axis="strategy")
        found = wire.call("search_experiences", query="survive the end number 7", limit=50)
        assert (found["mode"], found["count"]) == ("hybrid", 50)

    async with opened(tmp_path) as services:
        assert services.journal.damage() == []
        entries = services.collector.list_resolved()
        assert all(entry.outcome.result == f"result of {entry.id}" for entry in entries)
        await services.index.open()
        missing = await services.writer.find_pending()
        assert missing == 0, f"{missing} points are not in the index after catching up"
        counts = await services.index.counts()
    assert counts["experiences_full"] == counts["experiences_strategy"] == len(entries)
