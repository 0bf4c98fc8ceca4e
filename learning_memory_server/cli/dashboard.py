"""`dashboard`: write one page about everything that agents learned to a file."""

import os
import webbrowser
import zlib
from base64 import b64decode
from pathlib import Path
from typing import Annotated

import typer

from learning_memory_server.cli import command, out
from learning_memory_server.cli.access import open_connection
from learning_memory_server.cli.maintenance.learning import read_lesson
from learning_memory_server.cli.rules.review import suggested
from learning_memory_server.errors import InvalidInputError, LearningMemoryError
from learning_memory_server.rules.past.report import Line, PastReport
from learning_memory_server.server.dashboard.page import page
from learning_memory_server.system import files, timeouts
from learning_memory_server.system.locations import is_attended

commands = command.Commands()


@commands.command(example="--output lessons.html")
async def dashboard(
    file: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Where to write it; by default, in the storage folder."),
    ] = None,
    project: command.ProjectOption = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open it in the browser.")] = False,
) -> command.Result:
    """Draw what was learned: one page with decisions, errors, clusters, values and everything else.

    The page is one file that only you can read, and needs no network. It holds
    all texts that are stored: think before you pass it on.
    """
    settings = command.open_settings()
    project = command.chosen_project(project, command.Offline(settings))
    path = settings.storage_path / "dashboard.html" if file is None else file
    _require_replaceable(path)
    # The report is about the project of the current folder.
    here = command.current_project(settings)
    is_read = project in {None, here} and is_attended(os.environ)
    report = (await read_lesson(settings)).past if is_read else PastReport()
    past = [_line(each, here) for each in report.lines]
    async with open_connection(settings, "dashboard") as connection:
        try:
            # After a large import, indexing takes minutes: the page shows the progress.
            await connection.run("complete", within=timeouts.DASHBOARD_INDEX)
        except LearningMemoryError as error:
            out.notice(f"{error.sentence} The page has no clusters.")
        folders = command.folders_here(settings)
        arguments = {"project": project, "folders": folders, "past": past, "suggestions": suggested(report)}
        packed = (await connection.run("page_data", **arguments))["document"]
    content = page(zlib.decompress(b64decode(packed)).decode()).encode()
    try:
        files.replace(path, content)
    except OSError as error:
        raise InvalidInputError(f"{out.one_line(str(path))} cannot be written: {error.strerror}.") from error
    size = out.readable_size(len(content))
    out.say(f"Written to {out.one_line(str(path))} ({size}), for you alone.", is_line=True)
    if not no_open and out.is_for_people():
        webbrowser.open(path.absolute().as_uri())
    return command.Result({"path": str(path), "bytes": len(content)})


def _line(line: Line, project: str) -> dict[str, str]:
    """Return a line of the report for the page, with its error and its suggestion."""
    return {
        "project": project,
        "label": line.label,
        "text": line.text,
        "error": line.figures.line if line.figures else "",
        "command": line.figures.command if line.figures else "",
        "suggestion": line.offered.suggestion.id if line.offered else "",
    }


def _require_replaceable(path: Path) -> None:
    """Refuse to replace anything but a regular file, and to create a folder."""
    shown = out.one_line(str(path))
    if not path.absolute().parent.is_dir():
        raise InvalidInputError(f"{shown} cannot be written: its folder does not exist.", hint="Create it first.")
    if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
        raise InvalidInputError(f"{shown} cannot be written: it is there and not a file.", hint="Name a file.")
