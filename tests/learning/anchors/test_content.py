"""What is read of files, and what names their content."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning_memory_server.learning.anchors.content import (
    blob_ids,
    digests,
    known_to_git,
    split_digests,
    tracked_by_git,
)
from learning_memory_server.system.files import READ_MAX, read
from tests.learning.anchors.conftest import git


def test_the_id_of_a_content_is_gits_whatever_its_line_ends_are(repository: Path) -> None:
    (repository / "a.py").write_bytes(b"x = 1\ny = 2\n")
    wanted = git(repository, "hash-object", "a.py").strip()

    assert blob_ids(b"x = 1\ny = 2\n")[0] == wanted
    assert blob_ids(b"x = 1\r\ny = 2\r\n")[0] == wanted
    assert blob_ids(b"x = 1\r\ny = 2\r\n")[1] != wanted


def test_digests_are_of_lines_that_say_something_however_they_are_formatted() -> None:
    (one,) = digests([b"  total = sum('prices')", b"else:", b"", b"})"])

    assert len(one) == 8
    assert list(digests([b'total=sum("prices"),\r'])) == [one]
    assert split_digests(one + "01234567") == [one, "01234567"]


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

    assert tracked_by_git(repository) == {"a.py": blob_ids(b"x")[0]}
    assert set(known_to_git(repository, ["a.py", "new é.py", "out.log", "*.log"])) - {""} == {"a.py", "new é.py"}
    assert known_to_git(repository, []) == []
    assert tracked_by_git(repository.parent) == {}


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
def test_any_content_has_ids_and_digests(content: bytes) -> None:
    assert all(len(each) == 40 for each in blob_ids(content))
    assert all(len(each) == 8 for each in digests(content.splitlines()))
