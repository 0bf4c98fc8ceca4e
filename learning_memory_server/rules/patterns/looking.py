"""Calls that match a rule's form but are not covered by the rule, because they only print information."""

from learning_memory_server.model.rule import CallForm
from learning_memory_server.shell import calls, uses, wrappers
from learning_memory_server.shell.environments import Via
from learning_memory_server.shell.script import Command


def is_meant(form: CallForm, command: Command) -> bool:
    """Whether a rule about a form covers a command of this form, which may be read-only or run elsewhere."""
    named = {*form.words, *form.having}
    program = command.words[0]
    if len(form.words) == 1 and program in uses.INTERPRETERS and command.via:
        return False
    if program in uses.MANAGERS and command.via is Via.CONTAINER:
        return False
    call = calls.parsed(command.words, most=1 if _hands_on(program) else None)
    return not (_looks(call, named) or (len(form.words) == 1 and _tells(call)))


def sends_nothing(command: Command) -> bool:
    """Whether a push only deletes remote branches."""
    call = calls.parsed(command.words)
    if call.program != "git" or call.operands[:1] != ["push"]:
        return False
    sent = call.operands[2:]
    return call.has("--delete") or "d" in call.letters or (bool(sent) and all(each.startswith(":") for each in sent))


def _hands_on(program: str) -> bool:
    """Whether a program's options may belong to a program that it runs."""
    is_wrapper = any(each.split()[0] == program for each in wrappers.WRAPPERS)
    return (is_wrapper and program not in uses.MANAGERS) or program in uses.INTERPRETERS | wrappers.SHELLS


def _looks(call: calls.Call, named: set[str]) -> bool:
    keys = ("", call.program, " ".join((call.program, *call.operands[:1])))
    options = {each for key in keys for each in uses.ONLY_LOOKS.get(key, "").split()} - named
    return any(call.has(each) or (len(each) == 2 and each[1] in call.letters) for each in options)


def _tells(call: calls.Call) -> bool:
    is_telling = call.operands[:1] and call.operands[0] in uses.TELLING.get(call.program, "").split()
    return bool(is_telling) and uses.WRITING_TOO.isdisjoint(call.operands)
