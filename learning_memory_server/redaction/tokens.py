"""Forms of secrets: tokens with a vendor's published prefix, and keys recognized by shape or context."""

import re
from typing import Final

from learning_memory_server.redaction.forms import Form, anywhere, decoded, token
from learning_memory_server.redaction.values import has_all_sorts, is_random, is_real_token

_WORD = r"[0-9A-Za-z]"
_URL = r"[\w-]"
_HEX = r"[0-9a-fA-F]"
_END = r"(?![0-9A-Za-z])"  # After a fixed length: longer strings are something else

SHORTEST: Final = 18  # Length of the shortest token in the table, verified by tests

TOKENS: Final[tuple[Form, ...]] = (
    # Clouds.
    # The id of a key pair. It is not secret, but scanners for leaked secrets search for it.
    token("aws access key", "AKIA ASIA ABIA ACCA", rf"[A-Z2-7]{{16}}{_END}"),
    token("aws access key", "A3T", rf"[A-Z0-9]{{17}}{_END}"),
    token("aws bedrock key", "ABSK", r"[A-Za-z0-9+/]{100,}={0,2}"),
    token("aws bedrock key", "bedrock-api-key-", r"[A-Za-z0-9+/]{40,}={0,2}"),
    token("google api key", "AIza", rf"{_URL}{{35}}(?![\w])"),
    token("google oauth secret", "GOCSPX-", rf"{_URL}{{28}}"),
    token("google oauth token", "ya29.", rf"{_URL}{{30,}}"),
    token("google refresh token", "1//0", rf"{_URL}{{40,}}"),
    token("google api key", "AQ.Ab8RN6", rf"{_URL}{{30,}}"),
    token("alibaba access key", "LTAI", rf"{_WORD}{{16,24}}{_END}"),
    token("tencent access key", "AKID", rf"{_WORD}{{32}}{_END}"),
    token("yandex key", "AQVN", rf"{_URL}{{35,38}}"),
    token("yandex token", "t1.", rf"{_URL}{{20,200}}\.{_URL}{{80,}}"),
    token("digitalocean key", "DO00 DO801", rf"[A-Z0-9]{{15,16}}{_END}"),
    token("digitalocean token", "dop_v1_ doo_v1_ dor_v1_", rf"{_HEX}{{64}}"),
    token("heroku key", "HRKU-", rf"{_URL}{{36,}}"),
    token("scaleway key", "SCW", rf"[A-Z0-9]{{17}}{_END}"),
    token("exoscale key", "EXO", r"[0-9a-f]{24}" + _END),
    token("fly token", "fm2_ fm1r_ fm1a_ fo1_", r"[\w+/=,-]{40,}"),
    token("cloudflare key", "v1.0-", r"[0-9a-f]{24}-[0-9a-f]{140,}"),
    token("cloudflare key", "cfut_ cfat_ cfk_", rf"{_WORD}{{40,}}"),
    token("render key", "rnd_", rf"{_WORD}{{20,}}"),
    token("netlify token", "nfp_", rf"{_WORD}{{36,}}"),
    token("vercel token", "vcp_ vca_ vcr_ vci_ vck_ vercel_blob_rw_", rf"{_URL}{{24,}}"),
    token("supabase key", "sbp_ sb_secret_", rf"{_URL}{{30,}}"),
    token("planetscale token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w.=-]{32,}"),
    token("neon key", "napi_", rf"{_WORD}{{40,}}"),
    token("mongodb atlas secret", "mdb_sa_sk_", rf"{_URL}{{30,}}"),
    # Code, packages, builds.
    token("github token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{_WORD}{{36,}}"),
    token("github token", "github_pat_", r"\w{36,}"),
    # Since 2026 with a JWT inside.
    token("github token", "ghs_", rf"\d+_eyJ{_URL}{{10,}}(?:\.{_URL}+){{2}}"),
    token(
        "gitlab token",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct-",
        r"[\w-]{20,}(?:\.[0-9a-z]{2}(?:\.?[0-9a-z]{7,9}))?",
    ),
    token("gitlab token", "GR1348941", rf"{_URL}{{20}}"),
    token("atlassian token", "ATATT3 ATCTT3 ATBB ATSTT3", r"[\w=-]{24,}"),
    token("bitbucket token", "BBDC-", r"[A-Za-z0-9+/=]{32,}"),
    token("npm token", "npm_", rf"{_WORD}{{36}}{_END}"),
    token("pypi token", "pypi-AgE pypi-AgENd", rf"{_URL}{{50,}}"),
    token("rubygems key", "rubygems_", rf"{_HEX}{{48}}"),
    token("crates token", "cio", rf"{_WORD}{{32}}{_END}"),
    token("nuget key", "oy2", rf"[0-9a-z]{{43}}{_END}"),
    token("clojars token", "CLOJARS_", rf"{_WORD}{{60}}"),
    token("docker token", "dckr_pat_ dckr_oat_", rf"{_URL}{{27,}}"),
    token("docker swarm token", "SWMTKN-1- SWMKEY-1-", r"[\w+/-]{40,}"),
    token("jfrog token", "AKCp", rf"{_WORD}{{60,}}"),
    token("jfrog token", "cmVmd", rf"{_WORD}{{59}}{_END}"),
    token("circleci token", "CCIPAT_ CCIPRJ_", rf"{_WORD}{{20,}}_[0-9a-f]{{40}}"),
    token("buildkite token", "bkua_ bkpt_ bkct_ bkaa_ bkaj_ bkar_ bkps_", rf"{_URL}{{40,}}"),
    token("sourcegraph token", "sgp_ slk_", r"[\w]{40,}"),
    token("sonar token", "squ_ sqp_ sqa_", r"[0-9a-f]{40}"),
    token("gitea token", "gta_", r"[0-9a-f]{40}"),
    token("codecov token", "codecov_", rf"{_WORD}{{30,}}"),
    token("pulumi token", "pul-", rf"[0-9a-f]{{40}}{_END}"),
    token("vault token", "hvs. hvb. hvr.", rf"{_URL}{{24,}}"),
    token("doppler token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"[\w.-]{40,}"),
    token("1password token", "ops_eyJ", r"[\w+/=-]{100,}"),
    token("1password secret key", "A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    token("infisical token", "st.", r"[0-9a-f]{24}\.[0-9a-f]{32}\.[0-9a-f]{32}"),
    token("age key", "AGE-SECRET-KEY-1 AGE-PLUGIN-", r"[0-9A-Z-]{40,}"),
    token("tailscale key", "tskey-", r"[\w-]{20,}"),
    token("harness token", "pat. sat.", rf"{_URL}{{22}}\.{_WORD}{{24}}\.{_WORD}{{20}}"),
    token("octopus key", "API-", rf"[A-Z0-9]{{25,32}}{_END}"),
    token("openshift token", "sha256~", rf"{_URL}{{43}}"),
    # Models.
    token("anthropic key", "sk-ant-", rf"{_URL}{{24,}}"),
    token("openai key", "sk-proj- sk-svcacct- sk-admin- sk-None-", rf"{_URL}{{24,}}"),
    token("openrouter key", "sk-or-", rf"{_URL}{{32,}}"),
    token("langfuse key", "sk-lf-", rf"{_URL}{{32,}}"),
    # OpenAI's first form, which DeepSeek and others share.
    token("api key", "sk-", rf"(?=[A-Za-z-]{{0,40}}\d){_WORD}{{32,}}"),
    token("hugging face token", "hf_ api_org_", rf"{_WORD}{{34}}{_END}"),
    token("replicate token", "r8_", rf"{_WORD}{{37,40}}{_END}"),
    token("groq key", "gsk_", rf"{_WORD}{{48,}}"),
    token("xai key", "xai-", rf"{_WORD}{{60,}}"),
    token("perplexity key", "pplx-", rf"{_WORD}{{40,}}"),
    token("nvidia key", "nvapi-", rf"{_URL}{{50,}}"),
    token("fireworks key", "fw_", rf"{_WORD}{{22,24}}{_END}"),
    token("together key", "tgp_v1_", rf"{_URL}{{40,}}"),
    token("pinecone key", "pcsk_", r"\w{50,}"),
    token("langsmith key", "lsv2_pt_ lsv2_sk_", r"[0-9a-f]{32}_[0-9a-f]{10}"),
    token("llama cloud key", "llx-", rf"{_WORD}{{40,}}"),
    token("cerebras key", "csk-", rf"{_WORD}{{40,}}"),
    token("elevenlabs key", "sk_", rf"[0-9a-f]{{48}}{_END}"),
    token("tavily key", "tvly-", rf"{_URL}{{28,}}"),
    token("weights and biases key", "wandb_v1_", r"\w{60,}"),
    # Payment.
    token("stripe key", "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ rk_prod_", rf"{_WORD}{{16,}}"),
    token("webhook secret", "whsec_", r"[A-Za-z0-9+/=]{24,}"),
    token("square token", "sq0atp- sq0csp- sq0idp-", rf"{_URL}{{22,}}"),
    token("square token", "EAAA", rf"{_URL}{{60}}(?![\w-])"),
    token("paypal token", "access_token$production$ access_token$sandbox$", r"[0-9a-z]{16}\$[0-9a-f]{32}"),
    token("razorpay key", "rzp_live_ rzp_test_", rf"{_WORD}{{14}}"),
    token(
        "plaid token",
        "access-sandbox- access-development- access-production-",
        r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    ),
    token("flutterwave key", "FLWSECK- FLWSECK_TEST-", rf"{_WORD}{{12,}}(?:-X)?"),
    token("paddle key", "pdl_live_apikey_ pdl_sdbx_apikey_", r"\w{40,}"),
    token("adyen key", "AQE", r"[A-Za-z0-9+/=]{80,400}+(?:-[A-Za-z0-9+/=]{40,}){1}[-\w+/=^~<>(){}\[\]]*"),
    # Messages and mail.
    token("slack token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxc- xoxd- xoxe- xoxe.xox", r"[\w%/+.-]{16,}"),
    token("slack token", "xapp-", r"\d-[A-Z0-9]+-\d+-[0-9a-f]{20,}"),
    token("twilio key", "SK", rf"[0-9a-f]{{32}}{_END}"),
    token("sendgrid key", "SG.", rf"{_URL}{{16,24}}\.{_URL}{{39,50}}"),
    token("mailgun key", "key- pubkey-", rf"[0-9a-z]{{32}}{_END}"),
    token("mailersend key", "mlsn.", rf"{_WORD}{{30,}}"),
    token("brevo key", "xkeysib- xsmtpsib-", rf"[0-9a-f]{{64}}-{_WORD}{{16}}"),
    token("resend key", "re_", rf"{_WORD}{{8}}_{_WORD}{{24}}{_END}"),
    token("facebook token", "EAA", rf"{_WORD}{{90,}}"),
    token("instagram token", "IGQV", rf"{_URL}{{80,}}"),
    token("dropbox token", "sl.u. sl.", rf"{_URL}{{100,}}"),
    # Shops, boards, documents.
    token("shopify token", "shpat_ shpca_ shppa_ shpss_ shptka_ shpua_", rf"{_HEX}{{32}}"),
    token("linear key", "lin_api_ lin_oauth_ lin_wh_", rf"{_WORD}{{32,}}"),
    token("notion token", "ntn_", rf"{_WORD}{{40,}}"),
    token("notion token", "secret_", rf"(?=[A-Za-z]{{0,40}}\d){_WORD}{{43}}{_END}"),
    token("airtable token", "pat", rf"{_WORD}{{14}}\.[0-9a-f]{{64}}"),
    token("asana token", "1/ 2/", r"\d{16}(?:/\d{16})?:[0-9a-f]{32}"),
    token("figma token", "figd_ figo_ figoh_ figor_", rf"{_URL}{{36,}}"),
    token("clickup token", "pk_", r"\d{6,9}_[0-9A-Z]{32}"),
    token("typeform token", "tfp_", r"[\w.=-]{40,}"),
    token("hubspot token", "pat-na pat-eu", r"\d-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    token("contentful token", "CFPAT-", rf"{_URL}{{43}}"),
    token("databricks token", "dapi", rf"[0-9a-f]{{32}}(?:-\d)?{_END}"),
    token("databricks token", "dose", rf"[0-9a-f]{{32}}(?:-\d)?{_END}"),
    token("mapbox token", "sk.eyJ", rf"{_URL}{{20,}}\.{_URL}{{20,}}"),
    # Monitoring.
    token("new relic key", "NRAK- NRAA- NRRA- NRSP-", r"[0-9A-Z]{26,40}"),
    token("new relic key", "NRII- NRIQ-", rf"{_URL}{{32}}"),
    token("new relic key", "NRJS-", r"[0-9a-f]{19}"),
    token("datadog key", "ddapp_ ddpat_", r"\w{30,}"),
    token("grafana token", "glsa_", rf"{_WORD}{{32}}_{_HEX}{{8}}"),
    token("grafana token", "glc_ eyJrIjoi", r"[A-Za-z0-9+/=_-]{32,}"),
    token("sentry token", "sntrys_ sntryu_ sntrya_ sntryi_", r"[\w+/=.-]{40,}"),
    token("dynatrace token", "dt0c01. dt0s16. dt0s01.", r"[0-9A-Z]{24}\.[0-9A-Z]{60,}"),
    token("postman key", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    token("posthog key", "phx_", rf"{_WORD}{{40,}}"),
    token("lob key", "live_ test_", rf"[0-9a-f]{{35}}{_END}"),
    token("launchdarkly key", "sdk- api-", r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    token("honeycomb key", "hcaik_ hcbik_ hcxik_", r"\w{50,}"),
    token("readme key", "rdme_", r"[0-9a-z]{64,}"),
    token("prefect key", "pnu_ pnb_", rf"{_WORD}{{36}}"),
    token("shippo token", "shippo_live_ shippo_test_", r"[0-9a-f]{40}"),
    token("easypost key", "EZAK EZTK", rf"{_WORD}{{54}}"),
    token("duffel token", "duffel_live_ duffel_test_", r"[\w=-]{40,}"),
    token("elastic key", "essu_", r"[\w=-]{50,}"),
    token("apify token", "apify_api_", rf"{_WORD}{{34,}}"),
    token("clickhouse key", "4b1d", rf"{_WORD}{{38}}{_END}"),
    token("infracost key", "ico-", rf"{_WORD}{{32}}{_END}"),
    token("deno token", "ddp_ ddo_", rf"{_WORD}{{36}}{_END}"),
    token("astra token", "AstraCS:", r"[\w:+/%-]{40,}"),
    token("firecrawl key", "fc-", rf"{_HEX}{{32}}{_END}"),
    token("adafruit key", "aio_", rf"{_WORD}{{28}}{_END}"),
    token("jwt", "ZXlK", r"[\w+/-]{60,}={0,2}"),  # encoded in base64 twice
    token(
        # Names may begin with these prefixes, so only a random body counts.
        "api token",
        "AIK_CI_ api_live. api_live_ca. api_live_us. apk_user_ apk_ BSA CCDB1_ cog_ dvc_server_ fio-u- "
        "gcntfy- lip_ mercury_production_ mergify_application_key_ os_v2_app_ os_v2_org_ p8e- "
        "persona_production_ pina_ polar_at_ polar_oat_ polar_pat_ prf_ rootly_ s-s4t2af- s-s4t2ud- "
        "samsara_api_ sk-api- sk_car_ sm_aat_ sm_pat_ sm_sat_ tk-us- tss_ ucat_ unkey_ vtwn_ waka_ wrka-eyJ "
        "xnd_production_ zpka_ $aact_prod_ $aact_hmlg_",
        r"[\w.+/-]{15,}={0,2}",
        lambda value: is_real_token(value) and is_random(value),
    ),
)


def _is_unknown_token(value: str) -> bool:
    body = re.split("[_-]", value)[-1]
    return is_real_token(value) and not _IDENTIFIERS.match(value) and has_all_sorts(body) and is_random(body)


_IDENTIFIERS: Final = re.compile(
    r"""(?:sha|md|blake|hash|commit|rev|git|tree|blob|img|image|layer|snapshot|digest|etag|id|run|job|req|request|trace|span|msg|evt
    |cs|pk|task|pub|public|call|toolu|build|index|chunk|main|cache|test|file|key|res|resp|cursor|page|nonce|ref|cus|acct|price|prod|inv
    |pi|pm|asst|thread|chatcmpl|ver|conv|item|node|gid)\d{0,3}[_-]""",
    re.VERBOSE,
)
"""Prefixes of public texts and of identifiers."""

SHORTEST_UNKNOWN: Final = 34  # Minimum length of unknown tokens: three characters, a separator, and at least 30 more

UNKNOWN: Final[tuple[Form, ...]] = (
    Form(
        # Identifiers of this form are shorter. A value assigned to a token's name is judged by the name.
        "token",
        "_|-",
        r"(?<![\w/.-])(?<!cursor=)(?<!oken=)(?:"
        r"(?:[a-z][0-9a-z]{2,11}|[a-z]{2}[_-][a-z]{2,8}|[A-Z]{3,8})[_-](?:(?:[a-z]{2,8}\d?|v\d)[_-]){0,3}[0-9A-Za-z]{30,200}+"
        r"|[a-z]{2}_[0-9A-Za-z]{36,200}+)(?![\w-])",
        _is_unknown_token,
    ),
    Form(
        # The same with hexadecimal digits, which may also be a hash.
        "token",
        "_",
        r"(?<![\w/.-])[a-z][0-9a-z]{1,11}_(?:[0-9a-z]{1,8}_){0,2}(?:[0-9a-f]{40}|[0-9a-f]{48}|[0-9a-f]{64})(?![\w-])",
        lambda value: is_real_token(value) and not _IDENTIFIERS.match(value),
        near=r"token|secret|credential|api[ _-]?key|auth|40[13]",
    ),
)
"""Tokens of unlisted vendors: a prefix and a random body, the form that most vendors now use."""


def _is_key_body(value: str) -> bool:
    return re.search(r"[A-Za-z0-9+/]{32}", value) is not None


def _is_aws_secret(value: str) -> bool:
    # 40 characters may also be a hash, a path or a word in camel case.
    return (
        is_real_token(value)
        and not re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", value)
        and len(set(value)) >= 16
        and has_all_sorts(value)
        and is_random(value)
    )


_HEX32: Final = r"[0-9a-f]{32}"
_UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

STRUCTURES: Final[tuple[Form, ...]] = (
    anywhere(
        "private key",
        "private key",
        # The body ends at the next row of dashes, so that many unterminated beginnings take linear time.
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----))*+-----END [A-Z0-9 ]{0,40}-----",
        _is_key_body,
    ),
    anywhere(
        # A truncated key, or one with a different end.
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
        # In a URL, it follows the word "bot".
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
    Form(
        "facebook token",
        "facebook|access_token|graph.|%7c",
        r"(?<!\d)\d{15,16}(?:\||%7C)[\w-]{27,40}(?![\w-])",
        lambda value: is_real_token(value[17:]),
    ),
    anywhere("session cookie", "_gitlab_session", r"_gitlab_session=(?P<secret>[0-9a-f]{32})"),
    Form(
        "authress key",
        ".acc_|.acc-",
        r"(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[\w+/=-]{30,120}",
    ),
    Form("discord token", "mfa.", r"mfa\.[\w-]{80,}"),
    Form("firebase key", ":apa91b", r"AAAA[\w-]{7}:APA91b[\w-]{100,}"),
    Form("mailchimp key", "-us", rf"{_HEX32}-us\d{{1,2}}(?!\w)"),
    Form("mailgun key", "-", r"(?<![0-9a-z])[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])"),
    Form("terraform token", ".atlasv1.", r"[0-9A-Za-z]{14}\.atlasv1\.[\w=-]{60,}"),
    anywhere("azure client secret", "q~", r"[\w~.]{3}[78]Q~[\w~.-]{31,34}(?![\w~])"),
    Form(
        # 64 bytes, like SHA-512: account keys of Storage, Cosmos DB, Batch.
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
        # A key without a prefix.
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
