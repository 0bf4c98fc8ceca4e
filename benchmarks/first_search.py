"""Measure the seconds from a client's start to its first hybrid search, on the first start and on later ones.

`python -m benchmarks.first_search [--command PATH]`. PATH is the console script of any installation, such as the one in
the environment that `python -m scripts.size --into FOLDER` leaves behind. Each round is a fresh data folder: a session
starts the hub and stores a memory, its first hybrid search ends the first time; the hub is ended, and another session
starts on the same data. In both, the client asks again after `PAUSE` seconds while the answer is still lexical.

`--other COMMAND` starts another server on stdio in the same rounds, and measures it until it lists its tools. One that
has to download its model first, such as mcp-server-qdrant, cannot be measured without a network; that is printed.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from pathlib import Path

from benchmarks.hub import Memory, memory
from benchmarks.measuring import Option, options_of
from benchmarks.stdio import StdioSession

TEXT = "The nightly import failed because the connection pool was exhausted."
QUERY = "why did the import fail"
PAUSE = 0.02
GOALS = {"first": 3.0, "later": 1.0}
"""Seconds."""


def main() -> None:
    """Run the benchmark."""
    options = options_of(
        __doc__,
        command=Path(sys.executable).with_name("learning-memory-server"),
        other=Option(str, "another server's command"),
        rounds=5,
    )
    seconds: dict[str, list[float]] = {}
    for _ in range(options.rounds):
        with memory() as made:
            found = {name: first_search(made, options.command) for name in GOALS}
        if options.other:
            try:
                found["other_tools"] = tools(options.other)
            except (RuntimeError, BrokenPipeError):
                print(f"{options.other} ended before it listed its tools.")
                options.other = None
        for name, value in found.items():
            seconds.setdefault(name, []).append(value)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors")
    for name, values in seconds.items():
        goal = GOALS.get(name)
        verdict = f"at most {goal}: {'yes' if medians[name] <= goal else 'NO'}" if goal else ""
        print(f"{name:12} median {medians[name]:5.2f} s   {min(values):5.2f} to {max(values):5.2f}   {verdict}")
    if options.json:
        print(json.dumps(medians))


def first_search(made: Memory, command: Path) -> float:
    """Return the seconds from the start of a session to its first hybrid search; the hub starts with it."""
    began = time.perf_counter()
    session = made.session([str(command)])
    session.initialize()
    session.request("tools/call", {"name": "add_memory", "arguments": {"text": TEXT}})
    arguments = {"name": "search_memory", "arguments": {"query": QUERY}}
    while "Mode: hybrid" not in (answer := session.request("tools/call", arguments))["content"][0]["text"]:
        if answer.get("isError"):
            raise RuntimeError(answer["content"][0]["text"])
        time.sleep(PAUSE)
    elapsed = time.perf_counter() - began
    session.close()
    made.end_hub()
    return elapsed


def tools(command: str) -> float:
    """Return the seconds until another server lists its tools."""
    began = time.perf_counter()
    session = StdioSession(command.split(), os.environ)
    session.initialize()
    session.request("tools/list", {})
    elapsed = time.perf_counter() - began
    session.close()
    return elapsed


if __name__ == "__main__":
    main()
