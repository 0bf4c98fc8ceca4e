"""Draw the dashboard's pictures in docs/images, from the demo's entries. Needs Chromium and playwright."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from learning_memory_server.server.composition.services import open_services
from learning_memory_server.server.dashboard.page import as_text, page
from learning_memory_server.server.settings import load_settings
from scripts.example_store import fill

FOLDER: Final = Path(__file__).parents[1] / "docs" / "images"
_PICTURES: Final = (("map", "light", 922), ("calibration", "dark", 826))


def main() -> None:
    """Write the pictures."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("There is no Chromium on this machine.")
    with tempfile.TemporaryDirectory() as folder:
        file, storage = Path(folder, "page.html"), Path(folder, "storage")
        storage.mkdir(mode=0o700)
        file.write_text(asyncio.run(_page(storage)), "utf-8")
        _draw(file, chromium)


async def _page(storage: Path) -> str:
    settings = load_settings(
        {"LEARNING_MEMORY_STORAGE_PATH": str(storage), "LEARNING_MEMORY_PROJECT": "demo"}
    )
    await fill(settings)
    async with open_services(settings, purpose="pictures") as services:
        await services.index.open()
        await services.writer.complete()
        return page(as_text(await services.dashboard.document("demo")))


def _draw(file: Path, chromium: str) -> None:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - said above

    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, scheme, height in _PICTURES:
            shown = browser.new_page(
                viewport={"width": 1200, "height": height},
                color_scheme="dark" if scheme == "dark" else "light",
            )
            shown.goto(f"{file.as_uri()}#{name}")
            shown.wait_for_selector(f'html[data-drawn="{name}"]', state="attached")
            shown.screenshot(path=FOLDER / f"dashboard-{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
