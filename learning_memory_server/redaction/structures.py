"""Keys, tokens and webhooks without a prefix: known by their shape, or by what is around them."""

import re
from typing import Final

from learning_memory_server.redaction.forms import Form, anywhere, decoded
from learning_memory_server.redaction.values import has_all_sorts, is_random, is_real_token


def _is_key_body(value: str) -> bool:
    return re.search(r"[A-Za-z0-9+/]{32}", value) is not None


def _is_aws_secret(value: str) -> bool:
    # 40 characters may as well be a hash, a path or a word in camel case.
    return (
        is_real_token(value)
        and not re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", value)
        and len(set(value)) >= 16  # noqa: PLR2004 - 40 random ones of 64 have 30 different
        and has_all_sorts(value)
        and is_random(value)
    )


_HEX32: Final = r"[0-9a-f]{32}"
_UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

STRUCTURES: Final[tuple[Form, ...]] = (
    anywhere(
        "private key",
        "private key",
        # The body ends at the next row of dashes, so that many beginnings without an end take linear time.
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----))*+-----END [A-Z0-9 ]{0,40}-----",
        _is_key_body,
    ),
    anywhere(
        # A key that was cut off, or has another end.
        "private key",
        "private key|private-lines",
        r"(?:-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: \d+)"
        r"(?P<secret>(?:(?:[\s>|#*\"'+,]|\\[nr]){1,16}+[A-Za-z0-9+/=]{30,}+)+)",
        _is_key_body,
    ),
    Form(
        "jwt",
        "eyj",
        r"(?:(?<![0-9A-Za-z])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))eyJ[\w-]{10,4000}+\.[\w-]{10,}+\.[\w-]*+(?:\.[\w-]++){0,2}",
        lambda value: decoded(value.partition(".")[0]).lstrip()[:1] == b"{",
    ),
    anywhere(
        "slack webhook",
        "hooks.slack",
        r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/(?P<secret>[\w+/-]{20,})",
    ),
    anywhere(
        "discord webhook",
        "/api/webhooks/",
        r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{15,21}/(?P<secret>[\w-]{50,})",
    ),
    anywhere(
        "teams webhook",
        "webhook.office.com|logic.azure.com",
        rf"webhook\.office\.com/webhookb2/(?P<secret>{_UUID}@{_UUID}/\w+/{_HEX32}/{_UUID})",
    ),
    Form("google chat webhook", "chat.googleapis", r"chat\.googleapis\.com/\S{1,200}?token=(?P<secret>[\w%-]{30,})"),
    anywhere("zapier webhook", "hooks.zapier", r"hooks\.zapier\.com/hooks/catch/(?P<secret>\d+/\w{6,})"),
    anywhere(
        # In a URL it follows the word bot.
        "telegram token",
        ":aa",
        r"(?:(?<![0-9A-Za-z])|(?<=bot)|(?<=\\[nrt]))\d{8,10}:AA[\w-]{32,34}(?![\w-])",
        lambda value: is_real_token(value.partition(":")[2]),
    ),
    Form(
        # The first part is the bot's number in base64.
        "discord token",
        ".",
        r"[MNO][\w-]{21,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])",
        lambda value: is_real_token(value) and decoded(value.partition(".")[0]).isdigit(),
    ),
    Form("discord token", "mfa.", r"mfa\.[\w-]{80,}"),
    Form("firebase key", ":apa91b", r"AAAA[\w-]{7}:APA91b[\w-]{100,}"),
    Form("mailchimp key", "-us", rf"{_HEX32}-us\d{{1,2}}(?!\w)"),
    Form("mailgun key", "-", r"(?<![0-9a-z])[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])"),
    Form("terraform token", ".atlasv1.", r"[0-9A-Za-z]{14}\.atlasv1\.[\w=-]{60,}"),
    anywhere("azure client secret", "q~", r"[\w~.]{3}[78]Q~[\w~.-]{31,34}(?![\w~])"),
    Form(
        # 64 bytes, as SHA-512 has: account keys of Storage, Cosmos DB, Batch.
        "azure key",
        "==",
        r"(?<![A-Za-z0-9+/])(?<!sha512-)[A-Za-z0-9+/]{86}==",
        near=r"azure|storage|cosmos|batch|account[ _-]?key|windows\.net",
    ),
    Form(
        "azure key",
        "azfu|azse|azca|jqqj99|acdb|aiot|asbt|+aeh|azeg|+aba|+ast|azdo",
        r"(?<![\w+/-])(?:[\w-]{44}AzFu[\w-]{4,6}={0,2}|[A-Za-z0-9]{42}AzSe[A-D][A-Za-z0-9]{5}"
        r"|[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}|[A-Za-z0-9+/]{33}(?:AIoT|ASbT|\+AEh|AZEG)[A-Za-z0-9+/]{5,7}="
        r"|[A-Za-z0-9+/]{76}(?:ACDb|AzCa|\+ABa|\+ASt)[A-Za-z0-9+/]{5,6}={1,2}"
        r"|[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4})(?![\w+/])",
    ),
    anywhere(
        # It has no prefix.
        "aws secret key",
        "aws|akia|asia|secret|s3|iam",
        r"(?<![A-Za-z0-9+/=_.-])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=_-])",
        _is_aws_secret,
        near=r"aws|amazon|secret|akia|asia|\bs3\b|\biam\b|boto",
    ),
    Form("vault token", "s.", r"s\.[0-9A-Za-z]{24}(?![\w.])", is_random, near="vault|token|secret|key|credential"),
    Form(
        "airtable key",
        "airtable",
        r"key[0-9A-Za-z]{14}(?!\w)",
        lambda value: is_real_token(value) and re.search(r"\d", value) is not None,
        near="airtable",
    ),
    Form("maxmind key", "_mmk", r"[0-9A-Za-z]{6}_[0-9A-Za-z]{29}_mmk(?!\w)"),
    Form("ngrok token", "_", r"2[0-9A-Za-z]{26}_[0-9A-Za-z]{21}(?!\w)", is_random),
    anywhere(
        # A JSON Web Key; its long number `n` is public.
        "private key",
        '"kty"|\\"kty',
        r"\\?\"(?:d|p|q|dp|dq|qi|k)\\?\"\s{0,2}:\s{0,2}\\?\"(?P<secret>[\w-]{20,}+)",
    ),
    anywhere(
        "private key",
        "key-data|tls.key",
        r"(?:client-key-data|tls\.key)[\"']?\s{0,2}:\s{0,2}[\"']?(?P<secret>[A-Za-z0-9+/]{40,}+={0,2})",
    ),
    Form("new relic key", "nral", r"[0-9a-f]{36}NRAL(?!\w)"),
    Form("twitter bearer token", "aaaaaaaaaaaaaaaaaaaa", r"A{20}\w{10,400}+%[\w%]{10,}"),
)
