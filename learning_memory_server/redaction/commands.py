"""Passwords and tokens in the arguments of programs."""

from collections.abc import Iterator
from typing import Final

from learning_memory_server.redaction.forms import Form
from learning_memory_server.redaction.values import is_placeholder, is_prose

_KIND: Final = "command line password"
_BETWEEN: Final = r"\b[^\n|;&]{0,200}?\s"
_VALUE: Final = (
    r"(?P<quote>[\"'])?"
    r"(?P<secret>(?(quote)[^\"'\n]{4,128}|[^\s\"'`|;&<>()-](?:[^\s\"'`|;&<>]|&(?=\w)){3,127}))"
)
"""At least four characters. A value that begins with a dash is an option."""
_USER: Final = r"[^\s\"'`:|;,%]{1,128}"
_GAP: Final = " {0,2}"


def _is_given(value: str) -> bool:
    return not is_placeholder(value) and not value.isdigit() and not is_prose(value)


def _is_token(value: str) -> bool:
    return _is_given(value) and not value.isalpha()


_OPTIONS: Final = (
    # A separate `-p` makes these programs ask.
    ("7z", "7z[az]?", "-p", ""),
    ("rar", "(?:un)?rar", "-(?:h?p)", ""),
    ("mysql|mariadb", "(?:mysql[a-z]*|mariadb[a-z-]*)", "-p", ""),
    ("mongo", "mongo[a-z]*", "-p(?=[\"'])", ""),
    ("sshpass", "sshpass", "-p", _GAP),
    ("cqlsh|rdesktop|winrm|psexec|cadaver|clickhouse", "(?:cqlsh|rdesktop|evil-winrm|psexec|clickhouse-client)", "-p", _GAP),
    ("zip", "(?:un)?zip", "-P", _GAP),
    ("sqlcmd|bcp|isql|ipmitool|mosquitto_", "(?:sqlcmd|bcp|isql|ipmitool|mosquitto_[a-z]{2,4})", "-P", _GAP),
    ("twine|oc login|cf login", "(?:twine|oc login|cf login)", "-p", " {1,2}"),
    ("ssh-keygen", "ssh-keygen", "-[NP]", _GAP),
    ("openssl", "openssl", "-k", " {1,2}"),
    ("redis-cli", "redis-cli", "-a", _GAP),
    ("ldap", "ldap(?:search|modify|add|delete|passwd|whoami|compare|modrdn|exop)", "-[wsa]", _GAP),
    ("docker login|podman login|helm |az login", "(?:docker|podman|az|helm)(?: \\w+)? login", "-[paw]", _GAP),
    ("snmp", "snmp[a-z]{2,12}", "-[AXc]", _GAP),
    ("plink|pscp|psftp", "(?:plink|pscp|psftp)(?:\\.exe)?", "-pw", " {1,2}"),
    ("freerdp", "[wx]l?freerdp3?", "/p:", ""),
    ("cmdkey|wmic|psexec|net |schtasks|rasdial", "(?i)(?:cmdkey|wmic|schtasks|net)", "/(?:pass|password):", ""),
    ("schtasks", "(?i)schtasks", "/r?p", " {1,2}"),
    ("doctl", "doctl auth init", "-t", " {1,2}"),
    ("gpg", "gpg2?", "--passphrase", "[ =]{1,2}"),
)  # fmt: skip
"""The program's hints, the program, the option for a password, and the separator between option and password."""

_PAIRS: Final = (
    ("curl|wget", "(?:curl|wget)", "(?:-[a-zA-Z]{0,8}[uU]|--user|--proxy-user)", ":"),
    ("http|xh ", "(?:https?|xhs?)(?= )", "(?:-a|--auth)", ":"),
    ("etcdctl", "etcdctl", "--user", ":"),
    ("jenkins-cli", r"jenkins-cli(?:\.jar)?", "-auth", ":"),
    ("lftp", "lftp", "(?:-u|--user)", ","),
    ("smbclient|rpcclient|smbmap|net ", "(?:smbclient|rpcclient|smbget|net (?:rpc|ads))", "-U", "%"),
)
"""Like `_OPTIONS`, for options with a user and a password, with the separator between these."""

_ARGUMENTS: Final = (
    ("mysqladmin", r"mysqladmin\b[^\n|;&]{0,120}?\spassword"),
    ("rabbitmqctl", r"rabbitmqctl(?: -\S+){0,4} (?:add_user|change_password|authenticate_user) \S{1,64}"),
    ("nmcli", r"nmcli\b[^\n|;&]{0,160}?\spassword"),
    ("wpa_passphrase", r"wpa_passphrase (?:\"[^\"\n]{1,32}\"|'[^'\n]{1,32}'|[^\s=]{1,32})"),
    ("htpasswd", r"htpasswd -(?=[a-zA-Z]*n)(?=[a-zA-Z]*b)[a-zA-Z]+(?: -\w+)* [\w.@-]{1,64}+"),
    ("htpasswd", r"htpasswd -(?![a-zA-Z]*n)(?=[a-zA-Z]*b)[a-zA-Z]+(?: -\w+)* [\w./~-]{1,64}+ [\w.@-]{1,64}+"),
    ("openssl passwd", r"openssl passwd(?: -(?:salt \S+|\w++))*+"),
    ("vault ", r"vault (?:kv (?:put|patch)|write) [^\n|;&]{1,200}?\s(?:\w{1,30}_)?pass(?:word)?="),
    ("chpasswd", r"chpasswd(?: -\w+)* <<< ?[\"']?[\w.-]{1,64}:"),
    ("net user", r"(?i)net user [\w.\\@-]{1,64}"),
    ("net use", r"(?i)net use (?:[A-Za-z*]:? )?\\\\[^\s\"']{1,128}+"),
    ("net use", r"(?i)net use [^\n]{1,120}?/u(?:ser)?:\S{1,64}+"),
    ("smbpasswd|mkpasswd", r"mkpasswd(?: -\S+){0,4}"),
    ("wp user|wp core", r"wp (?:user|core) [^\n|;&]{0,160}?--(?:user|admin|db)(?:_?pass(?:word)?)="),
)  # fmt: skip
"""Hints and prefixes for programs with a password as a positional argument."""


def _joined() -> Iterator[Form]:
    for hints, programs, option, gap in _OPTIONS:
        yield Form(_KIND, hints, _ignoring_case(rf"\b{programs}{_BETWEEN}{option}{gap}{_VALUE}"), _is_given)
    for hints, programs, option, between in _PAIRS:
        pattern = rf"\b{programs}{_BETWEEN}{option}[ =]{{0,2}}(?:(?P<open>[\"'])?{_USER}{between}|{_USER}{between}(?P<late>[\"']))"
        yield Form(
            _KIND,
            hints,
            pattern + r"(?P<secret>(?(open)[^\"'\n]{1,256}|(?(late)[^\"'\n]{1,256}|[^\s\"'`|;<>]{1,256})))",
            _is_login,
        )
    for hints, before in _ARGUMENTS:
        yield Form(_KIND, hints, _ignoring_case(rf"\b{before} {{0,2}}(?!/){_VALUE}"), _is_given)


def _ignoring_case(pattern: str) -> str:
    """Return a pattern with its flag for ignoring case, if any, at the beginning."""
    return f"(?i){pattern.replace('(?i)', '')}" if "(?i)" in pattern else pattern


def _is_login(value: str) -> bool:
    return not is_placeholder(value)


COMMAND_LINES: Final[tuple[Form, ...]] = (
    *_joined(),
    Form(_KIND, "vault login", rf"\bvault login {{1,2}}{_VALUE}", _is_token),
    Form(_KIND, "_authtoken", rf"_authToken {{1,3}}{_VALUE}", _is_token),
    Form(_KIND, "<<<", rf"(?:--with-token|--password-stdin) {{0,2}}<<< {{0,2}}{_VALUE}", _is_given),
    Form(
        _KIND,
        "echo |printf ",
        rf"\b(?:echo|printf) {{1,2}}(?:-n |[\"']?%s(?:\\n)?[\"']? )?{_VALUE}[\"']? ?\|[^\n|]{{0,80}}"
        r"(?:\bsudo(?: -\w+)* -S|--with-token|--passphrase-fd|--stdin|\bcryptsetup\b|vault login -)",
        _is_given,
    ),
    Form(
        _KIND,
        "chpasswd",
        r"\b(?:echo|printf) {1,2}(?P<quote>[\"']?)[\w.-]{1,64}:(?P<secret>[^\s\"'|]{4,128})(?P=quote) ?\|[^\n|]{0,40}chpasswd",
        _is_given,
    ),
)
"""Passwords and tokens in the arguments of programs with an option for them, or in their input from a pipe."""
