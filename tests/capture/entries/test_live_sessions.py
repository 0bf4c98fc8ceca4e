import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from learning_memory_server.capture.entries.open_entries import LiveSessions
from learning_memory_server.system import timeouts
from tests.support import NOON


class Watch:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.json"


def test_a_session_lives_while_one_of_its_fronts_is_connected(watch: Watch, path: Path) -> None:
    live = LiveSessions(watch, path)
    assert not live.is_live("a")
    with live.connected("a", 1):
        with live.connected("a", 2):
            watch.now += timedelta(days=1)
            assert live.is_live("a")
        assert live.is_live("a")
        assert not live.is_live("b")
    assert not live.is_live("a")


def test_a_session_lives_half_an_hour_after_a_hook_unless_it_says_it_ends(watch: Watch, path: Path) -> None:
    live = LiveSessions(watch, path)
    live.heard("a")
    live.heard("b")
    live.ended("b")
    assert (live.is_live("a"), live.is_live("b")) == (True, False)
    watch.now += timedelta(seconds=timeouts.SESSION_HEARD)
    assert live.is_live("a")
    watch.now += timedelta(seconds=1)
    assert not live.is_live("a")


def test_the_next_hub_takes_fronts_that_still_run_for_live_ones_for_a_while(watch: Watch, path: Path) -> None:
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
def test_a_file_that_says_nothing_is_no_obstacle(watch: Watch, path: Path, content: str) -> None:
    path.write_bytes(content.encode("latin-1"))
    live = LiveSessions(watch, path)
    assert not live.is_live("a")
    path.unlink()
    path.mkdir()
    with live.connected("a", os.getpid()):
        assert live.is_live("a")
