"""Passwords and tokens among the arguments of programs that have a letter for them, or read them from a pipe."""

from __future__ import annotations

from typing import Final

from learning_memory_server.redaction.forms import Form
from learning_memory_server.redaction.values import is_placeholder

_KIND: Final = "command line password"
_BETWEEN: Final = r"\b[^\n|;&]{0,200}?\s"
_VALUE: Final = r"(?P<quote>[\"']?)(?P<secret>[^\s\"'|;&<>-][^\s\"'|;&<>]{3,127})"
"""Four characters at least; what begins with a dash is an option."""


def _is_real(value: str) -> bool:
    return not is_placeholder(value) and not value.isdigit()


def _is_token(value: str) -> bool:
    return _is_real(value) and not value.isalpha()


COMMAND_LINES: Final[tuple[Form, ...]] = (
    Form(_KIND, ("7z",), rf"\b7z[az]?{_BETWEEN}-p(?! ){_VALUE}", _is_real),
    Form(
        _KIND,
        ("zip", "sqlcmd", "bcp", "isql", "mosquitto_"),
        rf"\b(?:unzip|zip|sqlcmd|bcp|isql|mosquitto_[a-z]{{2,4}}){_BETWEEN}-P {{0,2}}{_VALUE}",
        _is_real,
    ),
    Form(_KIND, ("twine", "oc login", "cf login"), rf"\b(?:twine|oc login|cf login){_BETWEEN}-p {{1,2}}{_VALUE}", _is_real),
    Form(_KIND, ("ssh-keygen",), rf"\bssh-keygen{_BETWEEN}-[NP] {{1,2}}{_VALUE}", _is_real),
    Form(_KIND, ("openssl",), rf"\bopenssl{_BETWEEN}-k {{1,2}}{_VALUE}", _is_real),
    Form(_KIND, ("smbclient", "rpcclient"), rf"\b(?:smb|rpc)client{_BETWEEN}-U {{0,2}}[\"']?[^\s%\"']{{1,64}}%{_VALUE}", _is_real),
    Form(_KIND, ("freerdp",), rf"\b[wx]l?freerdp3?{_BETWEEN}/p:{_VALUE}", _is_real),
    Form(_KIND, ("vault login", "doctl"), rf"\b(?:vault login|doctl auth init{_BETWEEN}-t) {{1,2}}{_VALUE}", _is_token),
    Form(_KIND, ("_authtoken",), rf"_authToken {{1,3}}{_VALUE}", _is_token),
    Form(_KIND, ("<<<",), rf"(?:--with-token|--password-stdin) {{0,2}}<<< {{0,2}}{_VALUE}", _is_real),
    Form(
        _KIND,
        ("echo ", "printf "),
        rf"\b(?:echo|printf) {{1,2}}(?:-n |[\"']?%s(?:\\n)?[\"']? )?{_VALUE}(?P=quote) ?\|[^\n|]{{0,80}}"
        r"(?:\bsudo(?: -\w+)* -S|--with-token|--passphrase-fd|--stdin|\bcryptsetup\b|vault login -)",
        _is_real,
    ),
    Form(
        _KIND,
        ("chpasswd",),
        r"\b(?:echo|printf) {1,2}(?P<quote>[\"']?)[\w.-]{1,64}:(?P<secret>[^\s\"'|]{4,128})(?P=quote) ?\|[^\n|]{0,40}chpasswd",
        _is_real,
    ),
)  # fmt: skip
