"""Secrets that are known by what is around them, and what only looks like one or like such surroundings.

The lines of `in_context.txt` and `near_misses.txt` are written as those of `public_formats.py`, with `\\n` for a new
line; those with a secret begin with its kind.
"""

from pathlib import Path
from typing import Final

import pytest

from learning_memory_server.redaction.redactor import build_redactor
from tests.redaction.public_formats import made

SECRETS: Final = Path(__file__).with_name("in_context.txt").read_text("utf-8").splitlines()
NEAR_MISSES: Final = Path(__file__).with_name("near_misses.txt").read_text("utf-8").splitlines()
REDACTOR = build_redactor()


@pytest.mark.parametrize("line", SECRETS)
def test_a_secret_is_known_by_its_context_and_that_stays(line: str) -> None:
    kind, _, written = line.replace("\\n", "\n").partition(": ")
    text, (secret,) = made(written, SECRETS.index(line))
    redacted = REDACTOR.redact(text)
    before, after = written.split(written[written.index("«") : written.index("»") + 1])
    assert redacted.text == f"{before}[redacted: {kind}]{after}"
    assert redacted.kinds == {kind: 1}
    assert secret not in redacted.text
    assert REDACTOR.redact(redacted.text).text == redacted.text


@pytest.mark.parametrize("line", NEAR_MISSES)
def test_a_near_miss_stays(line: str) -> None:
    text, _ = made(line.replace("\\n", "\n"), NEAR_MISSES.index(line))
    assert REDACTOR.redact(text).text == text
