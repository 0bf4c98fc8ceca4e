import pytest

from learning_memory_server.model.lines import counted, one_line, preview, shortened


def test_a_line_has_nothing_that_controls_or_hides() -> None:
    assert one_line(" one\n\x1b[31m two\u202e\t three") == "one [31m two[U+202E] three"


@pytest.mark.parametrize(
    ("text", "expected"), [("", ""), ("12345", "12345"), ("123456", "1234\u2026"), ("123  678", "123\u2026")]
)
def test_a_text_is_shortened_to_a_length_that_includes_the_ellipsis(text: str, expected: str) -> None:
    assert shortened(text, 5) == expected


def test_the_dots_of_a_preview_do_not_count() -> None:
    assert [preview(text, 5) for text in ("12345", "123456")] == ["12345", "12345..."]


@pytest.mark.parametrize(
    ("number", "noun", "expected"),
    [
        (1, "session", "1 session"),
        (2, "session", "2 sessions"),
        (0, "entry", "0 entries"),
        (2, "key", "2 keys"),
        (1_000, "day", "1,000 days"),
        (2, "branch", "2 branches"),
        (2, "box", "2 boxes"),
        (3, "open entry", "3 open entries"),
    ],
)
def test_a_noun_has_the_form_of_its_number(number: int, noun: str, expected: str) -> None:
    assert counted(number, noun) == expected
