from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

from benchmarks.failures import alarms, figures, first_day, measure, replay
from benchmarks.recorded import read_sessions

if TYPE_CHECKING:
    from pathlib import Path

MISSING = "Exit code 1\n/usr/bin/python: No module named pytest"


def call(command: str, output: str = "", *, error: bool = False) -> dict[str, Any]:
    return {"tool": "Bash", "input": command, "output": output, "error": error}


def session(number: int, *calls: dict[str, Any], repository: str = "shop") -> str:
    return json.dumps(
        {"session": f"s{number}", "repo": repository, "at": f"2026-01-0{number}", "calls": calls}
    )


def recorded(path: Path, *lines: str) -> list[Any]:
    path.write_text("\n".join(lines), "utf-8")
    return list(read_sessions(path))


async def test_sessions_are_replayed_in_time_order_with_a_memory_for_each_repository(tmp_path: Path) -> None:
    lines = [
        session(2, call("python -m pytest a.py", MISSING, error=True), call("python3 -m pytest a.py")),
        session(1, call("python -m pytest", MISSING, error=True), call("ls"), call("python3 -m pytest")),
        session(3, call("python -m pytest b.py", MISSING, error=True), repository="other"),
        session(4, call("python -m pytest b.py", MISSING, error=True), call("ls")),
    ]
    path = tmp_path / "sessions.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    report = await measure(read_sessions(path))
    assert report["failures"] == 4
    # Those of the sessions 2 and 4: the session 3 is in another repository, and 1 is the first.
    assert report["repeats"] == report["with_remedy"] == report["may_be_told"] == report["shown_count"] == 2
    assert (report["judged"], report["shown"], report["precision"]) == (1, 1.0, 1.0)
    assert report["without_commonest"]["repeats"] == 0


async def test_a_session_that_succeeded_with_the_same_command_counts_against_what_is_told(
    tmp_path: Path,
) -> None:
    first = session(1, call("python a.py", MISSING, error=True), call("python3 a.py"))
    second = session(2, call("python a.py", MISSING, error=True), call("python a.py"))
    report = await measure(recorded(tmp_path / "sessions.jsonl", first, second))
    assert report["precision"] == 0


async def test_what_was_learned_of_the_earlier_half_is_told_in_the_later_one(tmp_path: Path) -> None:
    mended = [call("python -m pytest", MISSING, error=True), call("python3 -m pytest")]
    other = call("python -m pytest", MISSING, error=True)
    lines = [session(1, *mended), session(2), session(3, *mended), session(4, other, repository="other")]
    sessions = recorded(tmp_path / "sessions.jsonl", *lines)
    report = figures((await first_day(sessions)).moments)
    assert (report["repeats"], report["with_remedy"], report["shown_count"]) == (1, 1, 1)
    assert (report["judged"], report["precision"]) == (1, 1.0)
    assert (await measure(sessions[2:]))["repeats"] == 0


async def test_a_hidden_failure_counts_only_where_it_is_looked_for(tmp_path: Path) -> None:
    lines = [session(number, call("python -m pytest | tail", MISSING)) for number in (1, 2)]
    sessions = recorded(tmp_path / "sessions.jsonl", *lines)
    assert (await replay(sessions, hidden_too=False)).failures == 0
    assert (await replay(sessions, hidden_too=True)).failures == 2
    assert alarms(sessions) == {"hidden": 2, "found": 2}
