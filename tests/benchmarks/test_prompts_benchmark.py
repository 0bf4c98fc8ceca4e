"""At prompts that nothing bears on, the packaged model keeps silent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.prompts import figures, measure

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
async def test_unrelated_prompts_are_shown_nothing_and_related_ones_what_bears_on_them(
    tmp_path: Path,
) -> None:
    related, unrelated = await measure(tmp_path)

    silent, reach, precision = figures(related, unrelated)["ours"]

    assert silent >= 0.95
    assert reach >= 0.75
    assert precision >= 0.9
