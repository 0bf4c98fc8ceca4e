"""What advice adds to `start_ghap`, as a store grows: `python -m benchmarks.advice_growth [--sizes 1000 10000]`.

The tool is called in this process, in turns with advice and without, and each hypothesis is new, so that its vector is
not cached. With --anchors N, each entry is about N of 400 files, of which one in ten is gone and one in three has
changed. Without a limit for advice: `late` is the share that needed more than the server waits, which then says
nothing. The processor's time, of all threads, depends less on what else the machine does.
"""

import asyncio
import json
import random
import statistics
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.measuring import options_of
from benchmarks.population import ENTRY, populate, themes
from learning_memory_server.advice.advisor import Advisor
from learning_memory_server.advice.candidates import Shown
from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.lessons.files.freshness import blob_ids
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Anchor
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.server.calls import ToolRunner
from learning_memory_server.server.composition.services import open_services
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.tools.catalog import TOOLS
from learning_memory_server.system import timeouts

SIZES = (1_000, 10_000, 100_000)
RUNS = 100
FILES = 400
LINES = 200
CALLER = Caller("project-1", "0123456789abcdef")
_WARM_UP = 5
_COLUMNS = ("p50", "p95", "cpu")


def main() -> None:
    """Run the benchmark."""
    options = options_of(__doc__, sizes=SIZES, runs=RUNS, anchors=0)
    print(f"{'':8}{'without advice, ms':^27}{'with advice, ms':^27}")
    print(f"{'entries':>8}" + f"{'p50':>9}{'p95':>9}{'cpu':>9}" * 2 + f"{'late':>8}{'shown':>8}")
    reports = {}
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            report = reports[str(size)] = asyncio.run(measure(Path(folder), size, options.runs, options.anchors))
        print(
            f"{size:>8}"
            + "".join(f"{report[kind][name]:9.1f}" for kind in ("without", "with") for name in _COLUMNS)
            + f"{report['late']:8.2f}{report['shown']:8.2f}"
        )
    if options.json:
        print(json.dumps(reports))


class Silence:
    """An advisor that says nothing."""

    async def at(self, _trigger: Trigger, _caller: Caller) -> Shown:
        """Return nothing."""
        return Shown()


def make_project(folder: Path) -> list[Anchor]:
    """Make a project, and return anchors to its files as they were before some of them changed."""
    anchors = []
    for number in range(FILES):
        lines = [f"value_{line} = {line} * {number}".encode() for line in range(LINES)]
        content = b"\n".join(lines)
        anchors.append(Anchor(f"f{number}.py", blob_ids(content)[0]))
        if number % 10:
            (folder / f"f{number}.py").write_bytes(content if number % 3 else b"\n".join(lines[1:]))
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
    return anchors


async def measure(storage: Path, size: int, runs: int, count: int) -> dict[str, Any]:
    """Return the milliseconds that `start_ghap` takes in a store of so many entries, without advice and with it."""
    project = storage / "project"
    project.mkdir()
    anchors, chance = make_project(project), random.Random(1)
    caller = replace(CALLER, folder=str(project))
    data = storage / "data"
    await populate(
        data, size, load_packaged(), lambda entry: replace(entry, anchors=tuple(chance.sample(anchors, count)))
    )
    took: dict[str, list[tuple[float, float]]] = {"without": [], "with": []}
    shown = 0
    async with open_services(Settings(storage_path=data), purpose="benchmark", load=load_packaged) as services:
        await services.writer.complete()
        services.room.has_deadline = False
        advisors = {"without": Silence(), "with": services.advisor}
        tools = {kind: ToolRunner(TOOLS, {**services.injectable(), Advisor: advisors[kind]}) for kind in advisors}
        for number in range(-_WARM_UP, runs):
            theme = themes()[number % len(themes())]
            for kind, boundary in tools.items():
                about = {
                    "goal": f"Find out what happens in case {number} of the second week",
                    "hypothesis": f"{theme}, in case {number}",
                    "action": "Change one thing at a time",
                    "prediction": "It does not happen again",
                }
                began, busy = time.perf_counter(), time.process_time()
                reply = await boundary.run("start_ghap", ENTRY | about, caller)
                ended, idle = time.perf_counter(), time.process_time()
                # A hundred open entries would slow the next start down, and no project has as many.
                services.collector.forget([reply["id"]], services.clock())
                if number >= 0:
                    took[kind].append((1000 * (ended - began), 1000 * (idle - busy)))
                    shown += "related" in reply
    walls = {kind: [wall for wall, _ in pairs] for kind, pairs in took.items()}
    added = [after - before for before, after in zip(walls["without"], walls["with"], strict=True)]
    return {
        **{
            kind: {
                "p50": round(statistics.median(walls[kind]), 2),
                "p95": round(statistics.quantiles(walls[kind], n=20)[-1], 2),
                "cpu": round(statistics.median(cpu for _, cpu in pairs), 2),
            }
            for kind, pairs in took.items()
        },
        "late": sum(each > 1000 * timeouts.ADVICE for each in added) / runs,
        "shown": shown / runs,
    }


if __name__ == "__main__":
    main()
