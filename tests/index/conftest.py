from collections.abc import Iterator

import pytest

from tests.index.engines.double import QdrantDouble, serving


@pytest.fixture
def double() -> Iterator[QdrantDouble]:
    with serving() as server:
        yield server
