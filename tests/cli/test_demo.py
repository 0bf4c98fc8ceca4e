"""The demo over the real server, and the examples that it replays."""

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
import zlib
from base64 import b64decode
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.cli.demo import examples, open_example
from learning_memory_server.index.document import axis_texts
from learning_memory_server.journal.kinds import GHAP
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.limits import NARRATIVE_MAX, STATEMENT_MAX, checked_text
from learning_memory_server.model.vocabulary import Axis, OutcomeStatus, Tier


def entry(example: dict[str, Any]) -> Ghap:
    """Return the entry made of an example's last step and its outcome."""
    at = "2026-01-01T00:00:00+00:00"
    told = {
        name: part for name, part in example.items() if name not in {"steps", "written_for", "days_ago", "told", "ran"}
    }
    parts = {name: told.pop(name) for name in ("domain", "strategy", "goal")} | example["steps"][-1]
    made = {"id": "ghap_1", "project": "demo", "agent_session": "demo", "created_at": at}
    return GHAP.decode({**made, **parts, "resolution": {"resolved_at": at, **told}})


def test_every_example_says_in_the_file_that_it_was_written_for_the_demo() -> None:
    assert all(next(iter(example.items())) == ("written_for", "demo") for example in examples())


def test_the_examples_keep_to_the_limits_and_explain_what_was_falsified() -> None:
    for example in examples():
        for text in (
            example["goal"],
            *(step[name] for step in example["steps"] for name in step if name != "confidence"),
        ):
            assert checked_text("statement", text, STATEMENT_MAX) == text
        end = entry(example).outcome
        end.require_explanation()
        narratives = [end.result, end.surprise, end.root_cause and end.root_cause.description]
        if end.lesson:
            narratives += [end.lesson.what_worked, end.lesson.takeaway]
        for text in narratives:
            assert text is None or checked_text("narrative", text, NARRATIVE_MAX) == text


def test_the_examples_are_enough_for_clusters_and_varied() -> None:
    entries = [entry(example) for example in examples()]
    outcomes = Counter(each.outcome.status for each in entries)
    assert len(entries) >= 40
    assert sum(Axis.ROOT_CAUSE in axis_texts(each) for each in entries) >= 20
    assert min(outcomes[status] for status in OutcomeStatus) >= 3
    assert sum(len(example["steps"]) > 1 for example in examples()) >= 2
    assert len({each.goal for each in entries}) == len(entries)
    assert Tier.BRONZE not in {each.tier for each in entries}


def run_demo(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the demo as a person does; its temporary files and a start-up hook are in the folder."""
    command = [sys.executable, "-m", "learning_memory_server", "demo", *options]
    env = {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(folder)}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_demo_works_from_nothing_to_the_line_for_claude_code(tmp_path: Path) -> None:
    shown = run_demo(tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert f"{len(examples())} examples were written for this demo" in shown.stdout
    # Lexical if the model is not loaded yet.
    assert re.search("'flaky tests that share state': (lexical|hybrid) search", shown.stdout)
    assert shown.stdout.count("experiences are in no cluster.") == 2
    assert "verdict  accepted: " in shown.stdout
    assert "verdict  refused: " in shown.stdout
    assert "'the website is sluggish because it talks to postgres hundreds of times': hybrid" in shown.stdout
    before, after = shown.stdout.split("7. Close everything")
    assert "44 experiences and 2 values are still there." in after
    assert "falsified  " in shown.stdout.split("Before it acts, it is told:")[1].split("4. See")[0]
    found = [line for line in before.splitlines() if line.startswith("0.")][-3:]
    assert [line for line in after.splitlines() if line.startswith("0.")] == found
    assert not list(tmp_path.glob("learning-memory-demo-*"))
    (line,) = [line for line in shown.stdout.splitlines() if line.endswith(" start")]
    program, *arguments = shlex.split(line)[:-1]
    assert Path(program).is_absolute()
    version = subprocess.run([program, *arguments, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.startswith("learning-memory-server ")


@pytest.mark.slow
def test_with_json_the_demo_prints_what_was_kept_and_its_store_is_a_story_of_six_weeks(tmp_path: Path) -> None:
    printed = json.loads(run_demo(tmp_path, "--keep", "--json").stdout)
    kept = Path(printed.pop("folder"))
    assert printed.pop("seconds") > 0
    assert printed == {"experiences": len(examples()), "values": 2}

    async def document() -> dict[str, Any]:
        async with open_example(kept) as server:
            await server.run("complete")
            packed = (await server.run("page_data", project=None, folders={}))["document"]
        made: dict[str, Any] = json.loads(zlib.decompress(b64decode(packed)))
        return made

    page = asyncio.run(document())
    dates = [datetime.fromisoformat(each["resolved_at"]) for each in page["entries"]]
    assert timedelta(weeks=5, days=6) < max(dates) - min(dates) < timedelta(weeks=6)
    assert sum("confidence" in each for each in page["entries"]) >= 40
    assert {each["standing"] for each in page["values"]} == {"supported", "contested"}
    assert page["shown"][""]["helped"] >= 5
    assert page["shown"][""]["misled"] >= 3
    assert sum(each["sessions"] > 1 and "followed" in each for each in page["errors"]) >= 1
    assert [each["goal"] for each in page["open"]] == ["Find out why the payment test fails only when all tests run"]
