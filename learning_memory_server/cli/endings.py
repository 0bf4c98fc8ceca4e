"""The end of a command: errors as sentences or, with `--json`, as a document, and the exit status."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from io import TextIOWrapper
from typing import Any, Final, NoReturn, TextIO, cast

import typer
from typer.core import TyperGroup

from learning_memory_server.cli.help import about
from learning_memory_server.errors import InvalidInputError, LearningMemoryError, OutputError
from learning_memory_server.system.ending import INTERRUPTED, describe_exception
from learning_memory_server.system.paths import APPLICATION

_AS_JSON: Final = f"{__name__}.json"  # The key in a command's context for whether `--json` was given
_EXTRA: Final = re.compile(r"Got unexpected extra argument(?:s|\(s\))? \((.+)\)")  # Typer's message
_OPTIONAL: Final = re.compile(r"(?<=^Invalid value for )'\[(\w+)\]'")  # The name of an optional argument
_PLACES: Final = 6  # Maximum number of frames, innermost last, in a report of an unexpected error
_WRONG_USE: Final = 2
_READER_GONE: Final = 141  # The exit status if the reader of standard output has gone: 128 plus SIGPIPE


class FailuresAsSentences(TyperGroup):
    """Turns an error of any command into a sentence, or a document with `--json`, and exit status 1."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Record whether `--json` is given, for any command and even if other options are invalid."""
        options = args[: args.index("--")] if "--" in args else args
        ctx.meta[_AS_JSON] = "--json" in options
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        with _failures_as_sentences(as_json=ctx.meta[_AS_JSON]):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with _failures_as_sentences(as_json=ctx.meta[_AS_JSON]):
            return super().invoke(ctx)


@contextmanager
def _failures_as_sentences(*, as_json: bool) -> Iterator[None]:
    try:
        yield
    except OutputError as error:
        raise typer.Exit(_status_without_output(error)) from None
    except LearningMemoryError as error:
        _show(error, as_json=as_json)
        raise typer.Exit(1) from None
    except typer.Abort as error:
        # A prompt turns Ctrl-C into this, too.
        if isinstance(error.__context__, KeyboardInterrupt):
            raise typer.Exit(INTERRUPTED) from None
        raise
    except Exception as error:
        # How typer ends a command, and what it says of wrong options.
        if type(error).__module__.partition(".")[0] in {"click", "typer"}:
            context = getattr(error, "ctx", None)
            if not (context and hasattr(error, "format_message")) or type(error).__name__ == "NoArgsIsHelpError":
                raise
            said = _in_words(error, context)
            _show(InvalidInputError(said, hint=f"Help: {context.command_path} --help"), as_json=as_json)
            raise typer.Exit(_WRONG_USE) from None
        # A traceback gets copied into reports, and messages may quote texts, paths and URLs.
        facts = describe_exception(error)
        places = ", ".join(facts["frames"][-_PLACES:])
        _show(
            LearningMemoryError(f"The command failed unexpectedly: {facts['type']}.", hint=f"It passed {places}."),
            as_json=as_json,
        )
        raise typer.Exit(1) from None


def _in_words(error: Any, context: Any) -> str:
    """Return a sentence about the invalid arguments of a command."""
    said = _OPTIONAL.sub(r"'\1'", str(error.format_message()).replace("Value error, ", ""))
    called = context.command
    if type(error).__name__ == "NoSuchOption":
        # Suggest only a similar name, not every name that shares a letter.
        options = {name[2:] for each in called.params for name in each.opts if name.startswith("--")}
        alike = get_close_matches(error.option_name.lstrip("-"), options, n=1)
        has = ", ".join(f"--{name}" for name in sorted(options))
        return f"No such option: {error.option_name}. " + (
            f"Did you mean --{alike[0]}?" if alike else f"It has {has or 'no options'}."
        )
    if extra := _EXTRA.fullmatch(said):
        usage = " ".join([context.command_path, *called.collect_usage_pieces(context)])
        return f"{extra[1]!r} is not expected here. Usage: {usage}"
    # For a missing argument, list the possible values.
    if type(error).__name__ == "MissingParameter":
        return f"{said.partition(' Choose from')[0]} {about(error.param)}".strip()
    return said


def run_to_the_end(app: typer.Typer) -> NoReturn:
    """Run the command in the arguments, and end the process."""
    status: object = 0
    if sys.stdout is not None:
        # Windows code pages have no arrow, and texts of agents may contain any character.
        cast("TextIOWrapper", sys.stdout).reconfigure(errors="replace")
        sys.stdout = cast("TextIO", _StandardOutput(sys.stdout))
    try:
        try:
            app(prog_name=APPLICATION)
        except SystemExit as end:
            status = end.code
        if sys.stdout is not None:
            sys.stdout.flush()
    except OutputError as error:
        status = _status_without_output(error)  # Typer writes the program's own help before it invokes a command
    raise SystemExit(status)


class _StandardOutput:
    """Standard output whose errors are an `OutputError`, which distinguishes them from errors of other files."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _output_errors():
            return self._stream.write(text)

    def flush(self) -> None:
        with _output_errors():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _output_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"The output could not be written ({error.strerror or type(error).__name__}).",
            hint="The command itself may have succeeded. Free space, or send the output elsewhere.",
        ) from error


def _status_without_output(error: OutputError) -> int:
    """Report that standard output failed, unless its reader has only gone, and return the exit status."""
    # The buffered rest would fail again when Python exits.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    if isinstance(error.__cause__, BrokenPipeError):
        return _READER_GONE
    _show(error)
    return 1


def _show(error: LearningMemoryError, *, as_json: bool = False) -> None:
    from learning_memory_server.cli import out

    # Standard error may be closed, or on a full disk, too.
    with suppress(OSError):
        if as_json:
            out.document({"error": error.to_body()})
        else:
            out.failure(error)
