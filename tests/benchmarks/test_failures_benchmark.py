from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

from benchmarks.failures import first_day, last, measure, read, recorded_in, replay, shield

if TYPE_CHECKING:
    from pathlib import Path

MISSING = "Exit code 1\n/usr/bin/python: No module named pytest"


def call(command: str, output: str = "", *, error: bool = False) -> dict[str, Any]:
    return {"tool": "Bash", "input": command, "output": output, "error": error}


def session(number: int, *calls: dict[str, Any], repository: str = "shop") -> str:
    return json.dumps(
        {"session": f"s{number}", "repo": repository, "at": f"2026-01-0{number}", "calls": calls}
    )


def test_sessions_are_replayed_in_time_order_with_a_memory_for_each_repository(tmp_path: Path) -> None:
    lines = [
        session(2, call("python -m pytest a.py", MISSING, error=True), call("python3 -m pytest a.py")),
        session(1, call("python -m pytest", MISSING, error=True), call("ls"), call("python3 -m pytest")),
        session(3, call("python -m pytest b.py", MISSING, error=True), repository="other"),
        session(4, call("python -m pytest b.py", MISSING, error=True), call("ls")),
    ]
    path = tmp_path / "sessions.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    report = measure(read(path))
    assert report["failures"] == 4
    # Those of the sessions 2 and 4: the session 3 is in another repository, and 1 is the first.
    assert report["repeats"] == report["with_remedy"] == report["shown_count"] == 2
    assert (report["judged"], report["unknown"]) == (1, 1)
    assert (report["shown"], report["precision"]) == (1.0, 1.0)
    assert report["without_commonest"]["repeats"] == 0


def test_a_session_that_succeeded_with_the_same_command_counts_against_what_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "sessions.jsonl"
    first = session(1, call("python a.py", MISSING, error=True), call("python3 a.py"))
    second = session(2, call("python a.py", MISSING, error=True), call("python a.py"))
    path.write_text(f"{first}\n{second}\n", "utf-8")
    for rule in (shield, last):
        assert replay(read(path), rule).data()["precision"] == 0


def test_a_remedy_of_the_same_session_is_known_only_once_it_has_succeeded(tmp_path: Path) -> None:
    path = tmp_path / "sessions.jsonl"
    failing = call("python a.py", MISSING, error=True)
    path.write_text(
        f"{session(1, failing)}\n{session(2, failing, failing, call('python3 a.py'), failing)}\n", "utf-8"
    )
    seen = []

    def noting(failed: Any, known: Any) -> None:
        seen.append((failed.place, sum(other.case.change is not None for other in known)))

    replay(read(path), noting)
    assert seen == [(0, 0), (0, 0), (1, 0), (3, 2)]


def test_what_was_learned_of_the_earlier_half_is_shown_in_the_later_one(tmp_path: Path) -> None:
    path = tmp_path / "sessions.jsonl"
    mended = [call("python -m pytest", MISSING, error=True), call("python3 -m pytest")]
    other = call("python -m pytest", MISSING, error=True)
    lines = [session(1, *mended), session(2), session(3, *mended), session(4, other, repository="other")]
    path.write_text("\n".join(lines), "utf-8")
    report = first_day(recorded_in(path))
    assert (report["repeats"], report["with_remedy"], report["shown_count"]) == (1, 1, 1)
    assert (report["judged"], report["precision"]) == (1, 1.0)
    assert measure(read(path)[2:])["repeats"] == 0
