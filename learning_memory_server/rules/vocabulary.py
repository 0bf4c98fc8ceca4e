"""The words that the forms of rules are made of, as one table."""

from typing import Final

SHELLED: Final = frozenset(
    """
    act alembic ansible ansible-playbook apt apt-get autopep8 aws az bash bazel biome black brew buf bun bundle bunx
    cargo cdk cmake composer conda corepack curl cypress dart deno docker docker-compose dotnet drizzle-kit dropdb
    electron-builder elixir eslint fastlane firebase flake8 flutter fly flyctl gcc gcloud gem gh git glab go gofmt
    golangci-lint gradle gradlew gulp gunicorn helm heroku hg hugo isort java javac jest jq just karma kill killall ktlint
    kubectl lefthook lerna make mise mix mocha mongo mvn mvnw mypy mysql netlify next ng node nodemon nox npm npx nvm nx
    pdm perl php phpunit pip pip3 pipenv pipx pixi pkill playwright pnpm pnpx poe poetry pre-commit prettier prisma psql pulumi
    pyenv pylint pyright pytest python python3 rails rake redis-cli ruff rsync rspec rubocop ruby rustc rustfmt
    rustup rye sbt scp serverless sls sqlite3 stylelint svn swift swiftlint systemctl task terraform tofu tox trash trash-put tsc
    tsx turbo twine ty uv uvicorn uvx vercel vite vitest wget wrangler xcodebuild yarn zig rm ts-node tap swc oxlint
    """.split()
)
"""Programs: a name in backticks is one of a command only if it stands here, for `type` may be TypeScript's."""

PLAIN: Final = frozenset(
    """
    apt-get bunx cargo conda docker-compose eslint gulp kubectl npm npx pip pip3 pipenv pipx pnpm pnpx poetry prettier
    pytest python3 tsc uv uvx vitest yarn git rm virtualenv mypy flake8 terraform docker gh twine
    """.split()
)
"""Programs whose names are no other word: known without backticks."""

BOTH: Final = PLAIN | {"bun", "jest", "python", "node", "deno", "brew", "make", "just", "rye", "pdm", "mocha", "ruff"}
"""Programs that are known without backticks where two are compared: "bun, not npm"."""

PIPED: Final = frozenset("awk bash cat cp curl echo find git go grep head kill ls make mv node sed sh sort tail touch".split())
"""Programs of many uses: no rule forbids all of them, whatever a sentence about one use says."""

SUBCOMMANDS: Final = frozenset(
    """
    add apply build check ci clean commit compose create deploy destroy down drop exec fmt format init install lint
    merge prune publish pull push rebase reset restore revert run stash start sync tag test typecheck uninstall up
    update upgrade upload
    """.split()
)
"""Words that may follow a program in a sentence without backticks."""

ALIASES: Final = {
    "pip": ("pip", "pip3"),
    "trash": ("trash", "trash-put"),
    "jest": ("jest",),
    "docker compose": ("docker compose",),
}
"""Programs that go by several names."""

ELSEWHERE: Final = {
    "npm": ("-g", "--global", "--version", "-v", "--help"),
    "yarn": ("--version", "-v", "--help"),
    "pnpm": ("-g", "--global", "--version", "-v", "--help"),
}
"""Words with which a package manager does not touch the project: such a call breaks no rule about it."""

OPTIONS: Final = {
    "--force": ("--force", "-f"),
    "-f": ("-f", "--force"),
    "--hard": ("--hard",),
    "--all": ("--all", "-A"),
    "-A": ("-A", "--all"),
    "-v": ("-v", "--volumes"),
    "--volumes": ("--volumes", "-v"),
    "-D": ("-D",),
}
"""Options that are the same."""

LOOKS: Final = {
    ("git", "stash"): ("list", "show"),
    ("git", "push"): ("--dry-run", "-n"),
    ("git", "commit"): ("--dry-run",),
    ("git", "add"): ("--dry-run", "-n", "-p", "--patch"),
    ("git", "clean"): ("--dry-run", "-n"),
    ("git", "rebase"): ("--abort", "--continue", "--show-current-patch"),
    ("npm", "publish"): ("--dry-run",),
    ("cargo", "publish"): ("--dry-run",),
    ("gh", "pr", "merge"): ("--disable-auto",),
}
"""Words with which a command only looks, or undoes."""

RUNNERS: Final = ("npm", "pnpm", "yarn", "bun")
"""What runs the scripts of a package.json."""

TESTED: Final = ("*test*", "*spec*", "*check*", "jest", "tox", "nox", "*verify*", "ci", "*:ci", "ci:*", "*validate*", "all")
LINTED: Final = ("*lint*", "ruff", "*check*", "clippy", "biome", "pre-commit", "flake8", "vet", "rubocop", "*style*", "standard", "*verify*", "ci", "*:ci", "ci:*", "*validate*", "all")
TYPED: Final = ("*tsc*", "*type*", "mypy", "pyright", "*check*", "ty", "*build*", "*verify*", "ci", "*:ci", "ci:*", "*validate*", "all")
"""Words of a command that may well run the tests, the linters, the type checks, whatever the project."""

LOCKS: Final = (
    "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb", "Cargo.lock",
    "poetry.lock", "uv.lock", "Pipfile.lock", "pdm.lock", "Gemfile.lock", "composer.lock", "go.sum", "flake.lock",
)
"""Lock files of package managers."""

GENERATED: Final = ("*.generated.*", "*_generated.*", "*.gen.*", "*.pb.go", "*_pb2.py", "*.g.dart", "**/__generated__/**", "**/generated/**")
"""Files whose names say that they are generated."""

SUFFIXES: Final = frozenset(
    """
    bat c cc cfg cjs conf cpp cs css csv dart db editorconfig env erb ex exs gitignore go gradle graphql h hpp html ini ipynb
    java js json json5 jsonc jsx key kt less lock lockb lua md mdx mjs mod pem php pl plist po prisma proto ps1 py pyi
    rb rs rst sass scala scss sh sql sqlite sum svelte svg swift tf tfstate tfvars toml ts tsx txt vue xml yaml yml zig
    """.split()
)
"""Ends of names of files: `request.body` is none."""

DEPLOYS: Final = (
    "vercel deploy", "netlify deploy", "firebase deploy", "fly deploy", "flyctl deploy", "wrangler deploy",
    "wrangler publish", "serverless deploy", "sls deploy", "cdk deploy", "eb deploy", "gcloud app deploy",
    "gcloud run deploy", "gcloud functions deploy", "railway up", "kamal deploy", "cap production deploy",
    "helm upgrade", "npm deploy", "pnpm deploy", "yarn deploy", "bun deploy", "make deploy", "just deploy",
)
"""Commands that deploy."""

PUBLISHES: Final = (
    "npm publish", "pnpm publish", "yarn publish", "yarn npm publish", "bun publish", "cargo publish", "twine upload", "uv publish",
    "poetry publish", "flit publish", "hatch publish", "gem push", "dart pub publish", "lerna publish",
)
"""Commands that publish a package."""

ATTRIBUTIONS: Final = (
    "Co-Authored-By: Claude", "Co-Authored-By: Anthropic", "Co-Authored-By: Copilot", "Co-Authored-By: GitHub Copilot",
    "Co-Authored-By: Cursor", "Co-Authored-By: Codex", "Co-Authored-By: Gemini", "Co-Authored-By: ChatGPT",
    "Co-Authored-By: AI", "Co-Authored-By: Aider", "Co-Authored-By: OpenAI", "Co-Authored-By: Devin",
    "noreply@anthropic.com", "cursoragent@cursor.com",
)
"""Trailers that name an AI as an author."""

MENTIONS: Final = (
    *ATTRIBUTIONS, "Generated with [Claude", "Generated with Claude", "Generated by Claude", "Claude-Session:", "claude.com/claude-code",
    "claude.ai/code", "AI-generated", "AI generated", "generated by AI", "generated with AI", "written by AI",
    "written with AI", "AI-assisted", "by Claude", "with Claude", "help of Claude", "from Claude", "via Claude",
    "by ChatGPT", "with ChatGPT", "by Copilot", "with Copilot", "by Codex", "with Codex", "by Gemini",
    "help of AI", "Anthropic's AI",
)
"""What else in a message says that an AI wrote it. `Claude` alone is no sign: CLAUDE.md is a file."""

ASKED: Final = {
    "push": ("push", "pushen", "pull request", "PR", "푸시", "推送", "プッシュ"),
    "commit": ("commit", "committe", "push", "pull request", "PR", "커밋", "푸시", "提交", "推送", "コミット"),
    "merge": ("merge", "land", "머지", "合并", "合併"),
    "deploy": ("deploy", "ship", "release", "publish", "go live", "배포", "部署", "发布"),
    "publish": ("publish", "release", "ship", "배포", "发布"),
    "request": ("pull request", "PR"),
    "force": ("force",),
    "hooks": ("no-verify", "hook", "hooks", "skip"),
}
"""Words of a prompt that asks for what is forbidden unless it is asked for."""

BRANCHES: Final = r"main|master|develop|development|dev|trunk|production|prod|staging|release/\*|release/\S+|mainline|default branch"
"""Names of branches that people protect."""

# What follows is parts of regular expressions, in which letters may be capitals.

STARTS: Final = (
    "never|no|not|don't|dont|do not|do n't|must|always|use|so|but|"
    "and (?:never|always|use|i|we|it|they|then|don't|dont|do not|do n't|no)|even|because|since|as|it|it's|they|this|that|these|i|"
    "we|you|he|she|let|tell|make sure|ask|instead|which|who|other|people|unless|except|if|when|only|just|there|every|"
    "the|nor|run|nie|niemals|kein|keine"
)
"""Words that begin a clause after a comma; what else follows a comma is one more thing in a list."""

LEADS: Final = (
    "so|and|but|please|also|you|we|agents?|ai agents?|claude|then|or|just|strictly|absolutely|again|important|critical|note|"
    "warning|nor|rule|in this (?:project|repo\\w*|codebase)|(?:when|if|whenever) (?:you )?commit\\w*"
)
"""Words before a verb that change nothing."""

NEVER: Final = (
    "(?:must |should |shall |are to |do |may |can |will )?never(?: ever)?|(?:do|must|should|shall|may|can|will) (?:absolutely )?not(?: ever)?|"
    "don't(?: ever)?|do n't|dont|mustn't|shouldn't|can't|cannot|avoid|refrain from|stop|"
    "under no circumstances(?: should you| may you| must you)?|(?:is |are )?not allowed to|"
    "it(?: is|'s) (?:strictly )?(?:forbidden|prohibited|not allowed) to"
)
"""What forbids the verb behind it."""

NOT_A_NO: Final = "longer|need|one|matter|doubt|problem|idea|more|other|only|all|every|just|necessarily|always|yet|so"
"""Words after `no` and `not` that forbid nothing."""

ADVERBS: Final = "strictly|absolutely|always|never|completely|explicitly"
OUTLAWED: Final = (
    "forbidden|prohibited|banned|not (?:allowed|acceptable|permitted|ok|okay|an option|used)|never (?:allowed|acceptable|ok|okay|an option)|"
    "unacceptable|off[- ]limits"
)
"""What forbids the noun in front of it."""

CONDITIONS: Final = (
    "unless|until|without|except|if|when|whenever|while|before|after|during|only|outside|inside|within|other than|apart from|besides|excluding|but"
)
"""Words that begin a condition."""

EXCEPTIONS: Final = (
    "(?:^|\\b)(?:unless|except\\w*|excluding|other than|apart from|until|only (?:if|when|after|with|for|on|in|allowed)|"
    "if (?:you|it|i|we|this|that)?\\s*(?:is |are |do |did )?(?:really|absolutely|must|have to|need|necessary|needed|ever|want|ask|tell|say)|"
    "when (?:necessary|needed|explicitly|asked|told|requested)|(?:where|if|when|as far as) possible|"
    "(?:is|are|'s) (?:fine|ok|okay|allowed|acceptable|permitted)|(?:fine|ok|okay|allowed|acceptable) (?:to|if|when|for|on|in)|"
    "unnecessar\\w*|needless\\w*|usually|generally|normally|try to|where appropriate|ideally|mostly)\\b"
)
"""Words that allow at times what is forbidden."""

FRAME: Final = (
    "(?:^|(?<=\\s))(?:(?:if|when(?:ever)?|while|in|for|on|before|after|to|of|from|with|by|into)\\s+(?:you\\s+(?:are\\s+)?|we\\s+)?"
    "(?:(?:the|our|all|any|your|git|a|every|making|create|creating|writing|opening|doing|new)\\s+)*"
    "(?:commits?(?: messages?)?(?: bod\\w+)?|committing|pr (?:descriptions?|bod\\w+)|prs?|pull[- ]requests?(?: descriptions?| bod\\w+)?)"
    "(?:\\s*(?:,|/|and|or|, or|, and)\\s*(?:in )?(?:commits?(?: messages?)?|prs?(?: descriptions?| bod\\w+)?|pull[- ]requests?(?: descriptions?| bod\\w+)?))*"
    "|(?:in|for|of|with|on) (?:this|the|our) (?:whole |entire )?(?:project|repo\\w*|code ?base|monorepo|workspace))(?=$|[\\s,.!;:)])"
)
"""What says only where a rule applies that applies there anyway."""

PERSON: Final = (
    "\\b(?:ask|asks|asked|asking|told|tell|tells|telling|request|requests|requested|permission|consent|instruct\\w*|say so|says so|"
    "say it|i say|go-ahead|go ahead|unprompted|explicit(?:ly)?|want (?:you|it|me)|my (?:\\w+ )?(?:ok|okay|yes|approval|confirmation|word)|approv\\w*|"
    "confirm\\w*|authoriz\\w*|authoris\\w*|sign-?off)\\b"
)
"""What says that the person has to ask for it."""

SEEN_ELSEWHERE: Final = (
    "\\b(?:tests?|testing|lint\\w*|review\\w*|ci|builds?|green|pass\\w*|secrets?|hotfix\\w*|code ?owners?|maintainers?|team|lead|colleague|"
    "someone|somebody|qa|staging|ticket|issue|coverage|approved pr|friday)\\b"
)
"""What a condition may name that no prompt says."""

ALONE: Final = "\\b(?:automatically|on your own(?: initiative)?|(?:by )?yourself|unasked|unprompted|proactively|auto-?(?=commit|push|merge|deploy))(?![\\w])"
"""What an agent does that was not asked."""

FILLERS: Final = (
    "ever|please|just|at all|under any circumstances?|for any reason(?: whatsoever)?|here|there|no matter what|not once|again|"
    "anymore|any more|anywhere|in any case|whatsoever|directly|straight|manually|by hand|under no circumstances|period|ok|in (?:this|the|our) (?:project|repo\\w*|code ?base)|"
    "the|a|an|any|anything|your|my|our|as well|too|either|also|all|everything|things?|stuff|etc|or similar"
)
"""Words in what is forbidden that change nothing."""

REASONS: Final = (
    "because|since|as (?:it|they|this|that|we|i|the)|so that|so (?:i|we|the|it|they)|to (?:avoid|keep|prevent|make sure|ensure)|it(?:'s| is| will| can| breaks| was)?|they(?:'re)?|which|otherwise|"
    "i|we|this (?:is|will|can|breaks)|that(?:'s| is| will| breaks)|for cleaner|for a cleaner|due to|thanks|why"
)
"""Words that begin a reason."""
