"""The branch that a shell text has switched to, so far as it says."""

from typing import Final

from learning_memory_server.rules.calls import Call

_SWITCHES: Final = {"checkout", "switch"}
_MAKING: Final = set("bBcCdp")
_ELSEWHERE: Final = ("-C", "--git-dir", "--work-tree")
_REFERENCES: Final = ("--tags", "--delete", "--all", "--mirror", "-d")
_HEAD: Final = "HEAD"


def switched(call: Call, words: tuple[str, ...], branch: str) -> str:
    """Return the branch after a command; empty if it is not known any more."""
    if call.program in {"cd", "pushd", "popd", "gh"}:
        return ""
    if call.program != "git" or not call.operands or call.operands[0] not in _SWITCHES or _is_elsewhere(call):
        return branch
    if call.letters & _MAKING or any(call.has(each) for each in ("--orphan", "--detach", "--create", "--force-create")):
        return ""
    named = call.operands[1:]
    return named[0] if len(named) == 1 and "--" not in words else branch


def concerned(call: Call, branch: str) -> str:
    """Return the branch that a command changes: that of a commit, and of a push that names no other."""
    if call.program != "git" or not call.operands or _is_elsewhere(call):
        return ""
    if call.operands[0] == "push":
        is_named = any(each != _HEAD for each in call.operands[2:]) or any(map(call.has, _REFERENCES))
        return "" if is_named or "d" in call.letters else branch
    return branch if call.operands[0] == "commit" else ""


def _is_elsewhere(call: Call) -> bool:
    return any(map(call.has, _ELSEWHERE))
