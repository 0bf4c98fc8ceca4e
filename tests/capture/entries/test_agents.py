"""Several agents of a session, and several sessions of a project: whose entry a call is about."""

import os
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.capture.entries.open_entries import EntryOwner, LiveSessions
from learning_memory_server.errors import InvalidInputError, NoActiveGhapError
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.caller import MAIN_AGENT
from learning_memory_server.model.entry import Run
from learning_memory_server.system import timeouts
from tests.support import ALICE, BOB, CAROL, NOON, TickingClock, confirm, ghap, ids, reloaded, start

MAIN = replace(ALICE, agent=MAIN_AGENT)
SUB, OTHER = replace(ALICE, agent="5" * 16), replace(ALICE, agent="6" * 16)
RUN = Run(at=NOON, command="make", exit_status=0)


@pytest.fixture
def live(journal: Journal) -> ObservationCollector:
    """A collector that knows Alice's and Bob's sessions for live ones."""
    return ObservationCollector(journal, TickingClock(), {ALICE.session, BOB.session}.__contains__)


def test_each_agent_of_a_session_has_its_own_entry_even_after_a_restart(
    live: ObservationCollector, journal: Journal
) -> None:
    entries = {agent: start(live, agent, goal=str(agent.agent)) for agent in (MAIN, SUB, OTHER)}

    for each in (live, reloaded(journal)):
        assert {agent: each.still_open.current(agent) for agent in entries} == entries
        assert not any(entry.orphaned for entry in entries.values())
        assert each.still_open.others(SUB, elsewhere=False) == []
        assert ids(each.still_open.others(SUB, elsewhere=True)) == [entries[OTHER].id, entries[MAIN].id]
        assert each.still_open.owner(entries[MAIN], SUB) is EntryOwner.AGENT
    assert confirm(live, SUB).id == entries[SUB].id
    with pytest.raises(NoActiveGhapError) as refused:
        confirm(live, SUB)
    # Nothing invites it to close what others are at.
    assert refused.value.hint == "Call start_ghap first. After the fact, give resolve_ghap a goal and a hypothesis."
    assert confirm(live, MAIN).id == entries[MAIN].id


def test_an_unknown_agent_must_name_its_entry_where_several_are_open(live: ObservationCollector) -> None:
    first = start(live, ALICE, goal="mend the cache")
    assert live.update(ALICE, note="the only one").id == first.id
    second = start(live, ALICE, goal="mend the pool")

    for call in (confirm, ObservationCollector.get_target):
        with pytest.raises(InvalidInputError) as caught:
            call(live, ALICE)
        assert f"{first.id} (mend the cache)" in caught.value.message
        assert f"{second.id} (mend the pool)" in caught.value.message
        assert caught.value.hint is not None
        assert "ghap_id" in caught.value.hint
    assert confirm(live, ALICE, first.id).goal == "mend the cache"
    assert confirm(live).id == second.id


def test_an_agent_that_is_not_known_never_gets_the_entry_of_one_that_is(live: ObservationCollector) -> None:
    mains = start(live, MAIN)

    with pytest.raises(NoActiveGhapError) as refused:
        confirm(live, ALICE)
    assert refused.value.hint is not None
    assert mains.id in refused.value.hint
    start(live, ALICE)
    assert live.still_open.current(MAIN) == mains


def test_an_agent_that_is_not_known_takes_no_entry_from_one_that_is(live: ObservationCollector) -> None:
    mains = start(live, MAIN)

    assert live.update(ALICE, mains.id, note="by whom?").id == mains.id

    current = live.still_open.current(MAIN)
    assert current is not None
    assert (current.id, current.agent) == (mains.id, MAIN_AGENT)


def test_runs_go_to_the_agent_that_made_them_or_nowhere(live: ObservationCollector) -> None:
    mains, subs = start(live, MAIN), start(live, SUB)

    assert live.add_run(OTHER, RUN) is None
    assert live.add_run(ALICE, RUN) is None
    added = live.add_run(SUB, RUN)

    assert added is not None
    assert (added.id, added.runs) == (subs.id, (RUN,))
    assert live.still_open.current(MAIN) == mains


def test_nobody_adopts_what_another_agent_or_a_live_session_is_at(live: ObservationCollector) -> None:
    alices, bobs = start(live, MAIN), start(live, BOB)

    for theirs in (alices, bobs):
        live.update(SUB, theirs.id, note="seen")
        assert live.still_open.current(SUB) is None
    assert ids(live.still_open.others(SUB, elsewhere=True)) == [bobs.id, alices.id]
    assert live.still_open.owner(bobs, SUB) is EntryOwner.SESSION
    assert confirm(live, SUB, bobs.id).id == bobs.id
    assert live.still_open.current(MAIN) is not None


def test_what_a_session_left_that_has_ended_is_an_orphan(live: ObservationCollector) -> None:
    left = ghap(id="ghap_1", project=ALICE.project, agent_session="e" * 16, agent=MAIN_AGENT)
    live.add_open([left])

    assert ids(live.still_open.others(SUB, elsewhere=False)) == [left.id]
    assert live.still_open.others(SUB, elsewhere=True) == live.still_open.others(CAROL, elsewhere=False) == []
    assert live.still_open.owner(left, SUB) is EntryOwner.NOBODY

    adopted = live.update(SUB, left.id, note="mine now")

    assert live.still_open.current(SUB) == adopted
    assert (adopted.agent_session, adopted.agent) == (SUB.session, SUB.agent)


@pytest.fixture
def watch() -> TickingClock:
    """A clock that is set by hand."""
    return TickingClock(step=timedelta(0))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.json"


def test_a_session_lives_while_one_of_its_fronts_is_connected(watch: TickingClock, path: Path) -> None:
    live = LiveSessions(watch, path)
    assert not live.is_live("a")
    with live.connected("a", 1):
        with live.connected("a", 2):
            watch.now += timedelta(days=1)
            assert live.is_live("a")
        assert live.is_live("a")
        assert not live.is_live("b")
    assert not live.is_live("a")


def test_a_session_lives_half_an_hour_after_a_hook_unless_it_says_it_ends(watch: TickingClock, path: Path) -> None:
    live = LiveSessions(watch, path)
    live.heard("a")
    live.heard("b")
    live.ended("b")
    assert (live.is_live("a"), live.is_live("b")) == (True, False)
    watch.now += timedelta(seconds=timeouts.SESSION_HEARD)
    assert live.is_live("a")
    watch.now += timedelta(seconds=1)
    assert not live.is_live("a")


def test_the_next_hub_takes_fronts_that_still_run_for_live_ones_for_a_while(watch: TickingClock, path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    before = LiveSessions(watch, path)
    with before.connected("gone", ended.pid), before.connected("old front", None), before.connected("a", os.getpid()):
        # The hub is killed here.
        after = LiveSessions(watch, path)
    assert [after.is_live(name) for name in ("a", "gone", "old front")] == [True, False, False]
    watch.now += timedelta(seconds=timeouts.SESSION_HEARD) + timedelta(seconds=1)
    assert not after.is_live("a")
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", ["", "[]", '{"a": 1}', '{"a": ["x"]}', '{"a": [1e400]}', "\xff"])
def test_a_file_that_says_nothing_is_no_obstacle(watch: TickingClock, path: Path, content: str) -> None:
    path.write_bytes(content.encode("latin-1"))
    live = LiveSessions(watch, path)
    assert not live.is_live("a")
    path.unlink()
    path.mkdir()
    with live.connected("a", os.getpid()):
        assert live.is_live("a")


def test_a_session_that_was_killed_is_over_until_it_is_heard_of_again(watch: TickingClock, path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as front:
        live = LiveSessions(watch, path)
        live.heard("a")
        with live.connected("a", front.pid):
            after = LiveSessions(watch, path)
        # Its hooks speak, and it may connect again.
        assert live.is_live("a")
        assert after.is_live("a")
        front.kill()
    for each in (live, after):
        assert not each.is_live("a")
        each.heard("a")
        assert each.is_live("a")
