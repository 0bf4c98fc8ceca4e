"""Draw the README's pictures anew: the page of the demo's store. This needs Chromium and playwright."""

import asyncio
import json
import shutil
import subprocess
import sys
import zlib
from base64 import b64decode
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from playwright.sync_api import sync_playwright

from learning_memory_server.cli.demo import open_example
from learning_memory_server.server.dashboard.page import page

IMAGES: Final = Path(__file__).parents[1] / "docs" / "images"
VIEWS: Final = ("overview", "clusters")
_SIZE: Final = {"width": 1280, "height": 1000}


async def page_of(storage: Path) -> str:
    """Return the page of a demo's store."""
    async with open_example(storage) as server:
        await server.run("complete")
        packed = (await server.run("page_data", project=None, folders={}))["document"]
    return page(zlib.decompress(b64decode(packed)).decode())


def draw(file: Path, folder: Path) -> list[Path]:
    """Write a picture of each view of a page into a folder."""
    drawn = []
    with sync_playwright() as started:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        shown = browser.new_page(viewport=_SIZE, color_scheme="light")  # type: ignore[arg-type]
        for view in VIEWS:
            shown.goto(f"{file.as_uri()}#{view}")
            shown.wait_for_selector(f'html[data-drawn="{view}"]', state="attached")
            drawn.append(folder / f"dashboard-{view}.png")
            shown.screenshot(path=drawn[-1])
        browser.close()
    return drawn


def main() -> None:
    """Run the demo, and draw its page."""
    demo = [sys.executable, "-m", "learning_memory_server", "demo", "--keep", "--json"]
    kept = Path(json.loads(subprocess.run(demo, capture_output=True, check=True).stdout)["folder"])
    try:
        with TemporaryDirectory() as folder:
            file = Path(folder, "page.html")
            file.write_text(asyncio.run(page_of(kept)), "utf-8")
            for picture in draw(file, IMAGES):
                print(picture)
    finally:
        shutil.rmtree(kept)


if __name__ == "__main__":
    main()
