"""Texts of developers for the redaction benchmark: with a secret in each, and without any."""

import base64
import json
import random
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from benchmarks.secrets_made import DATA, NAMED, TOKENS, filled, password


class Case(NamedTuple):
    """A text, what is secret in it, and of which kind that is."""

    kind: str
    secret: str
    text: str


class Suite(NamedTuple):
    """The sentences of one set: about tokens, names with values, passwords in structures, and nothing secret."""

    seed: int
    around_tokens: Sequence[str]
    around_names: Sequence[str]
    around_passwords: Sequence[tuple[str, str]]
    harmless: Sequence[str]


_DATA: Final = json.loads((DATA / "secret-texts.json").read_text("utf-8"))
SUITES: Final = {name: Suite(**suite) for name, suite in _DATA["suites"].items()}
"""The file says after which patterns each was written."""


def secret_cases(suite: Suite, per_kind: int = 6) -> list[Case]:
    """Return texts with one secret each."""
    rng = random.Random(suite.seed)
    cases = []
    for kind, makers in TOKENS.items():
        for number in range(per_kind):
            secret = makers[number % len(makers)](rng)
            shape = rng.choice([one for one in suite.around_tokens if "\n" not in secret or "!r" not in one])
            written = secret.replace("\n", "\\n") if '"' in shape and rng.random() < 0.5 else secret
            cases.append(Case(kind, written, shape.format(s=written)))
    for kind, (name, maker) in NAMED.items():
        for _ in range(per_kind):
            secret = maker(rng)
            styled = rng.choice([name, name, name.lower(), _camel(name)])
            cases.append(Case(kind, secret, rng.choice(suite.around_names).format(n=styled, s=secret)))
    for kind, shape in suite.around_passwords:
        for _ in range(per_kind):
            secret = password(rng)
            inside = re.sub(r"[@#%?/:]", "-", secret)
            pair = base64.b64encode(f"ci:{secret}".encode()).decode()
            shown = pair if "{b}" in shape else inside if "{u}" in shape else secret
            cases.append(Case(f"password, {kind}", shown, shape.format(s=secret, u=inside, b=pair)))
    return cases


def harmless_texts(suite: Suite, count: int = 2_000) -> list[str]:
    """Return texts without any secret."""
    rng = random.Random(suite.seed + 1)
    return [_filled(suite.harmless[number % len(suite.harmless)], rng) for number in range(count)]


def _camel(name: str) -> str:
    first, *others = name.lower().split("_")
    return first + "".join(word.capitalize() for word in others)


def _filled(shape: str, rng: random.Random) -> str:
    return shape.format(**{name: filled(rng, form) for name, form in _DATA["fillings"].items()})
