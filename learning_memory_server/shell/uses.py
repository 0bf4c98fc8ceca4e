"""Read-only uses of programs, and programs that depend on their environment."""

from typing import Final

ONLY_LOOKS: Final = {
    "": "--help --version",
    "git": "-h",
    "git push": "--dry-run -n",
    "git commit": "--dry-run",
    "git add": "--dry-run -n",
    "git rm": "--dry-run -n",
    "git clean": "--dry-run -n",
    "npm": "-v",
    "pnpm": "-v",
    "yarn": "-v",
    "pip": "-V",
    "pip3": "-V",
    "python": "-V",
    "node": "-v",
}
"""Options with which a program only prints information."""
TELLING: Final = {
    "npm": "view v info show search whoami ping help docs config",
    "pnpm": "view info show search whoami ping help",
    "yarn": "info help why",
    "pip": "list show freeze check help debug",
    "pip3": "list show freeze check help debug",
    "git": "help",
}
"""Sub-commands that only print information."""
WRITING_TOO: Final = frozenset("set delete edit fix rm".split())
"""Operands with which such a sub-command changes something: `npm config set`."""
INTERPRETERS: Final = frozenset("python python3 node ruby perl".split())
"""Programs that may be different ones by name and in a project's environment."""
MANAGERS: Final = frozenset("npm npx pnpm pnpx yarn bun bunx pip pip3 pipenv poetry conda apt apt-get brew".split())
"""Programs that manage the packages of the machine or container on which they run."""
ENVIRONMENTS: Final = frozenset(
    ".venv venv env .env virtualenv virtualenvs .tox .nox .pyenv .conda .asdf .nvm bundle".split()
)
"""Folders of environments."""
FOLDERED: Final = frozenset("rm rmdir mv cp ln install rsync git".split())
"""Programs that also write or remove folders."""
TASKS: Final = frozenset("npm pnpm yarn bun make gmake just task mise turbo nx deno poe".split())
"""Programs that run the tasks of a project by name."""
