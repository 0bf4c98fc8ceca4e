import json
import os
import re
from pathlib import Path

import pytest
from typer.testing import Result

from learning_memory_server.journal.journal import Journal
from tests.command_line import Run, in_line, refusal

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
    assert "not a file" in in_line(result.output)
    assert kind != "a device" or there.is_fifo()
    assert kind != "a link" or there.is_symlink()


def test_a_page_of_an_unknown_project_or_in_a_missing_folder_is_refused(
    run: Run, filled: Result, tmp_path: Path
) -> None:
    assert filled.exit_code == 0
    refused = refusal(run("dashboard", "--no-open", "--project", "nope"))
    assert "nothing is stored of nope" in refused
    assert "Projects: garden." in refused
    missing = refusal(run("dashboard", "--no-open", "--output", str(tmp_path / "no" / "\x1b[31mpage.html")))
    assert "its folder does not exist" in missing
    assert "\x1b" not in missing
    assert not (tmp_path / "no").exists()
