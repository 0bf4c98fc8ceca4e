"""What the measure of prompts says of the packaged model."""

import asyncio

import pytest

from benchmarks.recurrence import Others, of_prompts
from learning_memory_server.embedding.loading import load_packaged


@pytest.mark.slow
def test_no_prompt_that_nothing_bears_on_is_answered_more_than_once_in_twenty() -> None:
    found = asyncio.run(of_prompts(load_packaged(), Others([])))["server"]
    assert found["moments"] == 36
    assert found["told"] > 0.7
    assert found["right"] > 0.9
    assert found["elsewhere"] <= 4
