"""Folders of this user, files of a project, and the hub's sockets, as plain text, for the fast start of hooks.

Nothing is imported that takes a millisecond: no pathlib, json or re.
"""

from __future__ import annotations

import os
import stat
import sys
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

APPLICATION: Final = "learning-memory-server"
PREFIX: Final = "LEARNING_MEMORY_"
CONFIG: Final = f"{PREFIX}CONFIG"  # The variable that names the settings file
SILENT: Final = "hub.silent"  # A file in the storage folder while a hub does not answer, which the hub removes
_RUNTIME_MAX: Final = 60  # Characters of a folder for sockets
PROJECT_FILES: Final = (
    *(".claude/settings.json", ".claude/settings.local.json", ".mcp.json", ".vscode/mcp.json", ".vscode/settings.json"),
    *(".cursor/mcp.json", ".gemini/settings.json", ".gemini/.env", ".codex/config.toml", ".github/mcp.json"),
    *(".opencode/opencode.json", ".opencode/opencode.jsonc", "opencode.json", "opencode.jsonc", ".env"),
)
"""Files of a project from which clients, and the terminals of editors, take variables."""
PROJECT_FILE_MAX: Final = 1 << 16  # Bytes of the longest file that is parsed
_PROJECT_FOLDERS: Final = ("CLAUDE_PROJECT_DIR", "PWD", "WORKSPACE_FOLDER_PATHS")
"""Variables that may name the project's folder where it is not the working directory. The last is Cursor's."""


def settings_from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    """Return the raw settings from environment variables, by name."""
    return {
        name.removeprefix(PREFIX).lower(): value
        for name, value in environment.items()
        # An empty variable counts as unset: that is what `VARIABLE= command` means in a shell.
        if value and name.startswith(PREFIX) and name != CONFIG
    }


def data_folder(environment: Mapping[str, str], platform: str = sys.platform) -> str:
    """Return the default folder of this user's data."""
    return _user_folder(environment, "XDG_DATA_HOME", os.path.join(".local", "share"), platform)


def default_settings_file(environment: Mapping[str, str], platform: str = sys.platform) -> str:
    """Return where the settings file is unless a variable names another."""
    return os.path.join(_user_folder(environment, "XDG_CONFIG_HOME", ".config", platform), "config.toml")


def storage_folder(raw: Mapping[str, object], environment: Mapping[str, str]) -> str:
    """Return the absolute path of the storage folder that raw settings name."""
    named = raw.get("storage_path")
    return absolute("storage_path", named) if named else data_folder(environment)


def journal_folder(raw: Mapping[str, object], environment: Mapping[str, str]) -> str:
    """Return the absolute path of the journal folder that raw settings name."""
    named = raw.get("journal_path")
    return absolute("journal_path", named) if named else os.path.join(storage_folder(raw, environment), "journal")


def absolute(setting: str, named: object) -> str:
    """Return the path in a setting, absolute. Raises `RuntimeError` for the home of a user who does not exist."""
    path = os.path.expanduser(str(named))
    if path.startswith("~"):
        raise RuntimeError(f"{PREFIX}{setting.upper()}: Could not determine home directory.")
    return path if os.path.isabs(path) else os.path.join(os.getcwd(), path)


def runtime_folder(environment: Mapping[str, str]) -> str:
    """Return the folder of this user's sockets, on a system that has hubs."""
    named = environment.get("XDG_RUNTIME_DIR", "")
    # The path of a socket has at most 107 bytes, 103 on macOS, so a long folder cannot be used.
    if named.startswith("/") and len(named) <= _RUNTIME_MAX and os.path.isdir(named):
        return os.path.join(named, APPLICATION)
    return f"/tmp/{APPLICATION}-{os.getuid()}"  # noqa: S108 - checked to be this user's alone


def socket_files(journal: str, storage: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """Return the resolved sockets of a hub: the first, and the one to use if another user could use its folder."""
    name = digest(f"{journal}\n{storage}")
    return (os.path.join(runtime_folder(environment), f"{name}.sock"), os.path.join(storage, "hub.sock"))


def note_silence(storage: str) -> None:
    """Note that the hub of a storage folder does not answer; see `SILENT`."""
    try:
        with open(os.path.join(storage, SILENT), "wb"):
            pass
        os.utime(os.path.join(storage, SILENT))
    except OSError:
        pass  # Then the next one waits, too


def end_silence(storage: str) -> None:
    """Note that the hub of a storage folder answers."""
    try:  # noqa: SIM105 - contextlib is slow to import
        os.unlink(os.path.join(storage, SILENT))
    except OSError:
        pass  # It was not silent, or the folder cannot be written


def is_attended(environment: Mapping[str, str]) -> bool:
    """Return whether a person reads what the agent writes: neither `claude -p` nor a build server has one.

    Variables from a project's files are removed before: see `steering`.
    """
    is_printing = environment.get("CLAUDE_CODE_ENTRYPOINT") in ("sdk-cli", "claude-code-github-action")
    return not is_printing and environment.get("CI", "").lower() in ("", "0", "false")


def digest(text: str) -> str:
    """Return a short name for a text."""
    # Enough to distinguish names, and cheap: hashlib would load a cryptographic library into every front.
    data = text.encode()
    return f"{zlib.crc32(data):08x}{zlib.crc32(data[::-1]):08x}"


def project_files(environment: Mapping[str, str]) -> list[tuple[str, bytes]]:
    """Return path and content of the project's files that can set variables, up to the root, not in the user's home."""
    own = home()
    paths = [f"{folder}/{name}" for folder in _project_folders(environment) if folder != own for name in PROJECT_FILES]
    return [(path, data) for path in paths if (data := read_project_file(path)) is not None]


def read_project_file(path: str) -> bytes | None:
    """Return what a file begins with, a byte more than is parsed, or None if there is no such file."""
    try:
        # A pipe must not keep the server waiting.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(PROJECT_FILE_MAX + 1)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write data to an open file, in as many steps as it takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def working_directory() -> str:
    """Return the working directory; the root if it was removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"


def home() -> str | None:
    """Return this user's home according to the user database, or None if it has none."""
    if sys.platform == "win32":
        return None
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return None


def _project_folders(environment: Mapping[str, str]) -> dict[str, None]:
    """Return the folders in which the client may have found files, as a set in order."""
    named = [each for name in _PROJECT_FOLDERS for each in environment.get(name, "").split(",")]
    found: dict[str, None] = {}
    for each in (*named, working_directory()):
        folder = each if os.path.isabs(each) else ""
        while folder and folder not in found:
            found[folder] = None
            folder = os.path.dirname(folder)
    return found


def _user_folder(environment: Mapping[str, str], variable: str, default: str, platform: str) -> str:
    home = os.path.expanduser("~")
    if home == "~":
        raise RuntimeError("Could not determine home directory.")
    if platform == "win32":
        base = environment.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif platform == "darwin":
        base = os.path.join(home, "Library", "Application Support")
    else:
        # The XDG specification asks for relative paths to be ignored.
        named = environment.get(variable, "")
        base = named if named.startswith("/") else os.path.join(home, default)
    return os.path.join(base, APPLICATION)
