"""A tenth of the attack, and whether its checks notice what they look for."""

import argparse
import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts.attack import attack
from scripts.attack_checks import check_journal, check_log, read_journal
from scripts.attack_requests import Attempt, Requests

CALLS, KILLS, SECONDS = 5000, 6, 60.0


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_nothing_is_lost_doubled_or_left_unanswered(tmp_path: Path) -> None:
    storage = tmp_path / "data"
    storage.mkdir(mode=0o700)
    options = argparse.Namespace(calls=CALLS, kills=KILLS, seconds=SECONDS, seed=1)
    # A socket's path must be short.
    with tempfile.TemporaryDirectory(prefix="lms-") as runtime:
        wrong, summary = attack(storage, Path(runtime), options)
    assert not wrong, summary
    assert f"{KILLS} kills" in summary


def test_the_same_seed_makes_the_same_requests() -> None:
    def made(seed: int) -> list[Attempt]:
        requests = Requests(random.Random(seed), 0, "2026-07-28")  # noqa: S311 - a test's sample
        return [attempt for _ in range(300) for attempt in requests.next()]

    assert made(1) == made(1)
    assert made(1) != made(2)
    attempts = made(1)
    identities = [attempt.identity for attempt in attempts if attempt.identity is not None]
    assert len(identities) == len(set(identities))
    assert len({attempt.tool for attempt in attempts}) > 10


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., None]:
    """Append a line to a log of the journal."""

    def append(log: str, identity: str, **data: Any) -> None:
        path = tmp_path / log / "2026-01.jsonl"
        path.parent.mkdir(exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps({"id": identity, "data": data}) + "\n")

    return append


def test_a_write_that_is_missing_or_doubled_is_noticed(tmp_path: Path, write: Callable[..., None]) -> None:
    write("entries", "a", goal="tok1x1z", notes=["tok1x2z"], resolution={})
    write("memories", "m", text="tok1x3z")
    written = [
        (Attempt(b"", tool="start_ghap"), "a"),
        (Attempt(b"tok1x2z", tool="update_ghap", word="tok1x2z"), "a"),
        (Attempt(b"", tool="resolve_ghap"), "a"),
        (Attempt(b"", tool="add_memory"), "m"),
    ]
    assert list(check_journal(tmp_path, written)) == []
    lost = [
        (Attempt(b"", tool="start_ghap"), "b"),
        (Attempt(b"tok1x9z", tool="update_ghap", word="tok1x9z"), "a"),
        (Attempt(b"", tool="delete_memory"), "m"),
        (Attempt(b"", tool="store_value"), "v"),
    ]
    assert len(list(check_journal(tmp_path, lost))) == len(lost)
    write("entries", "c", goal="tok1x1z", resolution={})
    assert list(check_journal(tmp_path, written)) == ["tok1x1z was written 2 times"]
    write("entries", "c", goal="tok1x4z", resolution={})
    with pytest.raises(ValueError, match="resolved twice"):
        read_journal(tmp_path)


def test_a_crashed_call_is_noticed(tmp_path: Path) -> None:
    log = tmp_path / "hub.log"
    refused = '{"event": "tool.called", "outcome": "refused", "type": "not_found"}'
    log.write_text(f"learning-memory-server hub: stopped\n{refused}\n")
    assert list(check_log(log)) == []
    log.write_text(f'{refused}\n{{"event": "tool.called", "outcome": "crashed", "tool": "get_stats"}}\n')
    (found,) = check_log(log)
    assert "get_stats" in found
