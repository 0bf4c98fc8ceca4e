"""Which names promise a secret: `DB_PASSWORD` and `clientSecret` do, `next_page_token` and `cache_key` do not."""

from __future__ import annotations

import re
from enum import Enum
from typing import Final

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


class Promise(Enum):
    """What is kept under a name."""

    PASSWORD = "password"  # noqa: S105 - the kind's name
    KEY = "key"
    MAYBE = "maybe a key"
    LONE = "a key of any sort"


_NEUTRAL: Final = frozenset(
    """
    value val prod production dev development staging stage live old new current default plain
    plaintext raw text txt string str base b64 hex primary secondary main backup root admin user it
    this here
    """.split()  # noqa: SIM905 - words read better than a list
)
"""Words after the one that counts, which do not change what is kept."""

_PASSWORDS: Final = frozenset(
    """
    password passwd passphrase passcode passwort pwd psw userpassword dbpassword storepass keypass dbpass smtppass userpass rootpass adminpass mypass
    """.split()  # noqa: SIM905 - words read better than a list
)
_SHORT_PASSWORDS: Final = frozenset(["pass", "pw", "psk"])
_NOT_BEFORE_PASSWORD: Final = frozenset(
    """
    hashed encrypted hash crypted masked no first second third single multi two one render by
    forward backward low high band tests checks all will must should can may not would pre post each
    every this that next last
    """.split()  # noqa: SIM905 - words read better than a list
)
_SECRETS: Final = frozenset(
    """
    secret clientsecret secretkey apikey apikeys appkey authkey accesskey accesstoken authtoken
    apitoken bottoken apisecret appsecret credential credentials creds authorization pat privatekey
    signingkey
    """.split()  # noqa: SIM905 - words read better than a list
)
_TOKENS: Final = frozenset(["token", "tokens"])
_NOT_BEFORE_TOKEN: Final = frozenset(
    """
    next page nextpage continuation pagination cursor sync max min num number total input output
    prompt completion pad padding eos bos sep cls unk stop mask special cancellation cancel public
    csrf xsrf per first last start end begin new this each every previous prev current_token resume
    paging scroll delta lookahead reserved cached reasoning id
    """.split()  # noqa: SIM905 - words read better than a list
)
_COOKIES: Final = frozenset(["cookie", "cookies"])
_BEFORE_COOKIE: Final = frozenset(["session", "auth", "login", "remember"])
_BEFORE_KEY: Final = frozenset(
    """
    api access secret private signing encryption encrypt decryption master account auth shared
    license licence service app application consumer subscription security crypt aes hmac jwt token
    ssh ingest ingestion ssl tls deploy webhook client storage instrumentation integration rest
    server authentication authorization admin wireguard preshared psk registration functions
    function host fernet cipher unseal recovery bootstrap enrollment activation vapid merchant sender
    tenant personal write join seed sas gpg pgp
    """.split()  # noqa: SIM905 - words read better than a list
)
_NOT_BEFORE_KEY: Final = frozenset(
    """
    primary foreign cache sort partition dict hash index map row object public composite unique
    lookup group idempotency dedupe dedup order json shard routing default translation i18n message
    react candidate hot shortcut arrow enter escape tab return page event config setting state query
    search field column data entry item feature flag record document doc node file path cluster
    session redis natural surrogate business range bucket kms recv list export send fetch import
    show get set has is by with for no any socket publishable site measurement
    """.split()  # noqa: SIM905 - words read better than a list
)


def promise_of(name: str) -> Promise | None:  # noqa: PLR0911 - one for each sort of name
    """Return what is kept under a name, or None if it promises no secret."""
    words = [word.lower() for word in _WORDS.findall(name)]
    while words and (words[-1].isdigit() or words[-1] in _NEUTRAL):
        words.pop()
    if not words:
        return None
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _PASSWORDS or last.endswith(("password", "passwd", "passphrase")):
        return None if before in _NOT_BEFORE_PASSWORD else Promise.PASSWORD
    if last in _SHORT_PASSWORDS:
        return Promise.PASSWORD if before not in _NOT_BEFORE_PASSWORD else None
    if (
        last in _SECRETS
        or last.endswith(("apikey", "secretkey"))
        or (last == "auth" and name.lstrip().startswith(("_", "//")))
    ):
        return Promise.KEY
    if last in _TOKENS or last.endswith("token"):
        before = before if last in _TOKENS else last.removesuffix("token")
        return None if before in _NOT_BEFORE_TOKEN else Promise.KEY
    if last in _COOKIES:
        return Promise.KEY if before in _BEFORE_COOKIE else None
    return _of_key(last, before) if last in ("key", "keys") else None


def _of_key(last: str, before: str) -> Promise | None:
    if before in _BEFORE_KEY:
        return Promise.KEY
    if before:
        return Promise.MAYBE if before not in _NOT_BEFORE_KEY else None
    return Promise.LONE if last == "key" else None
