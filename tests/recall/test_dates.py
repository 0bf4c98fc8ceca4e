from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning_memory_server.index.queries import MemoryQuery
from learning_memory_server.model.vocabulary import SearchMode
from learning_memory_server.recall.lexical import with_iso_dates
from tests.capture.memories.shelf import Shelf


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("what broke on 25 May 2023?", "2023-05-25"),
        ("what broke on May 25, 2023", "2023-05-25"),
        ("the 1st of sept. 2024", "2024-09-01"),
        ("March 3rd 2024 and 4 March 2024", "2024-03-04 2024-03-03"),
        ("the release of May 25", "05 25"),
        ("29 February 2024", "2024-02-29"),
    ],
)
def test_a_date_is_followed_by_its_iso_form(text: str, added: str) -> None:
    assert with_iso_dates(text) == f"{text} {added}"


@pytest.mark.parametrize(
    "text", ["", "it may fail 3 times", "31 February 2023", "2023-05-25", "May 99", "yesterday", "4 marching ants"]
)
def test_what_is_no_date_is_left_alone(text: str) -> None:
    assert with_iso_dates(text) == text


@given(st.dates(min_value=date(1000, 1, 1)))
def test_any_date_is_found_in_words(day: date) -> None:
    written = f"{day.day} {day:%B} {day.year}"
    assert with_iso_dates(written) == f"{written} {day.isoformat()}"


@pytest.mark.parametrize("mode", [SearchMode.LEXICAL, SearchMode.HYBRID])
async def test_a_date_in_words_finds_the_memory_of_that_day(mode: SearchMode, shelf: Shelf) -> None:
    for day in ("2023-05-24", "2023-05-25", "2022-05-25"):
        await shelf.add("we met and talked", timestamp=day)
    if mode is SearchMode.HYBRID:
        await shelf.ready()
    for text in ("what happened on 25 May 2023", "May 25th, 2023"):
        result = await shelf.searcher.search(MemoryQuery(text))
        assert result.mode is mode
        assert result.found[0].memory.date.isoformat().startswith("2023-05-25")
