"""Options of commands, and their aliases."""

from learning_memory_server.shell import calls, programs


def same(call: calls.Call, option: str) -> set[str]:
    """Return all aliases of an option, which depend on the command: `-i` differs for `git rebase` and `sed`."""
    key = calls.found_in(programs.SAME, call)
    pairs = [each.split("=") for each in programs.SAME.get(key, "").split()]
    found = {option}
    for pair in (*pairs, *pairs):  # `-R` is `-r`, which is `--recursive`
        found |= set(pair) if found & set(pair) else set()
    return found


def names(call: calls.Call) -> set[str]:
    """Return the options of a command, with combined short options separated."""
    is_whole = call.program in programs.WHOLE
    long = {name for name, _ in call.options if name.startswith("--") or is_whole}
    return long | {f"-{letter}" for letter in call.letters}
