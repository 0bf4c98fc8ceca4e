"""Protection from a project's files: they may not choose the memory of an agent or the connections of the hub.

At the start of the process, guarded variables that such a file sets are removed, whatever their value. Only files that
name one are parsed.
"""

from __future__ import annotations

import os
import sys

from learning_memory_server.system import locations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping
    from typing import Final

_HARMLESS: Final = ("LEARNING_MEMORY_LOG_LEVEL",)
_ENTRY_POINT: Final = "CLAUDE_CODE_ENTRYPOINT"
_OF_THE_CLIENT: Final = ("CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR", _ENTRY_POINT)  # Of one session, not of a hub
_OF_BUILDS: Final = "CI"
"""It says that no person reads along. A project may set it for its own tools, so its user gets no warning."""
_OF_THE_USER: Final = (
    *("APPDATA", "CLAUDE_CONFIG_DIR", "HOME", "LOCALAPPDATA", "TMPDIR"),
    *("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"),
    *("all_proxy", "https_proxy", "http_proxy", "no_proxy"),
    *("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE", "SENTENCE_TRANSFORMERS_HOME"),
)
_OF_THE_USER_PREFIXES: Final = (locations.PREFIX, "XDG_", "HF_", "OLLAMA_")
_OF_THE_HUB: Final = (
    *("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "VIRTUAL_ENV"),
    *("LANG", "LANGUAGE", "LOGNAME", "TZ", "USER"),
)
"""The variables of every hub: a setter of these could start another program anyway."""
_OF_THE_HUB_PREFIXES: Final = ("COVERAGE_", "CUDA_", "LC_", "OMP_")
_SHARED: Final = tuple(
    locations.PREFIX + each for each in ("QDRANT_", "EMBEDDING_", "OLLAMA_", "RERANKER_", "REDACTION")
)
"""Settings of network, model and redaction, which sessions of other projects depend on."""


def is_guarded(name: str) -> bool:
    """Return whether a project's files may not set a variable."""
    if sys.platform == "win32":
        name = name.upper()
    return name not in _HARMLESS and (
        name in _OF_THE_USER or name in _OF_THE_CLIENT or name.startswith(_OF_THE_USER_PREFIXES)
    )


def ignore_project(environment: MutableMapping[str, str]) -> list[str]:
    """Remove the variables that the project's files set, and return a sentence for each.

    HOME becomes the user database's. If any was set, shared settings of network, model and redaction are also removed.
    Where a file sets `CI` or Claude Code's entry point, the session counts as attended: calls are asked about.
    """
    home = locations.home()
    names = [name for name in environment if is_guarded(name) and (name, environment[name]) != ("HOME", home)]
    names += [_OF_BUILDS] if environment.get(_OF_BUILDS) else ()
    files = locations.project_files(environment) if names else []
    if not any(_may_name(data, names) for _, data in files):
        return []
    from learning_memory_server.system.project_files import find_set

    ignored: dict[str, str] = {}
    for name, file in find_set(files, names, names.__contains__):
        ignored.setdefault(name, file)
    if ignored.pop(_OF_BUILDS, ""):
        del environment[_OF_BUILDS]
    said = [f"{name} is ignored: {file} names it." for name, file in ignored.items()]
    for name in ignored:
        del environment[name]
    if _ENTRY_POINT in ignored:
        environment[_ENTRY_POINT] = "cli"  # It still says that a client runs this
    if "HOME" in ignored and home:
        environment["HOME"] = home
    if ignored:
        for name in [each for each in environment if each.startswith(_SHARED)]:
            del environment[name]
            said.append(f"{name} is ignored as well, because it would hold for all projects.")
    return said


def find_steering(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return each guarded variable that a file of the project sets, and the file."""
    from learning_memory_server.system.project_files import find_set

    return list(find_set(locations.project_files(environment), environment, is_guarded))


def for_hub(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a hub, out of the front's remaining ones."""
    return {
        name: value
        for name, value in environment.items()
        if name in _OF_THE_HUB
        or name.startswith(_OF_THE_HUB_PREFIXES)
        or name in _HARMLESS
        or (is_guarded(name) and name not in _OF_THE_CLIENT)
    }


def _may_name(data: bytes, names: list[str]) -> bool:
    """Return whether a file could set one of the variables. Where there are escapes, a name need not be seen."""
    return (
        len(data) > locations.PROJECT_FILE_MAX
        or any(each in data for each in (b"\\u", b"\\U", b"\\x", b"\0", b"envFile"))
        or any(os.fsencode(name) in data for name in names)
    )
