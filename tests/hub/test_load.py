"""Eight sessions write concurrently while their hub is killed repeatedly."""

import os
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from learning_memory_server.system import timeouts
from tests.acceptance.hubs import ENTRY, entries_in, memory_in
from tests.acceptance.wire import ERAS, Wire
from tests.support import MINUTES

pytestmark = pytest.mark.slow

SESSIONS = 8
ENTRIES = 40
KILLS = 5
STALL_SECONDS = timeouts.CONNECT


class Progress:
    """Counts the entries of all sessions and notifies one waiter when there are enough."""

    def __init__(self) -> None:
        self.stalls: list[float] = []
        self._changed = threading.Condition()

    def timed(self, wire: Wire, tool: str, **arguments: object) -> str:
        begun = time.monotonic()
        ghap_id: str = wire.call(tool, **arguments)["id"]
        with self._changed:
            self.stalls.append(time.monotonic() - begun)
            self._changed.notify()
        return ghap_id

    def wait_for(self, calls: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.stalls) >= calls, timeout=MINUTES)


def write(wire: Wire, session: int, progress: Progress) -> list[str]:
    """Write a session's entries, check that the current one is always its own, and leave one open."""
    ids = []
    for number in range(ENTRIES):
        goal = f"entry {number} of session {session}"
        ids.append(progress.timed(wire, "start_ghap", **{**ENTRY, "goal": goal}))
        if number % 10 == 0:
            assert wire.call("get_active_ghap")["goal"] == goal
        resolved = progress.timed(wire, "resolve_ghap", status="confirmed", result=goal)
        assert resolved == ids[-1]
    progress.timed(wire, "start_ghap", **{**ENTRY, "goal": f"the last of session {session}"})
    return ids


def test_no_entry_is_lost_or_duplicated_when_the_hub_is_killed(tmp_path: Path) -> None:
    storage = tmp_path / "data"
    storage.mkdir(mode=0o700)
    progress = Progress()
    with memory_in(storage) as memory, ThreadPoolExecutor(SESSIONS) as threads:
        fronts = [memory.greeted(f"session {n}", ERAS[n % 2], log_level="error") for n in range(SESSIONS)]
        writing = [threads.submit(write, front, n, progress) for n, front in enumerate(fronts)]
        for kill in range(1, KILLS + 1):
            progress.wait_for(kill * 2 * SESSIONS * ENTRIES // (KILLS + 1))
            os.kill(memory.hub(), signal.SIGKILL)
        ids = [done.result(MINUTES) for done in writing]
        currents = [front.call("get_active_ghap")["goal"] for front in fronts]
        assert currents == [f"the last of session {n}" for n in range(SESSIONS)]

    worst = f"the worst of {len(progress.stalls)} calls took {max(progress.stalls):.1f} s"
    found = Counter(entry["id"] for entry in entries_in(storage))
    written = [ghap_id for of_session in ids for ghap_id in of_session]
    assert len(set(written)) == SESSIONS * ENTRIES, worst
    assert set(written) == set(found), worst
    assert max(found.values()) == 1, worst
    goals = Counter(entry["goal"] for entry in entries_in(storage))
    assert set(goals.values()) == {1}, worst
    assert len(list((storage / "journal" / "open").glob("*.json"))) == SESSIONS, worst
    assert max(progress.stalls) < STALL_SECONDS, worst
