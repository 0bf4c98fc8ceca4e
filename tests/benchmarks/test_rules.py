"""Rules are replayed over past sessions as if a person had them."""

import gzip
import json
from pathlib import Path
from typing import Any

from benchmarks.rules import Known, alarms_of, commands_that_break, figures, listed, replay
from learning_memory_server.model.rule import CallForm, Pattern, When
from tests.lessons.errors.written import ran, write_transcript

PNPM = Known("Use pnpm, not npm.", When.CALL, Pattern((CallForm(("npm",)),), (CallForm(("pnpm",)),)))
YARN = Known("Never yarn.", When.CALL, Pattern((CallForm(("yarn",)),)))
TESTS = Known("Test before done.", When.DONE, Pattern(first=(CallForm(("make", "test")),)))
EDIT = ran("", tool="Edit", input={"file_path": "/work/shop/a.py", "old_string": "", "new_string": "x"})
COMPACTED = {"type": "user", "sessionId": "first", "isCompactSummary": True, "message": {"content": "Earlier: tea"}}


def of(folder: Path) -> dict[str, Any]:
    return figures(replay([PNPM, TESTS], folder))


def test_a_rule_is_met_once_and_again_after_ten_calls(tmp_path: Path) -> None:
    write_transcript(tmp_path / "a.jsonl", *(ran("npm install") for _ in range(12)), ran("pnpm install"))
    found = of(tmp_path)
    assert (found["calls"], found["matching"], found["broken"]) == (13, 13, 12)
    assert (found["denied"], found["met_before"], found["passed"]) == (2, 10, 0)
    assert found["turns_a_session"] == 2


def test_a_rule_is_met_again_after_a_compaction(tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "a.jsonl", ran("npm install"), ran("npm test"))
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([*lines[:4], json.dumps(COMPACTED), *lines[4:]]), "utf-8")
    assert of(tmp_path)["denied"] == 2


def test_a_rule_denies_at_most_three_times_in_a_session(tmp_path: Path) -> None:
    write_transcript(tmp_path / "a.jsonl", *(ran("npm install") for _ in range(45)), ran("yarn install"))
    found = figures(replay([PNPM, YARN], tmp_path))
    assert (found["denied"], found["passed"]) == (4, 45 - 3 - 27)


def test_the_end_of_work_is_judged_in_each_turn_that_edits(tmp_path: Path) -> None:
    write_transcript(tmp_path / "a.jsonl", EDIT, session="a")
    write_transcript(tmp_path / "b.jsonl", EDIT, ran("make test"), session="b")
    write_transcript(tmp_path / "c.jsonl", ran("make test"), session="c")
    found = of(tmp_path)
    assert (found["ends"], found["ends_broken"]) == (2, 1)


def test_words_that_break_nothing_are_listed(tmp_path: Path) -> None:
    write_transcript(tmp_path / "a.jsonl", ran("echo 'npm is old'"), ran("npm install"))
    replayed = replay([PNPM], tmp_path)
    assert list(listed("unseen", replayed, (0, []))) == [(PNPM.text, "echo 'npm is old'")]
    assert list(listed("broken", replayed, (0, []))) == [(PNPM.text, "npm install")]


def test_each_distinct_command_that_breaks_a_rule_is_counted_once(tmp_path: Path) -> None:
    calls = [{"tool": "Bash", "input": text} for text in ("npm test", "npm test", "ls")]
    path = tmp_path / "sessions.jsonl.gz"
    path.write_bytes(
        gzip.compress(json.dumps({"session": "a", "calls": [*calls, {"tool": "Edit", "input": 3}]}).encode())
    )
    found = commands_that_break([PNPM, TESTS], path)
    assert alarms_of(found) == {"commands": 3, "alarms": 1, "alarms_by_rule": {PNPM.text: 1}}
