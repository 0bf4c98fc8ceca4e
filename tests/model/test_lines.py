import pytest

from learning_memory_server.model.lines import one_line, preview, shortened


def test_a_line_has_nothing_that_controls_or_hides() -> None:
    assert one_line(" one\n\x1b[31m two\u202e\t three") == "one [31m two[U+202E] three"


@pytest.mark.parametrize(
    ("text", "expected"), [("", ""), ("12345", "12345"), ("123456", "1234\u2026"), ("123  678", "123\u2026")]
)
def test_a_text_is_shortened_to_a_length_that_includes_the_ellipsis(text: str, expected: str) -> None:
    assert shortened(text, 5) == expected


def test_the_dots_of_a_preview_do_not_count() -> None:
    assert [preview(text, 5) for text in ("12345", "123456")] == ["12345", "12345..."]
