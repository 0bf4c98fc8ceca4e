"""The exchange in the tutorial is what the server answers."""

import pytest

from scripts.exchange import PAGE, comparable, documented, recorded


@pytest.mark.slow
def test_the_tutorial_shows_what_the_server_answers_now() -> None:
    assert comparable(documented(PAGE.read_text("utf-8"))) == comparable(recorded())


def test_ids_and_times_may_differ() -> None:
    text = '"id": "ghap_20260301_120000_00000{}", "goal": "one", "created_at": "2026-03-01T12:00:0{}.5+00:00"'

    assert comparable(text.format(1, 2)) == comparable(text.format(7, 9))
    assert comparable(text) != comparable(text.replace("one", "two"))


def test_a_page_without_an_exchange_is_refused() -> None:
    with pytest.raises(ValueError, match="has no exchange between"):
        documented("# A title")
