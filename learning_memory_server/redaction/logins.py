"""Passwords and keys in the input of programs and servers: URLs, headers, connection strings, commands, files."""

import re
from typing import Final

from learning_memory_server.redaction.forms import Form, anywhere, decoded
from learning_memory_server.redaction.values import (
    is_key,
    is_mixed,
    is_password,
    is_phrase,
    is_placeholder,
    is_random,
    is_real_token,
    is_spoken_password,
    is_uuid,
)


def _is_real_value(value: str) -> bool:
    return not is_placeholder(value)


def _is_real(value: str) -> bool:
    return not is_placeholder(value) and not value.isdigit()


def _is_pair(value: str) -> bool:
    # `user:password`, in the encoding of HTTP and Docker.
    pair = decoded(value)
    return b":" in pair and all(32 <= byte < 127 for byte in pair)


def _is_url_user(value: str) -> bool:
    return is_real_token(value) and (is_random(value) or is_uuid(value)) and not re.fullmatch(r"[0-9a-f]{20,31}", value)


def _is_argument(value: str) -> bool:
    # A word may belong to the sentence about the command, and a number may be a port.
    is_word = value.isalpha() and not is_random(value)
    return not (is_placeholder(value) or is_word or re.fullmatch(r"[\d.:]+", value))


def _pgpass(port: str, first: str) -> str:
    """Return an expression for a .pgpass line; names of databases and users begin with `first`."""
    name = rf"[{first}*](?:[\w.@-]|\\[:\\]){{0,62}}"
    return (
        rf"(?<=[\w.*\]-]):(?:{port}):{name}:{name}:(?P<secret>(?!\*)(?:[^\s:\\]|\\[:\\]){{4,128}}?)"
        r"(?=[\"'`]?(?:\s|\\[nr]|$))"
    )


def _is_session(value: str) -> bool:
    return not is_placeholder(value) and (is_random(value) or is_uuid(value))


LOGINS: Final[tuple[Form, ...]] = (
    anywhere(
        "url password", "://", r"://[^\s:/@?#\"'<>`]{0,128}+:(?P<secret>[^\s/:\"'<>`]{1,256})@(?=[\w\[$({-])", _is_real
    ),
    anywhere("url token", "://", r"://(?P<secret>[\w.~%-]{20,256}+)@", _is_url_user),
    Form(
        "authorization",
        "authorization",
        r"(?i)authorization[\"'\]]{0,3}\s{0,3}(?:[:=,]|=>)\s{0,3}[\"'`]?(?:[A-Za-z]{3,12}[ \t]{1,3})?"
        r"(?P<secret>[\w.~+/=:-]{8,})",
        lambda value: not is_placeholder(value) and (is_random(value) or _is_pair(value) or is_uuid(value)),
    ),
    Form("authorization", "bearer", r"(?i)bearer[\"']?[ =:,]{1,3}[\"']?(?P<secret>[\w.~+/=-]{16,})", _is_session),
    Form(
        "authorization",
        "x-honeycomb-team",
        r"(?i)x-honeycomb-team[\"']?[ =:,]{1,3}[\"']?(?P<secret>\w{22,64})",
        _is_session,
    ),
    Form("authorization", "basic ", r"(?i)basic (?P<secret>[\w+/-]{8,}={0,2})", _is_pair),
    anywhere(
        "docker login", "auth", r"\"auth\\?\"\s{0,4}:\s{0,4}\\?\"(?P<secret>[A-Za-z0-9+/]{8,}={0,2})\\?\"", _is_pair
    ),
    anywhere(
        "connection string key",
        "accountkey=|accesskey=|secretvalue=|;secret=",
        r"(?i)(?:AccountKey|AccessKey|SharedSecretValue|;Secret)=(?P<secret>[A-Za-z0-9+/]{20,}={0,2})",
    ),
    Form(
        "connection string password",
        "password=|pwd=|password =|pwd =",
        r"(?i)(?:password|pwd)\s?=\s?(?P<secret>'[^'\n]{1,128}'|\"[^\"\n]{1,128}\"|[^;\s\"'<>]{1,128})(?=;)",
        lambda value: not is_placeholder(value.strip("\"'")) and "(" not in value,
        near=r"(?:server|data source|host|database|initial catalog|user ?id|uid|user(?:name)?|driver|address)\s?=",
    ),
    Form(
        "url password",
        "jdbc:oracle|sqlplus",
        r"(?i)(?:jdbc:oracle:\w{1,8}:|sqlplus(?: -\w+){0,4} )[\w$#]{1,64}/(?P<secret>[^\s@/\"']{4,128})@",
        _is_real_value,
    ),
    anywhere(
        "session cookie",
        "cookie| -b |sessid|sessionid|connect.sid|path=/|httponly",
        r"(?i)(?:sess|sid|auth|login|remember|identity)[\w.-]{0,40}+[\"'\]]{0,2}(?:,\s{0,4}[\"']value[\"'])?\s{0,2}[=:]\s{0,2}[\"']?"
        r"(?P<secret>[\w%.:|+/=~-]{16,4000}+)",
        _is_session,
        near=r"cookie|\s-b\s|path=/|httponly|phpsessid|jsessionid|connect\.sid|asp\.net_sessionid",
    ),
    anywhere(
        # A line of htpasswd or shadow. A hash without a user is kept: it may be an example of a format.
        "password hash",
        "$2|$apr1$|$6$|$5$|$1$|$y$|sha}|$argon2",
        r"(?:^|(?<=[\s\"'`]))[A-Za-z][\w.@-]{0,63}:(?P<secret>(?:\$(?:2[abxy]|apr1|argon2id?|[1567y])\$|\{S?SHA\d{0,3}\})"
        r"[\w./$,=+*-]{16,256})",
    ),
    anywhere(
        "url token",
        "key=|code=|auth=|ticket=|otp=",
        r"(?<=[?&])(?:key|code|auth|ticket|otp)=(?P<secret>[\w.%~+/=-]{24,2000}+)",
        lambda value: is_real_token(value) and is_key(value, strict=True),
    ),
    anywhere(
        "url token",
        "reset|verify|magic|invit|activat|confirm",
        r"/(?:(?:password-?)?reset(?:-?password)?|verify(?:-e?-?mail)?|magic(?:-?link)?|invit(?:e|ation)s?|activat(?:e|ion)|confirm(?:-email)?)"
        r"/(?P<secret>[\w.=-]{20,400}+)(?![\w/])",
        is_mixed,
    ),
    anywhere(
        "password",
        "insert into",
        r"(?<=[(, ])'(?P<secret>[^'\n]{6,128})'(?=\s{0,2}[,)])",
        lambda value: not is_placeholder(value) and is_spoken_password(value),
        near=r"insert into[^;]{1,160}(?:passw|pwd|secret|token|api_?key)[^;]{0,80}values",
    ),
    Form(
        "password",
        "securestring",
        r"(?i)ConvertTo-SecureString(?: -String)? {1,2}(?P<quote>[\"']?)(?P<secret>[^\s\"'|;/]{4,128})",
        lambda value: not is_placeholder(value) and not value.isalpha(),
    ),
    anywhere(
        # A client whose only argument is its key.
        "secret",
        "client(|api(|sdk(|auth(|login(|client::new(|fernet(",
        r"(?i)(?:client|api|sdk|auth|login|fernet)(?:::new)?\(\s{0,2}b?(?P<quote>[\"'])(?P<secret>[\w-]{24,200}={0,2})(?P=quote)",
        is_mixed,
    ),
    Form(
        "secret",
        "jwt.|hmac.new(|createhmac(",
        r"(?i)(?:jwt\.(?:sign|verify|encode|decode)\([^,()\n]{1,120},|hmac\.new\(|createHmac\([\"']\w{1,16}[\"'],)"
        r"\s{0,4}b?(?P<quote>[\"'])(?P<secret>[^\"'\s]{8,256})(?P=quote)",
        lambda value: not is_placeholder(value) and (is_key(value, strict=False) or is_spoken_password(value)),
    ),
    Form(
        "secret",
        " auth| login ",
        r"(?:snyk|vault|netlify|ngrok|wandb|huggingface-cli|hf|railway|vercel|fly(?:ctl)?|doctl|supabase|glab|sentry-cli|cargo|npm|doppler"
        r"|pulumi|turso|replicate|modal|stripe|render|neon)(?: config)? (?:auth|login|authtoken|add-authtoken)(?: --?[\w-]{1,20}){0,2}[ =]"
        r"(?P<secret>[\w.-]{20,300}+)(?![\w/])",
        lambda value: is_real_token(value) and (is_random(value) or is_uuid(value)),
    ),
    anywhere("secret", "$(echo ", r"\$\(echo (?:-n )?[\"']?(?P<secret>[\w+/=-]{20,400}+)[\"')]", is_mixed),
    Form(
        "recovery code",
        "recovery code|backup code|scratch code|emergency code|2fa code|mfa code",
        r"(?i)(?:recovery|backup|scratch|emergency|[2m]fa) codes?[\"'`]?(?: (?:is|are|was|were))?[\s:=,(\"'`-]{1,5}"
        r"(?P<secret>[0-9a-z]{4,10}(?:-[0-9a-z]{4,10}){1,4}(?:[,;\s]{1,3}[0-9a-z]{4,10}(?:-[0-9a-z]{4,10}){1,4}){0,20}+)",
        lambda value: all(re.search(r"\d", code) for code in value.split()),
    ),
    Form(
        "seed phrase",
        "mnemonic|seed|recovery phrase|secret phrase",
        r"(?i)(?:mnemonic|(?:seed|recovery|secret) (?:phrase|words))[\"'`]?(?: (?:is|was|of))?[\s:=,(\"'`]{1,5}"
        r"(?P<secret>[a-z]{3,8}(?: [a-z]{3,8}){11,23}+)",
        is_phrase,
    ),
    anywhere("signature", "sig=", r"(?<=[?&;])sig=(?P<secret>[\w%/+=-]{24,})"),
    anywhere(
        "signature",
        "signature=|security-token=",
        r"(?i)(?<=[?&])(?:X-(?:Amz|Goog)-(?:Signature|Security-Token)|Signature)=(?P<secret>[\w%/+=-]{24,})",
    ),
    Form(
        "netrc password",
        "password",
        r"login\s{1,8}\S{1,128}\s{1,8}password\s{1,8}(?P<secret>\S{1,256})",
        _is_real_value,
    ),
    anywhere("pgpass password", ":543|:643|:*:", _pgpass(r"54[34]\d|643\d|\*", r"\w"), _is_real_value),
    anywhere("pgpass password", ":", _pgpass(r"\d{3,5}", "A-Za-z_"), is_spoken_password),
    anywhere(
        "command line password",
        "curl|wget|http",
        r"\s(?:-u|--user|--proxy-user)[ =]{1,3}[\"']?[\w.@%+-]{1,128}:(?P<secret>[^\s\"':]{1,256})",
        _is_real_value,
    ),
    Form(
        "command line password",
        "sudo ",
        r"sudo -S[^\n|]{0,80}?<<< {1,2}(?P<quote>[\"']?)(?P<secret>[^\s\"'|;]{4,128})",
        _is_real,
    ),
    Form(
        "command line password",
        "mongo|gh secret set|rclone obscure",
        r"\b(?:mongo(?:sh|dump|restore|export|import|stat|top|files)?(?=\s)[^\n|;&]{0,200}?\s-p[ =]{0,2}"
        r"|gh secret set[^\n|;&]{0,200}?\s(?:--body|-b|<<<)[ =]{0,2}|rclone obscure {1,2})(?P<quote>[\"'])?"
        r"(?P<secret>(?(quote)[^\"'\n]{4,400}|[^\s\"'|;()-][^\s\"'|;()]{3,400}))",
        _is_argument,
    ),
    anywhere(
        "command line password",
        "pass:",
        r"-pass(?:in|out|word)?[ =]\"?pass:(?P<secret>[^\s\"']{1,256})",
        _is_real_value,
    ),
    Form(
        "command line password",
        "--password-stdin|gh secret set|rclone obscure -",
        r"\b(?:echo|printf|<<<) (?:-n |%s )?[\"']?(?P<secret>[^\s\"'|]{4,256})[\"']?[ |][^\n]{1,200}"
        r"(?:--password-stdin|gh secret set|rclone obscure -)",
        _is_real_value,
    ),
    Form(
        "password",
        "identified ",
        r"(?i)identified (?:with [\w'\"]{1,64} )?(?:by|as) (?:password )?(?P<quote>['\"])(?P<secret>[^'\"\n]{1,256})(?P=quote)",
        _is_real_value,
    ),
    anywhere(
        # A user and a password as arguments; a realm and a host may come first.
        "password",
        "auth|login|connection(|credential|pdo(",
        r"(?i)(?:(?:getConnection|PDO)\([^()\n]{1,200}?,|(?:auth|login|authenticate|authentication|credentials?)(?:::new|\.of)?[\"']?\s{0,2}[=:]?\s{0,2}\()"
        r"\s{0,4}(?:(?P<quote>[\"'])[^\"'\n]{1,64}(?P=quote)\s{0,2},\s{0,2}){1,3}(?P=quote)(?P<secret>[^\"'\n]{4,128})(?P=quote)",
        lambda value: not is_placeholder(value) and is_password(value, quoted=True),
    ),
    Form(
        "password",
        "credentials|creds|login|log in",
        r"(?i)(?:credentials|creds|log ?in)(?: are| is|:| with| as| =)? {1,2}[\"'`]?[\w.@+-]{1,64}[\"'`]? ?[/:|] ?[\"'`]?"
        r"(?P<secret>[^\s\"'`/][^\s\"'`]{5,128})",
        lambda value: not is_placeholder(value) and is_spoken_password(value.rstrip(".,;")),
    ),
)
