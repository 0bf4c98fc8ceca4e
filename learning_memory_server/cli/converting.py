"""Convert command-line arguments and options to values, with error messages for people.

Newer versions of typer do this with pydantic, whose messages are for programmers, and whose validators are slow to
create.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any, get_args, get_origin

import typer


def convert_plainly(parameters: list[Any]) -> None:
    """Replace the conversion of parameters of common types; other parameters stay unchanged."""
    for each in parameters:
        descriptor = getattr(each, "type_descriptor", None)  # Missing in older versions, which need nothing
        if descriptor is not None and (converting := _converting_of(descriptor)):
            each.get_runtime_param = lambda converting=converting: converting


def _converting_of(descriptor: Any) -> "_Converting | None":
    """Return a converter for the type of a parameter; None if it is not a common type."""
    kind, info = descriptor.annotation, descriptor.parameter_info
    if get_origin(kind) is list:
        (kind,) = get_args(kind)
    if info.parser or not isinstance(kind, type):
        return None
    if kind in {str, bool}:
        # A flag's value is its presence, and flags have no environment variables.
        return _Converting(kind)
    if kind is int:
        return _Converting(lambda typed: _number(typed, info.min, info.max))
    if issubclass(kind, Enum):
        return _Converting(lambda typed: _one_of(typed, kind))
    return None


class _Converting:
    """Converts one or more texts through typer's interface."""

    def __init__(self, convert: Callable[[Any], Any]) -> None:
        self._convert = convert

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value, or a list of values. Raises `typer.BadParameter` for invalid text."""
        is_several = getattr(param, "multiple", False) or param.nargs != 1
        if value is None:
            return () if is_several else None
        try:
            return [self._convert(each) for each in value] if is_several else self._convert(value)
        except ValueError as error:
            raise typer.BadParameter(str(error), ctx=ctx, param=param) from None


def _number(typed: Any, low: float | None, high: float | None) -> int:
    try:
        number = int(typed)
    except ValueError:
        number = None
    is_allowed = number is not None and (low is None or number >= low) and (high is None or number <= high)
    if number is None or not is_allowed:
        at_least = f", {low} or more" if low is not None else ""
        allowed = f" from {low} to {high}" if high is not None else at_least
        raise ValueError(f"{typed!r} is not a whole number{allowed}.")
    return number


def _one_of(typed: Any, kind: type[Enum]) -> Enum:
    if isinstance(typed, kind):
        return typed
    for each in kind:
        if str(each.value) == typed:
            return each
    raise ValueError(f"{typed!r} is not one of {', '.join(repr(str(each.value)) for each in kind)}.")
