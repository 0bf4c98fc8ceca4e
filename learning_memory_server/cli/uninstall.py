"""`uninstall`: takes this server out of every client, ends its hub and removes what it can rebuild; data if asked."""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from learning_memory_server.cli import out
from learning_memory_server.cli.access.hub_client import stop_running_hub
from learning_memory_server.cli.access.reading import open_settings
from learning_memory_server.cli.clients.catalog import CLIENTS
from learning_memory_server.cli.clients.claude_code import FOLDER
from learning_memory_server.cli.command import Commands, Result
from learning_memory_server.cli.setup import remove_from
from learning_memory_server.errors import InvalidInputError, LearningMemoryError
from learning_memory_server.journal.archive.backups import back_up
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.moment import utc_now
from learning_memory_server.server.settings import Settings
from learning_memory_server.sharing.shared import SHARED
from learning_memory_server.system.ipc.discovery import LOG
from learning_memory_server.system.locking import hold
from learning_memory_server.system.paths import APPLICATION, LOCK, config_file

_CACHES: Final = (
    *(FOLDER, "index", "map", "clusters", "models", "model-scales.json", "dashboard.html"),
    *(LOG, f"{LOG}.1", "hub.json"),
)
"""What is in the storage folder and can be made again."""
_DATA: Final = ("backups", SHARED, "claims.json", "sessions.json", "qdrant-owner.json", "outdated-points.json")
_REFUSAL: Final = "Nothing is changed without a terminal to ask on. To agree to everything, add --yes."

commands = Commands()


@commands.command(json_help="Print JSON. Nothing is changed without --yes.")
def uninstall(
    data: Annotated[
        bool, typer.Option("--data", help="Also remove the data: journal, backups and the rest of the folder.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            metavar="FOLDER",
            file_okay=False,
            help="With --data: where to export everything first; by default your home folder.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask. With --data, everything is exported.")] = False,
) -> Result:
    """Undo `start` and `setup`: leave every client, end the hub, and remove what can be made again.

    Asks before each step. The data stays, unless --data is given: then an export
    to another folder is offered first, and read back. Settings in `config.toml`
    stay. May be run again.
    """
    settings = open_settings()
    journal = Journal(settings.journal_directory)
    clients = dict[str, str]()
    for client in CLIENTS.values():
        try:
            clients[client.name] = "removed" if remove_from(client, yes=yes, if_there=True) else "absent"
        except typer.Exit:
            out.say(f"Skipped: {client.title}.")
            clients[client.name] = "skipped"
        except LearningMemoryError as error:
            out.failure(error)
            clients[client.name] = "failed"
    question = f"End the hub, and remove what can be made again from {_shown(settings.storage_path)}?"
    document: dict[str, Any] = {"clients": clients, "removed": [], "exported": None, "data_left": journal.size() > 0}
    if not out.agrees(question, _REFUSAL, yes=yes):
        return Result(document, succeeded=False)
    stop_running_hub()
    with hold(settings.journal_directory, settings.storage_path, "uninstall"):
        _remove([settings.storage_path / name for name in _CACHES], document)
        if data:
            _remove_data(settings, export or Path.home(), document, yes=yes)
    if settings.qdrant_url:
        out.notice(f"Points on the server stay until: {APPLICATION} migrate --leave {settings.qdrant_url}")
    out.say(f"Your data stays in {_shown(journal.path)}." if journal.size() else "No data is left.")
    with suppress(OSError):
        # Empty, unless a person has settings there.
        config_file().parent.rmdir()
    if config_file().exists():
        out.say(f"Your settings stay in {_shown(config_file())}.")
    out.say(f"The program itself goes with: pipx uninstall {APPLICATION}")
    return Result({**document, "data_left": journal.size() > 0})


def _remove_data(settings: Settings, folder: Path, document: dict[str, Any], *, yes: bool) -> None:
    """Offer an export, then remove the journal and what else this program keeps."""
    place = folder.resolve()
    for own in (settings.storage_path.resolve(), settings.journal_directory.resolve()):
        if place.is_relative_to(own):
            raise InvalidInputError(f"--export: {_shown(folder)} is removed with the data.", hint="Name another.")
    if out.agrees(f"Export everything to {_shown(folder)} first?", _REFUSAL, yes=yes):
        # It is read back before it gets its name.
        made = back_up(Journal(settings.journal_directory), folder, utc_now(), keep=None)
        if made:
            document["exported"] = str(made.path)
            out.say(f"Exported. To have it back: {APPLICATION} restore {_shown(made.path)}", is_line=True)
    if not out.agrees("Remove all data for good?", _REFUSAL, yes=yes):
        return
    _remove([settings.journal_directory, *(settings.storage_path / name for name in _DATA)], document)
    (settings.storage_path / LOCK).unlink(missing_ok=True)
    with suppress(OSError):
        # Whatever else is in it is not ours.
        settings.storage_path.rmdir()


def _remove(paths: list[Path], document: dict[str, Any]) -> None:
    there = [path for path in paths if os.path.lexists(path)]
    for path in there:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    document["removed"] += [path.name for path in there]
    if there:
        out.say(f"Removed: {', '.join(path.name for path in there)}.")


def _shown(path: Path) -> str:
    return one_line(str(path))
