"""Documented formats of secrets are found, and texts that look like them are left alone."""

import pytest

from learning_memory_server.redaction.redactor import build_redactor
from learning_memory_server.redaction.tokens import SHORTEST
from tests.redaction.public_formats import OTHERS, SECRETS, made

NAMED = (
    "SERVICE_TOKEN=…",
    'export SERVICE_TOKEN="…"',
    "# .env.production\nNODE_ENV=production\nSERVICE_TOKEN=…\nPORT=8080\n",
    'services:\n  web:\n    environment:\n      SERVICE_TOKEN: …\n      DEBUG: "1"\n',
    "os.environ['SERVICE_TOKEN'] = '…'",
    "docker run --rm -e SERVICE_TOKEN=… -p 8080:8080 acme/api:1.4.2",
    "2026-03-04T11:22:33Z INFO boot env SERVICE_TOKEN=… ready in 312ms",
    'env:\n  - name: SERVICE_TOKEN\n    value: "…"\n',
    "kubectl create secret generic app --from-literal=SERVICE_TOKEN=…",
    "service-token = '…'",
    '{\n  "service": {\n    "name": "staging",\n    "token": "…"\n  }\n}',
)
REDACTOR = build_redactor()


def test_most_documented_secrets_are_found() -> None:
    missed = []
    for number, line in enumerate(SECRETS):
        text, secrets = made(line, number)
        left = REDACTOR.redact(text).text
        missed += [line for secret in secrets if secret in left]
    assert len(missed) <= 4, missed


@pytest.mark.parametrize("written", NAMED)
def test_keys_and_tokens_are_found_under_the_name_of_a_token_and_what_is_around_stays(written: str) -> None:
    before, after = written.split("…")
    for number, line in enumerate(SECRETS[NAMED.index(written) :: len(NAMED)]):
        for secret in (one for one in made(line, number)[1] if len(one) >= SHORTEST):
            left = REDACTOR.redact(before + secret + after).text
            assert secret not in left
            assert left.startswith(before)
            assert left.endswith(after)


def test_what_only_looks_like_a_secret_is_left_alone() -> None:
    texts = [made(line, number)[0] for number, line in enumerate(OTHERS)]
    changed = [text for text in texts if REDACTOR.redact(text).kinds]
    assert len(changed) <= 3, changed
