"""Made-up secrets in the forms that their vendors publish, built at run time. None is written down or real."""

from __future__ import annotations

import base64
import json
import random
import string
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

Maker = Callable[[random.Random], str]

DATA: Final = Path(__file__).parent / "data"
ALNUM: Final = string.ascii_letters + string.digits
LOWER: Final = string.ascii_lowercase + string.digits
HEX: Final = "0123456789abcdef"
URL: Final = ALNUM + "-_"
BASE64: Final = ALNUM + "+/"
_ALPHABETS: Final = {
    "alnum": ALNUM,
    "upper": string.ascii_uppercase + string.digits,
    "lower": LOWER,
    "hex": HEX,
    "url": URL,
    "base64": BASE64,
    "base32": string.ascii_uppercase + "234567",
    "bech32": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "azure": ALNUM + "_.-",
    "bcrypt": ALNUM + "./",
    "django": LOWER + "!@#%^&*(-_=+)",
}
_FORMS: Final[dict[str, Any]] = json.loads((DATA / "secrets.json").read_text("utf-8"))
_KEYS: Final = ["RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]


def drawn(rng: random.Random, alphabet: str, length: int) -> str:
    """Return random characters, at least one of them a digit."""
    text = "".join(rng.choices(alphabet, k=length))
    return text if any(one.isdigit() for one in text) else drawn(rng, alphabet, length)


def _segment(data: dict[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(data).encode()).decode().rstrip("=")


def jwt(rng: random.Random) -> str:
    """Return a signed token."""
    head = _segment({"alg": rng.choice(["HS256", "RS256"]), "typ": "JWT"})
    body = _segment({"sub": drawn(rng, LOWER, 10), "iat": rng.randrange(1_600_000_000, 1_700_000_000)})
    return f"{head}.{body}.{drawn(rng, URL, 43)}"


def private_key(rng: random.Random) -> str:
    """Return a key in armour, its lines as they are in a file."""
    kind = rng.choice(_KEYS)
    lines = [drawn(rng, BASE64, 64) for _ in range(rng.randrange(4, 20))]
    return "\n".join([f"-----BEGIN {kind}-----", *lines, drawn(rng, BASE64, 30) + "==", f"-----END {kind}-----"])


def password(rng: random.Random) -> str:
    """Return what people and generators choose: words with numbers and signs, or random characters."""
    makers: list[Callable[[], str]] = [
        lambda: drawn(rng, ALNUM + "!#%*@-_", rng.randrange(10, 24)),
        lambda: rng.choice(_FORMS["words"]) + str(rng.randrange(10, 9999)) + rng.choice("!#%*?"),
        lambda: (
            rng.choice(_FORMS["words"]).capitalize()
            + rng.choice("@!#-_")
            + rng.choice(_FORMS["words"])
            + str(rng.randrange(10, 99))
        ),
        lambda: drawn(rng, ALNUM, rng.randrange(12, 20)),
    ]
    return rng.choice(makers)()


def _discord(rng: random.Random) -> str:
    """Return the first part of a bot's token: its number."""
    return base64.b64encode(str(rng.randrange(10**17, 10**18)).encode()).decode().rstrip("=")


_MAKERS: Final[dict[str, Maker]] = {
    "jwt": jwt,
    "private_key": private_key,
    "password": password,
    "discord": _discord,
    "count": lambda rng: str(rng.randrange(2, 9_999)),
    "digit": lambda rng: str(rng.randrange(10)),
    "word": lambda rng: rng.choice(["cache", "worker", "index", "queue", "router", "parser"]),
    "name": lambda rng: "".join(rng.choices(string.ascii_lowercase, k=7)),
    "guid": lambda rng: str(uuid.UUID(int=rng.getrandbits(128), version=4)),
}
_SIZED: Final[dict[str, Callable[[random.Random, int], str]]] = {
    "number": lambda rng, digits: str(rng.randrange(10 ** (digits - 1), 10**digits)),
    "encoded": lambda rng, size: base64.b64encode(rng.randbytes(size)).decode(),
    "encoded_url": lambda rng, size: base64.urlsafe_b64encode(rng.randbytes(size)).decode(),
}


class _Hole:
    """What is drawn where a form names it, in the length that the form says."""

    def __init__(self, rng: random.Random, name: str) -> None:
        self._rng = rng
        self._name = name

    def __format__(self, size: str) -> str:
        if not size:
            return _MAKERS[self._name](self._rng)
        alphabet = _ALPHABETS.get(self._name)
        return drawn(self._rng, alphabet, int(size)) if alphabet else _SIZED[self._name](self._rng, int(size))


def filled(rng: random.Random, form: str) -> str:
    """Return a form with all its holes filled, from left to right."""
    return form.format(**{name: _Hole(rng, name) for name in (*_ALPHABETS, *_SIZED, *_MAKERS)})


TOKENS: Final[dict[str, tuple[Maker, ...]]] = {
    kind: tuple(partial(filled, form=form) for form in forms) for kind, forms in _FORMS["tokens"].items()
}
"""Secrets that say by themselves what they are."""

NAMED: Final[dict[str, tuple[str, Maker]]] = {
    kind: (name, partial(filled, form=form)) for kind, (name, form) in _FORMS["named"].items()
}
"""Secrets that only a name tells from a hash or a word."""
