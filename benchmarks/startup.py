"""Compare the time from process start to the answer to `initialize`, and to the list of tools, with a bare server.

The bare server is one of the same SDK. `direct` is this server in one process, `cold` a front that finds no hub, and
`warm` one that finds a hub, whose memory is measured, too. All take turns, so that they run under the same load;
medians are compared. Linux only: process memory is read from /proc.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from functools import partial

from benchmarks.hub import DIRECT, FRONT, Memory, memory
from benchmarks.measuring import options_of, resident, show, taking_turns

BARE = """
import asyncio
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.types import ListToolsResult

async def tools(_context, _params):
    return ListToolsResult(tools=[])

async def main():
    server = Server("bare", on_list_tools=tools)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

asyncio.run(main())
"""
GOALS = {"warm_ratio": 0.1, "cold_ratio": 1.2, "cold_to_tools_ratio": 0.1, "front_mib": 15}
"""The maximum of each metric."""


def main() -> None:
    """Run the benchmark."""
    options = options_of(__doc__, runs=10)
    with memory() as made, memory() as alone:
        works = {
            "cold": partial(start, made, FRONT, without_a_hub=True),
            "warm": partial(start, made, FRONT),
            "direct": partial(start, alone, DIRECT),
            "bare": partial(start, alone, [sys.executable, "-c", BARE]),
        }
        found = taking_turns(works, options.runs)
    figures: dict[str, float] = {}
    for what, place in (("", 0), ("_to_tools", 1)):
        medians = {name: statistics.median(each[place] for each in starts) for name, starts in found.items()}
        figures |= {f"{name}{what}_ms": 1000 * median for name, median in medians.items()}
        figures |= {f"{name}{what}_ratio": medians[name] / medians["bare"] for name in works if name != "bare"}
    figures["front_mib"] = statistics.median(mebibytes for *_, mebibytes in found["warm"])
    show(figures, GOALS)
    if options.json:
        print(json.dumps(figures))


def start(made: Memory, command: list[str], *, without_a_hub: bool = False) -> tuple[float, float, float]:
    """Return the seconds until a process has shaken hands, those until it has listed its tools, and its memory then."""
    if without_a_hub:
        made.end_hub()
    begun = time.perf_counter()
    session = made.session(command)
    greeted = session.initialize()
    session.request("tools/list", {})
    listed = time.perf_counter() - begun
    if command is FRONT:
        # Whoever is next finds a hub that has started.
        session.call("list_values")
    mebibytes = resident(session.process.pid)
    session.close()
    return greeted, listed, mebibytes


if __name__ == "__main__":
    main()
