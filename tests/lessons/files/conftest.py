"""A project with a repository, and entries about its files."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.lessons.files.anchoring import found_files
from learning_memory_server.model.entry import Anchor, Ghap, Lesson, Resolution
from learning_memory_server.model.vocabulary import OutcomeStatus
from tests.sharing.repositories import commit, git
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


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "shop")
    return tmp_path / "shop"


@pytest.fixture
def shop(repository: Path) -> Path:
    """A project with one file that is committed, and another."""
    (repository / "src").mkdir()
    (repository / "src" / "cart.py").write_text(CART)
    (repository / "README.md").write_text("The shop sells things.\n")
    commit(repository, "all")
    return repository


def resolved(takeaway: str = "round once", **changes: Any) -> Ghap:
    lesson = Lesson("rounding once", takeaway)
    end = Resolution(OutcomeStatus.CONFIRMED, "It did.", NOON + timedelta(hours=1), lesson=lesson)
    return ghap(**{"resolution": end, **changes})


def anchored(shop: Path, entry: Ghap) -> tuple[Anchor, ...]:
    """Return what an entry is anchored to if redaction finds nothing."""
    return tuple(anchor for anchor, _ in found_files(entry, str(shop), {}))
