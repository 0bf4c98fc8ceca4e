"""Claude Code's own commands, `claude mcp` and `claude plugin`, and the plugin's copy for this machine.

Claude Code rewrites its file while it runs, so the file is not edited here.

The copy is a marketplace of its own, which Claude Code reads in place. It differs from what the package has in its
commands: absolute paths, because the PATH of a client is not that of a shell; and for hooks the interpreter itself,
which starts in half the time of an installed script.
"""

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from learning_memory_server.cli.clients.catalog import SERVER, Launch, Machine
from learning_memory_server.errors import ClientSetupError
from learning_memory_server.hub.front import hook
from learning_memory_server.system import files, timeouts
from learning_memory_server.system.paths import APPLICATION
from learning_memory_server.version import VERSION

NAME: Final = "learning-memory"
"""The plugin's name. Its tools are called `mcp__plugin_learning-memory_memory__...`."""
MARKETPLACE: Final = APPLICATION
IDENTITY: Final = f"{NAME}@{MARKETPLACE}"
FOLDER: Final = "claude-code"
"""The copy's folder, in the storage folder."""
_MANIFEST: Final = Path(".claude-plugin", "plugin.json")
_SERVERS: Final = Path(".mcp.json")
_HOOKS: Final = Path("hooks", "hooks.json")
_OURS: Final = (
    Path(".claude-plugin"),
    _SERVERS,
    Path("hooks"),
    Path("skills"),
    Path("README.md"),
    Path("icon.png"),
)
"""What Claude Code reads; the rest is for other clients."""


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
                timeout=timeouts.CLAUDE_COMMAND,
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


def packaged() -> Path:
    """Return the folder of the plugin: in the package, or next to it in a checkout."""
    installed = Path(__file__).with_name("claude_code_plugin")
    return installed if installed.is_dir() else Path(__file__).parents[3] / "plugins" / FOLDER


def contents(launch: Launch, source: Path | None = None) -> dict[Path, bytes]:
    """Return the files of the copy of the packaged plugin, or of another."""
    source = source or packaged()
    found = {path.relative_to(source): path.read_bytes() for path in _files(source)}
    manifest = {**json.loads(found[_MANIFEST]), "version": VERSION}
    servers = json.loads(found[_SERVERS])
    for server in servers["mcpServers"].values():
        server |= {"command": launch.command, "args": [*launch.arguments, *server["args"]]}
    hooks = json.loads(found[_HOOKS])
    for groups in hooks["hooks"].values():
        for each in (each for group in groups for each in group["hooks"] if each["type"] == "command"):
            each |= {"command": sys.executable, "args": ["-I", "-S", hook.__file__]}
    found |= {_MANIFEST: _dumped(manifest), _SERVERS: _dumped(servers), _HOOKS: _dumped(hooks)}
    about = {key: manifest[key] for key in ("name", "description", "version")}
    catalog = {
        "name": MARKETPLACE,
        "owner": manifest["author"],
        "description": "The learning memory that is installed on this machine.",
        "plugins": [{**about, "source": f"./{NAME}"}],
    }
    return {
        Path(".claude-plugin", "marketplace.json"): _dumped(catalog),
        **{Path(NAME) / path: content for path, content in found.items()},
    }


def is_written(folder: Path, wanted: Mapping[Path, bytes]) -> bool:
    """Return whether a folder has these files, and no others."""
    if not folder.is_dir() or {path.relative_to(folder) for path in _all(folder)} != wanted.keys():
        return False
    return all((folder / path).read_bytes() == content for path, content in wanted.items())


def write_plugin(folder: Path, wanted: Mapping[Path, bytes]) -> None:
    """Write the copy, for this user alone."""
    try:
        for path in _all(folder) if folder.is_dir() else ():
            if path.relative_to(folder) not in wanted:
                files.remove(path)
        for path, content in wanted.items():
            files.make_private_directory((folder / path).parent)
            files.replace(folder / path, content, mode=0o600)
    except OSError as error:
        raise ClientSetupError(f"{folder} cannot be written ({error.strerror}).") from None


def discard_plugin(folder: Path) -> None:
    """Remove the copy, if it is there."""
    shutil.rmtree(folder, ignore_errors=True)


def find_installed(machine: Machine) -> tuple[str, Path] | None:
    """Return the identity of the plugin that Claude Code has, from whatever marketplace, and its folder; or None."""
    path = (
        (machine.folder("CLAUDE_CONFIG_DIR") or machine.home / ".claude")
        / "plugins"
        / "installed_plugins.json"
    )
    try:
        listed = json.loads(path.read_bytes())["plugins"]
        for identity, installed in listed.items():
            if identity.partition("@")[0] == NAME and installed:
                return identity, Path(installed[0]["installPath"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise ClientSetupError(
            f"Claude Code's list of plugins, {path}, cannot be read ({type(error).__name__})."
        ) from None
    return None


def find_plugin_entry(machine: Machine) -> dict[str, Any] | None:
    """Return the server of the installed plugin as Claude Code starts it, or None."""
    found = find_installed(machine)
    if found is None:
        return None
    try:
        servers = json.loads((found[1] / _SERVERS).read_bytes())["mcpServers"]
        entry: dict[str, Any] = next(iter(servers.values()))
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        # Installed, but the folder is gone: whoever starts the entry will say so.
        return {}
    return entry


def adding(folder: Path) -> list[list[str]]:
    """Return the commands that install the copy in a folder."""
    return [
        ["claude", "plugin", "marketplace", "add", str(folder)],
        ["claude", "plugin", "install", "-s", "user", IDENTITY],
    ]


def removing(identity: str) -> list[list[str]]:
    """Return the commands that uninstall the plugin, and remove our marketplace if it came from there."""
    uninstall = ["claude", "plugin", "uninstall", "-s", "user", identity]
    forget = ["claude", "plugin", "marketplace", "remove", MARKETPLACE]
    return [uninstall, forget] if identity == IDENTITY else [uninstall]


def _files(source: Path) -> Iterator[Path]:
    for name in _OURS:
        path = source / name
        yield from _all(path) if path.is_dir() else [path]


def _all(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _dumped(content: object) -> bytes:
    return json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n"
