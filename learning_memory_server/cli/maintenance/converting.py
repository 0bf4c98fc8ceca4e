"""`convert`: rewrites journals and archives of earlier formats into the present one."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from learning_memory_server.cli.access.reading import open_settings
from learning_memory_server.cli.command import Commands
from learning_memory_server.cli.terminal import output, show_notice, working
from learning_memory_server.errors import LearningMemoryError, NotFoundError
from learning_memory_server.journal.archive.backups import list_backups
from learning_memory_server.journal.archive.converting import convert_archive, convert_journal
from learning_memory_server.model.moment import utc_now
from learning_memory_server.system.locking import exclusive

commands = Commands()


@commands.command()
def convert(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PATH]...",
            help="Folders of journals, and archives; by default the journal and the backups in storage_path.",
        ),
    ] = None,
) -> None:
    """Rewrite journals, archives and backups of earlier formats into the present one.

    Each file is written anew, synced, read back and compared with the earlier
    one, which stays beside it as NAME.earlier-TIME. What is in the present
    format is left alone. No hub may be running: stop it with `hub stop`.
    """
    settings = open_settings()
    if not paths:
        paths = [settings.journal_directory, *list_backups(settings.backups_directory)]
    if missing := [path for path in paths if not path.exists()]:
        raise NotFoundError(f"There is no {missing[0]}.")
    kept, is_complete = list[Path](), True
    for path in paths:
        try:
            with working(f"Converting {path.name}"):
                kept += _converted(path)
        except LearningMemoryError as error:
            is_complete = False
            output().print(Text(f"{path} was not converted. {error.sentence}", "red"))
    for path in kept:
        output().print(f"Converted. The earlier one is {path}", soft_wrap=True)
    if kept:
        show_notice("Neither forget nor scan looks at the earlier ones: remove them when all is well.")
    elif is_complete:
        output().print("All of it is in the present format already.")
    if not is_complete:
        raise typer.Exit(1)


def _converted(path: Path) -> list[Path]:
    at = utc_now()
    if not path.is_dir():
        return convert_archive(path, at)
    with exclusive(path, "learning-memory-server convert"):
        return convert_journal(path, at)
