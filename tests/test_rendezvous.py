"""Where fronts and the hub meet."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from learning_memory_server import rendezvous
from learning_memory_server.rendezvous import Place, build, is_newer

if TYPE_CHECKING:
    from collections.abc import Iterator

SOCKET_PATH_MAX = 107
PACKAGE = Path(rendezvous.__file__).parent


@pytest.fixture
def runtime() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="lms-") as directory:
        yield Path(directory)


def variables(home: Path, **settings: str) -> dict[str, str]:
    return {
        "HOME": str(home),
        **{f"LEARNING_MEMORY_{name.upper()}": value for name, value in settings.items()},
    }


def test_the_socket_is_in_the_runtime_directory(tmp_path: Path, runtime: Path) -> None:
    socket = Place({**variables(tmp_path), "XDG_RUNTIME_DIR": str(runtime)}).socket
    assert socket.parent.parent == runtime


@pytest.mark.parametrize("named", ["", "relative", "/not/there", "a very long one"])
def test_without_a_usable_runtime_directory_it_is_in_a_private_one(tmp_path: Path, named: str) -> None:
    if named == "a very long one":
        long = tmp_path / ("x" * 60)
        long.mkdir()
        named = str(long)
    socket = Place({**variables(tmp_path), "XDG_RUNTIME_DIR": named}).socket
    assert socket.parent == Path(f"/tmp/learning-memory-server-{os.getuid()}")  # noqa: S108 - its documented place


def test_the_socket_path_is_short_however_long_the_data_path_is(tmp_path: Path) -> None:
    deep = "/".join("y" * 200 for _ in range(10))
    socket = Place(variables(tmp_path, storage_path=f"{tmp_path}/{deep}")).socket
    assert len(os.fsencode(socket)) <= SOCKET_PATH_MAX


def test_the_same_data_has_the_same_socket(tmp_path: Path) -> None:
    one = Place(variables(tmp_path, storage_path=str(tmp_path / "a")))
    same = Place(
        variables(tmp_path, storage_path=str(tmp_path / "a"), journal_path=str(tmp_path / "a" / "journal"))
    )
    assert one.socket == same.socket
    assert one.settings == same.settings


def test_other_data_has_another_socket(tmp_path: Path) -> None:
    places = [
        Place(variables(tmp_path, storage_path=str(tmp_path / "a"))),
        Place(variables(tmp_path, storage_path=str(tmp_path / "b"))),
        Place(variables(tmp_path, storage_path=str(tmp_path / "a"), journal_path=str(tmp_path / "c"))),
        Place(variables(tmp_path, storage_path=str(tmp_path / "b"), journal_path=str(tmp_path / "c"))),
    ]
    assert len({place.socket for place in places}) == len(places)


def test_a_hub_that_listens_elsewhere_is_found_through_its_lock(tmp_path: Path) -> None:
    place = Place(variables(tmp_path, storage_path=str(tmp_path)))
    assert place.sockets() == [place.socket]
    place.journal.mkdir()
    # Any user may write to /tmp.
    for garbage in ("", "garbage", "[]", '{"pid": 1}', '{"socket": 1}', '{"socket": "/tmp/a.sock"}'):
        (place.journal / ".lock").write_text(garbage)
        assert place.sockets() == [place.socket]
    (place.journal / ".lock").write_text(json.dumps({"socket": "/elsewhere/a.sock"}))
    assert place.sockets() == [place.socket, Path("/elsewhere/a.sock")]
    (place.journal / ".lock").write_text(json.dumps({"socket": str(place.socket)}))
    assert place.sockets() == [place.socket]


def test_a_hub_with_other_settings_is_recognized(tmp_path: Path) -> None:
    usual = Place(variables(tmp_path)).settings
    assert Place(variables(tmp_path, min_experiences="5")).settings != usual
    assert Place(variables(tmp_path, embedding_backend="hashing")).settings != usual
    assert Place(variables(tmp_path, project="shop", log_level="debug")).settings == usual
    (tmp_path / "settings.toml").write_text("min_experiences = 5\n")
    from_file = Place(variables(tmp_path, config=str(tmp_path / "settings.toml"))).settings
    assert from_file == Place(variables(tmp_path, min_experiences="5")).settings


@pytest.mark.slow
def test_a_build_changes_with_any_source(tmp_path: Path) -> None:
    copy = tmp_path / "learning_memory_server"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    before = build_of(tmp_path)
    assert before == build_of(tmp_path)
    (copy / "__pycache__").mkdir(exist_ok=True)
    (copy / "__pycache__" / "new.py").write_text("")
    (copy / "notes.txt").write_text("")
    assert before == build_of(tmp_path)
    source = copy / "domain" / "limits.py"
    later = source.stat().st_mtime_ns + 1
    os.utime(source, ns=(later, later))
    assert build_of(tmp_path)["fingerprint"] != before["fingerprint"]
    (copy / "domain" / "new.py").write_text("")
    changed = build_of(tmp_path)
    assert is_newer(changed, before)
    assert not is_newer(before, changed)


def build_of(folder: Path) -> dict[str, object]:
    """Return the build of the package in a folder, as another process sees it."""
    code = "import json; from learning_memory_server import rendezvous; print(json.dumps(rendezvous.build()))"
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_a_later_version_is_newer_whatever_its_source_times() -> None:
    this = {"version": "0.10.0", "fingerprint": "a", "newest": 1}
    assert is_newer(this, {"version": "0.9.9", "fingerprint": "b", "newest": 2})
    assert not is_newer({"version": "0.9.9", "fingerprint": "b", "newest": 2}, this)
    assert is_newer({"version": "0.10.0", "fingerprint": "b", "newest": 2}, this)
    assert not is_newer(this, {"version": "0.10.0", "fingerprint": "b", "newest": 2})


def test_the_same_sources_are_not_newer() -> None:
    assert not is_newer(build(), build())


def test_data_reached_through_a_link_has_the_same_socket(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    real = Place(variables(tmp_path, storage_path=str(tmp_path / "real")))
    linked = Place(variables(tmp_path, storage_path=str(tmp_path / "link" / "." / ".." / "link")))
    assert (linked.socket, linked.journal, linked.storage) == (real.socket, real.journal, real.storage)


def recorded(storage: Path, **changes: object) -> Path:
    """Record a newer program, which exists, as a hub's."""
    folder = storage / "newer"
    (folder / "learning_memory_server").mkdir(parents=True, exist_ok=True)
    build_ = {**build(), "version": "99.0", "fingerprint": "newer"}
    written = {"executable": sys.executable, "folder": str(folder), "build": build_, **changes}
    path = storage / "hub.json"
    path.write_text(json.dumps(written))
    path.chmod(0o600)
    return folder


def test_a_newer_program_is_started_and_not_recorded_over(tmp_path: Path) -> None:
    place = Place(variables(tmp_path, storage_path=str(tmp_path)))
    place.record_program()
    assert place.newest_program() == rendezvous.program()
    folder = recorded(tmp_path)
    assert place.newest_program()["folder"] == str(folder)
    place.record_program()
    assert place.newest_program()["folder"] == str(folder)


@pytest.mark.parametrize("flaw", ["an older build", "no package", "no program", "open to others", "garbage"])
def test_a_recorded_program_that_is_not_usable_is_replaced(tmp_path: Path, flaw: str) -> None:
    place = Place(variables(tmp_path, storage_path=str(tmp_path)))
    folder = recorded(tmp_path)
    match flaw:
        case "an older build":
            recorded(tmp_path, build={**build(), "version": "0.0.1", "fingerprint": "older"})
        case "no package":
            (folder / "learning_memory_server").rmdir()
        case "no program":
            recorded(tmp_path, executable=str(tmp_path / "none"))
        case "open to others":
            (tmp_path / "hub.json").chmod(0o666)
        case _:
            (tmp_path / "hub.json").write_text('{"build": {"version": [], "newest": "x"}}')
    assert place.newest_program() == rendezvous.program()
    place.record_program()
    assert json.loads((tmp_path / "hub.json").read_bytes()) == rendezvous.program()
