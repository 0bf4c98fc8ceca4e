"""Measure the `search` command with a warm hub, from its start to its end, next to a bare start of Python.

The two alternate, so that both run under the same load; medians are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.population import make_entry
from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.moment import utc_now

PROGRAM = [sys.executable, "-m", "learning_memory_server"]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--entries", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lms-") as folder:
        generator = random.Random(1)
        entries = [make_entry(number, generator) for number in range(options.entries)]
        ObservationCollector(Journal(Path(folder) / "journal"), utc_now).add_resolved(entries)
        environment = {**os.environ, "LEARNING_MEMORY_STORAGE_PATH": folder, "XDG_RUNTIME_DIR": folder}
        commands = {
            "bare": [sys.executable, "-c", "pass"],
            "search": [*PROGRAM, "search", "a cache that returns stale prices"],
        }
        try:
            # Starts the hub, which loads the model and completes the index.
            cold = seconds_of(commands["search"], environment)
            seconds: dict[str, list[float]] = {name: [] for name in commands}
            for _ in range(options.runs):
                for name, command in commands.items():
                    seconds[name].append(seconds_of(command, environment))
        finally:
            seconds_of([*PROGRAM, "hub", "stop"], environment)
    print(f"first search, which starts the hub and indexes {options.entries} entries: {cold:.1f} s")
    for name, values in seconds.items():
        print(f"{name:6} median {statistics.median(values):5.2f} s   min {min(values):5.2f}   max {max(values):5.2f}")
    if options.json:
        medians = {f"{name}_seconds": statistics.median(values) for name, values in seconds.items()}
        print(json.dumps({"cold_seconds": cold, **medians}))


def seconds_of(command: list[str], environment: dict[str, str]) -> float:
    """Run a command that succeeds and return how long it took."""
    begun = time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
