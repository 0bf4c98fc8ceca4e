"""What clusters are made of, indexed, and the values over it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from learning_memory_server.lessons.values.store import ValueStore
from tests.lessons.values.parts import open_values, values_over
from tests.support import Parts


@pytest.fixture
async def parts(tmp_path: Path) -> AsyncIterator[Parts]:
    """Two topics' entries, indexed."""
    async with open_values(tmp_path) as (_, opened):
        yield opened


@pytest.fixture
def store(parts: Parts) -> ValueStore:
    return values_over(parts)
