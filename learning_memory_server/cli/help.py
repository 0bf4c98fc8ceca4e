"""`--help`: in groups, at the terminal's width, with the values of options but without parser types."""

import shutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from typer.core import TyperCommand, TyperGroup

from learning_memory_server.cli.converting import convert_plainly

_WIDEST: Final = 100
_LEFT: Final = 26  # Maximum columns for names; longer names get their own line
_NARROW: Final = 60  # Below this many columns, all names get their own line


class _Plain:
    """The help of a command or group."""

    help: str | None
    epilog: str | None  # The arguments of an example
    params: Any
    get_params: Any
    groups: Mapping[str, str] = {}

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words after the program's name in a usage line."""
        names = [_name(each) for each in self.params if each.param_type_name == "argument"]
        return [*names, *(["COMMAND"] if self.shown(ctx) else []), "[options]"]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        width = max(min(shutil.get_terminal_size().columns, _WIDEST), 20)
        usage = f"Usage: {ctx.command_path} {' '.join(self.collect_usage_pieces(ctx))}"
        parts = [*_filled(usage, width, "", "  "), ""]
        for paragraph in (self.help or "").strip().split("\n\n"):
            parts += [*_filled(paragraph, width, "", ""), ""]
        program, _, called = ctx.command_path.partition(" ")
        if not self.shown(ctx):
            parts += [*_filled(f"Example: {program} {called} {self.epilog}", width, "", "  "), ""]
        heading = "Commands"
        listed: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.shown(ctx).items():
            heading = self.groups.get(name, heading)
            listed.setdefault(heading, []).append((name, (command.help or "").split("\n\n")[0]))
        shown = [each for each in self.get_params(ctx) if not getattr(each, "hidden", False)]
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            listed[title] = [(_name(each), about(each)) for each in shown if each.param_type_name == kind]
        for title, rows in listed.items():
            if rows:
                parts += [f"{title}:", *_columns(rows, width), ""]
        formatter.write("\n".join(parts).rstrip())

    def shown(self, ctx: Any) -> dict[str, Any]:  # noqa: ARG002 - a group may depend on it
        """Return the listed commands, by name."""
        commands: dict[str, Any] = getattr(self, "commands", {})
        return {name: command for name, command in commands.items() if not command.hidden}


class PlainCommand(_Plain, TyperCommand):
    """A command with plain help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Convert arguments and options without pydantic."""
        convert_plainly(self.get_params(ctx))
        return super().parse_args(ctx, args)


class PlainGroup(_Plain, TyperGroup):
    """A group with plain help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Convert arguments and options without pydantic."""
        convert_plainly(self.get_params(ctx))
        return super().parse_args(ctx, args)


def about(parameter: Any, mark: str = "") -> str:
    """Return an option's description, values, range and default; literal values are enclosed in `mark`."""
    kind = getattr(parameter, "type_descriptor", None) or parameter.type
    low, high = (getattr(parameter, end, getattr(kind, end, None)) for end in ("min", "max"))
    words = [str(getattr(each, "value", each)) for each in getattr(kind, "choices", None) or ()]
    text = (getattr(parameter, "help", None) or "").strip()
    notes = [text]
    # Do not repeat values that the description already lists.
    if words and not all(word in text for word in words):
        notes.append(f"One of {', '.join(f'{mark}{word}{mark}' for word in words)}.")
    if low is not None:
        notes.append(f"From {low} to {high:,}." if high else f"At least {low}.")
    if parameter.default and parameter.default is not True and not callable(parameter.default):
        notes.append(f"Default: {mark}{getattr(parameter.default, 'value', parameter.default)}{mark}.")
    return " ".join(filter(None, notes))


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = str(parameter.metavar or parameter.name.upper())
        return name if parameter.required or name.startswith("[") else f"[{name}]"
    names = ", ".join(sorted(parameter.opts, key=len))
    return names if parameter.is_flag else f"{names} {parameter.metavar or parameter.opts[0].lstrip('-').upper()}"


def _columns(rows: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    rows = list(rows)
    left = min(max(len(name) for name, _ in rows), _LEFT)
    if width < _NARROW:
        left = 2
    indent = " " * (left + 4)
    for name, text in rows:
        if len(name) > left:
            yield f"  {name}"
            yield from _filled(text, width, indent, indent)
        else:
            yield from _filled(text, width, f"  {name:<{left}}  ", indent)


def _filled(text: str, width: int, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()), width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )
