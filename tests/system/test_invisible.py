import json

import pytest

from learning_memory_server.cli import out
from learning_memory_server.model.lines import one_line
from learning_memory_server.system.invisible import shown


@pytest.mark.parametrize(
    "character",
    [
        *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c",
        *"\u200b\u200c\u200d\u2060\ufeff\u180e\u2063\ufff9\U000e0001\U000e0041",
    ],
)
def test_what_turns_or_hides_a_text_is_named(character: str) -> None:
    name = f"[U+{ord(character):04X}]"
    assert shown(f"a{character}b") == f"a{name}b"
    assert one_line(f"\x1b[31ma{character}b") == f"[31ma{name}b"
    assert out.text_lines(f"a{character}\n\tb") == f"a{name}\n    b"


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "na\u00efve, soft\u00adhyphen",
        "می\u200cخواهم",  # noqa: RUF001 - Persian
        "क्\u200dष and क्\u200c",
        "ไทย\u200bไทย",
        "👩\u200d💻 👩🏽\u200d🚀 ❤\ufe0f\u200d🔥 ✔\ufe0f",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "葛\U000e0100",
    ],
)
def test_what_scripts_and_emoji_need_stays(text: str) -> None:
    assert shown(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("א\u200dב", "א[U+200D]ב"),
        ("می\u200ca", "می[U+200C]a"),
        ("می\u200bخ", "می[U+200B]خ"),
        ("a\u200d💻", "a[U+200D]💻"),
        ("👩\u200d", "👩[U+200D]"),
        ("\U0001f600\U000e0041\U000e007f", "\U0001f600[U+E0041][U+E007F]"),
        ("❤\ufe0f\ufe01\U000e0120", "❤\ufe0f[U+FE01][U+E0120]"),
        ("می\u200c\u200cخ", "می[U+200C][U+200C]خ"),
    ],
)
def test_elsewhere_the_same_characters_are_named(text: str, expected: str) -> None:
    assert shown(text) == expected


def test_another_form_can_be_given() -> None:
    text = shown("a\u202e\U000e0041", lambda character: json.dumps(character)[1:-1])
    assert text == "a\\u202e\\udb40\\udc41"
    assert json.loads(f'"{text}"') == "a\u202e\U000e0041"
