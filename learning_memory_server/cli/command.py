"""How commands are declared: options and body in one function, whose result is printed in one place."""

import asyncio
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@dataclass(frozen=True, slots=True)
class Result:
    """What a command found or did: for `--json`, for people, and whether the exit status is 0."""

    document: Mapping[str, Any]
    show: Callable[[], object]
    succeeded: bool = True


class Commands(typer.Typer):
    """The commands of a module.

    A command may be a coroutine function. One that returns a `Result` has the option `--json`, which it declares itself
    only if it has to know. Others print what they have to say.
    """

    def command(self, name: str | None = None, **settings: Any) -> Callable[..., Any]:  # noqa: ANN401 - as typer's
        """Declare a function as a command."""
        declare = super().command(name, **settings)
        return lambda body: declare(_printed(body))

    def callback(self, **settings: Any) -> Callable[..., Any]:  # noqa: ANN401 - as typer's
        """Declare a function that runs before the command of a group, or without one."""
        declare = super().callback(**settings)
        return lambda body: declare(_printed(body))


def _printed(body: Callable[..., Any]) -> Callable[..., None]:
    signature = inspect.signature(body)
    has_json = signature.return_annotation in {Result, Result | None}
    is_told = "as_json" in signature.parameters

    @wraps(body)
    def run(*, as_json: bool = False, **options: Any) -> None:  # noqa: ANN401 - whatever it declares
        result = body(**options, as_json=as_json) if is_told else body(**options)
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
        if result is None:
            return
        if as_json:
            from learning_memory_server.cli.terminal import show_json  # noqa: PLC0415 - rich

            show_json(result.document)
        else:
            result.show()
        if not result.succeeded:
            raise typer.Exit(1)

    if has_json and not is_told:
        option = inspect.Parameter(
            "as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=JsonOption
        )
        # What typer reads the options from.
        run.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*signature.parameters.values(), option]
        )
        run.__annotations__ = {**body.__annotations__, "as_json": JsonOption}
    return run
