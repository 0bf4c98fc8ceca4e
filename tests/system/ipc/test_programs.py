import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.system.ipc import programs
from learning_memory_server.system.ipc.programs import outranks, record, replaces, this_program, to_start
from learning_memory_server.version import JOURNAL_FORMAT, VERSION
from tests.processes import python

PACKAGE = Path(programs.__file__).parents[2]
FORMATS = {"0.1.0": 4, "0.2.0": 4, "0.3.0": 4}
"""The journal's format of each version. A new format is a new line: versions are compared."""


def other(version: str = "99.0", **changes: Any) -> dict[str, Any]:
    return {**this_program(), "version": version, "fingerprint": "other", "folder": "/other", **changes}


def program_in(folder: Path) -> dict[str, Any]:
    """Return the program of the package in a folder, as another process sees it."""
    code = "import json; from learning_memory_server.system.ipc.programs import *; print(json.dumps(this_program()))"
    found: dict[str, Any] = json.loads(python(code, cwd=folder, env={"PYTHONDONTWRITEBYTECODE": "1"}))
    return found


def recorded(storage: Path, **changes: Any) -> dict[str, Any]:
    """Record a program of a later version, which exists, and return it."""
    folder = storage / "other"
    (folder / "learning_memory_server").mkdir(parents=True, exist_ok=True)
    program = other(**{"folder": str(folder), **changes})
    record(storage, program)
    (storage / "hub.json").chmod(0o600)
    return program


def folders(storage: Path) -> list[str]:
    return [program["folder"] for program in to_start(storage)]


def test_every_format_of_the_journal_has_a_version() -> None:
    assert FORMATS[VERSION] == JOURNAL_FORMAT


@pytest.mark.slow
def test_a_fingerprint_changes_with_any_source(tmp_path: Path) -> None:
    copy = tmp_path / "learning_memory_server"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    before = program_in(tmp_path)
    assert before == program_in(tmp_path)
    (copy / "__pycache__").mkdir(exist_ok=True)
    (copy / "__pycache__" / "new.py").write_text("")
    (copy / "notes.txt").write_text("")
    assert before == program_in(tmp_path)
    (copy / "model" / "new.py").write_text("")
    assert program_in(tmp_path)["fingerprint"] != before["fingerprint"]


@pytest.mark.parametrize(
    ("this", "that"),
    [
        (("0.10.0", 4), ("0.9.9", 4)),
        # Who can read the journal wins.
        (("0.9.9", 5), ("0.10.0", 4)),
    ],
)
def test_programs_are_ranked_by_format_then_version(this: tuple[str, int], that: tuple[str, int]) -> None:
    one, two = other(this[0], journal=this[1]), other(that[0], journal=that[1])
    assert outranks(one, two)
    assert not outranks(two, one)


def test_a_hub_gives_way_to_a_later_version_and_to_no_other_of_the_same() -> None:
    assert replaces(other("99.0"), this_program())
    assert not replaces(other("0.0.1"), this_program())
    assert not replaces(other(VERSION), this_program())
    assert not replaces(this_program(), this_program())


def test_a_hub_whose_files_have_changed_gives_way_to_what_is_there_now() -> None:
    own = this_program()
    before = {**own, "fingerprint": "as it was loaded"}
    assert replaces(own, before)
    assert replaces({**own, "version": "0.0.1"}, before)
    assert not replaces({**own, "journal": JOURNAL_FORMAT - 1}, before)
    # A front that is older than the change, and a hub that is not.
    assert not replaces(before, own)


def test_a_later_program_is_started_first_and_then_this_one(tmp_path: Path) -> None:
    own = this_program()
    assert to_start(tmp_path) == [own]
    record(tmp_path, own)
    assert to_start(tmp_path) == [own]
    later = recorded(tmp_path)
    assert to_start(tmp_path) == [later, own]
    recorded(tmp_path, version=VERSION)
    assert folders(tmp_path) == [own["folder"], later["folder"]]


def test_a_successor_is_started_until_another_program_has_opened_the_journal(tmp_path: Path) -> None:
    own, later = this_program(), recorded(tmp_path)
    record(tmp_path, own, successor=later)
    assert to_start(tmp_path) == [later, own]
    record(tmp_path, own)
    assert to_start(tmp_path) == [own]


@pytest.mark.parametrize("flaw", ["no package", "no program", "open to others", "garbage", "no version"])
def test_a_recorded_program_that_is_not_usable_is_not_started(tmp_path: Path, flaw: str) -> None:
    later = recorded(tmp_path)
    match flaw:
        case "no package":
            (Path(later["folder"]) / "learning_memory_server").rmdir()
        case "no program":
            recorded(tmp_path, executable=str(tmp_path / "none"))
        case "open to others":
            (tmp_path / "hub.json").chmod(0o666)
        case "no version":
            recorded(tmp_path, version=[], journal="x")
        case _:
            (tmp_path / "hub.json").write_text('{"build": {}}')
    assert to_start(tmp_path) == [this_program()]
