"""A project with a repository, and entries about its files."""

import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.learning.anchors.anchoring import found_files
from learning_memory_server.model.anchor import Anchor
from learning_memory_server.model.entry import Ghap, Lesson, Resolution
from learning_memory_server.model.vocabulary import OutcomeStatus
from tests.support import NOON, ghap

CART = """\
import math


def total(items):
    prices = [item.price for item in items]
    return round(sum(prices), 2)


def tax_of(item):
    share = 0.19
    return round(item.price * share, 2)
"""


def git(folder: Path, *arguments: str) -> str:
    """Run git, and return what it says."""
    who = ("-c", "user.name=a", "-c", "user.email=a@localhost")
    done = subprocess.run(
        ["git", "-C", str(folder), *who, *arguments],  # noqa: S607 - the machine's git
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


@pytest.fixture
def shop(repository: Path) -> Path:
    """A project with one file that is committed, and another."""
    (repository / "src").mkdir()
    (repository / "src" / "cart.py").write_text(CART)
    (repository / "README.md").write_text("The shop sells things.\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "all")
    return repository


def resolved(takeaway: str = "round once", **changes: Any) -> Ghap:
    """A resolved entry."""
    lesson = Lesson("rounding once", takeaway)
    end = Resolution(OutcomeStatus.CONFIRMED, "It did.", NOON + timedelta(hours=1), lesson=lesson)
    return ghap(**{"resolution": end, **changes})


def anchored(shop: Path, entry: Ghap, **touched: Anchor) -> tuple[Anchor, ...]:
    """Return what an entry is anchored to if redaction finds nothing."""
    files = {each.file: each for each in touched.values()}
    return tuple(anchor for anchor, _ in found_files(entry, str(shop), files))
