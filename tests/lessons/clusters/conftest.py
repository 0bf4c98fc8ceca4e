"""Entries about three topics, learned."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.lessons.clusters.parts import ALL, Learning, learning


@pytest.fixture
async def each(tmp_path: Path) -> AsyncIterator[Learning]:
    async with learning(tmp_path, *ALL) as opened:
        yield opened
