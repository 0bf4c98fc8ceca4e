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
from learning_memory_server.errors import InvalidSettingsError
from learning_memory_server.rendezvous import Place, build, is_newer, prepare_runtime_directory

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
def test_without_a_usable_runtime_directory_it_is_in_one_of_the_users_own(tmp_path: Path, named: str) -> None:
    if named == "a very long one":
        long = tmp_path / ("x" * 60)
        long.mkdir()
        named = str(long)
    socket = Place({**variables(tmp_path), "XDG_RUNTIME_DIR": named}).socket
    assert socket.parent == Path(f"/tmp/learning-memory-server-{os.getuid()}")  # noqa: S108 - its documented place


def test_the_sockets_path_is_short_however_long_the_datas_is(tmp_path: Path) -> None:
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


def test_a_hub_that_listens_elsewhere_is_found_by_its_lock(tmp_path: Path) -> None:
    place = Place(variables(tmp_path, storage_path=str(tmp_path)))
    assert place.sockets() == [place.socket]
    place.journal.mkdir()
    for garbage in ("", "garbage", "[]", '{"pid": 1}', '{"socket": 1}'):
        (place.journal / ".lock").write_text(garbage)
        assert place.sockets() == [place.socket]
    (place.journal / ".lock").write_text(json.dumps({"socket": "/elsewhere/a.sock"}))
    assert place.sockets() == [place.socket, Path("/elsewhere/a.sock")]
    (place.journal / ".lock").write_text(json.dumps({"socket": str(place.socket)}))
    assert place.sockets() == [place.socket]


def test_the_settings_that_a_hub_runs_on_are_told_apart(tmp_path: Path) -> None:
    usual = Place(variables(tmp_path)).settings
    assert Place(variables(tmp_path, min_experiences="5")).settings != usual
    assert Place(variables(tmp_path, embedding_backend="hashing")).settings != usual
    assert Place(variables(tmp_path, project="shop", log_level="debug")).settings == usual
    (tmp_path / "settings.toml").write_text("min_experiences = 5\n")
    from_file = Place(variables(tmp_path, config=str(tmp_path / "settings.toml"))).settings
    assert from_file == Place(variables(tmp_path, min_experiences="5")).settings


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
    """Return the build of the package in a folder, as a process of its own sees it."""
    code = "import json; from learning_memory_server import rendezvous; print(json.dumps(rendezvous.build()))"
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_a_later_version_is_newer_whatever_the_times_of_its_sources() -> None:
    this = {"version": "0.10.0", "fingerprint": "a", "newest": 1}
    assert is_newer(this, {"version": "0.9.9", "fingerprint": "b", "newest": 2})
    assert not is_newer({"version": "0.9.9", "fingerprint": "b", "newest": 2}, this)
    assert is_newer({"version": "0.10.0", "fingerprint": "b", "newest": 2}, this)
    assert not is_newer(this, {"version": "0.10.0", "fingerprint": "b", "newest": 2})


def test_the_same_sources_are_not_newer() -> None:
    assert not is_newer(build(), build())


def test_the_sockets_folder_is_made_for_the_user_alone(runtime: Path) -> None:
    folder = runtime / "deep" / "folder"
    prepare_runtime_directory(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    prepare_runtime_directory(folder)


@pytest.mark.parametrize("mode", [0o750, 0o707, 0o777, 0o701])
def test_a_folder_that_is_open_to_others_is_refused(runtime: Path, mode: int) -> None:
    runtime.chmod(mode)
    with pytest.raises(InvalidSettingsError, match="open to other users"):
        prepare_runtime_directory(runtime)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(runtime: Path) -> None:
    folder = runtime / "given"
    folder.mkdir(mode=0o700)
    os.chown(folder, 65534, 65534)
    with pytest.raises(InvalidSettingsError, match="open to other users"):
        prepare_runtime_directory(folder)


def test_a_link_to_a_folder_is_refused(runtime: Path) -> None:
    (runtime / "real").mkdir(mode=0o700)
    (runtime / "link").symlink_to(runtime / "real")
    with pytest.raises(InvalidSettingsError):
        prepare_runtime_directory(runtime / "link")


def test_a_folder_that_cannot_be_made_is_a_sentence(runtime: Path) -> None:
    (runtime / "file").touch()
    with pytest.raises(InvalidSettingsError, match="cannot be created"):
        prepare_runtime_directory(runtime / "file" / "folder")
