"""Record the exchange in docs/tutorial.md with the real server; with --check, fail if it answers otherwise."""

import argparse
import asyncio
import json
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from learning_memory_server.cli.access import Connection
from learning_memory_server.cli.demo import examples, open_example, replay

PAGE: Final = Path(__file__).parents[1] / "docs" / "tutorial.md"
_BLOCK: Final = re.compile(r"(<!-- exchange -->\n```text\n)(.*?)(```\n<!-- end -->)", re.DOTALL)
_VARYING: Final = (
    (re.compile(r"ghap_\d{8}_\d{6}_[0-9a-f]{6}"), "ID"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00"), "TIME"),
)
_TRIES: Final = 5
_START: Final = {
    "domain": "debugging",
    "strategy": "check-assumptions",
    "goal": "Make the invoice tests pass on the build machine",
    "hypothesis": "The build machine has an older database driver than my laptop",
    "action": "Pin the driver's version",
    "prediction": "All invoice tests pass on the build machine",
}
_RESOLUTION: Final = {
    "status": "falsified",
    "result": "Three tests still fail, but only in builds after 23:00 UTC",
    "surprise": "The driver's version makes no difference, and the time of day does",
    "root_cause": {"category": "wrong-assumption", "description": "The tests compare a local date with a date in UTC"},
    "lesson": {
        "what_worked": "Running one failing test with the clock set to 23:30",
        "takeaway": "If a test fails on one machine only, compare clocks and time zones before versions",
    },
}
_LATER: Final = {
    "domain": "debugging",
    "strategy": "check-assumptions",
    "goal": "Find out why the shipping tests pass on my laptop and fail on the build machine",
    "hypothesis": "A library has another version on the build machine",
    "action": "Compare the versions of all packages",
    "prediction": "At least one package differs, and with the same version the tests pass",
    "confidence": 0.5,
}


def main() -> None:
    """Write the exchange into the tutorial, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the server answers otherwise")
    check = parser.parse_args().check
    text = PAGE.read_text("utf-8")
    fresh = recorded()
    if comparable(documented(text)) == comparable(fresh):
        return
    if check:
        sys.exit("The server answers differently than docs/tutorial.md says: run `python -m scripts.exchange`.")
    PAGE.write_text(_BLOCK.sub(lambda found: found[1] + fresh + found[3], text), "utf-8")


def documented(text: str) -> str:
    """Return the exchange in the text of a page.

    Raises:
        ValueError: If it has none.
    """
    found = _BLOCK.search(text)
    if found is None:
        raise ValueError("The page has no exchange between `<!-- exchange -->` and `<!-- end -->`.")
    return found[2]


def comparable(exchange: str) -> str:
    """Return an exchange without ids and times."""
    for pattern, word in _VARYING:
        exchange = pattern.sub(word, exchange)
    return exchange


def recorded() -> str:
    """Return the exchange as it happens now, in a temporary folder that has the demo's entries, too.

    On a busy machine, what is related may come too late for a reply; then it is recorded once more.
    """
    for _ in range(_TRIES):
        with TemporaryDirectory(prefix="learning-memory-exchange-") as folder:
            exchange = asyncio.run(_record(Path(folder)))
        if '"related"' in exchange:
            break
    return exchange


async def _record(folder: Path) -> str:
    async with open_example(folder) as server:
        for entry in examples():
            await replay(server, entry)
        await server.run("complete")
        return "\n".join(
            [
                "# An agent says what it believes, acts, and is wrong.",
                await _exchanged(server, "start_ghap", _START),
                await _exchanged(server, "resolve_ghap", _RESOLUTION),
                "# Weeks later, another agent is about to make the same guess.",
                await _exchanged(server, "start_ghap", _LATER),
            ]
        )


async def _exchanged(server: Connection, tool: str, arguments: dict[str, Any]) -> str:
    """Return a call and what its reply adds to the arguments."""
    return _shown(tool, arguments, await server.call(tool, **arguments))


def _shown(tool: str, arguments: dict[str, Any], reply: dict[str, Any]) -> str:
    news = {name: value for name, value in reply.items() if arguments.get(name) != value}
    given = "".join(f"    {name}={_indented(value)},\n" for name, value in arguments.items())
    return f"{tool}(\n{given})\n{json.dumps(news, indent=2)}\n"


def _indented(value: object) -> str:
    return json.dumps(value, indent=4).replace("\n", "\n    ")


if __name__ == "__main__":
    main()
