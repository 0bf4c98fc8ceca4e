"""`dashboard`: one page that shows what was learned, in a file."""

import stat
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from learning_memory_server.cli.access.connection import open_connection
from learning_memory_server.cli.access.reading import open_settings
from learning_memory_server.cli.command import Commands, ProjectOption, chosen_project
from learning_memory_server.cli.terminal import output, readable_size, show_notice
from learning_memory_server.errors import InvalidInputError, LearningMemoryError
from learning_memory_server.server.dashboard.page import page
from learning_memory_server.system import files

commands = Commands()


@commands.command()
async def dashboard(
    file: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="FILE", help="Where to write it; by default, in the storage folder."
        ),
    ] = None,
    project: ProjectOption = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open it in the browser.")] = False,
) -> None:
    """Draw what was learned: one page with a map of experiences, calibration, values and everything else.

    The page is one file that only you can read, and needs no network. It holds
    all texts that are stored: think before you pass it on.
    """
    settings = open_settings()
    project = chosen_project(project, settings)
    path = settings.storage_path / "dashboard.html" if file is None else file
    _require_replaceable(path)
    async with open_connection(settings, "dashboard") as connection:
        try:
            await connection.run("complete")
        except LearningMemoryError as error:
            show_notice(f"{error.sentence} The page has no map.")
        document = (await connection.run("picture", project=project))["document"]
    content = page(document).encode()
    try:
        files.replace(path, content)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be written: {error.strerror}.") from error
    output().print(f"Written to {path} ({readable_size(len(content))}), for you alone.", soft_wrap=True)
    if not no_open:
        webbrowser.open(path.absolute().as_uri())


def _require_replaceable(path: Path) -> None:
    """Refuse to replace something other than a file: a device or a link would be gone afterwards."""
    try:
        if stat.S_ISREG(path.lstat().st_mode):
            return
    except FileNotFoundError:
        return
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be written: {error.strerror}.") from error
    raise InvalidInputError(f"{path} cannot be written: it is there and not a file.", hint="Name a file.")
