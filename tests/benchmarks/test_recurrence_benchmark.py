from __future__ import annotations

import asyncio
import gzip
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.recorded import read_sessions
from benchmarks.recurrence import of_prompts, of_sessions
from benchmarks.recurrence_arms import Event, Lesson, arms
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.embedding.packaged import load_packaged
from tests.learning.failures.written import failed, ran, write_transcript

if TYPE_CHECKING:
    from pathlib import Path

MISSING = "Exit code 1\n/usr/bin/python: No module named pytest"


def call(command: str, output: str = "", *, error: bool = False) -> dict[str, Any]:
    return {"tool": "Bash", "input": command, "output": output, "error": error}


def session(number: int, *calls: dict[str, Any], repository: str = "shop") -> str:
    at = f"2026-01-0{number}T12:00:00+00:00"
    return json.dumps({"session": f"s{number}", "repo": repository, "at": at, "calls": calls})


def test_sessions_are_read_from_each_format(tmp_path: Path) -> None:
    path = tmp_path / "sessions.jsonl.gz"
    path.write_bytes(
        gzip.compress(f"{session(2)}\n{session(1, call('ls'), call('x', 'no', error=True))}".encode())
    )
    first, second = read_sessions(path)
    assert (first.id, first.project, first.at) == ("s1", "shop", datetime(2026, 1, 1, 12, tzinfo=UTC))
    assert [(each.command, each.output, each.has_failed) for each in first.calls] == [
        ("ls", "", False),
        ("x", "no", True),
    ]
    assert second.calls == ()
    write_transcript(
        tmp_path / "folder" / "a.jsonl", failed("python -m pytest", MISSING), ran("python3 -m pytest")
    )
    for place in (tmp_path / "folder", tmp_path / "folder" / "a.jsonl"):
        (only,) = read_sessions(place)
        assert [each.command for each in only.calls] == ["python -m pytest", "python3 -m pytest"]


@pytest.mark.slow
def test_every_arm_is_measured_at_the_same_moments(tmp_path: Path) -> None:
    path = tmp_path / "sessions.jsonl"
    lines = [
        session(
            number,
            call("python -m pytest", MISSING, error=True),
            call("python3 -m pytest"),
            repository="shop" if number % 2 else "blog",
        )
        for number in range(1, 7)
    ]
    path.write_text("\n".join(lines), "utf-8")
    found = asyncio.run(of_sessions(read_sessions(path), HashingEmbedder()))
    # Two of three in each repository come again.
    assert {arm["moments"] for arm in found.values()} == {4}
    assert (found["nothing"]["told"], found["nothing"]["speech"], found["nothing"]["calls"]) == (0, 0, 1)
    assert (found["last"]["told"], found["last"]["right"]) == (1, 1)
    assert found["bm25"]["right"] == found["dense"]["right"] == 1
    assert found["server"] == found["- failure"]
    assert found["server"]["silent"] + len(found["server"]["when"]) > 0


def test_thresholds_come_from_other_repositories_and_ties_are_broken_by_id() -> None:
    def event(repository: str, session: str, right: str) -> Event:
        known = tuple(Lesson(name, "the same words", name) for name in ("b", "a"))
        return Event(session, repository, "the same words", known, lambda text: text == right, is_moment=True)

    def told(*events: Event) -> dict[str, Any]:
        found: dict[str, dict[str, Any]] = arms(
            events, [{"failure": ""}] * len(events), 2, 2, HashingEmbedder()
        )
        return found["dense"]

    # `a` and `b` are equally near: `a` is told, where that was right elsewhere.
    assert told(event("x", "1", "b"), event("y", "2", "a"))["told"] == 0.5
    assert told(event("x", "1", "a"), event("y", "2", "a"))["right"] == 1
    assert told(event("x", "1", "b"), event("y", "2", "b"))["told"] == 0


@pytest.mark.slow
def test_no_prompt_that_nothing_bears_on_is_answered_more_than_once_in_twenty() -> None:
    found = asyncio.run(of_prompts(load_packaged()))["server"]
    assert found["moments"] == 36
    assert found["told"] > 0.7
    assert found["right"] > 0.9
    assert found["elsewhere"] <= 4
