"""Made-up secrets in the forms that their vendors publish, built at run time. None is written down or real."""

from __future__ import annotations

import base64
import json
import string
import uuid
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

ALNUM: Final = string.ascii_letters + string.digits
UPPER: Final = string.ascii_uppercase + string.digits
LOWER: Final = string.ascii_lowercase + string.digits
HEX: Final = "0123456789abcdef"
URL: Final = ALNUM + "-_"
BASE64: Final = ALNUM + "+/"
BASE32: Final = string.ascii_uppercase + "234567"


def drawn(rng: random.Random, alphabet: str, length: int) -> str:
    """Return random characters, at least one of them a digit."""
    text = "".join(rng.choices(alphabet, k=length))
    return text if any(one.isdigit() for one in text) else drawn(rng, alphabet, length)


def _token(prefix: str, alphabet: str, length: int, end: str = "") -> Callable[[random.Random], str]:
    return lambda rng: prefix + drawn(rng, alphabet, length) + end


def _encoded(rng: random.Random, size: int) -> str:
    return base64.b64encode(rng.randbytes(size)).decode()


def _segment(data: dict[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(data).encode()).decode().rstrip("=")


def jwt(rng: random.Random) -> str:
    """Return a signed token."""
    head = _segment({"alg": rng.choice(["HS256", "RS256"]), "typ": "JWT"})
    body = _segment({"sub": drawn(rng, LOWER, 10), "iat": rng.randrange(1_600_000_000, 1_700_000_000)})
    return f"{head}.{body}.{drawn(rng, URL, 43)}"


def private_key(rng: random.Random) -> str:
    """Return a key in armour, its lines as they are in a file."""
    kind = rng.choice(
        ["RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
    )
    lines = [drawn(rng, BASE64, 64) for _ in range(rng.randrange(4, 20))]
    return "\n".join([f"-----BEGIN {kind}-----", *lines, drawn(rng, BASE64, 30) + "==", f"-----END {kind}-----"])


def password(rng: random.Random) -> str:
    """Return what people and generators choose: words with numbers and signs, or random characters."""
    words = [
        "river",
        "falcon",
        "Winter",
        "copper",
        "Marble",
        "tiger",
        "Saturn",
        "bridge",
        "velvet",
        "Orbit",
        "panda",
        "Lisbon",
        "maple",
        "rocket",
    ]
    makers: list[Callable[[], str]] = [
        lambda: drawn(rng, ALNUM + "!#%*@-_", rng.randrange(10, 24)),
        lambda: rng.choice(words) + str(rng.randrange(10, 9999)) + rng.choice("!#%*?"),
        lambda: rng.choice(words).capitalize() + rng.choice("@!#-_") + rng.choice(words) + str(rng.randrange(10, 99)),
        lambda: drawn(rng, ALNUM, rng.randrange(12, 20)),
    ]
    return rng.choice(makers)()


def discord_bot(rng: random.Random) -> str:
    """Return a bot's token: its number, a time, a signature."""
    number = base64.b64encode(str(rng.randrange(10**17, 10**18)).encode()).decode().rstrip("=")
    return f"{number}.{drawn(rng, URL, 6)}.{drawn(rng, URL, 38)}"


def _guid(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


TOKENS: Final[dict[str, tuple[Callable[[random.Random], str], ...]]] = {
    "aws access key": (_token("AKIA", BASE32, 16), _token("ASIA", BASE32, 16)),
    "google api key": (_token("AIza", URL, 35),),
    "google oauth": (_token("GOCSPX-", URL, 28), _token("ya29.", URL, 120), _token("1//0", URL, 60)),
    "github": (
        *(_token(prefix, ALNUM, 36) for prefix in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
        lambda rng: f"github_pat_{drawn(rng, ALNUM, 22)}_{drawn(rng, ALNUM, 59)}",
    ),
    "gitlab": tuple(_token(prefix, URL, 20) for prefix in ("glpat-", "gldt-", "glrt-", "glft-", "glsoat-")),
    "bitbucket": (_token("ATBB", ALNUM, 32), _token("ATCTT3xFfG", URL, 170), _token("BBDC-", BASE64, 44)),
    "atlassian": (_token("ATATT3xFfGF0", URL, 170, "=" + "4A1B2C3D"),),
    "slack": (
        lambda rng: f"xoxb-{rng.randrange(10**11, 10**12)}-{rng.randrange(10**12, 10**13)}-{drawn(rng, ALNUM, 24)}",
        lambda rng: (
            f"xoxp-{rng.randrange(10**11, 10**12)}-{rng.randrange(10**11, 10**12)}-{rng.randrange(10**12, 10**13)}-{drawn(rng, HEX, 32)}"
        ),
        lambda rng: f"xapp-1-A{drawn(rng, UPPER, 10)}-{rng.randrange(10**12, 10**13)}-{drawn(rng, HEX, 64)}",
    ),
    "stripe": (
        _token("sk_live_", ALNUM, 24),
        _token("rk_live_", ALNUM, 99),
        _token("sk_test_", ALNUM, 24),
        _token("whsec_", ALNUM, 32),
    ),
    "sendgrid": (lambda rng: f"SG.{drawn(rng, URL, 22)}.{drawn(rng, URL, 43)}",),
    "mailgun": (
        _token("key-", HEX, 32),
        lambda rng: f"{drawn(rng, HEX, 32)}-{drawn(rng, HEX, 8)}-{drawn(rng, HEX, 8)}",
    ),
    "mailchimp": (_token("", HEX, 32, "-us14"),),
    "twilio key": (_token("SK", HEX, 32),),
    "npm": (_token("npm_", ALNUM, 36),),
    "pypi": (_token("pypi-AgEIcHlwaS5vcmc", URL, 130),),
    "rubygems": (_token("rubygems_", HEX, 48),),
    "crates": (_token("cio", ALNUM, 32),),
    "nuget": (_token("oy2", LOWER, 43),),
    "docker": (_token("dckr_pat_", URL, 27),),
    "hugging face": (_token("hf_", ALNUM, 34),),
    "openai": (
        lambda rng: f"sk-proj-{drawn(rng, URL, 74)}T3BlbkFJ{drawn(rng, URL, 74)}",
        lambda rng: f"sk-{drawn(rng, ALNUM, 20)}T3BlbkFJ{drawn(rng, ALNUM, 20)}",
    ),
    "anthropic": (lambda rng: f"sk-ant-api03-{drawn(rng, URL, 93)}AA",),
    "models": (
        _token("gsk_", ALNUM, 52),
        _token("xai-", ALNUM, 80),
        _token("pplx-", ALNUM, 48),
        _token("r8_", ALNUM, 37),
        _token("sk-or-v1-", HEX, 64),
        _token("nvapi-", URL, 64),
    ),
    "telegram": (lambda rng: f"{rng.randrange(10**9, 10**10)}:AA{drawn(rng, URL, 33)}",),
    "discord bot": (discord_bot,),
    "shopify": tuple(_token(prefix, HEX, 32) for prefix in ("shpat_", "shpca_", "shppa_", "shpss_")),
    "square": (_token("sq0atp-", URL, 22), _token("sq0csp-", URL, 43), _token("EAAA", URL, 60)),
    "paypal token": (lambda rng: f"access_token$production${drawn(rng, LOWER, 16)}${drawn(rng, HEX, 32)}",),
    "digitalocean": (_token("dop_v1_", HEX, 64), _token("doo_v1_", HEX, 64)),
    "new relic": (_token("NRAK-", UPPER, 27), _token("NRII-", URL, 32)),
    "vault": (_token("hvs.", URL, 95), _token("hvb.", URL, 140)),
    "terraform": (lambda rng: f"{drawn(rng, ALNUM, 14)}.atlasv1.{drawn(rng, URL, 67)}",),
    "linear": (_token("lin_api_", ALNUM, 40),),
    "notion": (_token("ntn_", ALNUM, 46), _token("secret_", ALNUM, 43)),
    "airtable": (lambda rng: f"pat{drawn(rng, ALNUM, 14)}.{drawn(rng, HEX, 64)}",),
    "databricks": (_token("dapi", HEX, 32),),
    "grafana": (lambda rng: f"glsa_{drawn(rng, ALNUM, 32)}_{drawn(rng, HEX, 8)}",),
    "sentry": (_token("sntryu_", HEX, 64),),
    "heroku": (_token("HRKU-AA", URL, 58),),
    "postman": (lambda rng: f"PMAK-{drawn(rng, HEX, 24)}-{drawn(rng, HEX, 34)}",),
    "pulumi": (_token("pul-", HEX, 40),),
    "doppler": (_token("dp.pt.", ALNUM, 43),),
    "figma": (_token("figd_", URL, 40),),
    "planetscale": (_token("pscale_tkn_", URL, 43),),
    "supabase": (_token("sbp_", HEX, 40),),
    "netlify": (_token("nfp_", ALNUM, 36),),
    "age": (_token("AGE-SECRET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),),
    "azure client secret": (lambda rng: f"{drawn(rng, ALNUM, 3)}8Q~{drawn(rng, ALNUM + '_.-', 34)}",),
    "jwt": (jwt,),
    "private key": (private_key,),
}
"""Secrets that say by themselves what they are."""

NAMED: Final[dict[str, tuple[str, Callable[[random.Random], str]]]] = {
    "aws secret key": ("aws_secret_access_key", lambda rng: drawn(rng, BASE64, 40)),
    "azure storage key": ("AZURE_STORAGE_ACCOUNT_KEY", lambda rng: _encoded(rng, 64)),
    "datadog key": ("DATADOG_API_KEY", lambda rng: drawn(rng, HEX, 32)),
    "heroku api key": ("HEROKU_API_KEY", _guid),
    "cloudflare token": ("CLOUDFLARE_API_TOKEN", lambda rng: drawn(rng, URL, 40)),
    "twilio auth token": ("TWILIO_AUTH_TOKEN", lambda rng: drawn(rng, HEX, 32)),
    "paypal secret": ("PAYPAL_CLIENT_SECRET", lambda rng: "E" + drawn(rng, URL, 79)),
    "snowflake password": ("SNOWFLAKE_PASSWORD", password),
    "okta token": ("OKTA_API_TOKEN", lambda rng: "00" + drawn(rng, URL, 40)),
    "algolia key": ("ALGOLIA_ADMIN_API_KEY", lambda rng: drawn(rng, HEX, 32)),
    "session secret": ("SESSION_SECRET", lambda rng: drawn(rng, HEX, 64)),
    "django key": ("SECRET_KEY", lambda rng: drawn(rng, LOWER + "!@#%^&*(-_=+)", 50)),
    "jwt secret": ("JWT_SECRET", lambda rng: _encoded(rng, 32)),
    "database password": ("DB_PASSWORD", password),
    "smtp password": ("SMTP_PASS", password),
    "encryption key": ("ENCRYPTION_KEY", lambda rng: _encoded(rng, 32)),
    "fernet key": ("FERNET_KEY", lambda rng: base64.urlsafe_b64encode(rng.randbytes(32)).decode()),
    "codecov token": ("CODECOV_TOKEN", _guid),
    "mongo password": ("MONGO_INITDB_ROOT_PASSWORD", password),
    "oauth secret": ("GITHUB_CLIENT_SECRET", lambda rng: drawn(rng, HEX, 40)),
}
"""Secrets that only a name tells from a hash or a word."""
