"""Tokens and passwords that are cut, by the end of a line or by characters that nobody sees."""

import base64
import random
from typing import Final

import pytest

from benchmarks.secrets_made import ALNUM, URL, drawn
from learning_memory_server.redaction.base import MARKER
from learning_memory_server.redaction.redactor import build_redactor

NEXT: Final = "\\\n"
INDENTED: Final = "\\\n    "
WINDOWS: Final = "\\\r\n"
IN_JSON: Final = "\\\\\\n"
ESCAPED: Final = "\\u200b"
UNSEEN: Final = "\u200b"
COLON: Final = "\\:"
RNG = random.Random(27)
REDACTOR = build_redactor()
TYPED: Final = "Heron-58%quarry"


def discord(digits: int, last: int) -> str:
    number = "".join([RNG.choice("123456789"), *RNG.choices("0123456789", k=digits - 1)])
    first = base64.b64encode(number.encode()).decode().rstrip("=")
    return f"{first}.{drawn(RNG, URL, 6)}.{drawn(RNG, ALNUM, last)}"


GITHUB = "gh" + "p_" + drawn(RNG, ALNUM, 36)
ANTHROPIC = "sk-" + "ant-api03-" + drawn(RNG, ALNUM, 93)
STRIPE = "sk_" + "live_" + drawn(RNG, ALNUM, 24)
RANDOM = drawn(RNG, ALNUM, 24)


def cut(secret: str, by: str, at: int = 13) -> str:
    return secret[:at] + by + secret[at:]


HELD: Final = [
    # A line that goes on in the next.
    (f"git clone https://x-access-token:{cut(GITHUB, NEXT)}@git.test/a.git", GITHUB),
    (f"export STRIPE={cut(STRIPE, INDENTED)}", STRIPE),
    (f"ENV KEY={cut(ANTHROPIC, WINDOWS, 70)} PORT=1", ANTHROPIC),
    (f"curl -H 'Authorization: Bearer \\\n    {RANDOM}' https://api.test", RANDOM),
    (f"psql postgres://app:{cut(RANDOM, NEXT)}@db.test/app", RANDOM),
    (f"mongosh --host db.test \\\n  --username app \\\n  -p {TYPED} \\\n  shop", TYPED),
    (f"docker login registry.test \\\n  -u ci \\\n  -p {TYPED}", TYPED),
    (f'{{"run": "deploy --key {cut(GITHUB, IN_JSON)}"}}', GITHUB),
    # Characters that nobody sees.
    *(
        (f"the runner used {cut(GITHUB, by)} and stopped", GITHUB)
        for by in "\u200b\u200c\u200d\u2060\ufeff\u00ad\u202e\u2066\u200f\ufe0f\U000e0041"
    ),
    (f"pass\u200bword: {TYPED}", TYPED),
    (f"Bearer \u2068{cut(RANDOM, 2 * UNSEEN)}\u2069", RANDOM),
    (f'{{"key": "{cut(GITHUB, ESCAPED)}"}}', GITHUB),
    (f"{cut(cut(ANTHROPIC, UNSEEN, 60), UNSEEN, 9)} in the log", ANTHROPIC),
    # Names and passwords with marks in them.
    (rf"localhost:5432:my\:shop:ann:{TYPED}", TYPED),
    (f"db.test:6543:shop:app:{cut(RANDOM, COLON)}", RANDOM),
    # Tokens.
    *((f"client.run('{token}')", token) for token in (discord(17, 27), discord(18, 38), discord(19, 27))),
    # Folders.
    (f"C:\\work\\build_{GITHUB}\\src", GITHUB),
]
HARMLESS: Final = [
    "make install \\\n  PREFIX=/usr \\\n  DESTDIR=/tmp/out",
    "The task\\\nfailed with sk-\\\nlearn 1.4",
    "می\u200cخواهم رمز را عوض کنم",  # noqa: RUF001 - Persian
    "👩\u200d💻 fixed it ❤\ufe0f",
    "soft\u00adhyphens every\u00adwhere in pass\u00adage",
    "export PATH=/usr/bin:\\\n/usr/local/bin",
]


@pytest.mark.parametrize(("text", "secret"), HELD)
def test_what_is_cut_is_replaced(text: str, secret: str) -> None:
    redacted = REDACTOR.redact(text)
    pieces = {secret[start : start + 8] for start in range(max(1, len(secret) - 7))}
    assert MARKER.search(redacted.text)
    assert not any(piece in redacted.text for piece in pieces), redacted.text
    assert sum(redacted.kinds.values()) == 1
    assert REDACTOR.redact(redacted.text).text == redacted.text


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert REDACTOR.redact(text).text == text


def test_what_is_around_a_cut_token_stays() -> None:
    text = f"before {cut(GITHUB, UNSEEN)} be\u200btween {cut(GITHUB, INDENTED, 30)} af\u2060ter \\\n end"
    there = "[redacted: github token]"
    assert REDACTOR.redact(text).text == f"before {there} be\u200btween {there} af\u2060ter \\\n end"


def test_an_allowed_token_may_be_cut() -> None:
    text = f"{cut(GITHUB, UNSEEN)} and {cut(STRIPE, UNSEEN)}"
    allowed = build_redactor(allow=["gh" + "p_[0-9A-Za-z\u200b]+"])
    assert allowed.redact(text).text == f"{cut(GITHUB, UNSEEN)} and [redacted: stripe key]"
