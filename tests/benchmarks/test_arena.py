"""The trap tasks can be lost and won, and a scripted agent meets the arms as they are meant."""

import json
import subprocess
import sys

import pytest

from benchmarks.arena.arms import ARMS, ROOT, Agent
from benchmarks.arena.families import FAMILIES
from benchmarks.arena.runner import check, play_all, report_of
from tests.support import MINUTES

pytestmark = pytest.mark.slow

PLAYED = tuple(FAMILIES)[1::2]
"""Half of the families: the arms differ in what they are told, and not by family."""


@pytest.mark.parametrize("variant", ["a", "b"])
@pytest.mark.parametrize("kind", FAMILIES)
def test_a_task_is_not_solved_untouched_or_naively_and_is_by_its_rule(kind: str, variant: str) -> None:
    assert list(check(kind, variant)) == []


def test_a_scripted_agent_is_told_the_rule_where_a_memory_or_a_file_has_it() -> None:
    runs = play_all(ARMS, PLAYED, 1, Agent(), lambda _: None)

    report = json.loads(json.dumps(report_of(runs, Agent())))
    assert report["agent"] == "scripted, which is no language model"
    solved = {arm: found["solved"] for arm, found in report["arms"].items()}
    # Hooks alone record no entry here, so that there is no lesson to show.
    assert solved == {"nothing": 0, "hooks": 0, "installed": 4, "file": 4}
    failed = {arm: found["failed"] for arm, found in report["arms"].items()}
    assert failed == {"nothing": 2, "hooks": 2, "installed": 0, "file": 0}
    told = {(run.arm, run.family): run.told for run in runs if run.variant == "b"}
    for kind in PLAYED:
        assert 0 < told["file", kind] <= told["installed", kind]
        assert told["nothing", kind] == 0
    # In variant a nobody knows the rule.
    assert {run.failed for run in runs if run.variant == "a"} == {2}


def test_no_agent_is_started_before_somebody_has_agreed_to_what_it_may_cost() -> None:
    command = [sys.executable, "-m", "benchmarks.arena", "--agent", "false {prompt}", "--repeats", "3"]

    done = subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=MINUTES
    )

    assert (done.returncode, done.stderr) == (1, "Nothing was started.\n")
    assert "144 runs of: false {prompt}\n" in done.stdout
    assert "that is $72.00." in done.stdout
