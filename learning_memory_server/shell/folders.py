"""The folders in which the commands of a shell script run, as far as its text shows."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from learning_memory_server.shell import calls, programs, wrappers

REMOTE: Final = "/elsewhere"
"""A placeholder for folders on another machine."""
UNKNOWN: Final = "/?"
"""A placeholder for an unknown folder. No real folder has this name."""
_NAMED: Final = (
    ("${CLAUDE_PROJECT_DIR}", ""),
    ("$CLAUDE_PROJECT_DIR", ""),
    ("$(git rev-parse --show-toplevel)", "."),
    ("`git rev-parse --show-toplevel`", "."),
    ("${PWD}", "."),
    ("$PWD", "."),
    ("$(pwd)", "."),
    ("`pwd`", "."),
    ("${HOME}", "~"),
    ("$HOME", "~"),
)
"""Prefixes of paths with a known meaning: the session's folder, the current folder, and the home folder."""
_MOVES: Final = frozenset({"cd", "pushd"})
_EXPANDED: Final = frozenset("$`")


@dataclass(slots=True)
class Folders:
    """Tracks the current folder of a shell. Folders are absolute, or relative to the script's first folder."""

    here: str = ""
    _before: list[str] = field(default_factory=list)
    _made: set[str] = field(default_factory=set)  # repositories that the script creates
    _trees: list[str] = field(default_factory=list)  # worktrees that the script adds

    def of(self, call: calls.Call, words: calls.Words, here: str) -> str:
        """Return the folder of a command that starts in `here`: options such as `-C` change it."""
        options = frozenset(programs.FOLDERS.get(call.program, "").split())
        if not options:
            return here
        wrapper = wrappers.WRAPPERS.get(call.program)
        if wrapper or call.program in programs.GLOBAL_ONLY:
            call = calls.parsed(words, wrapper.values if wrapper else "", most=1)
        for name, value in call.options:
            if name in options and value:
                path = posixpath.dirname(value) or "." if name == programs.GIT_FOLDER else value
                here = joined(here, path)
        return here

    def place(self, folder: str) -> tuple[str, str]:
        """Return the folder of a command, and the repository there if the script itself has created it."""
        if folder.startswith(REMOTE):
            return "", ""
        if tree := next((each for each in self._trees if _is_in(folder, each)), None):
            return folder[len(tree) + 1 :], ""
        return folder, next((each for each in self._made if _is_in(folder, each)), "")

    def follow(self, call: calls.Call, folder: str) -> None:
        """Update the folder of the shell after a command, and record the repositories that it creates."""
        if call.program in _MOVES:
            before, self.here = self.here, self._target(call)
            self._before.append(before)
        elif call.program == "popd":
            self.here = self._before.pop() if self._before else UNKNOWN
        elif call.program == "git":
            self._made.update(joined(folder, each) for each in _made_by(call))
            name, kind, *rest = (*call.operands, "", "")
            if (name, kind) == ("worktree", "add"):
                self._trees += [joined(folder, each) for each in rest[:1] if each]

    def _target(self, call: calls.Call) -> str:
        path = call.operands[0] if call.operands else "~" if call.program == "cd" else "-"
        if path == "-":
            return self._before[-1] if self._before else UNKNOWN
        return joined(self.here, path)


def joined(folder: str, path: str) -> str:
    """Return a path, resolved from a folder."""
    for name, known in _NAMED:
        if path == name or path.startswith(f"{name}/"):
            folder, path = folder if known else "", f"{known or '.'}{path[len(name) :]}"
            break
    if _EXPANDED & set(path):
        return UNKNOWN
    if folder.startswith(REMOTE):
        path = path.lstrip("~/") or "."  # Paths there are not folders of this machine
    is_whole = path.startswith("~") or path[1:2] == ":"  # A Windows drive
    found = posixpath.normpath(path if is_whole else posixpath.join(folder, path))
    return "" if found == "." else found


def _made_by(call: calls.Call) -> Iterator[str]:
    """Yield the folder of a repository that a command creates."""
    name, *rest = call.operands or [""]
    if name == "init":
        yield rest[0] if rest else "."
    elif name == "clone" and rest:
        yield rest[1] if rest[1:] else posixpath.basename(rest[0].rstrip("/")).removesuffix(".git")


def _is_in(folder: str, above: str) -> bool:
    return folder == above or folder.startswith(f"{above}/")
