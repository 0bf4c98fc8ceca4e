import random
from collections.abc import Callable

import pytest

from benchmarks.secrets_made import TOKENS, private_key
from learning_memory_server.redaction.base import MARKER
from learning_memory_server.redaction.redactor import build_redactor
from learning_memory_server.redaction.tokens import SHORTEST, TOKENS as FORMS

RNG = random.Random(7)
REDACTOR = build_redactor()


@pytest.mark.parametrize("kind", TOKENS)
def test_a_token_is_found_in_a_sentence_and_what_is_around_it_stays(kind: str) -> None:
    for make in TOKENS[kind]:
        secret = make(RNG)
        redacted = REDACTOR.redact(f"before {secret} after")
        assert MARKER.fullmatch(redacted.text.removeprefix("before ").removesuffix(" after")), redacted.text
        assert sum(redacted.kinds.values()) == 1


PREFIXED = [
    make
    for kind, makers in TOKENS.items()
    # What has its prefix in the middle, or none, has another boundary.
    if kind not in {"private key", "mailchimp", "mailgun", "terraform", "azure client secret", "telegram"}
    for make in makers
]


@pytest.mark.parametrize("make", PREFIXED)
def test_a_token_inside_a_longer_word_is_not_one(make: Callable[[random.Random], str]) -> None:
    text = "x9Zq" * 4 + make(RNG)
    assert REDACTOR.redact(text).text == text


def test_no_token_is_shorter_than_the_table_says() -> None:
    assert min(len(make(RNG)) for makers in TOKENS.values() for make in makers) >= SHORTEST
    assert all(form.hints == form.hints.lower() for form in FORMS)


@pytest.mark.parametrize("written", ["{}", '{{"key": "{}"}}', "key: |\n  {}", "> {}"])
@pytest.mark.parametrize("newline", ["\n", "\\n", "\r\n", "\n    "])
def test_a_private_key_is_found_however_its_lines_end(written: str, newline: str) -> None:
    key = private_key(RNG)
    text = written.format(key.replace("\n", newline))
    redacted = REDACTOR.redact(text)
    assert redacted.kinds == {"private key": 1}
    assert not any(line in redacted.text for line in key.split("\n")[1:-1])


def test_a_private_key_that_was_cut_off_is_found() -> None:
    key = private_key(RNG).rsplit("\n", 2)[0]
    redacted = REDACTOR.redact(f"{key}\n\nand so on")
    assert redacted.text.endswith("\n\nand so on")
    assert not any(line in redacted.text for line in key.split("\n")[1:])
