"""What advice adds to a call, as a store grows: `python -m benchmarks.advice_growth [--sizes 1000 10000]`.

Each hypothesis is new, so its vector is not cached. `start` is the entry itself, with its file on the disk; `advice` is
all that advice adds without a limit, its journal line included; `silent` is the share that needed more than the limit,
which the server does not show. The three are measured in turns.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.population import populate, themes
from learning_memory_server.advice.advisor import WITHIN, Advisor
from learning_memory_server.advice.finder import AdviceFinder
from learning_memory_server.composition.services import open_services
from learning_memory_server.domain.advice import Channel
from learning_memory_server.domain.caller import Caller
from learning_memory_server.domain.vocabulary import Domain, Strategy
from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.settings import Settings

SIZES = (1_000, 10_000, 100_000)
RUNS = 100
CALLER = Caller("project-1", "0123456789abcdef")
_WARM_UP = 5


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    print(
        f"{'entries':>8}{'start p50':>12}{'p95':>8}{'advice p50':>12}{'p95 ms':>8}{'silent':>9}{'shown':>8}"
    )
    reports = {}
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            report = reports[str(size)] = asyncio.run(measure(Path(folder), size, options.runs))
        print(
            f"{size:>8}{report['start_p50_ms']:12.1f}{report['start_p95_ms']:8.1f}{report['advice_p50_ms']:12.1f}"
            f"{report['advice_p95_ms']:8.1f}{report['silent']:9.2f}{report['shown']:8.2f}"
        )
    if options.json:
        print(json.dumps(reports))


async def measure(storage: Path, size: int, runs: int) -> dict[str, Any]:
    """Return the milliseconds of starting entries in a store of so many, and of the advice on them."""
    await populate(storage, size, load_packaged())
    starts, advised, shown = [], [], 0
    async with open_services(
        Settings(storage_path=storage), purpose="benchmark", load=load_packaged
    ) as services:
        await services.writer.complete()
        finder = AdviceFinder(
            services.collector, services.index, services.value_log, services.verdicts, is_everywhere=False
        )
        advisor = Advisor(
            finder, services.advice_log, services.collector, services.value_log, services.clock, within=None
        )
        for number in range(-_WARM_UP, runs):
            began = time.perf_counter()
            entry = services.collector.start(
                CALLER,
                domain=Domain.DEBUGGING,
                strategy=Strategy.CHECK_ASSUMPTIONS,
                goal=f"Find out what happens in case {number} of the second week",
                hypothesis=f"{themes()[number % len(themes())]}, in case {number}",
                action="Change one thing at a time",
                prediction="It does not happen again",
            ).entry
            started = time.perf_counter()
            found = await advisor.advise(entry, Channel.START)
            ended = time.perf_counter()
            # A hundred open entries would slow the next start down, and no project has as many.
            services.collector.forget([entry.id], services.clock())
            if number >= 0:
                starts.append(1000 * (started - began))
                advised.append(1000 * (ended - started))
                shown += bool(found.experiences)
    return {
        "start_p50_ms": round(statistics.median(starts), 2),
        "start_p95_ms": round(statistics.quantiles(starts, n=20)[-1], 2),
        "advice_p50_ms": round(statistics.median(advised), 2),
        "advice_p95_ms": round(statistics.quantiles(advised, n=20)[-1], 2),
        "silent": sum(each > 1000 * WITHIN for each in advised) / runs,
        "shown": shown / runs,
    }


if __name__ == "__main__":
    main()
