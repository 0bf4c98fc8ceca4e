"""Compare the time from process start to the answer to `initialize` with that of a bare server of the same SDK.

The two run in one process each, and their runs alternate, so that both run under the same load; medians are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile

from benchmarks.stdio import StdioSession

BARE = """
import asyncio
from mcp.server import Server
from mcp.server.stdio import stdio_server

async def main():
    server = Server("bare")
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

asyncio.run(main())
"""


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as storage:
        environment = {**os.environ, "LEARNING_MEMORY_STORAGE_PATH": storage}
        commands = {
            "bare": [sys.executable, "-c", BARE],
            "ours": [sys.executable, "-m", "learning_memory_server", "--direct"],
        }
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        # The first round warms up the file cache and is not counted.
        for round_number in range(options.runs + 1):
            for name, command in commands.items():
                session = StdioSession(command, environment)
                elapsed = session.initialize()
                session.close()
                if round_number:
                    seconds[name].append(elapsed)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    ratio = medians["ours"] / medians["bare"]
    for name, values in seconds.items():
        print(
            f"{name:5} median {1000 * medians[name]:6.0f} ms   "
            f"min {1000 * min(values):6.0f}   max {1000 * max(values):6.0f}   ({len(values)} runs)"
        )
    print(f"ratio {ratio:.2f}")
    if options.json:
        print(json.dumps({"bare_seconds": medians["bare"], "ours_seconds": medians["ours"], "ratio": ratio}))


if __name__ == "__main__":
    main()
