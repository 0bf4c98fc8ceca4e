import random
from collections.abc import Callable

import pytest

from benchmarks.secrets_made import ALNUM, BASE64, HEX, TOKENS, URL, drawn, jwt, private_key
from learning_memory_server.redaction.base import MARKER
from learning_memory_server.redaction.redactor import build_redactor
from learning_memory_server.redaction.tokens import SHORTEST
from learning_memory_server.redaction.tokens import TOKENS as FORMS

RNG = random.Random(7)  # noqa: S311 - made-up secrets
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


@pytest.mark.parametrize(
    "text",
    [
        "sk-" + "x" * 40,
        "ghp_" + "x" * 36,
        "AKIA" + "IOSFODNN7" + "EXAMPLE",
        "the task-" + drawn(RNG, ALNUM, 40),
        "glpat-<your-token-here>",
        "sk_live_...",
        "xoxb-your-token",
        "npm_config_registry",
        "hf_hub_download",
    ],
)
def test_what_only_begins_like_a_token_stays(text: str) -> None:
    assert REDACTOR.redact(text).text == text


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


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN CERTIFICATE-----\n" + drawn(RNG, BASE64, 64),
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    ],
)
def test_certificates_and_empty_keys_stay(text: str) -> None:
    assert REDACTOR.redact(text).text == text


@pytest.mark.parametrize(
    ("before", "secret", "after"),
    [
        ("postgres://app:", "W9!kd", "@db:5432/app"),
        ("redis://:", drawn(RNG, ALNUM, 16), "@cache"),
        ("mongodb+srv://app:", "falconRiver", "@c0.mongodb.net/?w=majority"),
        ("https://", drawn(RNG, HEX, 32), "@o1.ingest.sentry.io/4"),
        (
            "https://hooks.slack.com/services/",
            f"T{drawn(RNG, ALNUM, 8)}/B{drawn(RNG, ALNUM, 8)}/{drawn(RNG, ALNUM, 24)}",
            "",
        ),
        ("https://discord.com/api/webhooks/112233445566778899/", drawn(RNG, URL, 68), ""),
        (
            "https://x.blob.core.windows.net/a?sv=2024&sig=",
            drawn(RNG, BASE64, 43).replace("+", "%2B").replace("/", "%2F") + "%3D",
            "&se=1",
        ),
        (
            "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=",
            drawn(RNG, BASE64, 86) + "==",
            ";EndpointSuffix=y",
        ),
        ("Endpoint=sb://x/;SharedAccessKeyName=r;SharedAccessKey=", drawn(RNG, BASE64, 43) + "=", ""),
        ("Server=db;User Id=sa;Password=", "falcon17river", ";Encrypt=no"),
        ("machine a login b password ", "falconriver", "\nmachine c"),
        ("//registry.npmjs.org/:_authToken=", drawn(RNG, HEX, 36), "\n"),
        ("db:5432:app:app:", "falconriver", "\n"),
        ("curl -u ci:", "falconriver", " https://x"),
        ("sudo -S <<< ", "Falcon17", " # root"),
        ("ldapsearch -D cn=admin -w ", "Falcon17", " -b dc=x"),
        ("echo ", "Falcon17", " | docker login -u ci --password-stdin"),
        ("ALTER USER a IDENTIFIED BY '", "falconriver", "';"),
        ("HTTPBasicAuth('ci', '", "Falcon!17", "')"),
        ("mysql -uroot -p", "Falcon17", " app"),
        ("Authorization: Bearer ", drawn(RNG, URL, 40), "\n"),
        ("Authorization: Basic ", "Y2k6ZmFsY29uMTc=", '"'),
        ('{"auths": {"r": {"auth": "', "Y2k6ZmFsY29uMTc=", '"}}}'),
        ("aws secret ", drawn(RNG, BASE64.replace("+", "").replace("/", ""), 40), " leaked"),
        ("", jwt(RNG), "\n"),
        ("Set-Cookie: connect.sid=", drawn(RNG, URL, 40), "; Path=/"),
        ("curl -b PHPSESSID=", drawn(RNG, HEX, 32), " https://x"),
        ("ann:", "$apr1$" + drawn(RNG, ALNUM, 8) + "$" + drawn(RNG, ALNUM, 22), "\n"),
        ("jdbc:oracle:thin:app/", "Falcon17", "@//h:1521/X"),
        ("recovery codes: ", "a1b2c-d3e4f, 9x8y7-6z5w4", " and so on"),
        ("seed phrase: ", "ocean lunar velvet tiger zebra copper dune ability absorb accident abuse wage", ""),
        ("GET /reset-password/", "aB3" + drawn(RNG, ALNUM, 29), " 200"),
        ("https://x/?key=", drawn(RNG, HEX, 32), "&page=2"),
        ("INSERT INTO users (name, password) VALUES ('ann', '", "Falcon17!", "')"),
        ("ConvertTo-SecureString '", "Falcon17!", "' -AsPlainText"),
        ('{"kty": "RSA", "n": "AQAB", "d": "', drawn(RNG, URL, 80), '"}'),
        ("client-key-data: ", drawn(RNG, BASE64, 2_400), "\n"),
        ("FooClient('", "aB3" + drawn(RNG, ALNUM, 29), "')"),
        ('{"name": "session", "value": "', drawn(RNG, HEX, 32), '", "domain": "x"}  # a cookie'),
        ('Credentials("Nexus", "nexus.example.com", "admin", "', "Falcon17", '")'),
        ("jwt.decode(t, '", drawn(RNG, HEX, 64), "', algorithms=['HS256'])"),
        ("ngrok config add-authtoken ", "2aB3" + drawn(RNG, ALNUM, 23) + "_" + drawn(RNG, ALNUM, 21), ""),
        ("TOKEN=$(echo ", "aB3" + drawn(RNG, ALNUM, 29), ")"),
        ("https://api.telegram.org/bot", "123456789:AA" + drawn(RNG, ALNUM, 33), "/getMe"),
        ("auth: { bearer: '", drawn(RNG, URL, 40), "' }"),
        ("it was ", drawn(RNG, HEX, 36) + "NRAL", " before"),
        ("", "acme_live_" + "aB3" + drawn(RNG, ALNUM, 33), " is new"),
        ("401 for ", "acme_" + drawn(RNG, HEX, 40), ""),
    ],
)
def test_a_secret_known_by_its_context_is_found_and_that_stays(before: str, secret: str, after: str) -> None:
    text = REDACTOR.redact(before + secret + after).text
    assert text.startswith(before)
    assert text.endswith(after)
    assert MARKER.fullmatch(text[len(before) : len(text) - len(after)])


@pytest.mark.parametrize(
    "text",
    [
        "postgres://app:${DB_PASSWORD}@db/app",
        "https://user:password@example.com",
        "https://<user>:<password>@host",
        "ssh://git@github.com:22/a/b.git",
        "http://localhost:8080/a@b",
        "git@github.com:team/app.git",
        "integrity: sha512-" + drawn(RNG, BASE64, 86) + "==",
        "in the aws account, commit " + drawn(RNG, HEX, 40),
        "traceparent: 00-" + drawn(RNG, HEX, 32) + "-" + drawn(RNG, HEX, 16) + "-01",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "curl -u $USER:$PASS https://x",
        "root:*:20228:0:99999:7:::",
        "Basic knowledge and basic authentication",
        "Cookie: theme=dark; lang=en",
        "authorization: granted\nG-2SCEIQWM92",
        f"agent_session: {drawn(RNG, HEX, 32)}",
        "the backup code path-handling of the archive",
        'password_hash = "$2b$12$' + drawn(RNG, ALNUM, 53) + '"',
        "sha1_" + drawn(RNG, HEX, 40) + " of the token file",
        "cs_live_" + drawn(RNG, ALNUM, 58),
        "cursor=ab_" + drawn(RNG, ALNUM, 40),
    ],
)
def test_what_looks_like_such_surroundings_stays(text: str) -> None:
    assert REDACTOR.redact(text).text == text
