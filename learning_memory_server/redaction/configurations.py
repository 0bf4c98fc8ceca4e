"""Passwords after directives of configuration files, in variables of programs, and secrets of one-time passwords."""

import re
from collections.abc import Iterator
from typing import Final

from learning_memory_server.redaction.forms import Form, anywhere
from learning_memory_server.redaction.values import is_placeholder, is_prose, is_spoken_password

_VALUE: Final = r"(?P<quote>[\"'])?(?P<secret>(?(quote)[^\"'\n]{4,128}|[^\s\"'`,;<>()=|-][^\s\"'`,;<>]{3,127}))"


def _is_configured(value: str) -> bool:
    return not is_placeholder(value) and not is_prose(value)


_LAST: Final = r"(?=\S+[ \t]*(?:[\r\n\"'`]|\\[nr]|$))"
"""Before the last word of a line."""

_WORDS: Final = (
    ("requirepass|masterauth", r"(?:requirepass|masterauth|primaryauth)[\"'`]?(?:(?: is)?(?: set)? to |[ \t:=]{1,4})`?"),
    ("auth-pass", r"auth-pass [\w.-]{1,64} "),
    ("setuser|user ", r"(?:setuser|^user|\nuser) [\w.-]{1,64} [^\n]{0,80}?>"),
    ("rootpw|bindpw", r"(?:rootpw|bindpw)[ \t:=]{1,4}(?:--plaintext )?"),
    ("auth_pass", r"auth_pass[ \t]{1,8}"),
    ("enable ", r"(?:^|\n)[ \t]{0,4}(?:[\w.-]{1,64}(?:\(config\))?# ?)?enable (?:secret|password) (?:level \d+ )?(?:\d )?" + _LAST),
    ("username ", r"username [\w.-]{1,64} (?:privilege \d+ )?(?:password|secret) (?:\d )?" + _LAST),
    ("snmp-server|rocommunity|rwcommunity", r"(?:snmp-server community|r[ow]community6?) "),
    ("psk|wep-key", r"(?:wpa-psk|wep-key\d?)[ \t]{1,8}"),
    ("passwd/", r"passwd/[\w-]{1,32}password(?:-again)? password "),
    (
        "setx|setenv|set -|env |_param",
        r"\b(?:setx|setenv|set -[a-z]{1,4}|env|(?:fastcgi|uwsgi|scgi)_param)[ \t]{1,8}\w{0,40}(?:pass(?:word|wd|phrase)?|pwd|pw)[ \t]{1,8}",
    ),
    ("pass|_pw", r"(?:^|\n)[ \t]{0,8}[a-z][\w.-]{0,40}_(?:pass(?:word|wd|phrase)?|pwd|pw)[ \t]{1,8}" + _LAST),
    ("chpasswd", r"chpasswd:\s{1,40}(?:expire: \w{4,5}\s{1,40})?list:[ |\n\t-]{1,40}[\w.-]{1,32}:"),
)  # fmt: skip
"""Hints and prefixes of directives with a password after a space."""

_VARIABLES: Final = (
    ("rediscli_auth", r"\bREDISCLI_AUTH(?:=|:? )[\"']?"),
    ("erlang_cookie", r"\bERLANG_COOKIE(?:=|: )[\"']?"),
    ("_auth=|_auth:|_userpwd=|_login=", r"_(?:AUTH|USERPWD|LOGIN)(?:=|: )[\"']?[\w.@+-]{1,64}[:/](?!/)"),
    ("zipopt", r"\bZIPOPT=[\"']?[^\n\"']{0,40}?-P ?"),
)
"""Hints and prefixes of programs' variables whose names do not announce a password."""

_IN_VARIABLE: Final = r"(?P<secret>[^\s\"'`;|<>()]{4,128})"

_STATEMENTS: Final = (
    ("password", r"(?i)(?:create|alter)\s{1,4}(?:user|role|login)\b[^;\n]{1,120}?\bpassword\s{0,2}=?\s{0,2}"),
    ("set password", r"(?i)set\s{1,4}password\s{1,2}(?:for\s{1,2}[^\s=]{1,80}\s{0,2})?(?:=|to)\s{0,2}(?:password\()?"),
)


def _after_words() -> Iterator[Form]:
    for hints, before in _WORDS:
        yield anywhere("password", hints, rf"(?i){before}{_VALUE}", _is_configured)
    for hints, before in _VARIABLES:
        yield anywhere("password", hints, before + _IN_VARIABLE, _is_configured)
    for hints, before in _STATEMENTS:
        yield anywhere(
            "password", hints, before + r"(?P<quote>['\"])(?P<secret>[^'\"\n]{1,128})(?P=quote)", _is_configured
        )


def _is_any(value: str) -> bool:
    return len(set(value)) > 4


def _is_base32(value: str) -> bool:
    plain = re.sub(r"\s", "", value)
    return len(plain) >= 16 and len(set(plain)) > 4 and (value.isupper() or re.search("[2-7]", plain) is not None)


CONFIGURATIONS: Final[tuple[Form, ...]] = (
    *_after_words(),
    Form(
        "password",
        "redis|6379",
        r"(?:^|(?<=[\n>`\"]))[ \t]{0,4}AUTH (?:[\w.-]{1,64} )?(?P<secret>[^\s\"'`\\]{4,128})(?=[ \t]{0,4}(?:[`\"\r\n]|\\r|$))",
        lambda value: _is_configured(value) and not value.isupper(),
    ),
    Form(
        "authorization",
        "auth plain",
        r"(?i)AUTH PLAIN (?P<secret>[A-Za-z0-9+/]{8,}={0,2})",
        lambda value: len(value) % 4 == 0,
    ),
    anywhere(
        # On separate lines, as in the files of msmtp and fetchmail.
        "password",
        "pass",
        r"(?:^|\n)[ \t]{0,8}(?:user(?:name)?|login)[ \t]{1,8}\S{1,128}[ \t]{0,8}\n[ \t]{0,8}pass(?:w(?:or)?d)?[ \t]{1,8}[\"']?"
        r"(?P<secret>[^\s\"']{4,128})",
        _is_configured,
    ),
    anywhere(
        "password",
        "pass",
        r"(?<=[\s,\"'])pass(?:word|wd)?=(?P<secret>[^\s\"'`,;<>()]{4,128})(?=,\w{1,24}=|[ \t](?://|\w{1,24}=)|[\"'`\n]|$)",
        lambda value: _is_configured(value) and (value.isalpha() or is_spoken_password(value)),
        near=r"(?:^|[\s,\"'])(?:host(?:name)?|user(?:name)?|dbname|hostaddr)=",
    ),
    anywhere(
        "otp secret",
        "otpauth://",
        r"(?i)otpauth://[^\s\"'<>]{0,200}?[?&;]secret=(?P<secret>[A-Za-z2-7]{8,256}(?:=|%3D){0,6})",
        _is_any,
    ),
    anywhere(
        "otp secret", "otpauth-migration", r"otpauth-migration://offline\?data=(?P<secret>[\w%+/=-]{16,})", _is_any
    ),
    anywhere(
        "otp secret",
        "totp|hotp",
        r"(?i)[th]otp(?:::new|\.new)?\(\s{0,4}(?:\{\s{0,4}secret\s{0,2}:\s{0,2})?[\"'](?P<secret>[A-Za-z2-7]{16,256}={0,6})(?=[\"'])",
        _is_base32,
    ),
    Form(
        "otp secret",
        "oathtool",
        r"\boathtool(?: -[\w=-]{1,32}(?: \d{1,4})?){0,8} {1,2}[\"']?(?P<secret>[A-Za-z2-7]{16,256}={0,6}|[0-9a-fA-F]{20,256})(?![\w=])",
        _is_any,
    ),
    Form(
        "otp secret",
        "otp|2fa|mfa",
        r"(?i:t?otp|2fa|mfa)[ _-]?(?i:secret|seed|key)[\"'`]?(?: is| was)?[\s:=\"'`(]{1,5}"
        r"(?P<secret>[A-Z2-7]{16,256}={0,6}|[A-Za-z2-7]{4}(?:[ -][A-Za-z2-7]{4}){3,15})(?![\w=])",
        _is_base32,
    ),
)
