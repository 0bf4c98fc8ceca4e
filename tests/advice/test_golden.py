"""What agents are shown in the situations of `golden.toml`."""

from collections import Counter
from pathlib import Path

import pytest

from tests.advice.situations import GOLDEN, Golden, read_golden, rewritten, staged

SITUATIONS = read_golden()


@pytest.mark.slow
@pytest.mark.parametrize("golden", SITUATIONS, ids=lambda golden: golden.name)
async def test_what_is_shown_is_what_the_file_says(golden: Golden, tmp_path: Path) -> None:
    async with staged(golden, tmp_path) as stage:
        assert await stage.shown() == golden.shown


def test_every_situation_has_a_name_of_its_own_and_what_is_shown() -> None:
    names = Counter(golden.name for golden in SITUATIONS)
    assert len(names) >= 40
    assert set(names.values()) == {1}


def test_every_reason_that_is_in_use_is_shown_somewhere_and_so_is_silence() -> None:
    reasons = {each.partition(": ")[2] for golden in SITUATIONS for each in golden.shown or [": "]}
    own = {
        "similar",
        "terms",
        "both",
        "error",
        "file",
        "place",
        "open",
        "elsewhere",
        "unresolved",
        "helped",
        "rule",
        "",
    }
    assert reasons == own


def test_the_file_is_written_anew_with_nothing_changed_but_what_is_shown() -> None:
    text = GOLDEN.read_text("utf-8")
    assert rewritten(text, [golden.shown for golden in SITUATIONS]) == text
    silent = rewritten(text, [[] for _ in SITUATIONS])
    assert len(silent.splitlines()) == len(text.splitlines())
    assert silent.count("shown = []") == len(SITUATIONS)
