"""Strings that can be the value of a secret: not placeholders, names, expressions or ordinary words."""

import itertools
import re
from typing import Final

from learning_memory_server.redaction.base import word_set

LONGEST_PASSWORD: Final = 256  # Characters. Longer strings are not passwords.

_REFERENCE: Final = re.compile(
    r"""\$\w+$ | <[^<>]*>?$ | \{[^{}]*\}?$ | \[ | %\(\w+\)[sd]$ | \W{1,3}%[sdr](?!\w) | %\w+%$ | %[sdrv](?!\w) | \#\{
    | (?:vault|ssm|op|secretsmanager|keyring|env|arn|aws|gcp|azurekeyvault|projects|file|https?|s3|gs|ref|urn):
    | (?-i:[!*@&][A-Z]?[a-z_]+[a-z]$) | \\u?[0-9a-f]{0,4}$""",
    re.VERBOSE | re.IGNORECASE,
)
"""A variable, a template, or the location of a secret."""

_TEMPLATES: Final = ("${", "#{", "$(", "{{")

_EXPRESSION: Final = re.compile(
    r"""!?[A-Za-z_$][\w$]*+(?:(?:\.|->|::|\?\.|!\.)[A-Za-z_$][\w$]*+)*+(?:[(\[{]|[;,)\]}]*+$)""", re.VERBOSE
)
"""A name, a dotted name, or a call. A random string can look like a name; see `is_random`."""

_WORD_AND_NUMBER: Final = re.compile(r"[A-Za-z]{3,}\d{3,}|[A-Z][a-z]+[_-]?[A-Za-z]+\d{2,}")
"""Typical passwords that people choose, unlike names of variables."""

_CALL: Final = re.compile(r"[A-Za-z_][\w.]*[(\[]")
WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CONSONANTS: Final = re.compile(r"[bcdfghjklmnpqrstvwxzBCDFGHJKLMNPQRSTVWXZ]{7}")
"""More consecutive consonants than in names, except abbreviations."""

_TYPE: Final = re.compile(r"(?:Key|Token|Secret|Password|Credential)s?(?![a-z])")
"""Words in the names of types and functions."""

_REGEX: Final = re.compile(r"\(\?|\[\^?\\?\w-|\\[dws]")  # Occurs only in regular expressions

_PATH: Final = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?(?:[\\/][\w.@ -]*)+$")
_FILE: Final = re.compile(
    r"[\w./\\-]+\.(?:pem|key|crt|cer|p12|txt|json|ya?ml|env|toml|ini|py|js|tsx?|go|rs|sh|md|html?|php|rb|java)$",
    re.IGNORECASE,
)
_HASH: Final = re.compile(
    r"\$(?:2[abxy]?|argon2\w*|[156y]|scrypt|pbkdf2[\w-]*)\$|\{S?SHA\d*\}|(?:pbkdf2|scrypt|bcrypt|argon2)\w*[:$]|(?:sha|md)\d+[:-]",
    re.IGNORECASE,
)
_EXAMPLE: Final = re.compile(
    r"""x{4}|\*{3}|\.{3}|…|•|\byour|example|placeholder|change[_ -]?(?:me|it|this)|replace[_ -]?(?:me|this|with)|redacted
    |dummy|insert[_-]|todo\b|fixme|goes[_ -]?here|not[_ -]?a?[_ -]?real|\bmy[_-]|\bfake|sample|_here$""",
    re.VERBOSE,
)
"""Matched in lower case: ignoring case takes ten times as long."""

_OF_EXAMPLES: Final = tuple(
    "xxxx *** ... … • your exampl placehold change replace redact dummy insert todo fixme here real my fake sample".split()
)
"""A text without any of these words is not an example. This check takes a tenth of the time."""

_ROLES: Final = word_set(
    "password passwd pass pwd passphrase passcode secret secrets token tokens key keys apikey credential credentials "
    "username user login auth bearer"
)
_COMMON: Final = _ROLES | word_set(
    "admin root guest test tests testing postgres mysql redis rabbitmq mongo default none null nil true false "
    "undefined string str text int integer number bool boolean bytes object any required optional hidden invalid "
    "missing empty masked disabled enabled unset yes no on off basic digest oauth oauth2 jwt foo bar baz foobar xyz "
    "qwerty changeit letmein hunter2 s3cr3t s3cret abc123 test123 pass123 password1 password123 secret123 admin123 "
    "expired revoked incorrect wrong correct needed valid stored kept used sent encrypted hashed plaintext base64 utf8 "
    "sha256 sha512 sha1 md5 hs256 rs256 es256 ed25519 argon2 argon2id pbkdf2 bcrypt scrypt hmac aes256 rsa2048 oauth1 "
    "saml2 http2 tls12 tls13 x509 ipv4 ipv6 k8s ec2 utf16 utf32 base32 win32 int32 int64 uint8 uint32 uint64 float32 "
    "float64 log4j secp256k1 gpt4 gpt2 bert python3 argon2i web3 auth0 latin1"
)
"""Placeholders for a secret, including well-known example passwords, which protect nothing."""

_PROSE: Final = _ROLES | word_set(
    "the and for not are was has had have can may must should will would than then that this with from your you our "
    "its all any but use used set enter type least more must characters letters field"
)
"""Common words in sentences, which random phrases lack."""

_AFTER_NAMES: Final = _PROSE | word_set(
    "is in as to or by on of so if it be at an does do was were been being it's can cannot could without because "
    "instead where when which while who whose why how here there only also still too just then than into onto from "
    "over under after before until during between prompt prompts prompted prompting take takes taking taken mean "
    "means ask asks asked asking read reads reading flag flags option options argument arguments parameter parameters "
    "switch switches directive directives setting settings line lines config configs configuration file files "
    "variable variables value values given gives give sets setting changed change changes changing missing unset "
    "present absent works work working worked fails fail failed failing breaks break broke needs need makes make made "
    "leaks leak leaked shows show shown appears appear stays stay goes came come comes works configured default "
    "public private nothing something anything empty optional mandatory deprecated defaults prefix command commands form forms keyword support supports supported check checks checked"
)
"""Words that follow the name of an option or a directive in a sentence about it."""

_ALGORITHM: Final = re.compile(
    r"(?:sha|md|base|utf|aes|rsa|[hrep]s|oauth|http|tls|ssl|int|uint|float|ipv|x|v|argon|pbkdf|gpt|web|es|ed|p|k|o)-?\d",
    re.IGNORECASE,
)
_SEPARATORS: Final = re.compile(r"[\W_]+")
_UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_ASCENDING: Final = ["0123456789", "1234567890", "abcdefghijklmnopqrstuvwxyz", "9876543210"]


def is_placeholder(value: str) -> bool:
    """Whether the value stands for another one: a variable, a template, a location, an example, a hash."""
    lowered = value.lower().strip("\"'`*_.,:;!?")
    if (
        lowered in _COMMON
        or len(set(value)) <= 2
        or any(opening in value for opening in _TEMPLATES)
        or (any(sign in value for sign in "\\[(") and _REGEX.search(value))
        or _REFERENCE.match(value)
        or _HASH.match(value)
        or _has_example(value.lower())
        or ("." in value and _FILE.match(value))
        or (("/" in value or "\\" in value) and _PATH.match(value) and not is_random(value.strip("/\\")))
    ):
        return True
    parts = _SEPARATORS.split(lowered)
    return not _ROLES.isdisjoint(parts) and (
        "".join(parts).isalpha() or all(part.isalpha() or len(part) < 3 for part in parts)
    )


def _has_example(lowered: str) -> bool:
    return any(hint in lowered for hint in _OF_EXAMPLES) and _EXAMPLE.search(lowered) is not None


def is_real_token(value: str) -> bool:
    """Whether a token of the right form is real, not an example in a document."""
    lowered = value.lower()
    return not (
        len(set(value)) < min(8, len(value) // 2)
        or _has_example(lowered)
        or any(row[i : i + 8] in lowered for row in _ASCENDING for i in range(len(row) - 7))
    )


def has_all_sorts(value: str) -> bool:
    """Whether a value contains digits, upper case and lower case letters."""
    return all(re.search(sort, value) for sort in ("[a-z]", "[A-Z]", r"\d"))


def is_uuid(value: str) -> bool:
    """Whether the value is a UUID."""
    return _UUID.fullmatch(value) is not None


def is_random(value: str) -> bool:
    """Whether letters and digits alternate too often for handwritten text."""
    characters = [character for character in value if character.isalnum()]
    if len(characters) < 8 or not value.isascii():
        return False
    changes = sum(a.isdigit() != b.isdigit() for a, b in itertools.pairwise(characters))
    if changes >= max(3, len(characters) // 9):
        return True
    # Without digits, only the case distinguishes; names change it at most once in three letters.
    turns = sum(a.isupper() != b.isupper() for a, b in itertools.pairwise(characters))
    words = WORDS.findall(value)
    if min(map(len, words), default=0) > 2:
        return False
    if turns > max(5, len(characters) // 3) or (turns > 5 and _CONSONANTS.search(value)):
        return True
    # Words of a name in camel case have at least three letters; those of a random string with a digit have two.
    return len(characters) >= 10 and turns > 1 and len(words) * 2.4 >= len(characters)


def is_call(value: str) -> bool:
    """Whether an unquoted value is a call or an index expression."""
    return _CALL.match(value) is not None and not _has_signs(value)


def is_expression(value: str) -> bool:
    """Whether an unquoted value is code: a name, an attribute, an index, a call."""
    found = _EXPRESSION.match(value)
    if found is None or _has_signs(value):
        return False
    if value[found.end() - 1] in "([" or _TYPE.search(value):
        return True
    return not (is_random(value) or _WORD_AND_NUMBER.fullmatch(value))


def is_password(value: str, *, quoted: bool, word: bool = False) -> bool:
    """Whether the value after a password's name is a password; `word` also accepts a single word."""
    if (
        not (4 if quoted else 6) <= len(value) <= LONGEST_PASSWORD
        or any(character.isspace() for character in value)
        or (not quoted and is_expression(value))
        or re.fullmatch(r"[A-Za-z_][\w.]*\(.*\)?", value)
    ):
        return False
    if re.fullmatch(r"[a-z]+(?:-[a-z]+){2,}", value) or (word and re.fullmatch(r"[A-Za-z]{6,}", value)):
        return True
    if re.fullmatch(r"[A-Za-z]+(?:[_. /:-][A-Za-z]+)*\W?|[A-Za-z]+(?:_[A-Za-z0-9]{1,2})+|[\d.,]{1,5}|\W+", value):
        return not value.islower() and is_random(value)
    return not _version(value)


def is_mixed(value: str) -> bool:
    """Whether a value is random, with digits and letters of both cases, and neither a name nor a hexadecimal hash."""
    return re.fullmatch(r"[\w+=~-]{20,400}", value) is not None and has_all_sorts(value) and is_key(value, strict=True)


def is_phrase(value: str) -> bool:
    """Whether a quoted text after a password's name is a phrase of random words, not a sentence."""
    words = value.split(" ")
    return (
        3 < len(words) <= 24
        and len(value) <= LONGEST_PASSWORD
        and all(re.fullmatch(r"[A-Za-z]{3,12}", word) for word in words)
        and not _PROSE.intersection(value.lower().split(" "))
    )


def is_prose(value: str) -> bool:
    """Whether a value is an ordinary word after the name of an option in a sentence."""
    return value.lower().strip("\"'`*_.,:;!?()") in _AFTER_NAMES


def is_spoken_password(value: str) -> bool:
    """Whether a word in prose can only be a password: letters, digits, and mixed case or symbols."""
    if not 6 <= len(value) <= 128 or re.match(r"[\w.-]+=", value):
        return False
    letters, digits = re.search(r"[A-Za-z]", value), re.search(r"\d", value)
    if not letters or not digits or _ALGORITHM.match(value) or _version(value) or is_uuid(value):
        return is_random(value) and not is_uuid(value)
    if re.search(r"[^\w.,:;/()+-]", value):
        return True
    if re.search(r"[a-z]", value) and re.search(r"[A-Z]", value):
        return not re.fullmatch(r"[A-Z]?[a-z]+\d{1,2}[a-z]*|[A-Za-z]+(?:[_-](?:[A-Za-z]+\d?|\d+))+", value)
    return is_random(value) or re.fullmatch(r"[a-z]{4,}\d{2,}", value) is not None


def is_key(value: str, *, strict: bool, quoted: bool = True) -> bool:
    """Whether the value after a key's name is a key; if `strict`, it must be long and random."""
    if (
        not value.isascii()
        or any(character.isspace() for character in value)
        or len(value) > 2_000
        or _version(value)
        or (not quoted and is_expression(value))
    ):
        return False
    if _has_signs(value):
        return True
    if not re.fullmatch(r"[\w.~+/=:!@#$%^&*?|,-]+", value):
        return False
    if strict:
        return len(value) >= 20 and is_random(value) and not is_uuid(value)
    return len(value) >= 10 and (is_random(value) or is_uuid(value))


def _has_signs(value: str) -> bool:
    """Whether the value has letters, digits and many symbols, like Django's keys."""
    return (
        len(value) >= 16
        and len(set(re.findall(r"[!@#$%^&*+=~?|-]", value))) > 2
        and re.search(r"[A-Za-z].*\d|\d.*[A-Za-z]", value) is not None
    )


def _version(value: str) -> bool:
    return re.fullmatch(
        r"v?\d+(?:[.:/-]\d+)*(?:[a-z%]{0,3}|-?(?:alpha|beta|rc|dev)\.?\d*)", value, re.IGNORECASE
    ) is not None and not (value.isdigit() and len(value) >= 6)
