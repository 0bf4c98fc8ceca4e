"""The variables that a project's files set. An unparsable file sets every variable that it mentions."""

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from learning_memory_server.system.git import git
from learning_memory_server.system.locations import PROJECT_FILE_MAX, PROJECT_FILES, read_project_file

_ENV_FILE: Final = "envFile"  # The key under which VS Code and Cursor name a file of variables
_WORKSPACE: Final = "${workspaceFolder}"
# What does not end is taken whole, and stays: each sign in it would be tried as a beginning.
_COMMENT: Final = re.compile(r'("(?:\\.|[^"\\])*"?|/\*(?:(?!\*/).)*\Z)|//[^\r\n\u2028\u2029]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA: Final = re.compile(r'("(?:\\.|[^"\\])*"?)|,(?=\s*[}\]])', re.DOTALL)
_ESCAPE: Final = re.compile(r"\\[uUx]|\0")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_DOTS_MAX: Final = 100  # Dots in a line of TOML that is parsed


class ProjectFile:
    """A file that may set variables: lines if it `holds_variables`, else JSON or TOML. Its data may be None."""

    def __init__(self, path: str, data: bytes | None, *, holds_variables: bool) -> None:
        self.path = path
        self.pairs: list[tuple[str, Any]] = []
        self._names: set[str] | None = None
        if data is None or len(data) > PROJECT_FILE_MAX:
            return
        text = data.decode("utf-8", "replace")
        if not holds_variables:
            try:
                self.pairs = _toml_pairs(data) if path.endswith(".toml") else _json_pairs(data)
                self._names = {key for key, _ in self.pairs}
            except (ValueError, RecursionError):
                holds_variables = not _ESCAPE.search(text)
        if holds_variables:
            self._names = set(_NAME.findall(text))

    def names(self, environment: Iterable[str]) -> set[str]:
        """Return the variables that it sets: all of the environment if it may be any."""
        return set(environment) if self._names is None else self._names


def find_set(
    found: Iterable[tuple[str, bytes]], environment: Iterable[str], is_meant: Callable[[str], bool]
) -> Iterator[tuple[str, str]]:
    """Yield each of the variables meant that a file of the project sets, and the file."""
    for file in _with_env_files(found):
        names = sorted(filter(is_meant, file.names(environment)))
        # Git is asked last: that takes longer than all the rest.
        if names and not _is_the_users(file.path):
            yield from ((name, file.path) for name in names)


def _with_env_files(found: Iterable[tuple[str, bytes]]) -> Iterator[ProjectFile]:
    """Return the files, and those that they name as `envFile`."""
    for path, data in found:
        file = ProjectFile(path, data, holds_variables=path.endswith("/.env"))
        yield file
        if not path.endswith("mcp.json"):
            continue
        folder = path.removesuffix(next(name for name in PROJECT_FILES if path.endswith(f"/{name}"))).rstrip("/")
        values = [value for key, value in file.pairs if key == _ENV_FILE] or [None] * (_ENV_FILE in file.names(()))
        for value in values:
            variables: bytes | None = None
            named = value.replace(_WORKSPACE, folder) if isinstance(value, str) else "$"
            if "$" not in named:
                variables = read_project_file(os.path.join(folder, named)) or b""
            yield ProjectFile(path, variables, holds_variables=True)


def _json_pairs(data: bytes) -> list[tuple[str, Any]]:
    """Return every member of every object in JSON, also in JSON with comments and trailing commas."""
    pairs: list[tuple[str, Any]] = []

    def keep(members: list[tuple[str, Any]]) -> dict[str, Any]:
        pairs.extend(members)
        return dict(members)

    try:
        json.loads(data, object_pairs_hook=keep)
    except ValueError:
        pairs.clear()
        text = _COMMENT.sub(lambda match: match[1] or " ", data.decode("utf-8-sig"))
        json.loads(_LAST_COMMA.sub(lambda match: match[1] or "", text), object_pairs_hook=keep)
    return pairs


def _toml_pairs(data: bytes) -> list[tuple[str, Any]]:
    """Return every key of every table in TOML."""
    if any(line.count(b".") > _DOTS_MAX for line in data.splitlines()):
        raise ValueError  # To read a key of n parts takes n squared
    left: list[Any] = [tomllib.loads(data.decode())]
    pairs: list[tuple[str, Any]] = []
    while left:
        node = left.pop()
        pairs += node.items() if isinstance(node, dict) else ()
        left += node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return pairs


def _is_the_users(path: str) -> bool:
    """Return whether a file is the user's own: Claude Code's local settings, unless git tracks them."""
    folder, name = os.path.split(path)
    if name != "settings.local.json" or os.path.islink(folder):
        return False
    try:
        tracked = git(Path(folder).parent, "ls-files", "-z")
    except OSError:
        tracked = None
    if tracked is None:
        return not _is_in_repository(folder)
    return f".claude/{name}".encode() not in tracked.lower().split(b"\0")


def _is_in_repository(folder: str) -> bool:
    above = os.path.dirname(folder)
    return os.path.lexists(os.path.join(folder, ".git")) or (above != folder and _is_in_repository(above))
