"""Secrets recognized by their names: `PASSWORD=...`, `"apiKey": "..."`, `--token ...`, "the password is ..."."""

import re
from collections.abc import Iterator
from enum import Enum
from typing import Final

from learning_memory_server.redaction.base import Span, word_set
from learning_memory_server.redaction.forms import lowered
from learning_memory_server.redaction.values import (
    LONGEST_PASSWORD,
    WORDS,
    is_call,
    is_key,
    is_mixed,
    is_password,
    is_phrase,
    is_placeholder,
    is_prose,
    is_spoken_password,
    is_uuid,
)


class Promise(Enum):
    """The kind of value that a name announces."""

    PASSWORD = "password"  # noqa: S105 - the kind's name
    KEY = "key"
    MAYBE = "maybe a key"
    LONE = "a key of any sort"


_NEUTRAL: Final = word_set(
    "value val prod production dev development staging stage live old new current default plain plaintext raw text txt "
    "string str base b64 hex primary secondary main backup root admin user it this here"
)
"""Words after the relevant word of a name that do not change its meaning."""

_PASSWORDS: Final = word_set(
    "password passwd passphrase passcode passwort pwd psw pass pw psk userpassword dbpassword storepass keypass dbpass "
    "smtppass userpass rootpass adminpass mypass"
)
_PASSWORD_ENDS: Final = ("password", "passwd", "passphrase", "pass", "pwd", "pw")
_NOT_PASSWORDS: Final = word_set(
    "bypass compass trespass surpass overpass underpass encompass askpass multipass renderpass subpass prepass "
    "singlepass firstpass lightpass impasse getpass"
)
_NOT_BEFORE_PASSWORD: Final = word_set(
    "hashed encrypted hash crypted masked no first second third single multi two one render by forward backward low "
    "high band tests checks all will must should can may not would pre post each every this that next last"
)
_SECRETS: Final = word_set(
    "secret clientsecret secretkey apikey apikeys appkey authkey accesskey accesstoken authtoken apitoken bottoken "
    "apisecret appsecret credential credentials creds authorization pat privatekey signingkey"
)
_TOKENS: Final = frozenset(["token", "tokens"])
_NOT_BEFORE_TOKEN: Final = word_set(
    "next page nextpage continuation pagination cursor sync max min num number total input output prompt completion "
    "pad padding eos bos sep cls unk stop mask special cancellation cancel public csrf xsrf per first last start end "
    "begin new this each every previous prev current_token resume paging scroll delta lookahead reserved cached "
    "reasoning id"
)
_BEFORE_KEY: Final = word_set(
    "api access secret private signing encryption encrypt decryption master account auth shared license licence "
    "service app application consumer subscription security crypt aes hmac jwt token ssh ingest ingestion ssl tls "
    "deploy webhook client storage instrumentation integration rest server authentication authorization admin "
    "wireguard preshared psk registration functions function host fernet cipher unseal recovery bootstrap enrollment "
    "activation vapid merchant sender tenant personal write join seed sas gpg pgp"
)
_NOT_BEFORE_KEY: Final = word_set(
    "primary foreign cache sort partition dict hash index map row object public composite unique lookup group "
    "idempotency dedupe dedup order json shard routing default translation i18n message react candidate hot shortcut "
    "arrow enter escape tab return page event config setting state query search field column data entry item feature "
    "flag record document doc node file path cluster session redis natural surrogate business range bucket kms recv "
    "list export send fetch import show get set has is by with for no any socket publishable site measurement"
)


def promise_of(name: str) -> Promise | None:  # noqa: PLR0911 - one for each sort of name
    """Return the kind of secret that a name announces, None if it announces none."""
    words = [word.lower() for word in WORDS.findall(name)]
    while words and (words[-1].isdigit() or words[-1] in _NEUTRAL):
        words.pop()
    if not words:
        return None
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _PASSWORDS or (last.endswith(_PASSWORD_ENDS) and last not in _NOT_PASSWORDS):
        return None if before in _NOT_BEFORE_PASSWORD else Promise.PASSWORD
    if (
        last in _SECRETS
        or last.endswith(("apikey", "secretkey"))
        or (last == "auth" and name.lstrip().startswith(("_", "//")))
    ):
        return Promise.KEY
    if last in _TOKENS or last.endswith("token"):
        before = before if last in _TOKENS else last.removesuffix("token")
        return None if before in _NOT_BEFORE_TOKEN else Promise.KEY
    if last in ("cookie", "cookies"):
        return Promise.KEY if before in ("session", "auth", "login", "remember") else None
    if last not in ("key", "keys") or before in _NOT_BEFORE_KEY or (not before and last == "keys"):
        return None
    return Promise.KEY if before in _BEFORE_KEY else Promise.MAYBE if before else Promise.LONE


_NAME: Final = re.compile(
    r"(?:p(?:ass|wd|sw|sk(?![a-z])|w(?![a-z])|at(?![a-z]))|secret|token|cred(?:ential|s)|key|auth|cookie)[a-z0-9_-]{0,40}+"
)
"""From the relevant word to the end of the identifier, in lower case: ten times as fast as ignoring case."""

_QUOTED: Final = (
    r"""(?:[rbfuRBFUL@$]{0,2}(?P<q>\\{0,3}(?:\"{3}|'{3}|["'`]))(?P<quoted>(?:(?!(?P=q))[^\n]){1,1024})(?P=q))"""
)
_BARE: Final = r"(?P<bare>[^\s\"'`<>(\[:=|,;.][^\s\"'`<>]{0,299}+)"
_CLOSING: Final = r"""(?:\\{0,3}["'`]\]?|\*\*|\])?(?:[ \t]#?\d{1,2}(?=[ \t]{0,2}[:=]))?"""
"""The end of a name: a quote, or the number of one of several keys."""

_ASSIGNED: Final = re.compile(
    _CLOSING
    # A type before the equals sign, or C#'s property accessors.
    + r"(?:(?:[ \t]{0,2}:[ \t]{0,2}|[ \t]{1,2}As[ \t]{1,2})(?:\[\])?[A-Za-z_&][\w.\[\]|<>? ]{0,40}?(?=[ \t]{0,2}=[^=])"
    + r"|[ \t]{0,2}\{[ \t]{0,2}get;[\w; ]{0,30}\}(?=[ \t]{0,2}=[^=]))?"
    + r"[ \t]{0,40}(?P<separator>=>|:=|\?=|[=!]={1,2}|:{1,2}|=|->|<-|(?<=[ \t])\|(?=[ \t]))\**[ \t]{0,40}"
    + rf"(?:{_QUOTED}|{_BARE})"
)
_ARGUMENT: Final = re.compile(rf"{_CLOSING}(?:[ \t]{{0,4}}(?P<between>[(,])[ \t]{{0,4}}|\s{{1,4}}value=){_QUOTED}")
"""`setPassword("...")`, `("password", "...")`, `key="Password" value="..."`."""

_IS_ARGUMENT: Final = re.compile(r"[(\[{]\s{0,8}[\"'][\w.-]*$")
_IDENTIFIER: Final = re.compile(r"[A-Za-z]_[\w-]*$")
_VERB: Final = re.compile(r"(?<![\w-])(?<!with )(?<!the )pass(?![\w-])", re.IGNORECASE)
"""Verbs in a sentence about a value that is not secret: "pass X to"."""

_ELEMENT: Final = re.compile(r">(?P<bare>[^\s<>]{4,512})</")
_FLAG: Final = re.compile(rf"[ \t]{{1,4}}(?:{_QUOTED}|{_BARE})")
_IS_FLAG: Final = re.compile(r"(?:^|[\s\"'`(\[,])--?[\w-]{0,40}$")
_VALUE: Final = rf"(?:{_QUOTED}|{_BARE})"
_LINK: Final = (
    r"(?P<link>(?:\b(?:is|was|are|becomes|to|as|(?:should|must|will|would|shall|used to|has to|can) be)\b|=|:|->|—|\u2013)[ \t]{1,2}"
    r"(?:(?:now|still|just|currently|set to|called|literally)[ \t]){0,2})"
)
_SPOKEN: Final = re.compile(
    r"[\"'`]?(?:[ \t]{1,2}(?:for|of|to|on|in|at|from|behind|f(?:\u00fc|ue)r|pour|para)[ \t][^\n.;:=\"'`]{1,48}?|[ \t]\([^)\n]{1,40}\))?"
    r"(?:[ \t]{1,2}(?:ha[ds](?: been)?|been|hard-?coded|stored|kept|set|given|exposed|left|committed|configured|defined|still)){0,3}"
    rf"[ \t]{{0,2}}{_LINK}{_VALUE}"
)
_NEXT: Final = re.compile(
    rf"[\"'`]?,?[ \t]{{1,2}}(?:(?:from|with|of|like|value|reads|equals|equal to|being|namely|starting)[ \t]){{0,2}}\(?{_VALUE}"
)
_LATER: Final = re.compile(
    r"[\"'`]?,?(?:[ \t]{1,2}[\"'(]?[A-Za-z][a-z'-]{0,14}[\"'),]{0,2}){1,7}[ \t:]{1,3}[(\"'`]{0,2}(?P<bare>[0-9A-Za-z][\w+=~-]{19,299})(?![./])"
)
"""A value later in the sentence: "the token that we got from the console, ..."."""

_LATER_PASSWORD: Final = re.compile(
    r"(?:[ \t]{1,2}[A-Za-z][a-z'-]{0,14}[,:]?){1,8}?[ \t](?:be|is|was|to)[ \t]{1,2}(?P<bare>[^\s\"'`<>(./,;:]{8,64})(?=[\s.,;:)]|$)"
)
"""A password later in the sentence, which may be shorter: "the password had a typo: it should be ..."."""

_OTHER: Final = re.compile(
    r"\b(?:commit|hash|sha|digest|checksum|fingerprint|id|ids|file|path|branch|revision|test|tests|function|class|method|module|image|url)\b"
)
"""Words that show that a value later in the sentence is something else."""

_ENTRY: Final = re.compile(
    r"[\"'`]?,?(?:[ \t]{0,4}[={(]){0,2}\s{1,60}[\"'`]?(?i:--)?(?i:default|value|body|secret-string|data|literal)[\"'`]?"
    rf"[ \t]{{0,4}}[:= ][ \t]{{0,4}}{_VALUE}"
)
"""`- name: DB_PASSWORD` and `value: ...` on the next line; `variable "token" { default = ... }`; `--body ...`."""

_BELOW: Final = re.compile(
    rf"{_CLOSING}[ \t]{{0,2}}:[ \t]{{0,2}}(?:[|>][+-]?)?[ \t]{{0,2}}\r?\n[ \t]{{1,40}}{_VALUE}(?=[ \t]{{0,8}}(?:[\r\n]|$))"
)
"""A YAML value on the line after its key."""

_WRITTEN: Final = (_ENTRY, _BELOW, _ASSIGNED, _ARGUMENT, _ELEMENT)
_REVERSED: Final = re.compile(
    r"(?:^|[\s(])(?P<q>[\"'`]?)(?P<bare>[^\s\"'`<>(]{6,256})(?P=q)[ \t](?:as|is|was)[ \t](?:(?:the|my|your|our|a|its|their)[ \t])?(?:[\w.-]{1,24}[ \t]){0,3}$"
)
_COMMENTED: Final = re.compile(
    r"(?P<q>[\"'`])(?P<bare>[^\s\"'`]{16,256})(?P=q)[)\],;]{0,4}[ \t]{1,8}(?:#|//|--)[ \t](?:[\w.-]{1,24}[ ]){0,4}$"
)
"""`connect("...")  # api key`"""

_ENV: Final = re.compile(
    r"(?:(?:^|[\n;&|]|\\n)[ \t-]*(?:export[ \t]+|set[ \t]+|[-+][ \t]+)?|(?:(?:\s|^)-e|--env|--build-arg|ENV|ARG)[ \t=]+)"
    r"(?!self\.|this\.)[A-Za-z][\w.-]*$"
)
_VARIABLE: Final = re.compile(r"(?:^|[^\w$.{%-])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*$")
"""A variable in capitals at any position: in a sentence, in backticks, in a list of arguments."""

_ENVIRONMENT: Final = re.compile(
    r"(?:environ[\[(]|environ\.\w{3,10}\(|env\.|env:|(?:ENV|env)[\[(]|setenv\()[\"']?[A-Z][A-Z0-9_]*$"
)
"""A variable in capitals where a program sets its environment."""

_DEFINED: Final = re.compile(r"(?:^|[\s\"'`])(?:-[DPe]|--set(?:-string)?[ =]|--from-literal[ =]|ansible_)[\w.-]*$")
"""A property that is passed to a program."""

_KEY_LINE: Final = re.compile(r"(?:^|\n|\\n)[ \t]*(?:-[ \t]+)?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$")
"""A variable in capitals before a colon, as a YAML key."""

_LINE_END: Final = re.compile(r"[ \t]*(?:[\r\n]|\\[nr]|$)")
_ALONE: Final = re.compile(r"(?:(?:^|\n)[ \t]*(?:set[ \t]+)?|`)[A-Za-z][\w.-]*$")
"""A name at the beginning of a line or a quotation, for example in a properties file."""
_UNINDENTED: Final = re.compile(r"(?:^|\n)[A-Za-z][\w.-]*$")
"""A name at the beginning of a line without indentation, which excludes arguments of a call."""

_ENV_END: Final = re.compile(r";(?:[\w.-]*=|$)|\\[nrt]|&[\w.%-]{1,64}=")
_BETWEEN_NAMES: Final = re.compile(r"[^\w .$-]|\\[nrt]|\. ")
_AFTER_VALUE: Final = re.compile(r"&[\w.%-]{1,64}=|\\[nrt]|\\u00|&amp;|,(?=[\w-]+[=:])|;")
_LONGEST: Final = 290  # The minimum length of a match whose value may continue after it

_REST: Final = re.compile(r"[\w+/=.~%-]*+")

_IN_ARN: Final = re.compile(r":\d{12}:$")  # `arn:aws:secretsmanager:eu-west-1:123456789012:secret:...` names a secret

_LEFT: Final = 56  # Characters to search before the word for its identifier and the words before it


class Tie(Enum):
    """The link between a value and the name before it. A looser link requires a value that looks more like a secret."""

    ENV = "a line of an env file, in capitals: what is there is meant as it stands, be it a word"
    CERTAIN = "an assignment with both ends certain, by quotes or by the shell's rules"
    WRITTEN = "an assignment without quotes"
    SAID = "a sentence: the password is ..."
    NEXT = "the value follows the name"


class AssignmentDetector:
    """Finds values that are assigned to the name of a password, a key, a token or a secret."""

    def find(self, text: str) -> Iterator[Span]:
        """Yield the spans of such values."""
        for found in _NAME.finditer(lowered(text)):
            end = found.end()
            if end < len(text) and ((text[end].isascii() and text[end].isalnum()) or text[end] == "_"):
                continue
            span = _value_after(text, found) or _value_before(text, found)
            if span:
                yield _to_its_end(text, span)


def _name_of(text: str, found: re.Match[str]) -> str:
    """Return the name, with the words before it on the same line."""
    left = text[max(0, found.start() - _LEFT) : found.start()]
    return _BETWEEN_NAMES.split(left)[-1] + text[found.start() : found.end()]


def _value_after(text: str, found: re.Match[str]) -> Span | None:
    end = found.end()
    before = text[max(0, found.start() - _LEFT) : found.start()]
    flag = _IS_FLAG.search(before) is not None
    forms = (*_WRITTEN, _FLAG) if flag else _WRITTEN
    match = next((match for form in forms if (match := form.match(text, end))), None)
    if match is None and _VERB.match(text, found.start()):
        return None
    promise = None if _IN_ARN.search(before) else promise_of(_name_of(text, found))
    if promise is None:
        return None
    if match is None:
        said = (form.match(text, end) for form in (_SPOKEN, _NEXT))
        spans = (_judged(promise, *_tied(one, text, before + text[found.start() : end])) for one in said if one)
        span = next((span for span in spans if span), None)
        return span or (_later(promise, text, end) if promise is not Promise.LONE else None)
    if match.re is _ARGUMENT and match["between"] == "," and not _IS_ARGUMENT.search(before):
        return None
    value, start, tie = _tied(match, text, before + text[found.start() : end])
    if flag and tie in (Tie.WRITTEN, Tie.CERTAIN):
        tie = Tie.CERTAIN if is_prose(value) else Tie.ENV
    return _judged(promise, value, start, tie)


def _later(promise: Promise, text: str, end: int) -> Span | None:
    """Return the span of a value after some more words, if it looks unlike an identifier or a hash."""
    for form, is_secret, kind in (
        (_LATER, is_mixed, "secret"),
        (_LATER_PASSWORD, is_spoken_password, Promise.PASSWORD.value),
    ):
        match = form.match(text, end) if form is _LATER or promise is Promise.PASSWORD else None
        if match is None or _OTHER.search(text[end : match.start("bare")].lower()):
            continue
        value, start = _trimmed(match["bare"]), match.start("bare")
        if not is_placeholder(value) and is_secret(value):
            return Span(start, start + len(value), kind)
    return None


def _tied(match: re.Match[str], text: str, name: str) -> tuple[str, int, Tie]:
    """Return a value, its start, and its link to the name; `name` includes the text before it."""
    groups = match.groupdict()
    # An identifier is not an ordinary word, so the text after it is its value.
    said = Tie.SAID if groups.get("link") or _IDENTIFIER.search(name) else Tie.NEXT
    spoken = match.re in (_SPOKEN, _NEXT)
    is_joined = groups.get("separator") == "=" and text[match.start("separator") + 1] not in " \t"
    if groups.get("quoted") is not None:
        value, start = groups["quoted"], match.start("quoted")
        if spoken:
            return value, start, Tie.ENV if groups.get("link") and _VARIABLE.search(name) else said
        is_whole = _LINE_END.match(text, match.end()) is not None and _ALONE.search(name) is not None
        is_set = is_joined and (is_whole or _VARIABLE.search(name))
        return value, start, Tie.ENV if is_set or _ENVIRONMENT.search(name) else Tie.CERTAIN
    start, bare = match.start("bare"), groups["bare"]
    if is_joined and not is_call(bare):
        if _ENV.search(name):
            whole = _ENV_END.split(bare, maxsplit=1)[0]
            is_whole = _UNINDENTED.search(name) is not None and _LINE_END.match(text, start + len(whole)) is not None
            return whole, start, Tie.ENV if name[-1].isupper() or is_whole or _DEFINED.search(name) else Tie.CERTAIN
        is_quoted = text[start + len(bare) : start + len(bare) + 1] == "`" and _ALONE.search(name)
        if _VARIABLE.search(name) or _DEFINED.search(name) or is_quoted:
            return _trimmed(_ENV_END.split(bare, maxsplit=1)[0]), start, Tie.ENV
    separator = groups.get("separator")
    is_key = separator == ":" and text[start - 1] == " " and _KEY_LINE.search(name)
    is_made = separator in (":=", "?=") and _VARIABLE.search(name)
    if (is_key or is_made) and _LINE_END.match(text, match.end("bare")):
        return bare, start, Tie.ENV
    certain = match.re in (_ELEMENT, _FLAG)
    return _trimmed(bare), start, Tie.CERTAIN if certain else said if spoken else Tie.WRITTEN


def _value_before(text: str, found: re.Match[str]) -> Span | None:
    line = text[max(0, found.start() - 300) : found.start()].rpartition("\n")[2]
    if not line.endswith(" "):
        return None
    match = None
    if " as " in line or " is " in line or " was " in line:
        match = _REVERSED.search(line)
    if match is None and ("# " in line or "// " in line or "-- " in line):
        match = _COMMENTED.search(line)
    promise = promise_of(_name_of(text, found)) if match else None
    if match is None or promise is None:
        return None
    return _judged(promise, match["bare"], found.start() - len(line) + match.start("bare"), Tie.SAID)


def _trimmed(value: str) -> str:
    """Return an unquoted value without the end of its sentence, statement or query parameter."""
    value = _AFTER_VALUE.split(value, maxsplit=1)[0].rstrip("\\")
    for opening, closing in ("()", "[]", "{}"):
        while value.endswith((closing, closing + ",", closing + ".")) and value.count(opening) < value.count(closing):
            value = value.rstrip(",.")[:-1]
    return value.rstrip(".,;:")


def _judged(promise: Promise, value: str, start: int, tie: Tie) -> Span | None:
    """Return the span of the value if it is a secret, None otherwise."""
    if (promise is Promise.PASSWORD and len(value) > LONGEST_PASSWORD) or is_placeholder(value):
        return None
    certain = tie in (Tie.ENV, Tie.CERTAIN)
    if promise is Promise.LONE:
        secret, kind = is_mixed(value), "secret"
    elif promise is not Promise.PASSWORD:
        strict = tie is Tie.NEXT or promise is Promise.MAYBE
        secret, kind = is_key(value, strict=strict, quoted=certain), "secret"
        secret = secret or (tie is Tie.NEXT and promise is Promise.KEY and is_uuid(value))
    elif tie is Tie.CERTAIN and " " in value:
        secret, kind = is_phrase(value), "password"
    elif tie in (Tie.SAID, Tie.NEXT):
        # A dash begins the next option.
        secret, kind = not value.startswith("-") and is_spoken_password(value), "password"
    else:
        secret, kind = is_password(value, quoted=certain, word=tie is Tie.ENV), "password"
    return Span(start, start + len(value), kind) if secret else None


def _to_its_end(text: str, span: Span) -> Span:
    """Return the span of the whole value; the expressions match only its beginning."""
    if span.end - span.start < _LONGEST:
        return span
    rest = _REST.match(text, span.end)
    return Span(span.start, rest.end() if rest else span.end, span.kind)
