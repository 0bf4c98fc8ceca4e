"""Options of commands: which ones a command has, and by which other names each goes."""

from learning_memory_server.shell import calls, programs


def same(call: calls.Call, option: str) -> set[str]:
    """Return all names of an option: `-i` is one thing to `git rebase`, and another to `sed`."""
    key = calls.found_in(programs.SAME, call)
    pairs = [each.split("=") for each in programs.SAME.get(key, "").split()]
    found = {option}
    for pair in (*pairs, *pairs):  # `-R` is `-r`, which is `--recursive`
        found |= set(pair) if found & set(pair) else set()
    return found


def names(call: calls.Call) -> set[str]:
    """Return the options of a command; of short ones that stand together, each one."""
    is_whole = call.program in programs.WHOLE
    long = {name for name, _ in call.options if name.startswith("--") or is_whole}
    return long | {f"-{letter}" for letter in call.letters}
