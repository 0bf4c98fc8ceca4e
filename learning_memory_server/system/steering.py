"""What a project's files may not decide: whose memory an agent reads, and where the hub of all projects connects.

A client gives a server the variables that files of the project name, and whoever wrote the project wrote those. So at
the start of the process a variable that such a file may have set is removed. Only a file that names one is parsed; to
look for them takes a fraction of a millisecond, because the session's start waits for it.
"""

from __future__ import annotations

import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping
    from typing import Final

FILES: Final = (
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".mcp.json",
    ".vscode/mcp.json",
    ".vscode/settings.json",
    ".cursor/mcp.json",
    ".gemini/settings.json",
    ".gemini/.env",
    ".codex/config.toml",
    ".env",
)
"""Files of a project from which clients, and the terminals of editors, take variables."""
LONGEST: Final = 1 << 20
"""Bytes of the longest file that is parsed."""

_PREFIX: Final = "LEARNING_MEMORY_"
_HARMLESS: Final = ("LEARNING_MEMORY_LOG_LEVEL",)
_OF_THE_CLIENT: Final = ("CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR")
"""What a client says of a session. A hub serves many and gets none of it."""
_OF_THE_USER: Final = (
    *("APPDATA", "CLAUDE_CONFIG_DIR", "HOME", "LOCALAPPDATA", "TMPDIR"),
    *("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"),
    *("all_proxy", "https_proxy", "http_proxy", "no_proxy"),
    *("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE", "SENTENCE_TRANSFORMERS_HOME"),
)
_OF_THE_USER_PREFIXES: Final = (_PREFIX, "XDG_", "HF_", "OLLAMA_")
_OF_THE_HUB: Final = (
    *("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "VIRTUAL_ENV"),
    *("LANG", "LANGUAGE", "LOGNAME", "TZ", "USER"),
)
"""What a hub gets in any case: who can set these for a server could as well start another program."""
_OF_THE_HUB_PREFIXES: Final = ("COVERAGE_", "CUDA_", "LC_", "OMP_")
_SHARED: Final = tuple(
    _PREFIX + each for each in ("QDRANT_", "EMBEDDING_", "OLLAMA_", "RERANKER_", "REDACTION")
)
"""Settings of network, model and redaction, which sessions of other projects depend on."""
_FOLDERS: Final = ("CLAUDE_PROJECT_DIR", "PWD", "WORKSPACE_FOLDER_PATHS")
"""Variables that may name the project's folder where it is not the working directory. The last is Cursor's."""


def is_guarded(name: str) -> bool:
    """Return whether a project's files may not set a variable."""
    if sys.platform == "win32":
        name = name.upper()
    return name not in _HARMLESS and (
        name in _OF_THE_USER or name in _OF_THE_CLIENT or name.startswith(_OF_THE_USER_PREFIXES)
    )


def ignore_project(environment: MutableMapping[str, str]) -> list[str]:
    """Remove the variables that the project's files may have set, and return a sentence for each.

    HOME becomes what the user database says. If there is any such variable, settings of network, model and redaction
    are removed as well: they decide for all projects. Those of the settings file are not concerned.
    """
    home = _home()
    names = [name for name in environment if is_guarded(name) and (name, environment[name]) != ("HOME", home)]
    files = project_files(environment) if names else []
    if not any(_may_name(data, names) for _, data in files):
        return []
    from learning_memory_server.system.project_files import find_ignored  # noqa: PLC0415 - in few projects

    ignored = find_ignored(files, environment, names)
    said = [f"{name} is ignored: {file} names it." for name, file in ignored.items()]
    for name in ignored:
        del environment[name]
    if "HOME" in ignored and home:
        environment["HOME"] = home
    if ignored:
        for name in [each for each in environment if each.startswith(_SHARED)]:
            del environment[name]
            said.append(f"{name} is ignored as well, because it would hold for all projects.")
    return said


def project_files(environment: Mapping[str, str]) -> list[tuple[str, bytes]]:
    """Return the path and content of each file of the project that can set variables.

    Clients also read those of the folders above. Those in the user's home are the user's own.
    """
    home = _home()
    paths = [f"{folder}/{name}" for folder in _folders(environment) if folder != home for name in FILES]
    return [(path, data) for path in paths if (data := read(path)) is not None]


def for_hub(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a hub gets, of those that the front has kept."""
    return {
        name: value
        for name, value in environment.items()
        if name in _OF_THE_HUB
        or name.startswith(_OF_THE_HUB_PREFIXES)
        or name in _HARMLESS
        or (is_guarded(name) and name not in _OF_THE_CLIENT)
    }


def read(path: str) -> bytes | None:
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
            return file.read(LONGEST + 1)
    finally:
        os.close(descriptor)


def _home() -> str | None:
    """Return this user's home according to the user database, or None if it has none."""
    if sys.platform == "win32":
        return None
    import pwd  # noqa: PLC0415 - not on Windows

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return None


def _folders(environment: Mapping[str, str]) -> dict[str, None]:
    """Return the folders in which the client may have found files, as a set in order."""
    named = [each for name in _FOLDERS for each in environment.get(name, "").split(",")]
    try:
        named.append(os.getcwd())  # noqa: PTH109
    except FileNotFoundError:
        named.append("/")
    found: dict[str, None] = {}
    for each in named:
        folder = each if os.path.isabs(each) else ""  # noqa: PTH117
        while folder and folder not in found:
            found[folder] = None
            folder = os.path.dirname(folder)  # noqa: PTH120
    return found


def _may_name(data: bytes, names: list[str]) -> bool:
    """Return whether a file could set one of the variables. Where there are escapes, a name need not be seen."""
    return (
        len(data) > LONGEST
        or any(each in data for each in (b"\\u", b"\\U", b"\\x", b"\0", b"envFile"))
        or any(os.fsencode(name) in data for name in names)
    )
