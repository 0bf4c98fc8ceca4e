"""Claude Code's own commands, `claude mcp` and `claude plugin`.

Claude Code rewrites its file while it runs, so the file is not edited here.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.cli.clients.catalog import SERVER
from learning_memory_server.errors import ClientSetupError

if TYPE_CHECKING:
    from learning_memory_server.cli.clients.catalog import Machine

_SECONDS: Final = 60
"""How long the command may take; it took 0.5 s."""


def commands(existing: Mapping[str, Any] | None, entry: Mapping[str, Any] | None) -> list[list[str]]:
    """Return the commands that lead from one entry to another. Fields that only the existing one has stay."""
    remove = ["claude", "mcp", "remove", "-s", "user", SERVER]
    if entry is None:
        return [remove] if existing is not None else []
    merged = {**(existing or {}), **entry}
    if existing and "env" in existing:
        merged["env"] = {**existing["env"], **entry.get("env", {})}
    if merged == existing:
        return []
    add = ["claude", "mcp", "add-json", "-s", "user", SERVER, json.dumps(merged, ensure_ascii=False)]
    return [add] if existing is None else [remove, add]


def quoted(command: Sequence[str]) -> str:
    """Return a command as a person types it in a shell."""
    return shlex.join(command)


def run(todo: Sequence[Sequence[str]], machine: Machine) -> None:
    """Run commands."""
    program = shutil.which("claude", path=machine.environment.get("PATH"))
    if program is None:
        lines = "\n".join(map(quoted, todo))
        raise ClientSetupError(
            "The command `claude` is not on the PATH, so nothing was changed.",
            hint=f"Where it is, run this yourself:\n{lines}",
        )
    for name, *arguments in todo:
        try:
            done = subprocess.run(  # noqa: S603 - the user's own program
                [program, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=_SECONDS,
                check=False,
                env=dict(machine.environment),
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ClientSetupError(
                f"`{name} {arguments[0]}` could not be run ({type(error).__name__}).",
                hint=f"Run it yourself:\n{quoted([name, *arguments])}",
            ) from None
        if done.returncode:
            said = " ".join((done.stderr or done.stdout).split())
            raise ClientSetupError(
                f"`{name} {arguments[0]}` failed: {said or f'exit code {done.returncode}'}",
                hint=f"Run it yourself:\n{quoted([name, *arguments])}",
            )
