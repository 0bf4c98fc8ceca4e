import pytest

from tests.support import Parts


@pytest.fixture
async def parts(parts: Parts) -> Parts:
    """Everything over an empty journal, and an open index."""
    await parts.index.open()
    return parts
