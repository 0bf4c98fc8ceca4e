import random

import pytest

from benchmarks.secrets_made import ALNUM, HEX, drawn
from learning_memory_server.redaction.assignments import Promise, promise_of
from learning_memory_server.redaction.redactor import build_redactor

RNG = random.Random(3)  # noqa: S311 - made-up secrets
REDACTOR = build_redactor()
KEY = drawn(RNG, ALNUM, 32)
UUID = "-".join(drawn(RNG, HEX, length) for length in (8, 4, 4, 4, 12))
PASSWORD = "Falcon" + "!17river"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"DB_PASSWORD={PASSWORD}", "password"),
        ("POSTGRES_PASSWORD=falconriver", "password"),
        (f"export SMTP_PASS='{PASSWORD}'", "password"),
        (f"password: {PASSWORD}", "password"),
        (f'"password": "{PASSWORD}"', "password"),
        (f'{{\\"password\\": \\"{PASSWORD}\\"}}', "password"),
        (f'password: str = "{PASSWORD}"', "password"),
        (f'Dim password As String = "{PASSWORD}"', "password"),
        (f'const password: []const u8 = "{PASSWORD}";', "password"),
        (f'public string Password {{ get; private set; }} = "{PASSWORD}";', "password"),
        (f'password <- "{PASSWORD}"', "password"),
        (f'.withPassword("{PASSWORD}")', "password"),
        (f'setProperty("password", "{PASSWORD}")', "password"),
        (f"<password>{PASSWORD}</password>", "password"),
        (f'<add key="Password" value="{PASSWORD}"/>', "password"),
        (f"tool --password {PASSWORD} run", "password"),
        (f"- name: DB_PASSWORD\n  value: {PASSWORD}", "password"),
        (f"the password is {PASSWORD}", "password"),
        (f"the password for the staging db is {PASSWORD}", "password"),
        (f"log in with password {PASSWORD}", "password"),
        (f"use {PASSWORD} as the root password", "password"),
        (f"the password should be {PASSWORD}", "password"),
        (f"the password had been hardcoded as '{PASSWORD}'", "password"),
        (f"the password ({PASSWORD}) is in the README", "password"),
        (f"keytool -storepass {PASSWORD} -list", "password"),
        (f"credentials are admin / {PASSWORD}", "password"),
        ("passphrase: correct-horse-battery-staple", "password"),
        (f"API_KEY={KEY}", "secret"),
        (f"clientSecret: '{KEY}'", "secret"),
        (f"the api key is {KEY}", "secret"),
        (f"HEROKU_API_KEY={'-'.join(drawn(RNG, HEX, n) for n in (8, 4, 4, 4, 12))}", "secret"),
        (f"stripe_key = '{KEY}'", "secret"),
        (f"https://x/y?access_token={KEY}&page=2", "secret"),
        (f"| `AUTH_TOKEN` | `{KEY}` |", "secret"),
        (f"password:\n  {PASSWORD}\n", "password"),
        (f"password: |\n    {PASSWORD}", "password"),
        ('passphrase = "river candle staple horse"', "password"),
        (f"log in with pass {PASSWORD}", "password"),
        (f"changed the password from {PASSWORD} to a new one", "password"),
        (f"wifi psk={PASSWORD}", "password"),
        (f"Unseal Key 3: {KEY}", "secret"),
        (f"session cookie: {KEY}", "secret"),
        (f"the token that we had got from the console, {KEY}, is old", "secret"),
        (f"key: {KEY}", "secret"),
        (f"connect('app', '{KEY}')  # search api key", "secret"),
        (f"the api key {UUID} was revoked", "secret"),
        (f"the db password had a typo: it should be {PASSWORD}", "password"),
        (f"token={KEY * 40}", "secret"),
    ],
)
def test_a_value_under_a_promising_name_is_found(text: str, kind: str) -> None:
    redacted = REDACTOR.redact(text)
    assert redacted.kinds == {kind: 1}
    assert not any(value in redacted.text for value in (KEY, PASSWORD, "falconriver", "horse"))


@pytest.mark.parametrize(
    "text",
    [
        'password = os.environ["DB_PASSWORD"]',
        "password = getpass.getpass()",
        "password: ${DB_PASSWORD}",
        "password: $DB_PASSWORD",
        "token: ${{ secrets.GITHUB_TOKEN }}",
        "password = var.db_password",
        "password: <your password>",
        "password=changeme",
        "the password is hunter2",
        "password = xxxxxxxx",
        "api_key = '****************'",
        "password: str | None = None",
        "password: required",
        'label = "Password"',
        'password_field = "user_password"',
        'password_hash = "$2b$12$' + drawn(RNG, ALNUM, 53) + '"',
        "token = response.json()['token']",
        "const token = await getToken1(request);",
        f"next_page_token = '{KEY}'",
        f"cache_key = '{KEY}'",
        f"public_key = '{KEY}'",
        f"commit = '{drawn(RNG, HEX, 40)}'",
        f"gpg --recv-keys {drawn(RNG, HEX, 40).upper()}",
        "max_tokens=4096",
        "the password must have 8-16 characters",
        "the token is base64-encoded",
        "pass `verbosity=1` to see more",
        "secretKeyRef:\n  name: app-secrets-2\n  key: db-password",
        "--password-file /run/secrets/db_1",
        "private_key: ed25519.Ed25519PrivateKey",
        "PASSWORD_RESET_URL = '/reset/2'",
        "TOKEN_PAT = r'[0-9a-f]{32}'",
        "key insight: batch the 500 writes",
        f"arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-{KEY[:6]}",
        f"Sec-WebSocket-Key: {KEY}",
        f"publishable key pk_{KEY}",
        f"key: {drawn(RNG, HEX, 40)}",
        f"the token bug came with commit {drawn(RNG, HEX, 40)}",
        "PASS: RawTextHelpFormatter",
        "the password page had a new look: it was Python3.11 code",
        "pwd = ':%s@' % password",
        'password: "must not be left empty by users"',
        "password:\n  required: true",
        "secret:\n  rotated",
        "KeyError: 'access_token_2'",
        "user_pass = '%s:%s' % (user, secret)",
    ],
)
def test_a_near_miss_stays(text: str) -> None:
    assert REDACTOR.redact(text).text == text


@pytest.mark.parametrize(
    ("name", "promise"),
    [
        ("DB_PASSWORD", Promise.PASSWORD),
        ("dbPassword2", Promise.PASSWORD),
        ("hashed_password", None),
        ("clientSecret", Promise.KEY),
        ("AWS_SECRET_ACCESS_KEY", Promise.KEY),
        ("api-key", Promise.KEY),
        ("APIKey", Promise.KEY),
        ("stripe_key", Promise.MAYBE),
        ("primary_key", None),
        ("next_page_token", None),
        ("access_token", Promise.KEY),
        ("author", None),
        ("token_type", None),
    ],
)
def test_a_name_promises_what_its_last_words_say(name: str, promise: Promise | None) -> None:
    assert promise_of(name) is promise
