"""Two stores of one user: the commands that look at the one in use name the other."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import in_line, printed

COMMANDS = ["status", "doctor --quick", "setup cursor --yes"]


@pytest.fixture
def home(environment: dict[str, str]) -> Path:
    environment["LEARNING_MEMORY_STORAGE_PATH"] = ""
    return Path(environment["HOME"])


def store_in(folder: Path, *, content: str = "{}\n", file: str = "entries/2026-01.jsonl") -> Path:
    path = folder / "learning-memory-server" / "journal" / file
    path.parent.mkdir(parents=True, mode=0o700)
    path.write_text(content)
    return folder / "learning-memory-server"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "folder", ["snap/code/170/.local/share", "snap/codium/x2/.local/share", ".var/app/com.visualstudio.code/data"]
)
def test_a_store_that_a_sandbox_once_had_is_named(command: str, folder: str, home: Path, run: Any) -> None:
    store = store_in(home / folder)
    found = run(*command.split())
    said = in_line(found.stdout + found.stderr)
    assert f"There is a second store in {store}" in said
    assert f"LEARNING_MEMORY_STORAGE_PATH={store} learning-memory-server backup" in said


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("elsewhere", ["XDG_DATA_HOME", "LEARNING_MEMORY_STORAGE_PATH"])
def test_the_usual_store_is_named_where_a_shell_names_another(
    command: str, elsewhere: str, home: Path, tmp_path: Path, run: Any
) -> None:
    usual = store_in(home / ".local" / "share")
    found = run(*command.split(), **{elsewhere: str(tmp_path / "elsewhere")})
    assert f"There is a second store in {usual}" in in_line(found.stdout + found.stderr)


@pytest.mark.parametrize("command", COMMANDS)
def test_one_store_is_not_called_a_second_one(command: str, home: Path, run: Any) -> None:
    store = store_in(home / ".local" / "share")
    # A store without a record, and the one in use under another name.
    store_in(home / "snap/code/170/.local/share", content="")
    (home / "snap/code/171/.local").mkdir(parents=True)
    (home / "snap/code/171/.local/share").symlink_to(store.parent)
    assert "second store" not in run(*command.split()).output
    assert json.loads(printed(run("status", "--json")))["other_stores"] == []


@pytest.mark.skipif(os.name == "nt", reason="names of Windows are Unicode")
@pytest.mark.parametrize("place", ["HOME", "LEARNING_MEMORY_STORAGE_PATH", "LEARNING_MEMORY_JOURNAL_PATH"])
@pytest.mark.parametrize("command", ["status", "list", "context", "doctor --quick", "reindex", "hub stop", "backup"])
@pytest.mark.usefixtures("imported")
def test_a_path_that_is_not_utf_8_is_a_path_like_any_other(
    place: str, command: str, environment: dict[str, str], storage: Path, tmp_path: Path, run: Any
) -> None:
    folder = os.fsdecode(bytes(tmp_path) + b"/caf\xe9")
    if place == "HOME":
        environment["LEARNING_MEMORY_STORAGE_PATH"] = ""
        Path(folder, ".local", "share").mkdir(parents=True, mode=0o700)
        storage.rename(Path(folder, ".local", "share", "learning-memory-server"))
    elif place == "LEARNING_MEMORY_STORAGE_PATH":
        storage.rename(folder)
    else:
        (storage / "journal").rename(folder)
    printed(run(*command.split(), **{place: folder}))
