"""Fixtures for every test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from learning_memory_server.journal.journal import Journal
from learning_memory_server.observation.collector import ObservationCollector
from tests.support import TickingClock
from tests.tiny_reranker import save_reranker

if TYPE_CHECKING:
    from pathlib import Path

# The disk decides how long an example takes.
settings.register_profile("durable", deadline=None, max_examples=60)
settings.load_profile("durable")


@pytest.fixture
def clock() -> TickingClock:
    return TickingClock()


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


@pytest.fixture
def collector(journal: Journal, clock: TickingClock) -> ObservationCollector:
    return ObservationCollector(journal, clock)


@pytest.fixture(scope="session")
def reranker_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A re-ranking model that favours one word."""
    return save_reranker(tmp_path_factory.mktemp("models") / "favouring")
