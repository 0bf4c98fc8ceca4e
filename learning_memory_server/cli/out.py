"""The format of output: colors and tables in a terminal, plain unwrapped lines in a pipe."""

import json
import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import typer
from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from learning_memory_server.errors import InvalidInputError, LearningMemoryError
from learning_memory_server.model import lines
from learning_memory_server.system.invisible import shown

counted = lines.counted  # Commands use these as `out.counted` and `out.one_line`
one_line = lines.one_line
Report = Callable[..., None]  # Called with a description of the work, the amount done, and the total
Cell = str | Text | int

COLOURS: Final = {
    "confirmed": "green",
    "falsified": "red",
    "abandoned": "bright_black",
    "gold": "yellow",
    "silver": "white",
    "bronze": "dark_orange3",
}
SHOWN: Final = 20  # Maximum number of lines of a long list
_GAP: Final = "  "
_ARROW: Final = " \N{RIGHTWARDS ARROW} "
FROM: Final = " \N{LEFTWARDS ARROW} "
_IDENTITY: Final = "bold cyan"
_RECORD_MAX: Final = 400  # Maximum characters of a text in a list in a terminal: five lines of 80 columns
_PADDING: Final = 3  # Characters between two table columns in a terminal
_LAST_COLUMN: Final = 30  # Minimum characters for a long last column next to the others
_UNWRAPPED: Final = 100_000
_LINE_SECONDS: Final = 5.0  # Seconds between two progress lines without a terminal
_KIB: Final = 1024
_COMMANDS: Final = {"get_clusters": "`clusters`", "get_cluster_members": "`show`", "search_experiences": "`search`"}
"""The commands for people that correspond to the tools for agents in hints."""
CLIENTS: Final = (
    *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_PROJECT_DIR", "GEMINI_CLI", "CURSOR_AGENT", "OPENCODE"),
    *("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "COPILOT_CLI", "AI_AGENT"),
)
"""Variables that clients set for the commands of agents."""
_IS_FOR_PROGRAMS: Final = ContextVar("is_for_programs", default=False)


@contextmanager
def for_programs(wanted: bool) -> Iterator[None]:
    """While the block runs, suppress output for people on standard output, if `wanted`."""
    token = _IS_FOR_PROGRAMS.set(wanted)
    try:
        yield
    finally:
        _IS_FOR_PROGRAMS.reset(token)


def is_for_people() -> bool:
    """Whether people read the output; see `for_programs`."""
    return not _IS_FOR_PROGRAMS.get()


def stdout() -> Console:
    """Return the console of standard output, which is quiet inside `for_programs`."""
    return _console(quiet=not is_for_people())


def say(text: str | Text = "", style: str = "", *, is_line: bool = False) -> None:
    """Print a text for people. A text with `is_line`, such as a command to copy, is not wrapped."""
    stdout().print(Text(text, style) if isinstance(text, str) else text, soft_wrap=is_line)


def stderr() -> Console:
    """Return the console of standard error, for progress, notices and failures."""
    return _console(stderr=True)


def write_line(line: str) -> None:
    """Write a line to standard output without formatting."""
    stream = stdout().file
    stream.write(f"{line}\n")
    stream.flush()


def document(document: Mapping[str, Any]) -> None:
    """Write a document as JSON to standard output."""
    stream = stdout().file
    # Escape characters that the stream cannot encode.
    is_unicode = (getattr(stream, "encoding", None) or "").lower().startswith("utf")
    text = json.dumps(document, ensure_ascii=not is_unicode, indent=2)
    # Escaped, control characters are visible, and programs still get the original text.
    write_line(shown(text, lambda character: json.dumps(character)[1:-1]))


def failure(error: LearningMemoryError) -> None:
    """Print an error and its hint on standard error."""
    message, hint = text_lines(error.message), error.hint_for(lambda tool: _COMMANDS.get(tool, tool))
    stderr().print(Text.assemble(("error: ", "bold red"), (message, "red"), f"\n{text_lines(hint)}" if hint else ""))


def notice(sentence: str) -> None:
    """Print a notice, on standard error."""
    stderr().print(Text(text_lines(sentence), "yellow"))


def remark(sentence: str) -> None:
    """Print a notice about the output, except inside `for_programs`: the JSON document contains it."""
    if is_for_people():
        notice(sentence)


def can_ask() -> bool:
    """Whether questions can be asked: output is for people, and both ends are a terminal."""
    return is_for_people() and sys.stdin.isatty() and sys.stderr.isatty()


def is_a_person() -> bool:
    """Whether a person answers: both ends are a terminal, and no client runs this for an agent."""
    return can_ask() and sys.stdout.isatty() and not any(map(os.environ.get, CLIENTS))


def only_a_person(what: str) -> None:
    """Raise `InvalidInputError` unless a person answers, for an option that an agent must not use for its user."""
    if not is_a_person():
        raise InvalidInputError(
            f"{what} needs a person's answer, in a terminal of their own. There is no option for it.",
            hint="Agents cannot give it. Run this command in a terminal that no client has opened.",
        )


def agrees(question: str, otherwise: str = "", *, yes: bool = False) -> bool:
    """Ask a person on a terminal, and return whether the answer is yes or was given as an option."""
    if yes or not is_for_people():
        return yes
    if can_ask():
        filled = textwrap.fill(text_lines(question), stderr().width - len(" [y/N]: n"))
        return typer.confirm(filled, err=True)
    if otherwise:
        notice(otherwise)
    return False


def table(headers: Sequence[str], rows: Sequence[Sequence[Cell]], *, numbers: Sequence[str] = ()) -> None:
    """Print rows with one line per cell, columns in `numbers` aligned right. In a terminal, the last column wraps."""
    console = stdout()
    cells = [[cell if isinstance(cell, Text) else Text(one_line(str(cell))) for cell in row] for row in rows]
    titles = [Text(header, "bold") for header in headers]
    *widths, last = (max(cell.cell_len for cell in column) for column in zip(titles, *cells, strict=True))
    needed = sum(widths) + _PADDING * len(headers) + min(last, _LAST_COLUMN)
    if console.is_terminal and console.width < needed:
        _show_stacked(console, [titles, *cells], widths, [header in numbers for header in headers])
        return
    table = Table(
        box=box.SIMPLE_HEAD if console.is_terminal else None, pad_edge=False, header_style="bold", padding=(0, 1)
    )
    for header in headers:
        justify: Literal["left", "right"] = "right" if header in numbers else "left"
        table.add_column(header, justify=justify, no_wrap=header is not headers[-1], overflow="fold")
    for row in cells:
        table.add_row(*row)
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        console.print(line.rstrip())


class Record(NamedTuple):
    """An item of a list: facts, beginning with its id if it has one, a text, and its lesson."""

    facts: Sequence[str | Text]
    text: str
    lesson: str = ""
    arrow: str = _ARROW  # `FROM` if the lesson comes first, followed by its origin


def records(records: Iterable[Record]) -> None:
    """Print records: in a terminal with facts, text and lesson on separate lines, in a pipe on one line."""
    console = stdout()
    for facts, text, lesson, arrow in records:
        shown = [fact if isinstance(fact, Text) else Text(one_line(fact)) for fact in facts if fact]
        said = [one_line(each) for each in (text, lesson)]
        if not console.is_terminal:
            console.print(Text(_GAP).join([*shown, Text(arrow.join(filter(None, said)))]))
            continue
        known = Text(_GAP).join(shown)
        indent = len(_GAP) if known.cell_len > console.width else 0
        for number, line in enumerate(known.wrap(console, console.width - indent)):
            console.print(Text(_GAP if number else "") + line)
        ids = (each.plain for each in shown if each.style == _IDENTITY)
        for lead, each in zip((_GAP, arrow.lstrip()), said, strict=True):
            rest = f" (the rest: show {next(ids, 'ID')})" if len(each) > _RECORD_MAX else ""
            if each:
                hanging(Text(lead), Text(f"{lines.shortened(each, _RECORD_MAX)}{rest}"))


def _show_stacked(
    console: Console, rows: Sequence[Sequence[Text]], widths: Sequence[int], are_numbers: Sequence[bool]
) -> None:
    for *row, last in rows:
        for cell, width, is_number in zip(row, widths, are_numbers, strict=False):
            cell.align("right" if is_number else "left", width)
        console.print(Text(_GAP).join(row), overflow="fold")
        hanging(Text(_GAP), last)


def facts(facts: Iterable[tuple[str, Cell | None]]) -> None:
    """Print names and values, aligned. Names without a value are left out."""
    shown = [(name, value) for name, value in facts if value]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        content = value if isinstance(value, Text) else Text(text_lines(str(value)))
        hanging(Text(f"{name:<{width}}  ", "bold"), content)


def hanging(lead: Text, content: Text) -> None:
    """Print a label and a text, in a terminal with a hanging indent."""
    console = stdout()
    if not console.is_terminal:
        console.print(Text.assemble(lead, content))
        return
    grid = Table.grid()
    grid.add_column(width=lead.cell_len, no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(lead, content)
    console.print(grid)


def first(lines: Sequence[str], style: str) -> None:
    """Print the first `SHOWN` lines, and the number of further ones."""
    for line in lines[:SHOWN]:
        say(line, style)
    rest(len(lines), style)


def rest(total: int, style: str = "") -> None:
    """Print the number of items beyond the first `SHOWN`, if any."""
    if total > SHOWN:
        say(f"... and {total - SHOWN:,} more", style)


@contextmanager
def working(sentence: str) -> Iterator[Report]:
    """Show progress while the block runs, as a bar in a terminal, else as lines. Yields the function to update it."""
    console = stderr()
    if not console.is_terminal:
        yield _in_lines()
        return
    from learning_memory_server.cli.progress import shown_on

    with shown_on(console, sentence) as report:
        yield report


def _in_lines() -> Report:
    """Return a function that prints progress as a line every few seconds, for logs and other programs."""
    said = time.monotonic()

    def report(doing: str, done: int = 0, total: int = 0) -> None:
        nonlocal said
        if time.monotonic() - said >= _LINE_SECONDS:
            said = time.monotonic()
            stderr().print(one_line(f"{doing}: {done:,} of {total:,}" if total else doing))

    return report


def each_file(paths: Iterable[Path], work: Callable[[Path], object], sentence: str) -> list[Path]:
    """Call `work` for each file, and return the files for which it fails."""
    paths, failed = list(paths), []
    with working(sentence) as report:
        for number, path in enumerate(paths):
            report(sentence, number, len(paths))
            try:
                work(path)
            except (LearningMemoryError, OSError):
                failed.append(path)
    return failed


def coloured(name: str) -> Text:
    """Return an outcome or a tier as colored text."""
    return Text(name, COLOURS.get(name, ""))


def identity(name: str) -> Text:
    """Return an id as styled text."""
    return Text(one_line(name), _IDENTITY)


def shortened(text: str, columns: int) -> str:
    """Return the beginning of a text on one line, with at most this many terminal columns."""
    line = Text(one_line(text))
    line.truncate(columns, overflow="ellipsis")
    return line.plain


def text_lines(text: str) -> str:
    """Return a text without control characters except line feeds, and with the names of invisible characters."""
    return "\n".join(lines.without_controls(line.expandtabs(4)) for line in shown(text).splitlines())


def date_and_time(moment: datetime | str) -> str:
    """Format the date and time of a datetime or an ISO 8601 text for people. The value must be in UTC."""
    return f"{moment!s:.16}".replace("T", " ")


def date(moment: datetime | str) -> str:
    """Format the date of a datetime or an ISO 8601 text for people."""
    return f"{moment!s:.10}"


def readable_size(size: int) -> str:
    """Format a number of bytes in KiB, MiB or GiB."""
    for unit, factor in (("GiB", _KIB**3), ("MiB", _KIB**2)):
        if size >= factor // 10:
            return f"{size / factor:,.1f} {unit}"
    return f"{size / _KIB:,.1f} KiB"


class _Console(Console):
    """A console that prints no control characters and nothing that could hide text, from any caller."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for each in super().render(renderable, options):
            is_plain = each.control or each.text.isprintable()
            yield (
                each
                if is_plain
                else each._replace(text="\n".join(map(lines.without_controls, shown(each.text).split("\n"))))
            )


def _console(*, stderr: bool = False, quiet: bool = False) -> Console:
    # No markup: the texts come from agents, and may contain brackets.
    console = _Console(markup=False, emoji=False, highlight=False, stderr=stderr, quiet=quiet)
    if not console.is_terminal:
        console.width = _UNWRAPPED
    return console
