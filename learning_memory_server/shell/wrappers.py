"""Programs that run other commands. Programs that are missing here are parsed as written."""

from typing import Final, NamedTuple


class Wrapper(NamedTuple):
    """A program, with its sub-command, that runs the command after its own options and `skip` operands."""

    values: str = ""  # its options that take a value
    skip: int = 0
    is_text: bool = False  # the remaining words are joined, and parsed by a shell
    assigns: bool = False  # `NAME=value` may precede the command
    script: str = ""  # its options whose value a shell parses instead


_EXEC: Final = Wrapper("-w --workdir -e --env -u --user --env-file --detach-keys --index", skip=1)
_RUN: Final = Wrapper(
    f"{_EXEC.values} -v --volume -p --publish --name --network --net --entrypoint -m --memory --cpus -l --label --mount "
    "--platform -h --hostname --add-host --gpus --ipc --pull --restart --shm-size --tmpfs --ulimit --cap-add --device",
    skip=1,
)
_PACKAGE: Final = Wrapper("-p --package -c --call --node-options", script="-c --call")
_POETRY: Final = Wrapper("-C --directory -P --project -p --python -e --env --with --extra --group --env-file --package")

WRAPPERS: Final = {
    "sudo": Wrapper("-u -g -h -p -C -D -R -T -U -r -t --user --group --host --prompt --chdir --chroot", assigns=True),
    "doas": Wrapper("-u -C"),
    "env": Wrapper("-u --unset -C --chdir -P -S --split-string", assigns=True, script="-S --split-string"),
    "cross-env": Wrapper(assigns=True),
    "timeout": Wrapper("-k --kill-after -s --signal", skip=1),
    "gtimeout": Wrapper("-k --kill-after -s --signal", skip=1),
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "command": Wrapper(),
    "builtin": Wrapper(),
    "exec": Wrapper("-a"),
    "time": Wrapper("-f --format -o --output", assigns=True),
    "coproc": Wrapper(),
    "gtime": Wrapper("-f --format -o --output"),
    "nice": Wrapper("-n --adjustment"),
    "ionice": Wrapper("-c -n --class --classdata"),
    "stdbuf": Wrapper("-i -o -e --input --output --error"),
    "caffeinate": Wrapper("-t -w"),
    "busybox": Wrapper(),
    "rtk": Wrapper(),
    "nix-shell": Wrapper("-p -A --run --command", script="--run --command"),
    "script": Wrapper("-c --command", script="-c --command"),
    "strace": Wrapper("-e -o -p -s -u"),
    "xvfb-run": Wrapper("-n -s -f --server-num --server-args"),
    "flock": Wrapper("-w -E --timeout -c --command", skip=1, script="-c --command"),
    "watch": Wrapper("-n --interval", is_text=True),
    "parallel": Wrapper("-j --jobs -I -a --arg-file", is_text=True),
    "xargs": Wrapper("-I -n -P -L -d -a -E -s --max-args --max-procs --max-lines --delimiter --arg-file --replace"),
    "eval": Wrapper(is_text=True),
    "ssh": Wrapper("-p -i -l -o -F -J -L -R -D -b -c -E -e -I -m -O -Q -S -W -w", skip=1, is_text=True),
    "direnv exec": Wrapper(skip=1),
    "mise exec": Wrapper(),
    "doppler run": Wrapper("-p -c --project --config"),
    "op run": Wrapper("--env-file"),
    "docker exec": _EXEC,
    "docker run": _RUN,
    "docker compose exec": _EXEC,
    "docker compose run": _RUN,
    "docker-compose exec": _EXEC,
    "docker-compose run": _RUN,
    "podman exec": _EXEC,
    "podman run": _RUN,
    "kubectl exec": Wrapper("-c --container", skip=1),
    "uv run": Wrapper(f"{_POETRY.values} --with-requirements --index --index-url"),
    "uvx": Wrapper("--from --with -p --python"),
    "poetry run": _POETRY,
    "pipenv run": _POETRY,
    "pdm run": _POETRY,
    "hatch run": _POETRY,
    "rye run": _POETRY,
    "bundle exec": Wrapper(),
    "npx": _PACKAGE,
    "bunx": _PACKAGE,
    "pnpx": _PACKAGE,
    "npm exec": _PACKAGE,
    "pnpm exec": _PACKAGE,
    "pnpm dlx": _PACKAGE,
    "yarn exec": _PACKAGE,
    "yarn dlx": _PACKAGE,
    "bun x": _PACKAGE,
}
SHELLS: Final = frozenset("sh bash zsh dash ksh ash fish su".split())
SHELL_VALUES: Final = "-o -O +O -c --rcfile --init-file"
PYTHONS: Final = ("python", "pypy")

CONTAINERS: Final = frozenset(
    each for each in (*WRAPPERS, "ssh") if each.split()[0] in {"docker", "docker-compose", "podman", "kubectl", "ssh"}
)
"""Programs that run a command in a container or on another machine."""
ENVIRONMENTS: Final = frozenset(each for each in WRAPPERS if each.endswith((" run", " exec"))) - CONTAINERS
"""Programs that run a command in an environment of the project."""

PREFIXES: Final = frozenset("sudo env time nice nohup exec command timeout gtimeout xvfb-run stdbuf".split())
"""Programs that run a command without being a part of its name."""
RUNNERS: Final = ENVIRONMENTS | {"uvx"} | {each for each, wrapper in WRAPPERS.items() if wrapper is _PACKAGE}
"""Programs that run a program installed for the project."""
