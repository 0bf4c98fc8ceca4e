"""Tokens of vendors that are not in the table: a prefix and a random body, the form that most vendors use now."""

from __future__ import annotations

import re
from typing import Final

from learning_memory_server.redaction.forms import Form, is_real_token
from learning_memory_server.redaction.values import is_random


def _is_unknown_token(value: str) -> bool:
    body = re.split("[_-]", value)[-1]
    return (
        is_real_token(value)
        and not _IDENTIFIERS.match(value)
        and bool(re.search(r"[a-z]", body) and re.search(r"[A-Z]", body) and re.search(r"\d", body))
        and is_random(body)
    )


def _is_unknown_hex_token(value: str) -> bool:
    return is_real_token(value) and not _IDENTIFIERS.match(value)


_IDENTIFIERS: Final = re.compile(
    r"""(?:sha|md|blake|hash|commit|rev|git|tree|blob|img|image|layer|snapshot|digest|etag|id|run|job|req|request|trace|span|msg|evt
    |cs|pk|task|pub|public|call|toolu|build|index|chunk|main|cache|test|file|key|res|resp|cursor|page|nonce|ref|cus|acct|price|prod|inv
    |pi|pm|asst|thread|chatcmpl|ver|conv|item|node|gid)\d{0,3}[_-]""",
    re.VERBOSE,
)
"""Beginnings of what is public, or identifies something."""

SHORTEST_UNKNOWN: Final = 34
"""How long the shortest of them is: three characters, a sign, and 30 more, or 40."""

UNKNOWN: Final[tuple[Form, ...]] = (
    Form(
        # Identifiers in that form are shorter. What is assigned to a token's name is judged by that name.
        "token",
        ("_", "-"),
        (
            r"(?<![\w/.-])(?<!cursor=)(?<!oken=)(?:"
            r"(?:[a-z][0-9a-z]{2,11}|[a-z]{2}[_-][a-z]{2,8}|[A-Z]{3,8})[_-](?:(?:[a-z]{2,8}\d?|v\d)[_-]){0,3}[0-9A-Za-z]{30,200}+"
            r"|[a-z]{2}_[0-9A-Za-z]{36,200}+)(?![\w-])"
        ),
        _is_unknown_token,
    ),
    Form(
        # The same with hexadecimal digits, which may also be a hash.
        "token",
        ("_",),
        (
            r"(?<![\w/.-])[a-z][0-9a-z]{1,11}_(?:[0-9a-z]{1,8}_){0,2}(?:[0-9a-f]{40}|[0-9a-f]{48}|[0-9a-f]{64})(?![\w-])"
        ),
        _is_unknown_hex_token,
        near=r"token|secret|credential|api[ _-]?key|auth|40[13]",
    ),
)
