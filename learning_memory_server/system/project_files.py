"""What files of a project set: variables by name, and whether a value that is seen may have come from there.

A file that cannot be understood counts as setting whatever it mentions, and a value whose meaning for the client is not
certain counts as the one that is seen.
"""

import json
import os
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from learning_memory_server.system import timeouts
from learning_memory_server.system.locations import PROJECT_FILE_MAX, PROJECT_FILES, read_project_file

_UNKNOWN: Final = None
"""Stands for a value that cannot be read."""
_ENV_FILE: Final = "envFile"
"""The key under which VS Code and Cursor name a file of variables."""
_WORKSPACE: Final = "${workspaceFolder}"
_REFERENCE: Final = re.compile(r"\$\{(?:env:)?(\w+)(?::-([^${}]*))?\}|\$([A-Za-z_]\w*)")
"""`${NAME}` and `${NAME:-default}` of Claude Code, `${env:NAME}` of VS Code and Cursor, `$NAME` of Gemini CLI."""
_REPLACED: Final = re.compile(r"\$\{|\{(?:env|file):")
"""Other signs of replacement; the last are opencode's."""
_SET_BY_CLIENTS: Final = ("CLAUDE", "CODEX", "CURSOR", "GEMINI", "VSCODE", "PWD", "OLDPWD", "SHLVL")
"""How the names of variables begin that a server has from its client, which expands without them."""
_COMMENT: Final = re.compile(r'("(?:\\.|[^"\\])*")|//[^\r\n\u2028\u2029]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA: Final = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')
_ESCAPE: Final = re.compile(r"\\[uUx]|\0")
_NAME: Final = re.compile(r"(?<![\w.-])[A-Za-z_]\w*(?![\w.-])")
_PLAIN: Final = re.compile(r"""[ \t]*=[ \t]*(["']?)([\w./:@,+-]+)\1[ \t]*(?=[\r\n]|\Z)""")
"""What follows a name in a file of variables, if every client's parser has the same value for it."""


class ProjectFile:
    """A file that may set variables. Its data is None if that is unknown.

    `${workspaceFolder}` stands for the `folder` in it. Its lines are variables if it `holds_variables`; otherwise it is
    JSON or TOML by the end of its name.
    """

    def __init__(self, path: str, data: bytes | None, folder: str, *, holds_variables: bool) -> None:
        self.path = path
        self.folder = folder
        self._text = "" if data is None else data.decode("utf-8", "replace")
        self._holds_variables = holds_variables
        self._pairs: list[tuple[str, Any]] | None = None
        self._is_unknown = data is None or len(data) > PROJECT_FILE_MAX
        if data is not None and not holds_variables and not self._is_unknown:
            try:
                self._pairs = _toml_pairs(data) if path.endswith(".toml") else _json_pairs(data)
            except (ValueError, RecursionError):
                self._is_unknown = bool(_ESCAPE.search(self._text))

    def values(self, name: str) -> list[Any]:
        """Return the values that the file may give a variable; none if it does not set it."""
        if self._is_unknown:
            return [_UNKNOWN]
        if self._pairs is not None:
            return [value for key, value in self._pairs if key == name]
        ends = [match.end() for match in _NAME.finditer(self._text) if match[0] == name]
        if not self._holds_variables:
            return [_UNKNOWN] * (name in self._text)
        plain = [_PLAIN.match(self._text, end) for end in ends]
        return [match[2] if match else _UNKNOWN for match in plain]

    def names(self, environment: Iterable[str]) -> set[str]:
        """Return the variables that it sets: those of the environment if it may be any."""
        if self._is_unknown:
            names = set(environment)
        else:
            names = {key for key, _ in self._pairs or ()} or set(_NAME.findall(self._text))
        return {name for name in names if self.values(name)}


def find_ignored(
    found: Iterable[tuple[str, bytes]], environment: Mapping[str, str], names: Iterable[str]
) -> dict[str, str]:
    """Return those of the variables named whose value may come from a file of the project, each with the file."""
    files = list(_with_env_files(found))
    origin = _Origin(files, environment)
    ignored = {name: origin.find(name) for name in names}
    return {name: file for name, file in ignored.items() if file}


def find_set(
    found: Iterable[tuple[str, bytes]], environment: Mapping[str, str], is_meant: Callable[[str], bool]
) -> list[tuple[str, str]]:
    """Return each of the variables meant that a file of the project sets, whatever its value, and the file."""
    files = [each for each in _with_env_files(found) if not _is_the_users(each.path)]
    return [(name, file.path) for file in files for name in sorted(filter(is_meant, file.names(environment)))]


class _Origin:
    """Tells where values may come from."""

    def __init__(self, files: list[ProjectFile], environment: Mapping[str, str]) -> None:
        self._files = files
        self._environment = environment

    def find(self, name: str) -> str | None:
        """Return a file that may have set a variable as it is; None if none has."""
        for file in self._files:
            may_be = any(self._may_become(value, self._environment[name], file.folder) for value in file.values(name))
            if may_be and not _is_the_users(file.path):
                return file.path
        return None

    def _may_become(self, value: object, seen: str, folder: str) -> bool:
        """Return whether a client may have made of a value in a file what is seen.

        What a client replaces in `${NAME:-default}` is the variable's value, or the default where it has none, and
        where it cannot replace it, it leaves it or takes it away. Which of these it was cannot be told.
        """
        if not isinstance(value, str):
            return True
        if value.startswith(_WORKSPACE):
            path = folder + value.removeprefix(_WORKSPACE)
            # The client may reach the folder through a link.
            return "$" in path or os.path.realpath(path) == os.path.realpath(seen)
        pattern, end = "", 0
        for match in _REFERENCE.finditer(value):
            replaced = self._certain(match[1] or match[3])
            if replaced is None:
                return True
            texts = (replaced, match[2] or "", match[0])
            pattern += re.escape(value[end : match.start()]) + f"(?:{'|'.join(map(re.escape, texts))})"
            end = match.end()
        # Another sign of replacement is not of a form that is known here.
        if _REPLACED.search(_REFERENCE.sub("", value)) or value.startswith("~"):
            return True
        return re.fullmatch(pattern + re.escape(value[end:]), seen) is not None

    def _certain(self, name: str) -> str | None:
        """Return what a variable certainly is for the client, too, or None."""
        if name.startswith(_SET_BY_CLIENTS) or any(file.values(name) for file in self._files):
            return None
        return self._environment.get(name)


def _with_env_files(found: Iterable[tuple[str, bytes]]) -> Iterator[ProjectFile]:
    """Return the files, and those that they name as `envFile`."""
    for path, data in found:
        folder = path.removesuffix(next(name for name in PROJECT_FILES if path.endswith(f"/{name}"))).rstrip("/")
        file = ProjectFile(path, data, folder, holds_variables=path.endswith("/.env"))
        yield file
        for value in file.values(_ENV_FILE) if path.endswith("mcp.json") else ():
            variables: bytes | None = None
            named = value.replace(_WORKSPACE, folder) if isinstance(value, str) else "$"
            if "$" not in named:
                variables = read_project_file(os.path.join(folder, named)) or b""
            yield ProjectFile(path, variables, folder, holds_variables=True)


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
    command = ["git", "-C", os.path.dirname(folder), "--icase-pathspecs", "-c", "core.fsmonitor="]
    try:
        done = subprocess.run(
            [*command, "ls-files", "--error-unmatch", "--", f".claude/{name}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeouts.GIT,
            check=False,
            env={name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        )
    except (OSError, subprocess.TimeoutExpired):
        return not _is_in_repository(folder)
    # 1 says that git does not track it. After any other failure, only a folder without a repository is certain.
    return done.returncode == 1 or (done.returncode != 0 and not _is_in_repository(folder))


def _is_in_repository(folder: str) -> bool:
    above = os.path.dirname(folder)
    return os.path.lexists(os.path.join(folder, ".git")) or (above != folder and _is_in_repository(above))
