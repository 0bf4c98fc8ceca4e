"""Arguments for every tool and every command, made from what the program says of them."""

import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from tests.laws.program import commands

Known = Mapping[str, Sequence[str]]
"""What may be said for an argument: by the name of a tool's argument or option, or by the metavar of a command's."""

ALIKE: Final = {
    "helped": "ghap_id",
    "misled": "ghap_id",
    "supported_by": "ghap_id",
    "contradicted_by": "ghap_id",
    "same_as": "ghap_id",
    "supersedes": "value_id",
    "replaces": "memory_id",
    "date_from": "since",
    "date_to": "since",
    "timestamp": "since",
}
"""Arguments that take what another one takes."""

NOT_RUN: Final = {
    "hub run": "would serve until it is ended",
    "hub stop": "would end the hub, which is this process",
    "uninstall": "would end the hub, which is this process",
    **dict.fromkeys(
        ("project rename", "project merge", "project split"), "would end the hub, which is this process, once"
    ),
    "hook": "ends its process; its input is given to the hub's socket instead",
    "add": "stores what it is given, in each project; `add_memory` is called as a tool",
    "demo": "has a store of its own, and takes a quarter of a minute",
    "migrate": "needs a Qdrant server",
}
"""Commands that no law runs, and why."""
_ALWAYS: Final = {
    "doctor": ["--quick"],
    "dashboard": ["--no-open"],
    "setup": ["--print"],
    "learn-from": ["--report"],
    "forget": ["--dry-run"],
}
"""Options without which a command starts processes, or changes what others look for."""
_NEVER: Final = {
    *(("doctor", "--fix"), ("setup", "--yes"), ("setup", "--remove"), ("dashboard", "--output")),
    *(("backup", "--keep"), ("start", "--yes"), ("learn-from", "--yes"), ("import", "--yes"), ("scan", "--yes")),
    *(("forget", "--yes"), ("doctor", "--client"), ("review", "--never"), ("share", "--yes")),
}
"""Options that change what others look for, or need a client."""

COMMANDS_OF_RULES: Final = {
    **{key: ["Tell Ann first"] for key in ("TEXT", "rule test text", "WORD")},
    "COMMAND": ["git push"],
    **{key: ["README"] for key in ("PATH", "GLOB", "FOLDER")},
    "FILE": ["AGENTS.md"],
}
"""What may be said to commands of rules, which only show something where no person is."""
_ALONE: Final = {"reindex"}
"""Commands that take long and say only numbers: plainly is enough."""


class NoArgumentsError(AssertionError):
    """Nothing can be said for an argument of a tool or a command: it has to be added to what is known."""


def calls(schema: Mapping[str, Any], known: Known) -> Iterator[dict[str, Any]]:
    """Yield arguments for a tool: those it requires, each of the others with them, and all values that are listed."""
    properties = schema.get("properties", {})
    needed = {name: _values(name, properties[name], known) for name in schema.get("required", ())}
    base = {name: values[0] for name, values in needed.items()}
    yield base
    for name, node in properties.items():
        values = needed[name][1:] if name in needed else _values(name, node, known)
        yield from ({**base, name: value} for value in values)


def _values(name: str, node: Mapping[str, Any], known: Known) -> list[Any]:
    """Return what may be said for one argument: every known or listed value, else one."""
    if "enum" in node:
        return list(node["enum"])
    if names := known.get(ALIKE.get(name, name)):
        is_list = node.get("type") == "array"
        return [[each] for each in names] if is_list else list(names)
    match node.get("type"):
        case "object":
            found: list[Any] = list(calls(node, known))
        case "array":
            found = [[each] for each in _values(name, node["items"], known)]
        case "boolean":
            found = [True]
        case "integer" | "number":
            low = node.get("minimum", 1)
            found = list(dict.fromkeys((node.get("maximum", low), low)))
        case "string" if not name.endswith("id"):
            found = list(known["text"])
        case _:
            raise NoArgumentsError(f"What can be said for {name}, which is {dict(node)}?")
    return found


def command_lines(known: Known, *, options: bool = True) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the words of command lines: each command, plainly and with each of its options."""
    for name, command in commands().items():
        if name in NOT_RUN:
            continue
        words = name.split()
        always = _ALWAYS.get(name, [])
        arguments = [each for each in command.params if each.param_type_name == "argument"]
        needed = [_said(name, each, known) for each in arguments if each.required]
        bases = [[]] if not needed else [[first, *(each[0] for each in needed[1:])] for first in needed[0]]
        if not needed and name not in _ALONE:
            bases += [[said] for each in arguments for said in _said(name, each, known)]
        for base in bases:
            yield name, [*words, *base, *always]
        for option in command.params if options and name not in _ALONE else ():
            flag = option.opts[0]
            if option.param_type_name == "argument" or (name, flag) in _NEVER or flag in always:
                continue
            for said in [None] if option.is_flag else _said(name, option, known):
                # What a program reads may have more than what a person is shown.
                for base in bases if flag == "--json" else bases[:1]:
                    yield name, [*words, *base, *always, flag, *([] if said is None else [said])]


def _said(command: str, parameter: Any, known: Known) -> list[str]:
    """Return what may be said for an argument or an option of a command."""
    annotation = parameter.type_descriptor.annotation
    kinds = [each for each in (annotation, *get_args(annotation)) if isinstance(each, type)]
    for kind in kinds:
        if issubclass(kind, enum.Enum):
            return [str(each.value) for each in kind]
    for name in (f"{command} {parameter.name}", (parameter.metavar or "").strip("[]."), parameter.name):
        if name in known:
            return list(known[name])
    if int in kinds:
        return [str(parameter.max or 1_000)]
    raise NoArgumentsError(f"What can be said for {parameter.name} of the command {command}?")
