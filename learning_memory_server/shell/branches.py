"""The git branch that a shell script has switched to, as far as the text shows."""

from collections.abc import Iterable
from typing import Final

from learning_memory_server.shell import programs
from learning_memory_server.shell.calls import Call

_SWITCHES: Final = {"checkout", "switch"}
_HEAD: Final = "HEAD"


def switched(call: Call, words: tuple[str, ...], branch: str) -> str:
    """Return the branch after a command; empty if it is unknown."""
    if call.program in programs.MOVES:
        return ""
    if call.program != "git" or not call.operands or call.operands[0] not in _SWITCHES or _is_elsewhere(call):
        return branch
    if _has_any(call, programs.NEW_BRANCH):
        return ""
    named = call.operands[1:]
    return named[0] if len(named) == 1 and "--" not in words else branch


def concerned(call: Call, branch: str) -> str:
    """Return the branch that a commit changes, or that a push without a branch name sends."""
    if call.program != "git" or not call.operands or _is_elsewhere(call):
        return ""
    if call.operands[0] == "push":
        is_named = any(each != _HEAD for each in call.operands[2:])
        return "" if is_named or _has_any(call, programs.REFERENCES) else branch
    return branch if call.operands[0] == "commit" else ""


def _is_elsewhere(call: Call) -> bool:
    return any(map(call.has, programs.ELSEWHERE_OPTIONS))


def _has_any(call: Call, options: Iterable[str]) -> bool:
    return any(call.has(each) or each[1:] in call.letters for each in options)
