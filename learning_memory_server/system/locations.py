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
_HOMES: Final = ("HOME", "userHome", "USERPROFILE", "home")  # Names of the home folder in placeholders
_SNAP_DEPTH: Final = 3  # Folders from a home to one of a snap's revision
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
    """Return the path in a setting. Raises `RuntimeError`, which names the setting, as `expanded` does."""
    try:
        return expanded(str(named))
    except RuntimeError as error:
        raise RuntimeError(f"{PREFIX}{setting.upper()}: {error}.") from None


def expanded(path: str) -> str:
    """Return a path with its home folder. Raises `RuntimeError` if it is not absolute, or has an unfilled placeholder.

    Nothing fills placeholders in a client's entry or a settings file: they would be the names of new folders.
    """
    if found := placeholder_in(path):
        if found.strip("${}%()").rpartition(":")[2] in _HOMES:
            right = f"write {path.replace(found, '~', 1)}"
        else:
            right = "write the path itself, absolute or from ~/"
        raise RuntimeError(f"nothing fills in {found} of {path}; {right}")
    if path[:1] == "~" and path[1:2] in ("", "/", os.sep):
        return user_home() + path[1:]
    found = os.path.expanduser(path)
    if found.startswith("~"):
        raise RuntimeError("Could not determine home directory")
    if not os.path.isabs(found):
        raise RuntimeError(
            f"{path} is relative, so each session would have another folder; write it absolute, such as "
            f"{os.path.join(working_directory(), path)}, or from ~/"
        )
    return found


def placeholder_in(path: str) -> str:
    """Return the first placeholder that a shell or an editor would have filled in; empty if there is none."""
    begin = path.find("${")
    if begin >= 0 and (end := path.find("}", begin)) > 0:
        return path[begin : end + 1]
    for part in path.replace("\\", "/").split("/"):
        # Such as $HOME, $(pwd) and %APPDATA%; a dollar sign elsewhere is of the folder's name.
        if part[:1] == "$" and (part[1:2].isalpha() or part[1:2] in ("_", "(")):
            return part
        between = part.split("%")[1:-1]
        if named := next((each for each in between if each.isidentifier()), ""):
            return f"%{named}%"
    return ""


def user_home() -> str:
    """Return this user's home, also in a snap whose own folder is in HOME. Raises `RuntimeError` if there is none."""
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise RuntimeError("Could not determine home directory")
    outer = _outside_of_sandbox(home)
    return outer if outer and home.count("/") == outer.count("/") + _SNAP_DEPTH else home


def is_of_sandbox(folder: str) -> bool:
    """Return whether a folder in the home is a snap's or a Flatpak's, which other programs of the user do not see.

    A snap has one for each revision, so that an update would leave data behind.
    """
    outer = _outside_of_sandbox(folder)
    return bool(outer) and outer in (user_home(), os.path.realpath(user_home()))


def _outside_of_sandbox(folder: str) -> str:
    """Return the home in which a folder is one of `~/snap/NAME/REVISION` or `~/.var/app`; empty if it is not."""
    outer, flatpak, _ = f"{folder}/".partition("/.var/app/")
    if flatpak:
        return outer
    parts = folder.split("/")
    for number in range(1, len(parts) - 2):
        revision = parts[number + 2]
        if parts[number] == "snap" and (revision in ("common", "current") or revision.removeprefix("x").isdigit()):
            return "/".join(parts[:number])
    return ""


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
    data = os.fsencode(text)
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
    home = user_home()
    if platform == "win32":
        base = environment.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif platform == "darwin":
        base = os.path.join(home, "Library", "Application Support")
    else:
        # The XDG specification asks for relative paths to be ignored.
        named = environment.get(variable, "")
        base = named if named.startswith("/") and not is_of_sandbox(named) else os.path.join(home, default)
    return os.path.join(base, APPLICATION)
