"""Texts of developers for the redaction benchmark: with a secret in each, and without any."""

from __future__ import annotations

import base64
import re
import string
import uuid
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.secrets_made import ALNUM, BASE64, HEX, LOWER, NAMED, TOKENS, URL, drawn, password

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence


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


SEEN: Final = Suite(
    seed=20,
    around_tokens=(
        "The deploy failed because {s} was revoked; rotate it first.",
        'export TOKEN="{s}"',
        '{{"level": "info", "msg": "using {s}"}}',
        "curl -H 'X-Api-Key: {s}' https://api.internal/v1/jobs",
        "client = Client({s!r})",
        "I pasted {s} into the config, and then the tests passed.",
        "2026-03-01T10:00:00Z ERROR auth rejected for {s} (401)",
        "key: {s}\nregion: eu-west-1",
    ),
    around_names=(
        "{n}={s}",
        'export {n}="{s}"',
        "{n}: {s}",
        '"{n}": "{s}",',
        "{n} = '{s}'",
        'os.environ["{n}"] = "{s}"',
        "We set {n} to `{s}` in staging.",
        "ENV {n}={s}",
        "-e {n}={s} \\",
    ),
    around_passwords=(
        ("prose", "the password is {s}"),
        ("prose", "Log in as admin with password `{s}`, then run the migration."),
        ("prose", "passwd is {s} for the staging box"),
        ("command line", "mytool --user app --password {s} --verbose"),
        ("command line", "mysql -h db -u root -p{s} app"),
        ("command line", "PGPASSWORD={s} psql -h db -U app"),
        ("command line", "curl -u deploy:{s} https://ci.internal/job/1"),
        ("code", 'conn = connect(host="db", user="app", password="{s}")'),
        ("code", "const password = '{s}';"),
        ("code", '.withPassword("{s}")'),
        ("json", '{{"user": "app", "password": "{s}"}}'),
        ("yaml", "db:\n  user: app\n  password: {s}\n  port: 5432"),
        ("url", "postgresql://app:{u}@db.internal:5432/app"),
        ("url", "redis://:{u}@cache:6379/0"),
        ("url", "amqp://worker:{u}@mq.internal//"),
        ("url", "mongodb+srv://app:{u}@cluster0.abcde.mongodb.net/?retryWrites=true"),
        ("url", "git clone https://ci:{u}@git.internal/team/app.git"),
        ("connection string", "Server=tcp:db,1433;Database=app;User ID=sa;Password={s};Encrypt=True;"),
        ("netrc", "machine git.internal login ci password {s}"),
        ("npmrc", "//registry.internal/:_password={s}"),
        ("basic", "Authorization: Basic {b}"),
    ),
    harmless=(
        "commit {sha1}",
        "Fixed in {sha1:.7}, see the log.",
        "sha256:{sha256}",
        "image: app@sha256:{sha256}",
        'etag: "{md5}"',
        "checksum {sha256}  dist.tar.gz",
        "id: {uuid}",
        "request_id={uuid} took {n} ms",
        "trace {hex32}-{hex16}",
        "integrity sha512-{b64_88}",
        "data:image/png;base64,{b64_200}",
        "index {sha1:.7}..{sha1:.7} 100644",
        'password = os.environ["DB_PASSWORD"]',
        "password: ${{DB_PASSWORD}}",
        "token: ${{{{ secrets.GITHUB_TOKEN }}}}",
        "API_KEY=<your token>",
        'api_key = "xxxxxxxxxxxxxxxxxxxx"',
        "password=changeme",
        "secret_key: YOUR_SECRET_KEY",
        "def check_password(password: str, hashed: bytes) -> bool:",
        "if token is None or token.expired:",
        "The password must be at least 12 characters long and contain a digit.",
        "max_tokens={n}, temperature=0.{n}",
        "next_page_token={b64url}",
        'cache_key = "user:{n}:profile"',
        "primary key (id, tenant_{n})",
        "The token count went from {n} to 2{n} after the tokenizer change.",
        "https://example.com/a/{sha1}?page={n}",
        "/home/dev/projects/app-{n}/src/auth/token_store.py:{n}",
        "git checkout -b fix/password-reset-{n}",
        '{{"id": "{uuid}", "status": "ok", "count": {n}}}',
        "ssh://git@git.internal:22/team/app-{n}.git",
        "ssh-ed25519 {pub} dev@host",
        "export PATH=$HOME/.local/bin:$PATH # {n}",
        'token = request.headers.get("X-Token-{n}")',
        "secretName: app-tls-{n}",
        'password_hash = "$2b$12${b64_53}"',
        "version 1.{n}.3-rc.1+{sha1:.7}",
        "GET /api/v1/items?cursor={b64url}&limit={n} 200",
        "The key insight: batch {n} writes, then flush.",
        "Author: A. Dev <dev{n}@example.com>",
        "blob {n}\\0 {sha1}",
        "aws s3 cp s3://bucket-{n}/key.json .",
        "arn:aws:iam::{n12}:role/deploy",
        "npm install left-pad@{n}.0.0",
        "CVE-2024-{n}",
        "0x{hex16}",
        "MD5 ({n}.txt) = {md5}",
        'assert token == "token-{n}"',
        "authorization is checked in middleware {n}",
        "--password-file /run/secrets/db_{n}",
    ),
)


def secret_cases(suite: Suite, per_kind: int = 6) -> list[Case]:
    """Return texts with one secret each."""
    import random  # noqa: PLC0415 - the type above is for annotations only

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
    import random  # noqa: PLC0415

    rng = random.Random(suite.seed + 1)
    return [_filled(suite.harmless[number % len(suite.harmless)], rng) for number in range(count)]


def _camel(name: str) -> str:
    first, *others = name.lower().split("_")
    return first + "".join(word.capitalize() for word in others)


def _filled(shape: str, rng: random.Random) -> str:
    makers: dict[str, Callable[[], str]] = {
        "sha1": lambda: drawn(rng, HEX, 40),
        "sha256": lambda: drawn(rng, HEX, 64),
        "md5": lambda: drawn(rng, HEX, 32),
        "hex32": lambda: drawn(rng, HEX, 32),
        "hex16": lambda: drawn(rng, HEX, 16),
        "uuid": lambda: str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        "n": lambda: str(rng.randrange(2, 9_999)),
        "n12": lambda: str(rng.randrange(10**11, 10**12)),
        "d": lambda: str(rng.randrange(10)),
        "b64_24": lambda: base64.b64encode(rng.randbytes(16)).decode(),
        "b64_43": lambda: drawn(rng, BASE64, 43),
        "b64_88": lambda: base64.b64encode(rng.randbytes(64)).decode(),
        "b64_200": lambda: drawn(rng, BASE64, 200),
        "b64_53": lambda: drawn(rng, ALNUM + "./", 53),
        "b64url": lambda: drawn(rng, URL, 44),
        "pub": lambda: "AAAAC3NzaC1lZDI1NTE5AAAAI" + drawn(rng, BASE64, 43),
        "word": lambda: rng.choice(["cache", "worker", "index", "queue", "router", "parser"]),
        "lower": lambda: drawn(rng, LOWER, 12),
        "name": lambda: "".join(rng.choices(string.ascii_lowercase, k=7)),
    }
    return shape.format(**{name: make() for name, make in makers.items()})
