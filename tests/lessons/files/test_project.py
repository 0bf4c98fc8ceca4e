"""Which files may be anchored to, what is read of them, and what names their content."""

import os
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from learning_memory_server.lessons.files.freshness import blob_ids, known_to_git, name_in, project_root, tracked_by_git
from learning_memory_server.system.files import READ_MAX, read
from tests.sharing.repositories import git


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "src").mkdir()
    return tmp_path / "shop"


def test_a_project_is_the_repository_that_a_folder_is_in(root: Path) -> None:
    assert project_root(str(root / "src")) == root
    assert project_root(str(root.parent)) == root.parent
    assert [project_root(each) for each in ("", "shop", "/a\0b", "/\ud800")] == [None] * 4


def test_a_home_without_a_repository_is_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    assert project_root(str(tmp_path)) is None
    assert project_root(str(tmp_path.parent)) is None
    (tmp_path / ".git").mkdir()
    assert project_root(str(tmp_path)) == tmp_path


def test_a_name_is_relative_and_does_not_follow_a_link_out(root: Path) -> None:
    for name, place in (("out", root.parent), ("in", root / "src"), ("circle", root / "circle")):
        (root / name).symlink_to(place)

    assert name_in(root, str(root / "src" / "cart.py")) == "src/cart.py"
    assert name_in(root, "src/../src/gone.py") == "src/gone.py"
    assert name_in(root, "in/cart.py") == "src/cart.py"
    for outside in ("..", "../other/a.py", "/etc/passwd", "out/other.py", ".", "", "a\0b", "a\nb", "\udcff"):
        assert name_in(root, outside) is None


def test_credentials_and_gits_own_files_have_no_name_and_code_about_them_has_one(root: Path) -> None:
    private = (
        ".git/config .env app/.env.local deploy/prod.env keys/id_rsa id_ed25519.pub tls/server.key ca.pem .npmrc "
        ".aws/credentials config/secrets.yml credentials.json db-password.txt terraform.tfstate"
    )
    public = "src/credentials.py docs/secrets.md tests/test_password.py environment.py"
    assert [name for name in (*private.split(), "a" * 301) if name_in(root, name)] == []
    assert [name_in(root, name) for name in public.split()] == public.split()


@given(st.text(st.sampled_from("a./\\~\0\n é"), max_size=30))
def test_no_name_leaves_the_project(name: str) -> None:
    found = name_in(Path("/nowhere/shop"), name)

    assert found is None or (not found.startswith("/") and ".." not in found.split("/"))


def test_the_id_of_a_content_is_gits_whatever_its_line_ends_are(repository: Path) -> None:
    (repository / "a.py").write_bytes(b"x = 1\ny = 2\n")
    wanted = git(repository, "hash-object", "a.py").strip()

    assert blob_ids(b"x = 1\ny = 2\n")[0] == wanted
    assert blob_ids(b"x = 1\r\ny = 2\r\n")[0] == wanted
    assert blob_ids(b"x = 1\r\ny = 2\r\n")[1] != wanted


def test_only_regular_files_of_some_size_are_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(READ_MAX + 1)

    assert read(tmp_path / "a") == b"x"
    assert [read(tmp_path / name) for name in ("link", "pipe", "huge", "none", ".")] == [None] * 5


def test_git_says_what_it_tracks_and_what_it_ignores(repository: Path) -> None:
    for name in ("a.py", "new é.py", "out.log"):
        (repository / name).write_text("x")
    (repository / ".gitignore").write_text("*.log")
    git(repository, "add", "a.py")

    assert tracked_by_git(repository) == ["a.py"]
    assert set(known_to_git(repository, ["a.py", "new é.py", "out.log", "*.log"])) - {""} == {"a.py", "new é.py"}
    assert known_to_git(repository, []) == []
    assert tracked_by_git(repository.parent) == []


@pytest.mark.slow
def test_a_repositorys_settings_start_no_program(repository: Path) -> None:
    marker = repository / "ran"
    (repository / "monitor").write_text(f"#!/bin/sh\ntouch {marker}\n")
    (repository / "monitor").chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(repository / "monitor"))
    (repository / "a.py").write_text("x")

    assert "a.py" in known_to_git(repository, ["a.py"])
    tracked_by_git(repository)

    assert not marker.exists()


@given(st.binary(max_size=200))
def test_any_content_has_ids(content: bytes) -> None:
    assert all(len(each) == 40 for each in blob_ids(content))
