"""What tools, commands, starts, RAM and disk cost as a store grows, and how long a call keeps others waiting.

    python -m benchmarks.growth [--sizes 1000 10000 100000] [--against CHECKOUT] [--stores FOLDER] [--plot FILE]

Each size is measured on a copy of a generated store, by clients on stdio. While one client calls, another makes a call
every 20 ms that needs next to nothing, so that what it waits for is what the first one blocks. `--against` measures an
earlier checkout in the same run, after this one at each size, and prints the ratios. `--stores` keeps the generated
stores: 100,000 entries take ten minutes. `--plot` draws some of it as SVG, both axes logarithmic. Linux only.
"""

import asyncio
import itertools
import json
import math
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.hub import FRONT, Memory
from benchmarks.measuring import (
    Option,
    options_of,
    own_processor_seconds,
    percentile,
    processor_seconds,
    resident,
    timed,
)
from benchmarks.population import ENTRY, populate, themes
from benchmarks.stdio import StdioSession
from learning_memory_server.embedding.loading import load_packaged

COMMANDS: Final = {
    "list": (),
    "status": (),
    "show": ("ghap_20260101_000000_000000",),
    "context": (),
    "search": (themes()[0],),
    "calibration": (),
    "values": (),
    "failures": (),
}
_PAUSE: Final = 0.02
_TURNS: Final = 2

Figures = dict[str, float]


class Measured(Memory):
    """A copy of a store, measured with one program."""

    def __init__(self, folder: Path, store: Path, checkout: Path) -> None:
        super().__init__(folder)
        self.checkout = checkout
        shutil.copytree(store, self.storage, dirs_exist_ok=True)
        self.environment |= {"PYTHONPATH": str(checkout), "LEARNING_MEMORY_HUB_IDLE_MINUTES": "30"}
        self.figures: Figures = {}

    def session(self, command: list[str]) -> StdioSession:
        """Start a process of the checkout, and shake hands with it."""
        session = StdioSession(["env", "-C", str(self.checkout), *command], self.environment)
        session.initialize()
        return session

    def note(self, name: str, seconds: float) -> None:
        """Keep the milliseconds of something."""
        self.figures[f"{name}, ms"] = 1000 * seconds

    def note_ram(self, when: str) -> None:
        """Keep the memory of the hub, without and with mapped files, whose pages the system reclaims when needed."""
        self.figures[f"RAM {when}, MB"] = resident(self.hub(), "RssAnon")
        self.figures[f"RAM {when}, with mapped files, MB"] = resident(self.hub())

    def tools(self, calls: int, **steps: Callable[[], object]) -> None:
        """Keep p50 and p95 of calls that take turns, and what another client waited for its calls meanwhile."""
        taken: dict[str, list[float]] = {name: [] for name in steps}
        with self.other_client() as waits:
            before = processor_seconds(self.hub())[0]
            for _ in range(calls):
                for name, work in steps.items():
                    taken[name].append(timed(work))
            used = processor_seconds(self.hub())[0] - before
        for name, seconds in taken.items():
            self.note(name, statistics.median(seconds))
            if calls > _TURNS:
                self.note(f"{name} p95", percentile(seconds, 0.95))
        self.note(f"{' and '.join(steps)}, CPU of the hub", used / calls)
        self.note(f"others during {' and '.join(steps)} p99", percentile(waits, 0.99))
        self.note(f"others during {' and '.join(steps)} most", max(waits))

    @contextmanager
    def other_client(self) -> Iterator[list[float]]:
        """Let another client make calls, and give the seconds that each took."""
        waits: list[float] = []
        is_over = threading.Event()
        other = self.session(FRONT)

        def call() -> None:
            while not is_over.is_set():
                waits.append(timed(partial(other.call, "get_active_ghap")))
                time.sleep(_PAUSE)

        calling = threading.Thread(target=call)
        calling.start()
        try:
            yield waits
        finally:
            is_over.set()
            calling.join()
            other.close()

    def command(self, *words: str) -> tuple[float, float]:
        """Return the seconds that a command takes, and those of a processor."""
        run = partial(
            subprocess.run, [*FRONT, *words], env=self.environment, cwd=self.checkout, check=True, capture_output=True
        )
        before = own_processor_seconds()[1]
        return timed(run), own_processor_seconds()[1] - before

    def commands(self) -> None:
        """Keep the shortest times of each command in a few turns."""
        for name, words in COMMANDS.items():
            taken = [self.command(name, *words) for _ in range(_TURNS)]
            self.note(f"{name}, hub", min(seconds for seconds, _ in taken))
            self.note(f"{name}, hub, CPU", min(seconds for _, seconds in taken))

    def start(self, name: str) -> StdioSession:
        """Start a hub, and keep when the first call is answered and when the first search uses the index."""
        self.end_hub()
        begun = time.perf_counter()
        session = self.session(FRONT)
        session.call("start_ghap", **ENTRY)
        self.note(f"{name}: first call", time.perf_counter() - begun)
        # In a project with few entries: a search of all of them would take the time of what is waited for.
        while session.call("search_experiences", query=themes()[0], project="current")["mode"] == "lexical":
            time.sleep(_PAUSE)
        session.call("search_experiences", query=themes()[0])
        self.note(f"{name}: hybrid", time.perf_counter() - begun)
        session.call("resolve_ghap", status="abandoned", result="It was measured")
        self.note_ram(f"after {name}")
        return session


def measure(store: Path, checkout: Path, calls: int) -> Figures:
    """Return everything about a copy of a store."""
    with tempfile.TemporaryDirectory(prefix="lms-", dir=store.parent) as folder:
        made = Measured(Path(folder), store, checkout)
        try:
            for part in ("journal", "index"):
                # Of the original: a copy has the holes of its files filled.
                size = sum(512 * path.stat().st_blocks for path in (store / part).rglob("*") if path.is_file())
                made.figures[f"disk {part}, MB"] = size / 2**20
            session = made.start("start")
            _tools(made, session, calls)
            made.commands()
            made.note_ram("after commands")
            _clusters(made, session, calls)
            page = Path(folder) / "page.html"
            made.tools(1, dashboard=partial(made.command, "dashboard", "--no-open", "--output", str(page)))
            made.note_ram("after page")
            session.close()
            made.start("restart").close()
            made.end_hub()
        finally:
            made.end_hub()
    return made.figures


def _tools(made: Measured, session: StdioSession, calls: int) -> None:
    queries = (f"{themes()[number % len(themes())]} again {number}" for number in itertools.count())
    filtered = {"query": themes()[0], "outcome": "falsified"}
    made.tools(4 * calls, search_experiences=lambda: session.call("search_experiences", query=next(queries)))
    made.tools(calls, search_filtered=partial(session.call, "search_experiences", **filtered))
    made.tools(calls, get_stats=partial(session.call, "get_stats"))
    made.tools(
        calls,
        list_ghap_entries=partial(session.call, "list_ghap_entries"),
        get_ghap_entry=partial(session.call, "get_ghap_entry", ghap_id=COMMANDS["show"][0]),
        list_values=partial(session.call, "list_values"),
    )
    outcome = {"status": "confirmed", "result": "They are close", "lesson": {"what_worked": "measuring"}}
    made.tools(
        calls,
        start_ghap=partial(session.call, "start_ghap", **ENTRY),
        update_ghap=partial(session.call, "update_ghap", note="so far so good"),
        resolve_ghap=partial(session.call, "resolve_ghap", **outcome),
    )
    texts = (f"Decision {number}: measure before and after" for number in itertools.count())

    def call(tool: str, **arguments: str) -> None:
        session.request("tools/call", {"name": tool, "arguments": arguments})

    made.tools(
        calls,
        add_memory=lambda: call("add_memory", text=next(texts)),
        search_memory=lambda: call("search_memory", query="what was decided about measuring"),
    )
    made.note_ram("after tools")


def _clusters(made: Measured, session: StdioSession, calls: int) -> None:
    made.tools(1, first_get_clusters=partial(session.call, "get_clusters", axis="full"))
    largest = session.call("get_clusters", axis="full")["clusters"][0]["cluster_id"]
    made.tools(
        calls,
        get_clusters=partial(session.call, "get_clusters", axis="full"),
        get_cluster_members=partial(session.call, "get_cluster_members", cluster_id=largest),
        validate_value=partial(session.call, "validate_value", text=themes()[0], cluster_id=largest),
    )
    made.note_ram("after clusters")


def exponent(points: list[tuple[int, float]]) -> float:
    """Return the exponent of growth: the slope of the line of least squares, both axes logarithmic."""
    return statistics.linear_regression(
        [math.log(n) for n, _ in points], [math.log(max(y, 1e-3)) for _, y in points]
    ).slope


def show(found: dict[str, dict[int, Figures]]) -> None:
    """Print a table in Markdown: the ratios to the earlier checkout, the figures, and their exponent."""
    now, *earlier = found.values()
    sizes = sorted(now)
    titles = [*(f"ratio {size:,}" for size in sizes if earlier), *(f"{size:,}" for size in sizes), "exponent"]
    if earlier:
        titles += [f"before {size:,}" for size in sizes]
    print(f"| | {' | '.join(titles)} |\n|{' --- |' * (len(titles) + 1)}")
    for name in now[sizes[0]]:
        ratios = [now[size][name] / max(earlier[0][size].get(name, math.nan), 1e-9) for size in sizes if earlier]
        cells = [f"{ratio:.2f}" for ratio in ratios] + [f"{now[size][name]:,.0f}" for size in sizes]
        cells.append(f"{exponent([(size, now[size][name]) for size in sizes]):.2f}" if len(sizes) > 1 else "")
        cells += [f"{earlier[0][size].get(name, math.nan):,.0f}" for size in sizes if earlier]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


_DRAWN: Final = {
    "search_experiences, ms": "#1b6ca8",
    "start_ghap, ms": "#2a9d5c",
    "resolve_ghap, ms": "#8a5fbf",
    "list, hub, ms": "#c2571a",
    "restart: hybrid, ms": "#b3263a",
    "first_get_clusters, ms": "#6b6b6b",
    "RAM after tools, MB": "#a08000",
}
_WIDE, _HIGH, _LEFT, _RIGHT, _EDGE = 760, 420, 60, 190, 30
_DECADES: Final = 5


def plot(found: dict[int, Figures]) -> str:
    """Return an SVG drawing of some figures by the number of experiences, both axes logarithmic."""
    sizes = sorted(found)
    first, last = math.log10(sizes[0]), math.log10(sizes[-1])

    def at(size: float, value: float) -> tuple[float, float]:
        x = _LEFT + (math.log10(size) - first) / (last - first) * (_WIDE - _LEFT - _RIGHT)
        return round(x, 1), round(_HIGH - _EDGE - math.log10(max(value, 1)) / _DECADES * (_HIGH - 2 * _EDGE), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {_HIGH}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDE}" height="{_HIGH}" fill="#fff"/>',
    ]
    for power in range(_DECADES + 1):
        x, y = at(sizes[0], 10**power)
        parts.append(f'<path d="M{x} {y}H{_WIDE - _RIGHT}" stroke="#ddd"/><text x="8" y="{y + 4}">{10**power:,}</text>')
    parts += [f'<text x="{at(size, 1)[0]}" y="{_HIGH - 8}" text-anchor="middle">{size:,}</text>' for size in sizes]
    for name, colour in _DRAWN.items():
        points = [at(size, found[size][name]) for size in sizes]
        line = " ".join(f"{x},{y}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{points[-1][0] + 8}" y="{points[-1][1] + 4}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>\n"])


def main() -> None:
    """Run the benchmark."""
    options = options_of(
        __doc__,
        sizes=(1_000, 10_000, 100_000),
        calls=50,
        against=Path,
        stores=Path,
        json=Option(Path, "write the figures there"),
        plot=Option(Path, "draw some of them there"),
    )
    checkouts = {"now": Path.cwd(), **({"before": options.against.resolve()} if options.against else {})}
    found: dict[str, dict[int, Figures]] = {name: {} for name in checkouts}
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes:
            store = (options.stores or Path(folder)) / f"s{size}"
            if not store.exists():
                asyncio.run(populate(store, size, load_packaged()))
            for name, checkout in checkouts.items():
                found[name][size] = measure(store, checkout, options.calls)
                with suppress(AttributeError):
                    options.json.write_text(json.dumps(found, indent=1))
    show(found)
    if options.plot:
        options.plot.write_text(plot(found["now"]), "utf-8")


if __name__ == "__main__":
    main()
