"""Documented formats of secrets are found, and texts that look like them are left alone."""

import pytest

from learning_memory_server.redaction.betterleaks import BetterleaksDetector
from learning_memory_server.redaction.redactor import build_redactor
from tests.redaction.public_formats import OTHERS, SECRETS, made


@pytest.mark.parametrize(("with_betterleaks", "missed_at_most"), [(False, 14), (True, 9)])
def test_most_documented_secrets_are_found(with_betterleaks: bool, missed_at_most: int) -> None:
    detector = BetterleaksDetector() if with_betterleaks else None
    if detector:
        detector.load()
        if not detector.is_loaded:
            pytest.skip("Betterleaks is not installed")
    redactor = build_redactor(detector=detector)
    missed = []
    for number, line in enumerate(SECRETS):
        text, secrets = made(line, number)
        left = redactor.redact(text).text
        missed += [line for secret in secrets if secret in left]
    assert len(missed) <= missed_at_most, missed


def test_what_only_looks_like_a_secret_is_left_alone() -> None:
    redactor = build_redactor()
    texts = [made(line, number)[0] for number, line in enumerate(OTHERS)]
    changed = [text for text in texts if redactor.redact(text).kinds]
    assert len(changed) <= 3, changed
