"""Packages of earlier commits of this repository."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def _git(*arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else b""


def _commit(revision: str) -> str:
    """Return a commit's full name; empty if there is none, or the history does not go back so far."""
    return _git("rev-parse", "--verify", "--quiet", revision).decode().strip()


def _last_of(*arguments: str) -> str:
    found = _git("log", "--format=%H", *arguments).decode().split()
    return found[-1] if found else ""


def commit_before(words: str, path: str) -> str:
    """Return the last commit that did not have these words in a file."""
    return _commit(f"{_last_of('-S', words, '--', path)}^")


def package_at(commit: str, folder: Path) -> Path:
    """Write the package of a commit, with the latest file times there are, to a new folder; skip without the commit."""
    if not commit:
        pytest.skip("the history of this checkout does not go back so far")
    folder.mkdir()
    archive = _git("archive", commit, "learning_memory_server")
    subprocess.run(["tar", "-x", "-m", "-C", str(folder)], input=archive, check=True)
    return folder
