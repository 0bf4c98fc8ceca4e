"""Secrets in formats that vendors document, each as it would stand in a note or a command, and texts without secrets.

Written from the vendors' documentation without looking at the detectors. `<an:36>` stands for 36 random letters and
digits; what is secret stands between « and ».
"""

import random
import re
import string
from typing import Final

_ALPHABETS: Final = {
    "an": string.ascii_letters + string.digits,
    "al": string.ascii_letters,
    "AN": string.ascii_uppercase + string.digits,
    "ln": string.ascii_lowercase + string.digits,
    "hex": "0123456789abcdef",
    "d": string.digits,
    "url": string.ascii_letters + string.digits + "_-",
    "b64": string.ascii_letters + string.digits + "+/",
    "b32": string.ascii_uppercase + "234567",
    "bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}

SECRETS: Final = """
git clone works with «ghp_<an:36>» as the password
export GH_TOKEN=«gho_<an:36>»
the Actions run printed «ghs_<an:36>»
use the fine-grained token «github_pat_<an:22>_<an:59>» instead
curl --header "PRIVATE-TOKEN: «glpat-<url:20>»" https://gitlab.example.com/api/v4/projects
gitlab-runner register --token «glrt-<url:20>»
deploy token: «gldt-<url:20>»
SLACK_BOT_TOKEN=«xoxb-<d:12>-<d:13>-<an:24>»
socket mode needs «xapp-1-A<AN:10>-<d:13>-<hex:64>»
posted to https://hooks.slack.com/services/«T<AN:10>/B<AN:10>/<an:24>»
stripe.api_key = "«sk_live_<an:24>»"
restricted key «rk_live_<an:24>» has no access to refunds
the signing secret is «whsec_<an:32>»
aws_secret_access_key = «<b64:40>»
AWS_ACCESS_KEY_ID=«AKIA<b32:16>»
temporary credentials «ASIA<b32:16>» had expired
maps key=«AIza<url:35>» is over quota
client secret «GOCSPX-<url:28>» belongs to the old project
Authorization: Bearer «ya29.a0<url:100>»
OPENAI_API_KEY=«sk-proj-<url:74>T3BlbkFJ<url:74>»
the old key «sk-<an:20>T3BlbkFJ<an:20>» was revoked
with «sk-ant-api03-<url:93>AA» it answers
admin key «sk-ant-admin01-<url:93>AA»
huggingface-cli login --token «hf_<al:34>»
REPLICATE_API_TOKEN=«r8_<an:37>»
groq: «gsk_<an:52>»
perplexity wants «pplx-<an:48>»
grok key «xai-<an:80>»
openrouter «sk-or-v1-<hex:64>» works
together.ai «tgp_v1_<url:43>»
nvidia «nvapi-<url:64>»
cerebras «csk-<ln:48>»
fireworks key «fw_<an:24>»
elevenlabs «sk_<hex:48>»
LANGSMITH_API_KEY=«lsv2_pt_<hex:32>_<hex:10>»
pinecone «pcsk_<an:6>_<an:63>»
tavily: «tvly-dev-<an:32>»
firecrawl «fc-<hex:32>»
wandb login «<hex:40>»
//registry.npmjs.org/:_authToken=«npm_<an:36>»
twine upload -u __token__ -p «pypi-AgEIcHlwaS5vcmc<url:120>»
gem push with «rubygems_<hex:48>»
cargo login «cio<an:32>»
docker login -u me -p «dckr_pat_<url:27>»
nuget push --api-key «oy2<ln:43>»
clojars deploy token «CLOJARS_<hex:60>»
doctl auth init -t «dop_v1_<hex:64>»
refresh token «dor_v1_<hex:64>»
SENDGRID_API_KEY=«SG.<url:22>.<url:43>»
mailgun: «key-<hex:32>»
mailchimp key «<hex:32>-us12»
brevo «xkeysib-<hex:64>-<an:16>»
resend key «re_<an:8>_<an:24>»
POSTMARK_SERVER_TOKEN=«<hex:8>-<hex:4>-4<hex:3>-a<hex:3>-<hex:12>»
twilio auth_token=«<hex:32>»
twilio key «SK<hex:32>»
shopify «shpat_<hex:32>»
shared secret «shpss_<hex:32>»
square «sq0atp-<url:22>»
square secret «sq0csp-<url:43>»
square «EAAA<url:60>»
paypal client_secret=«E<url:79>»
plaid «access-production-<hex:8>-<hex:4>-4<hex:3>-a<hex:3>-<hex:12>»
flutterwave «FLWSECK-<hex:32>-X»
easypost «EZAK<an:54>»
shippo «shippo_live_<hex:40>»
lob «live_<hex:35>»
duffel «duffel_live_<url:43>»
facebook token «EAACEdEose0cBA<an:150>»
discord bot token «MTA<an:21>.G<url:5>.<url:38>»
telegram «<d:10>:AA<url:33>»
dynatrace «dt0c01.<AN:24>.<AN:64>»
new relic «NRAK-<AN:27>»
grafana «glsa_<an:32>_<hex:8>»
grafana cloud «glc_eyJvIjoi<an:80>»
datadog DD_API_KEY=«<hex:32>»
sentry «sntryu_<hex:64>»
sentry-cli --auth-token «sntrys_eyJpYXQi<an:90>_<b64:43>»
posthog personal key «phx_<an:43>»
honeycomb x-honeycomb-team: «<an:22>»
vault login «hvs.<url:24>»
VAULT_TOKEN=«hvs.CAESI<url:90>»
vault batch «hvb.AAAAAQ<url:130>»
terraform cloud «<an:14>.atlasv1.<url:67>»
pulumi «pul-<hex:40>»
doppler «dp.pt.<an:43>»
doppler service «dp.st.prd.<an:43>»
OP_SERVICE_ACCOUNT_TOKEN=«ops_eyJzaWduSW5BZGRyZXNzIjoi<url:200>»
1password secret key «A3-<AN:6>-<AN:6>-<AN:5>-<AN:5>-<AN:5>-<AN:5>»
age identity «AGE-SECRET-KEY-1<bech:58>»
linear «lin_api_<an:40>»
notion «ntn_<d:11><an:35>»
notion integration «secret_<an:43>»
figma «figd_<url:40>»
atlassian «ATATT3xFfGF0<url:171>=<AN:8>»
bitbucket app password «ATBB<an:32>»
airtable «pat<an:14>.<hex:64>»
asana «1/<d:16>:<hex:32>»
typeform «tfp_<url:44>_<an:14>»
contentful «CFPAT-<url:43>»
mapbox «sk.eyJ1Ijoi<an:60>.<url:22>»
hubspot «pat-na1-<hex:8>-<hex:4>-4<hex:3>-a<hex:3>-<hex:12>»
dropbox «sl.B<url:135>»
readme.io «rdme_<ln:70>»
frame.io «fio-u-<url:64>»
databricks «dapi<hex:32>»
postman «PMAK-<hex:24>-<hex:34>»
supabase «sbp_<hex:40>»
supabase «sb_secret_<url:31>»
planetscale «pscale_tkn_<url:43>»
planetscale password «pscale_pw_<url:43>»
neon «napi_<ln:64>»
fly «FlyV1 fm2_<b64:120>»
render «rnd_<an:28>»
vercel blob «vercel_blob_rw_<an:16>_<an:30>»
netlify «nfp_<an:36>»
heroku «HRKU-AA<url:58>»
cloudflare origin «v1.0-<hex:24>-<hex:146>»
CLOUDFLARE_API_TOKEN=«<url:40>»
circleci «CCIPAT_<an:22>_<hex:40>»
buildkite «bkua_<hex:40>»
launchdarkly «api-<hex:8>-<hex:4>-4<hex:3>-a<hex:3>-<hex:12>»
sourcegraph «sgp_<hex:16>_<hex:40>»
sonar.token=«squ_<hex:40>»
artifactory «AKCp<an:69>»
prefect «pnu_<an:36>»
rootly «rootly_<hex:64>»
harness «pat.<url:22>.<hex:24>.<an:20>»
scalingo «tk-us-<url:48>»
tailscale up --authkey «tskey-auth-<an:16>-<an:32>»
oc login --token=«sha256~<url:43>»
scaleway SCW_SECRET_KEY=«<hex:8>-<hex:4>-4<hex:3>-a<hex:3>-<hex:12>»
alibaba «LTAI<an:20>» with its secret
yandex «AQVN<url:36>»
maxmind «<an:6>_<an:29>_mmk»
octopus «API-<AN:26>»
azure AccountKey=«<b64:86>==»;EndpointSuffix=core.windows.net
azure client secret «<an:3>8Q~<url:34>»
https://a.blob.core.windows.net/c?sv=2024-11-04&sig=«<an:41>%2B<an:2>%3D»
az devops login with «<ln:76>AZDO<an:4>»
Authorization: Bearer «eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI<an:40>.<url:43>»
psql postgres://app:«<an:14>»@db.internal:5432/app
mongosh "mongodb+srv://app:«<an:14>»@cluster0.example.mongodb.net"
redis-cli -u redis://:«<an:16>»@cache:6379
git push https://me:«<an:20>»@git.example.com/r.git
mysql -u root -p«<an:12>» shop
PGPASSWORD=«<an:12>» psql -h db
sshpass -p «<an:12>» ssh host
curl -u admin:«<an:12>» https://host
db.internal:5432:shop:app:«<an:14>»
mongosh -u app -p «<an:12>»
gh secret set TOKEN --body «<an:24>»
rclone obscure «<an:12>»
openssl pkcs12 -in a.p12 -passin pass:«<an:12>»
keytool -list -keystore k.jks -storepass «<an:12>»
7z x -p«<an:12>» backup.7z
unzip -P «<an:12>» backup.zip
echo «<an:12>» | sudo -S systemctl restart nginx
htpasswd -b .htpasswd admin «<an:12>»
ldapsearch -D cn=admin -w «<an:12>» -b dc=x
smbclient -U bob%«<an:12>» //host/share
rabbitmqctl add_user app «<an:14>»
ipmitool -U admin -P «<an:12>» power status
snmpget -v3 -u bob -A «<an:12>» host
kubectl create secret generic db --from-literal=password=«<an:14>»
helm upgrade app . --set db.password=«<an:14>»
heroku config:set SECRET_KEY=«<an:32>»
nmcli dev wifi connect home password «<an:12>»
gpg --batch --passphrase «<an:12>» -d a.gpg
mosquitto_pub -u bob -P «<an:12>» -t x -m y
sqlcmd -S db -U sa -P «<an:12>»
xfreerdp /u:bob /p:«<an:12>» /v:host
redis-cli -a «<an:16>» ping
wget --user=bob --password=«<an:12>» https://host/f
echo "root:«<an:12>»" | chpasswd
machine api.example.com login bob password «<an:14>»
ssh-keygen -t ed25519 -N «<an:12>» -f key
cqlsh -u cassandra -p «<an:12>»
clickhouse-client --password «<an:12>»
vault kv put secret/db password=«<an:14>»
az login --service-principal -u app -p «<an:32>» --tenant t
""".strip().splitlines()

OTHERS: Final = """
the fix is in commit <hex:40>
git revert <hex:40> and push
image digest sha256:<hex:64> is pinned
sha256sum of the file: <hex:64>
"integrity": "sha512-<b64:86>=="
h1:<b64:43>= github.com/pkg/errors v0.9.1
run id <d:11> failed, job <d:11> passed
trace_id=<hex:32> span_id=<hex:16>
request req_<an:24> took 3 s
the thread thread_<an:24> is locked
customer cus_<an:14> has no invoice in_<an:24>
price_<an:24> is archived
payment intent pi_<an:24> succeeded
entry ghap_20261121_225548_<hex:6> is open
uuid <hex:8>-<hex:4>-4<hex:3>-a<hex:3>-<hex:12> is not in the table
publishable key pk_live_<an:24> is in the page
docker build -t app:<hex:12> .
kubectl get pod web-<hex:10>-<ln:5>
arn:aws:iam::<d:12>:role/deploy
bucket s3://logs-<d:12>-eu-west-1/2026/11
ami-<hex:17> boots, i-<hex:17> does not
https://example.com/a/b?utm_source=<an:12>&page=2
ETag: W/"<hex:32>"
the cache key is npm-<hex:64>
chunk main.<hex:8>.js is 3 MB
the migration is 20261121_add_password_column.py
class PasswordResetTokenGenerator: pass
def test_token_is_refreshed_before_it_expires(): ...
password = os.environ["DB_PASSWORD"]
password: ${{ secrets.DB_PASSWORD }}
token = get_token(request)
api_key=YOUR_API_KEY
export TOKEN=<your-token-here>
mysql -u root -p shop
psql -h db -U app shop
ssh -p 2222 host
docker run -p 8080:80 nginx
mkdir -p build/output/docs
tar -xzpf archive.tar.gz
grep -P 'password=\\w+' file
curl -u "$USER:$PASS" https://host
git clone https://github.com/acme/shop.git
postgres://app@localhost:5432/app
redis://cache:6379/0
amqp://guest:guest@localhost
mongodb://user:password@host is the example from the docs
--passphrase-file /run/secrets/pass
gpg --list-secret-keys --keyid-format long
ssh-keygen -t ed25519 -f key -C me@example.com
openssl rand -hex 32
echo hello | sudo tee /etc/motd
7z x backup.7z -oout
unzip -p backup.zip file.txt
zip -r out.zip src -x node_modules
cp -p a b && install -m 600 c d
pytest -p no:cacheprovider tests/test_password.py
twine check dist/*
vault login -method=oidc
vault kv get secret/db
kubectl create secret generic db --from-file=pw.txt
the secret is rotated every 90 days
the token bucket holds 100 tokens
authentication failed: bad password for user app
the tokenizer returns 512 tokens
key=value pairs are separated by semicolons
primary_key=True, foreign_key=orders.id
public_key_path=~/.ssh/id_ed25519.pub
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA<b64:44> me@host
SHA256:<b64:43> is the host's fingerprint
-----BEGIN PUBLIC KEY-----
-----BEGIN CERTIFICATE-----
data:image/png;base64,iVBORw0KGgo<b64:60>
color #<hex:6> and #<hex:8>
MAC <hex:2>:<hex:2>:<hex:2>:<hex:2>:<hex:2>:<hex:2>
2001:db8:<hex:4>:<hex:4>::1
version 1.2.3-beta.4+<hex:7>
session lasts 3600 s, cookie SameSite=Lax
X-Request-Id: <hex:8>-<hex:4>-4<hex:3>-a<hex:3>-<hex:12>
Idempotency-Key: <hex:8>-<hex:4>-4<hex:3>-a<hex:3>-<hex:12>
conversation chatcmpl-<an:29> used 80 tokens
message msg_<an:24> with toolu_<an:24>
file-<an:24> was uploaded to vs_<an:24>
asst_<an:24> answered in run_<an:24>
model-00001-of-00004.safetensors
sentence-transformers/all-MiniLM-L6-v2
tmp/pytest-of-me/pytest-<d:3>/test_login0
node_modules/.pnpm/react@18.2.0_<hex:8>/node_modules
.terraform/providers/registry.terraform.io/hashicorp/aws/5.31.0
s3_key = reports/2026/11/<hex:8>.csv
next_page_token=<b64:24>
cursor=<b64:32>
https://sentry.io/organizations/acme/issues/<d:10>/
https://<hex:32>@o<d:6>.ingest.sentry.io/<d:7>
G-<AN:10> and UA-<d:8>-1
analytics writeKey is public: phc_<an:43>
sitekey 6Lc<url:37>
app_id=<d:15>
client_id=<hex:20>
Iv1.<hex:16> is the GitHub app's client id
<d:12>-<ln:32>.apps.googleusercontent.com
projects/acme-<d:6>/secrets/db/versions/3
secretsmanager:GetSecretValue is denied
kms key/<hex:8>-<hex:4>-4<hex:3>-a<hex:3>-<hex:12>
error code E<d:5>, ticket ABC-<d:4>
tel. +49 30 <d:8>, order <d:10>
the ISBN is 978-3-16-148410-0
at com.acme.auth.TokenService.refresh(TokenService.java:<d:3>)
File "/app/auth/password.py", line <d:2>, in check
0x<hex:16> in malloc ()
segfault at <hex:16> ip 00007f<hex:10>
Build-Id: <hex:40>
etcd member <hex:16> is unhealthy
raft index=<d:8> term=<d:3>
block <hex:64> of the chain
tx 0x<hex:64> is pending
contract 0x<hex:40>
ipfs://Qm<an:44>
magnet:?xt=urn:btih:<hex:40>
torrent <b32:32>
CID bafybei<ln:52>
nix store /nix/store/<ln:32>-openssl-3.0.12
conda env py311_<hex:8>_0
wheel betterleaks_py-2.0.0-cp311-cp311-manylinux_2_28_x86_64.whl
CVE-2024-<d:5> is fixed
JIRA-<d:4>: rotate passwords
password_hash column is varchar(255)
the passwords table has 3 rows
token_type=bearer expires_in=3600
grant_type=client_credentials&scope=read
Authorization: Bearer $TOKEN
Authorization: Basic ${AUTH}
Cookie: theme=dark
X-Api-Key: {{api_key}}
secretName: tls-example
secretKeyRef: {name: db, key: password}
imagePullSecrets: [{name: regcred}]
serviceAccountName: token-reviewer
AWS_PROFILE=prod AWS_REGION=eu-west-1
GITHUB_TOKEN is not set
npm ERR! 401 Unauthorized - you need to log in
hunspell -d de_DE passwords.txt
it returned password_reset_required
auth.test.ts > logs in with a valid token
max_tokens=4096, temperature=0.2
pad_token_id=50256 eos_token_id=50256
csrf middleware token is missing
keyboard layout de, passphrase prompt hidden
two-factor codes have 6 digits
ssh -i ~/.ssh/id_rsa -o StrictHostKeyChecking=no host
the key rotation took 3 minutes
PRIMARY KEY (id), KEY idx_user (user_id)
Access-Control-Allow-Headers: authorization, x-api-key
""".strip().splitlines()


def made(line: str, seed: int) -> tuple[str, list[str]]:
    """Return a line with random characters in place of `<an:36>`, and its secrets."""
    chance = random.Random(seed)  # noqa: S311 - not for a secret
    text = re.sub(
        r"<(\w+):(\d+)>",
        lambda found: "".join(chance.choices(_ALPHABETS[found[1]], k=int(found[2]))),
        line,
    )
    return re.sub("[«»]", "", text), re.findall("«(.*?)»", text)
