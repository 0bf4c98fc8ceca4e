"""Programs and their uses, for rules."""

from typing import Final

from learning_memory_server.rules.forms.tables import each_of, table

SHELLED: Final = frozenset(
    """
    act ag fd rg alembic ansible ansible-playbook apt apt-get autopep8 aws az bash bazel biome black brew buf bun bundle bunx
    cargo cdk cmake composer conda corepack curl cypress dart deno docker docker-compose dotnet drizzle-kit dropdb
    electron-builder elixir eslint fastlane firebase flake8 flutter fly flyctl gcc gcloud gem gh git glab go gofmt
    golangci-lint gradle gradlew gulp gunicorn helm heroku hg hugo isort java javac jest jq just karma kill killall ktlint
    kubectl lefthook lerna make mise mix mocha mongo mvn mvnw mypy mysql netlify next ng node nodemon nox npm npx nvm nx
    pdm perl php phpunit pip pip3 pipenv pipx pixi pkill playwright pnpm pnpx poe poetry pre-commit prettier prisma psql pulumi
    pyenv pylint pyright pytest python python3 rails rake redis-cli ruff rsync rspec rubocop ruby rustc rustfmt
    rustup rye sbt scp serverless sudo sls sqlite3 stylelint svn swift swiftlint systemctl task terraform tofu tox trash trash-put tsc
    tsx turbo twine ty uv uvicorn uvx vercel vite vitest wget wrangler xcodebuild yarn zig rm ts-node tap swc oxlint
    """.split()
)
"""Programs: a name in backticks is a command only if listed here. `type`, for example, may be TypeScript's."""

PLAIN: Final = frozenset(
    """
    apt-get bunx cargo conda docker-compose eslint gulp kubectl npm npx pip pip3 pipenv pipx pnpm pnpx poetry prettier
    pytest python3 sudo tsc uv uvx vitest yarn git rm virtualenv mypy flake8 terraform docker gh twine
    """.split()
)
"""Programs whose names are not ordinary words: recognized without backticks."""

BOTH: Final = PLAIN | {"bun", "jest", "python", "node", "deno", "brew", "make", "just", "rye", "pdm", "mocha", "ruff"}
"""Programs recognized without backticks when two are compared: "bun, not npm"."""

PIPED: Final = frozenset(
    "awk bash cat cp curl echo find git go grep head kill ls make mv node sed sh sort tail touch".split()
)
"""Programs with many uses: a sentence about one use does not forbid the others."""

SUBCOMMANDS: Final = frozenset(
    """
    add apply build check ci clean commit compose create deploy destroy down drop exec fmt format init install lint
    merge prune publish pull push rebase reset restore revert run stash start sync tag test typecheck uninstall up
    update upgrade upload
    """.split()
)
"""Words that may follow a program in a sentence without backticks."""

ALIASES: Final = table(pip="pip pip3", trash="trash trash-put")
"""Programs with several names."""

ELSEWHERE: Final = dict.fromkeys(("npm", "pnpm", "yarn"), ("-g", "--global"))
"""Options with which a package manager does not change the project: such a call breaks no rule about it."""

_DEPLOYS_NOT: Final = (
    "ls list inspect logs env build pull dev domains alias certs whoami projects project link help".split()
)

DRY: Final = ("--dry-run",)
"""Options with which a command does not deploy or publish."""
LOOKS: Final = {
    ("vercel",): tuple(_DEPLOYS_NOT),
    ("git", "stash"): ("list", "show"),
    ("git", "add"): ("-p", "--patch"),
    ("git", "rebase"): ("--abort", "--continue", "--show-current-patch"),
    ("gh", "pr", "merge"): ("--disable-auto",),
}
"""Words with which a command only reads, or undoes."""

RUNNERS: Final = ("npm", "pnpm", "yarn", "bun")
"""Programs that run the scripts of a package.json."""

NEED_RUN: Final = frozenset({"npm", "bun"})
"""Runners that need `run` before the name of a script."""

DEPLOYS: Final = each_of(
    """
    vercel --prod | netlify deploy --prod | netlify deploy -p | firebase deploy | fly deploy | flyctl deploy |
    wrangler deploy | wrangler publish | serverless deploy | sls deploy | cdk deploy | eb deploy |
    gcloud app deploy | gcloud run deploy | gcloud functions deploy | railway up | kamal deploy |
    cap production deploy | npm run deploy | pnpm run deploy | yarn run deploy | yarn deploy | bun run deploy |
    make deploy | just deploy
    """
)
"""Commands that deploy."""

PUBLISHES: Final = each_of(
    """
    npm publish | pnpm publish | yarn publish | yarn npm publish | bun publish | cargo publish | twine upload |
    uv publish | poetry publish | flit publish | hatch publish | gem push | dart pub publish | lerna publish
    """
)
"""Commands that publish a package."""

HARMLESS: Final = frozenset(
    tuple(each.split())
    for each in each_of("npm install | yarn install | docker run | git add | git checkout | git switch")
)
"""Commands for which a rule is usually too broad: a person may need them for other purposes."""

ONE_USE: Final = frozenset(
    "pytest tsc eslint prettier mypy pyright vitest jest flake8 pylint rspec phpunit rubocop shellcheck tox nox pre-commit gofmt".split()
)
"""Programs whose operands are files, never sub-commands."""

CHECKING: Final = frozenset("check clippy lint test typecheck vet".split())
"""Sub-commands that run checks."""

SEARCHES: Final = {"grep": ("-r", "--recursive", "-R"), "find": ("-name", "-iname", "-path", "-regex", "-type")}
"""Options with which a program with many uses searches the files of a project."""

_MANAGED: Final = tuple(
    "add adding commands dependencies dependency deps install installing manage managing management modules package packages "
    "project run running scripts".split()
)

_RUNNING: Final = tuple(
    "binaries cli command commands execute executing package packages project run running scripts tool tools".split()
)

USES: Final = (
    dict.fromkeys(("npx", "bunx", "pnpx", "uvx", "pipx"), _RUNNING)
    | dict.fromkeys(("npm", "yarn", "pnpm", "bun"), (*_MANAGED, "js", "javascript", "node"))
    | dict.fromkeys(("pip", "pip3", "poetry", "pipenv", "conda"), (*_MANAGED, "python"))
    | table(docker_compose="containers services run running commands docker")
)
"""Uses of programs: a sentence that names a use is about the whole program."""

USE_FILLERS: Final = frozenset(
    "for to when the all any and or of in this our your project repo repository node js python everything always".split()
)

_ANY_CHECKS: Final = tuple("*check* *verify* *validate* *pre-commit* *prek* ci *:ci* *ci:* all".split())

CHECKS: Final = {
    "a test run": (
        r"\btests?\b(?! (?:plan|case|file|coverage))|\btest suite\b",
        "*test* *spec* *jest* *tox* *nox* *build*",
    ),
    "a linter": (r"\blint\w*\b", "*lint* *ruff* clippy *biome* *flake8* vet *rubocop* *style* *standard*"),
    "a type check": (r"\btype[- ]?check\w*|\btypes\b", "*tsc* *type* *mypy* *pyright* *build*"),
}
"""Checks: an expression for each in sentences, and words of commands that may run it."""

CHECKED: Final = {name: (*words.split(), *_ANY_CHECKS) for name, (_, words) in CHECKS.items()}
"""All words of commands that may run a check: more words mean fewer false denials."""


INSTALLS: Final = table(
    npm="install i add ci",
    yarn="add install",
    pnpm="add install i",
    bun="add install",
    pip="install",
    pip3="install",
    poetry="add install",
    pipenv="install",
    conda="install",
)
"""The install commands of package managers."""

ADD: Final = ("git", "add")
COMMIT: Final = ("git", "commit")
PUSH: Final = ("git", "push")
CREATE: Final = ("gh", "pr", "create")
EDIT: Final = ("gh", "pr", "edit")
MERGE: Final = ("gh", "pr", "merge")
ADDS_ALL: Final = ("-A", "--all", ".", ":/")
OTHER_MERGES: Final = ("--merge", "-m", "--rebase", "-r")
"""The calls in most rules, and their words."""

ASKING: Final = {
    "push": ("git push",),
    "commit": ("git commit",),
    "merge": ("gh pr merge",),
    "deploy": DEPLOYS,
    "publish": PUBLISHES,
    "amend": ("git commit --amend",),
    "rebase": ("git rebase",),
    "pull": ("git pull",),
    "request": ("gh pr create",),
}
"""Commands for acts that need a person's permission."""

INTERPRETERS: Final = frozenset({"python", "python3", "node", "bash", "sh"})
JOINS: Final = frozenset({"or", "and", "nor", "&"})
"""Programs that run a script, and conjunctions between two commands."""
