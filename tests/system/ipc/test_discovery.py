import json
import os
from pathlib import Path

import pytest

from learning_memory_server.system.ipc.discovery import HubPaths

SOCKET_PATH_MAX = 107


def variables(home: Path, **settings: str) -> dict[str, str]:
    return {"HOME": str(home), **{f"LEARNING_MEMORY_{name.upper()}": value for name, value in settings.items()}}


def test_the_socket_is_in_the_runtime_directory(tmp_path: Path, runtime: Path) -> None:
    socket = HubPaths({**variables(tmp_path), "XDG_RUNTIME_DIR": str(runtime)}).socket
    assert socket.parent.parent == runtime


@pytest.mark.parametrize("named", ["", "relative", "/not/there", "a very long one"])
def test_without_a_usable_runtime_directory_it_is_in_a_private_one(tmp_path: Path, named: str) -> None:
    if named == "a very long one":
        long = tmp_path / ("x" * 60)
        long.mkdir()
        named = str(long)
    socket = HubPaths({**variables(tmp_path), "XDG_RUNTIME_DIR": named}).socket
    assert socket.parent == Path(f"/tmp/learning-memory-server-{os.getuid()}")  # noqa: S108 - its documented place


def test_the_socket_path_is_short_however_long_the_data_path_is(tmp_path: Path) -> None:
    deep = "/".join("y" * 200 for _ in range(10))
    socket = HubPaths(variables(tmp_path, storage_path=f"{tmp_path}/{deep}")).socket
    assert len(os.fsencode(socket)) <= SOCKET_PATH_MAX


def test_the_same_data_has_the_same_socket(tmp_path: Path) -> None:
    one = HubPaths(variables(tmp_path, storage_path=str(tmp_path / "a")))
    same = HubPaths(variables(tmp_path, storage_path=str(tmp_path / "a"), journal_path=str(tmp_path / "a" / "journal")))
    assert one.socket == same.socket


def test_other_data_has_another_socket(tmp_path: Path) -> None:
    places = [
        HubPaths(variables(tmp_path, storage_path=str(tmp_path / "a"))),
        HubPaths(variables(tmp_path, storage_path=str(tmp_path / "b"))),
        HubPaths(variables(tmp_path, storage_path=str(tmp_path / "a"), journal_path=str(tmp_path / "c"))),
        HubPaths(variables(tmp_path, storage_path=str(tmp_path / "b"), journal_path=str(tmp_path / "c"))),
    ]
    assert len({place.socket for place in places}) == len(places)


def test_a_hub_that_listens_elsewhere_is_found_through_its_lock(tmp_path: Path) -> None:
    place = HubPaths(variables(tmp_path, storage_path=str(tmp_path)))
    usual = [place.socket, place.second_socket]
    assert place.sockets() == usual
    place.journal.mkdir()
    # Any user may write to /tmp.
    for garbage in ("", "garbage", "[]", '{"pid": 1}', '{"socket": 1}', '{"socket": "/tmp/a.sock"}'):
        (place.journal / ".lock").write_text(garbage)
        assert place.sockets() == usual
    for folder, socket, found in (
        (place.journal, "/elsewhere/a.sock", [*usual, Path("/elsewhere/a.sock")]),
        (place.journal, str(place.socket), usual),
        # A copy.
        (tmp_path / "first" / "journal", "/elsewhere/a.sock", usual),
    ):
        (place.journal / ".lock").write_text(json.dumps({"folder": str(folder), "socket": socket}))
        assert place.sockets() == found


def test_a_socket_is_not_looked_for_where_another_user_could_listen(tmp_path: Path, runtime: Path) -> None:
    place = HubPaths({**variables(tmp_path, storage_path=str(tmp_path)), "XDG_RUNTIME_DIR": str(runtime)})
    place.socket.parent.mkdir(mode=0o755)
    assert place.sockets() == [place.second_socket]
    tmp_path.chmod(0o750)
    assert place.sockets() == []


def test_data_reached_through_a_link_has_the_same_socket(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    real = HubPaths(variables(tmp_path, storage_path=str(tmp_path / "real")))
    linked = HubPaths(variables(tmp_path, storage_path=str(tmp_path / "link" / "." / ".." / "link")))
    assert (linked.socket, linked.journal, linked.storage) == (real.socket, real.journal, real.storage)
