"""What is counted is the same in `status`, `failures`, `calibration` and on the page, over one store."""

import asyncio
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.server.dashboard.conftest import IN_CHROMIUM, Look
from tests.server.dashboard.making import fill_more, store

pytestmark = IN_CHROMIUM


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that nothing changes."""
    folder = tmp_path_factory.mktemp("counts") / "storage"

    async def make() -> None:
        async with store(folder) as services:
            await services.index.open()
            await fill_more(services)

    with ThreadPoolExecutor(1) as other:
        other.submit(lambda: asyncio.run(make())).result()
    return folder


def run(storage: Path, *arguments: str) -> Any:
    """What a command prints, with `--json`."""
    settings = {"STORAGE_PATH": str(storage), "EMBEDDING_BACKEND": "hashing", "CONFIG": os.devnull}
    done = subprocess.run(
        [sys.executable, "-m", "learning_memory_server", *arguments, "--json"],
        env={**os.environ, **{f"LEARNING_MEMORY_{name}": value for name, value in settings.items()}},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def status(storage: Path) -> Any:
    return run(storage, "status")


@pytest.fixture(scope="module")
def page(storage: Path) -> Path:
    file = storage.with_name("page.html")
    run(storage, "dashboard", "--output", str(file))
    return file


@pytest.mark.parametrize("project", [None, "acme/blog"])
def test_counts_agree(look: Look, storage: Path, status: Any, page: Path, project: str | None) -> None:
    of = ["--project", project] if project else []
    failures, calibration = run(storage, "failures", *of), run(storage, "calibration", *of)
    seen = look(page)
    shown = seen.view(f"overview?project={project}" if project else "overview")
    totals = [int(number) for number in re.findall(r"\d+", shown.locator(".totals").inner_text())]
    overall = calibration["overall"]
    entries, confirmed, falsified, abandoned, is_open, errors, failed, *told_here = totals
    assert (confirmed, confirmed + falsified) == (overall["held"], overall["total"])
    assert entries == confirmed + falsified + abandoned
    assert [errors, failed] == [failures["total"], sum(len(each["failures"]) for each in failures["results"])]
    if project:
        assert entries == status["entries"]["by_project"][project]
        return
    outcomes = status["entries"]["by_outcome"]
    assert [entries, confirmed, falsified, abandoned] == [status["entries"]["resolved"], *outcomes.values()]
    assert list(outcomes) == ["confirmed", "falsified", "abandoned"]
    assert is_open == status["entries"]["open"]
    assert [errors, failed] == [status["errors"], status["failures"]]
    counts = status["shown"]
    assert told_here == []
    assert (
        shown.locator(".told")
        .inner_text()
        .startswith(
            f"{counts['times']} times, helped {counts['helped']}, misled {counts['misled']}, unknown {counts['unknown']} (as agents say"
        )
    )
