from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.advice.parts import MeasuredModel
from tests.support import Parts, open_parts


@pytest.fixture
async def parts(tmp_path: Path) -> AsyncIterator[Parts]:
    """Everything over an empty journal, with an index that is up to date and a model whose scale is known."""
    async with open_parts(tmp_path, load=MeasuredModel) as opened:
        await opened.ready()
        yield opened
