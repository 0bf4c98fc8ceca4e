"""`dashboard`: a private file with everything in it, or a live page."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from learning_memory_server.journal.journal import Journal
    from tests.command_line import Run

pytestmark = pytest.mark.slow


def data_of(text: str) -> dict[str, list[object]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    document: dict[str, list[object]] = json.loads(found[1])
    return document


def test_the_page_is_a_private_file_with_everything_in_it(run: Run, kept: Journal, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    result = run("dashboard", "--no-open", "--output", str(file))
    assert result.exit_code == 0, result.output
    assert str(file) in result.output.replace("\n", "")
    assert file.stat().st_mode & 0o777 == 0o600
    document = data_of(file.read_text("utf-8"))
    assert len(document["entries"]) == len(kept.entries.read().records)
    assert len(document["values"]) == 1
    assert len(document["memories"]) == 2


def test_by_default_it_is_in_the_storage_folder(run: Run, storage: Path) -> None:
    assert run("dashboard", "--no-open").exit_code == 0
    assert data_of((storage / "dashboard.html").read_text("utf-8"))["entries"] == []


def test_a_file_that_cannot_be_written_is_named(run: Run, tmp_path: Path) -> None:
    result = run("dashboard", "--no-open", "--output", str(tmp_path))
    assert result.exit_code == 1
    assert "cannot be written" in result.output
    assert not list(tmp_path.parent.glob(f"{tmp_path.name}.*"))


@pytest.mark.parametrize("kind", ["a device", "a link", "no name"])
def test_what_is_not_a_file_is_not_replaced(run: Run, tmp_path: Path, kind: str) -> None:
    there = tmp_path / "there"
    if kind == "a device":
        # A pipe stands for every special file.
        os.mkfifo(there)
    elif kind == "a link":
        there.symlink_to(tmp_path / "elsewhere")
    result = run("dashboard", "--no-open", "--output", "" if kind == "no name" else str(there))
    assert result.exit_code == 1
    assert "not a file" in " ".join(result.output.split())
    assert kind != "a device" or there.is_fifo()
    assert kind != "a link" or there.is_symlink()


def test_a_live_page_has_no_file(run: Run, tmp_path: Path) -> None:
    result = run("dashboard", "--live", "--output", str(tmp_path / "x.html"))
    assert result.exit_code == 1
    assert "either --live or --output" in " ".join(result.output.split())


def test_the_live_page_shows_what_a_hub_has_and_the_next_one_until_it_is_interrupted(
    environment: dict[str, str], start_hub: Callable[[], int], kept: Journal
) -> None:
    hub = start_hub()
    command = [sys.executable, "-m", "learning_memory_server", "dashboard", "--live", "--no-open"]
    env = {**os.environ, **environment}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            line = next(line for line in process.stdout if "http://" in line)
            address = line[line.index("http://") :].strip()
            with urlopen(address, timeout=60) as reply:  # noqa: S310 - our own address
                document = data_of(reply.read().decode())
            with urlopen(f"{address}data?unlike={document['stamp']}", timeout=60) as reply:  # noqa: S310
                assert reply.status == 204
            os.kill(hub, signal.SIGKILL)
            with urlopen(f"{address}data?unlike=", timeout=60) as reply:  # noqa: S310 - our own address
                assert json.loads(reply.read())["entries"] == document["entries"]
            process.send_signal(signal.SIGINT)
            assert process.wait(60) != 0
        finally:
            process.kill()
    assert len(document["entries"]) == len(kept.entries.read().records)
