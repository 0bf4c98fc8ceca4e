"""Measure the dashboard's page as a store grows: the time to make it, its size, and the time until it is drawn.

What is drawn is the overview, which comes first, and the clusters.

Drawing needs Chromium and playwright; without them only the file is measured. Making is timed twice: the first time
includes the fits of all four axes, the second finds them. The CPU seconds are those of both and of the children; on a
busy machine they say more.
"""

import argparse
import asyncio
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.measuring import own_processor_seconds
from benchmarks.population import ScatteringEmbedder, populate
from learning_memory_server.embedding.base import Embedder
from learning_memory_server.server.composition.backends import load_model
from learning_memory_server.server.composition.services import open_services
from learning_memory_server.server.dashboard.page import as_text, page
from learning_memory_server.server.settings import load_settings

SIZES = (100, 1_000, 5_000, 20_000)
_LOADS = 5
_DRAWN = """() => new Promise((done) => {
  const look = () => document.documentElement.dataset.drawn ? done(performance.now()) : requestAnimationFrame(look);
  look();
})"""


async def _make(storage: Path, embedder: Embedder, file: Path) -> tuple[float, float, float]:
    settings = load_settings({"LEARNING_MEMORY_STORAGE_PATH": str(storage)})
    seconds = []
    async with open_services(settings, purpose="a benchmark", load=lambda: embedder) as services:
        await services.index.open()
        await services.writer.complete()
        spent = sum(own_processor_seconds())
        for _ in range(2):
            began = time.perf_counter()
            document = as_text(await services.dashboard.document())
            await asyncio.to_thread(file.write_text, page(document), "utf-8")
            seconds.append(time.perf_counter() - began)
    return seconds[0], seconds[1], sum(own_processor_seconds()) - spent


def _draw(file: Path, view: str) -> float | None:
    """Return the median seconds from the navigation's start until a view is drawn; None without a browser."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if chromium is None:
        return None
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        times = []
        for _ in range(_LOADS):
            shown = browser.new_page(viewport={"width": 1280, "height": 900})
            shown.set_default_timeout(120_000)
            shown.goto(f"{file.as_uri()}#{view}", wait_until="commit")
            times.append(float(shown.evaluate(_DRAWN)) / 1000)
            shown.close()
        browser.close()
    return statistics.median(times)


def measure(sizes: tuple[int, ...] = SIZES) -> None:
    """Print what the page costs at each size."""
    settings = load_settings({})
    embedder = load_model(settings)
    print(
        f"{'experiences':>12}{'first, s':>10}{'again, s':>10}{'CPU, s':>9}{'file, MB':>10}{'overview, s':>13}"
        f"{'clusters, s':>13}"
    )
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            storage, file = Path(folder, "storage"), Path(folder, "page.html")
            storage.mkdir(mode=0o700)
            asyncio.run(populate(storage, size, embedder))
            first, again, spent = asyncio.run(_make(storage, ScatteringEmbedder(embedder), file))
            drawn = [_draw(file, view) for view in ("overview", "clusters")]
            overview, clusters = ("no browser" if each is None else f"{each:.2f}" for each in drawn)
            megabytes = file.stat().st_size / 1e6
            print(
                f"{size:>12,}{first:>10.1f}{again:>10.1f}{spent:>9.1f}{megabytes:>10.1f}{overview:>13}{clusters:>13}",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES)
    measure(tuple(parser.parse_args().sizes))
