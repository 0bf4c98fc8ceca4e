"""Plays the arms, and says what came of them."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from benchmarks.arena.arms import ARMS, LEARN, ROOT, Agent, Run, world
from benchmarks.arena.families import made
from benchmarks.arena.tools import WORDS, Task, opened
from learning_memory_server.model.value import wilson_interval

LESSONS: Final = json.loads((ROOT / "benchmarks" / "data" / "lessons.json").read_text("utf-8"))["lessons"]
"""About other matters: the last twelve are recorded after those of the tasks."""
_DRAWS: Final = 2_000
_NOTES: Final = "# Notes on this project\n\n"


def count_of(arms: Sequence[str], kinds: Sequence[str], repeats: int) -> int:
    """Return how many runs an agent will be started for: two in each arm with a memory, which must learn first."""
    return repeats * len(kinds) * sum(2 if arm in LEARN else 1 for arm in arms)


def play_all(
    arms: Sequence[str], kinds: Sequence[str], repeats: int, agent: Agent, report: Callable[[Run], object]
) -> list[Run]:
    """Play variant a in the arms with a memory, and then variant b in all; return all runs."""

    def play(group: Sequence[str], repeat: int) -> list[Run]:
        runs: list[Run] = []
        told: dict[str, int] = {}
        for arm in (arm for arm in group if arm in arms):
            with world(arm, repeat, agent) as here:
                for variant in "ab" if arm in LEARN else "b":
                    if (arm, variant) == ("installed", "b"):
                        here.learn(LESSONS[-12:])
                    for task in (made(kind, variant) for kind in kinds):
                        runs.append(here.play(task, notes_for(task, told[task.kind]) if arm == "file" else ""))
                        report(runs[-1])
                        told[task.kind] = runs[-1].told
        return runs

    # The size of the file is what the memory said before. A scripted agent is in nobody's way.
    groups = (("nothing",), ("hooks",), ("installed", "file"))
    with ThreadPoolExecutor(len(groups) if agent.is_scripted else 1) as pool:
        jobs = [pool.submit(play, group, repeat) for repeat in range(repeats) for group in groups]
        return [run for job in jobs for run in job.result()]


def notes_for(task: Task, size: int) -> str:
    """Return notes of `size` bytes at most, which begin with the task's rule."""
    lines = "\n".join(f"- {line}" for line in (task.words.rule, *(each["takeaway"] for each in LESSONS)))
    return f"{_NOTES}{lines}\n".encode()[:size].decode("utf-8", "ignore")


def report_of(runs: Sequence[Run], agent: Agent) -> dict[str, Any]:
    """Return what each arm came to in variant b, and all runs."""
    measured = {arm: [run for run in runs if (run.arm, run.variant) == (arm, "b")] for arm in ARMS}
    return {
        "agent": "scripted, which is no language model" if agent.is_scripted else agent.command,
        "arms": {arm: _figures(found) for arm, found in measured.items() if found},
        "runs": [asdict(run) for run in runs],
    }


def _figures(runs: Sequence[Run]) -> dict[str, Any]:
    """Return shares and medians with their 95 % intervals."""
    solved = sum(run.solved for run in runs)
    return {
        "runs": len(runs),
        "solved": solved,
        "solved_interval": [round(bound, 3) for bound in wilson_interval(solved, len(runs))],
        **_median("failed", [run.failed for run in runs]),
        **_median("seconds", [round(run.seconds, 2) for run in runs]),
        **_median("told", [run.told for run in runs]),
        "dollars": sum(run.dollars or 0.0 for run in runs),
    }


def _median(name: str, values: Sequence[float]) -> dict[str, Any]:
    draw = random.Random(0)
    drawn = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(_DRAWS))
    return {name: statistics.median(values), f"{name}_interval": [drawn[_DRAWS // 40], drawn[-_DRAWS // 40 - 1]]}


def print_report(report: Mapping[str, Any]) -> None:
    """Print the figures of the arms, and the failing calls of each family."""
    print(f"\nVariant b, the agent: {report['agent']}. Medians, with 95 % intervals.")
    print(f"{'':11}{'solved':21}{'failing calls':18}{'seconds':23}bytes told")
    for arm, found in report["arms"].items():
        shown = [f"{found[name]:g} {found[f'{name}_interval']}" for name in ("failed", "seconds", "told")]
        solved = f"{found['solved']} of {found['runs']} {found['solved_interval']}"
        print(f"{arm:10} {solved:20} {shown[0]:17} {shown[1]:22} {shown[2]}")
    for family in dict.fromkeys(run["family"] for run in report["runs"]):
        runs = [run for run in report["runs"] if (run["family"], run["variant"]) == (family, "b")]
        came = (f"{run['arm']} {run['failed']}{'' if run['solved'] else ' (not solved)'}" for run in runs)
        print(f"{family:12}{', '.join(came)}")


def check(kind: str, variant: str) -> Iterator[str]:
    """Return what is wrong with a task: what is untouched or tried naively must fail, and the known solution pass."""
    words = WORDS[kind]
    for name, commands, fails in (
        ("fresh", (), 0),
        ("naive", words.naive, len(words.naive)),
        ("known", words.known, 0),
    ):
        task = made(kind, variant)
        with tempfile.TemporaryDirectory() as folder, opened(task, Path(folder)):
            shell = ("/bin/sh", "-c")
            done = [
                subprocess.run([*shell, task.filled(each)], cwd=folder, capture_output=True, check=False)
                for each in commands
            ]
        ended = [each.returncode for each in done]
        if (task.solved_at is not None, task.failed, sum(map(bool, ended))) != (name == "known", fails, fails):
            yield f"{kind} {variant}, {name}: solved at {task.solved_at}, {task.failed} failed calls, exit {ended}"


def play_by_hand(kind: str, variant: str) -> None:
    """Open a shell in a folder with a task's tool, and say at its end whether it was solved."""
    task = made(kind, variant)
    with tempfile.TemporaryDirectory(prefix="arena-") as folder, opened(task, Path(folder)):
        print(f"{task.prompt}\nThe folder is {folder}. `exit` ends it, and says whether it is solved.", flush=True)
        subprocess.run([os.environ.get("SHELL", "/bin/sh")], cwd=folder, check=False)
    solved = "solved" if task.solved_at is not None else "not solved"
    print(f"{solved}: {task.calls} calls, {task.failed} of them failed")
