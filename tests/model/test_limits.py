import pytest

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model import limits
from learning_memory_server.model.limits import checked_text
from learning_memory_server.redaction.base import marker, shortened_markers


def test_a_text_is_measured_and_returned_without_surrounding_white_space() -> None:
    assert checked_text("goal", f" \n{'x' * 10}\t ", 10) == "x" * 10
    assert checked_text("goal", "x", 1) == "x"


def test_one_character_too_many_is_refused_with_field_length_and_limit() -> None:
    with pytest.raises(InvalidInputError, match=r"^lesson\.takeaway: 11 characters, the limit is 10\.$"):
        checked_text("lesson.takeaway", "x" * 11, 10)


@pytest.mark.parametrize("text", ["", "   ", "\n\t\u00a0\u2003"])
def test_an_empty_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"^goal: must not be empty \(1-10 characters\)\.$"):
        checked_text("goal", text, 10)


@pytest.mark.parametrize(("value", "kind"), [(None, "NoneType"), (3, "int"), (True, "bool"), (["a"], "list")])
def test_anything_but_text_is_refused_and_its_type_named(value: object, kind: str) -> None:
    with pytest.raises(InvalidInputError, match=rf"^goal: must be text, not {kind}\.$"):
        checked_text("goal", value, 10)


def test_characters_are_counted_not_bytes() -> None:
    assert checked_text("goal", "\u00e9\U0001f600" * 5, 10) == "\u00e9\U0001f600" * 5


def test_a_caller_says_which_text_is_measured() -> None:
    text = f"{marker('password')}{'x' * 9}"
    assert checked_text("goal", text, 10, shortened_markers) == text
    with pytest.raises(InvalidInputError, match=r"^goal: 11 characters, the limit is 10\.$"):
        checked_text("goal", text + "x", 10, shortened_markers)


def test_the_limits_are_those_of_the_contract() -> None:
    assert (limits.STATEMENT_MAX, limits.NARRATIVE_MAX, limits.VALUE_MAX, limits.QUERY_MAX) == (1000, 2000, 500, 1000)
    assert limits.REPLY_MAX == 32_000
