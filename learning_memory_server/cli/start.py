"""`start`: the first steps in a project, each after a question, and a report about past sessions.

And `uninstall`, which undoes them: it takes this server out of every client, ends its hub and removes what it can
rebuild, and the data if asked.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from learning_memory_server.advice.text import UNCONFIRMED
from learning_memory_server.cli import out
from learning_memory_server.cli.access import stop_running_hub
from learning_memory_server.cli.clients.catalog import CLIENTS, Client, this_machine
from learning_memory_server.cli.command import (
    Commands,
    Offline,
    Result,
    current_project,
    folders_here,
    open_settings,
    open_settings_here,
)
from learning_memory_server.cli.doctor.clients import is_installed
from learning_memory_server.cli.doctor.settings import check_claim
from learning_memory_server.cli.maintenance.exporting import backed_up
from learning_memory_server.cli.maintenance.learning import read_lesson
from learning_memory_server.cli.past import LearnReport
from learning_memory_server.cli.rules.report import ask_about, document_of, show_report
from learning_memory_server.cli.rules.waiting import show_waiting
from learning_memory_server.cli.setup import remove_from, set_up
from learning_memory_server.cli.sharing import offer_join
from learning_memory_server.errors import InvalidInputError, LearningMemoryError
from learning_memory_server.hub.cleared import CLEARED
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.log import SET_ASIDE
from learning_memory_server.lessons.errors.transcripts import projects_folder
from learning_memory_server.model.project import short_name
from learning_memory_server.rules.pause import PAUSE
from learning_memory_server.server.claims import caller_of
from learning_memory_server.server.settings import RETIRED, Settings
from learning_memory_server.sharing.shared import SHARED
from learning_memory_server.system.ipc.discovery import LOG
from learning_memory_server.system.locations import SILENT, is_attended
from learning_memory_server.system.locking import hold
from learning_memory_server.system.paths import APPLICATION, LOCK, config_file
from learning_memory_server.system.servers import without_logins

_CACHES: Final = (
    *("index", "map", "model-scales.json", "dashboard.html"),
    *(LOG, f"{LOG}.1", f"{LOG}.2", SILENT, "hub.json"),
)
"""Files in the storage folder that can be made again, and `map`, which an earlier version made."""
_DATA: Final = (
    *("backups", SHARED, "claims", "claims.json", *RETIRED),
    *("sessions.json", CLEARED, PAUSE, "qdrant-owner.json", "archive.key", "outdated-points.json"),
)
_REFUSAL: Final = "Nothing is changed without a terminal to ask on. To agree to everything, add --yes."

commands = Commands()


@commands.command(json_help="Print JSON. Nothing is changed without --yes.")
async def start(
    yes: Annotated[bool, typer.Option("--yes", help="Agree to every step, and do not ask.")] = False,
) -> Result:
    """Begin here: add this server to the clients on this machine, and learn from this project's past sessions.

    Asks before each change, and says how to undo it. Without a terminal,
    nothing is changed unless --yes is given. Shows which of your rules agents
    broke in past sessions of this project, which commands failed, and which
    command worked next. Asks you for the lines that agents are reminded of. May
    be run again: what is there already stays as it is.
    """
    settings = open_settings_here()
    for finding in check_claim(settings, os.environ):
        if repair := finding.agreed():
            out.say(repair())
    project = current_project(settings)
    _show_step(1, "the clients on this machine")
    clients = _set_up_clients(yes=yes)
    _show_step(2, f"what past sessions of {short_name(project)} teach")
    lesson = await _learn(settings, project, yes=yes)
    offer_join(settings)
    _show_next(settings, clients, is_kept=bool(lesson.kept or lesson.known))
    await show_waiting(Offline(settings))
    succeeded = not {"refused", "failed"}.intersection(clients.values())
    document = {
        "clients": clients,
        "kept": lesson.kept,
        "left_out": lesson.counts_left_out(),
        **document_of(lesson.past),
    }
    return Result(document, succeeded)


async def _learn(settings: Settings, project: str, *, yes: bool) -> LearnReport:
    """Show what past sessions teach, ask which lines agents are reminded of, and keep the failures if wanted."""
    is_first = project not in Offline(settings).projects.all()
    if is_attended(os.environ):
        lesson = await read_lesson(settings)
        _show_account(lesson, project)
    else:
        lesson = LearnReport(projects_folder(os.environ), here=folders_here(settings))
        out.say("Skipped: no person reads along here, so nothing is learned from past sessions.")
    lesson.show_left_out()
    await ask_about(lesson.past, settings, may_ask=not yes)
    if not lesson.size:
        return lesson
    refusal = "Nothing was kept. To keep it, add --yes."
    question = f"Keep {lesson.size}, so that `failures` and `dashboard` list them for you?"
    if out.agrees(question, refusal, yes=yes):
        await lesson.keep(settings)
        _show_undo(f"forget {'--project current' if is_first else _ids_of(lesson)}")
    else:
        out.say("Skipped: nothing was kept.")
    return lesson


def _ids_of(lesson: LearnReport) -> str:
    """Return the ids of the errors that were kept, to be typed; of many, where they are shown."""
    ids = [known[-1].error for known in lesson.errors]
    return " ".join(ids) if len(ids) <= out.SHOWN else "with the ids that `failures` shows"


def _set_up_clients(*, yes: bool) -> dict[str, str]:
    """Set up each client that is there, after a question, and return what came of it by name."""
    machine = this_machine()

    def act(client: Client) -> str:
        if not is_installed(client, machine):
            return "absent"
        out.say(client.title, "bold")
        try:
            set_up(client, plugin=client.own_command, yes=yes)
        except InvalidInputError as refusal:
            out.say(f"Skipped: {client.title}. {refusal.sentence}")
            return "refused"
        _show_undo(f"setup {client.name} --remove")
        return "ready"

    done = _with_each_client(act)
    if absent := [client.title for client in CLIENTS.values() if done[client.name] == "absent"]:
        out.say(f"Not found, so skipped: {', '.join(absent)}.")
    return done


def _with_each_client(act: Callable[[Client], str]) -> dict[str, str]:
    """Return by name what came of each client: what `act` says, skipped if a person refuses, or failed."""
    done = dict[str, str]()
    for client in CLIENTS.values():
        try:
            done[client.name] = act(client)
        except typer.Exit:
            out.say(f"Skipped: {client.title}.")
            done[client.name] = "skipped"
        except LearningMemoryError as error:
            out.failure(error)
            done[client.name] = "failed"
    return done


def _show_account(lesson: LearnReport, project: str) -> None:
    if lesson.projects or lesson.past.lines:
        show_report(lesson.past, lesson.place, lesson.what)
        return
    what = "this clone of " if lesson.older else ""
    out.say(
        f"Claude Code has kept no session of {what}{out.one_line(short_name(project))} in {out.one_line(str(lesson.place))} yet, so "
        "there is nothing to report. Once it has the plugin, hooks learn while agents work. After the first day, this "
        "shows which commands failed, and which worked next. Until then, an example shows what agents keep: "
        "learning-memory-server demo"
    )


def _show_next(settings: Settings, clients: dict[str, str], *, is_kept: bool) -> None:
    _show_step(3, "what happens next")
    if is_kept and not caller_of(os.environ, settings).is_told:
        out.notice(UNCONFIRMED.strip())
    if "ready" in clients.values():
        out.say(
            "Start a session here as usual: agents have the memory now. In Claude Code, they "
            "also get lessons at the start, and when a command fails with an error that one is about."
        )
    else:
        out.say("No client has the memory yet. To add it: learning-memory-server setup CLIENT")
    out.say("The context of a new session here: learning-memory-server context")
    out.say("How often agents got advice, and if it helped: learning-memory-server status")
    out.say("To undo everything: learning-memory-server uninstall")


def _show_step(number: int, title: str) -> None:
    out.say(f"\nStep {number} of 3: {out.one_line(title)}", "bold cyan")


def _show_undo(command: str) -> None:
    out.say(f"Undo: learning-memory-server {command}", "dim", is_line=True)


@commands.command(json_help="Print JSON. Nothing is changed without --yes.", example="--data")
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
    if out.is_for_people() and not (yes or out.can_ask()):
        out.notice(_REFUSAL)
        clients = dict.fromkeys(CLIENTS, "skipped")
        left = journal.size() > 0
        return Result({"clients": clients, "removed": [], "exported": None, "data_left": left}, succeeded=False)
    clients = _with_each_client(lambda client: "removed" if remove_from(client, yes=yes, if_there=True) else "absent")
    question = f"End the hub, and remove what can be made again from {_shown(settings.storage_path)}?"
    document: dict[str, Any] = {"clients": clients, "removed": [], "exported": None, "data_left": journal.size() > 0}
    if not out.agrees(question, _REFUSAL, yes=yes):
        if yes or out.can_ask():
            out.say("Skipped: the hub and the data stay as they are.")
        return Result(document, succeeded=False)
    stop_running_hub()
    with hold(settings.journal_directory, settings.storage_path, "uninstall"):
        _remove([settings.storage_path / name for name in _CACHES], document)
        if data:
            _remove_data(settings, export or Path.home(), document, yes=yes)
        elif not journal.size():
            _remove_folders(settings, document)
    if settings.qdrant_url:
        out.notice(
            f"Points on the server stay until: learning-memory-server migrate --leave {without_logins(settings.qdrant_url)}"
        )
    out.say(f"Your data stays in {_shown(journal.path)}." if journal.size() else "No data is left.")
    if others := [name for name in _DATA if os.path.lexists(settings.storage_path / name)]:
        out.say(f"In {_shown(settings.storage_path)} stay, too: {', '.join(others)}.")
    with suppress(OSError):
        config_file().parent.rmdir()  # Empty, unless a person has settings there
    if config_file().exists():
        out.say(f"Your settings stay in {_shown(config_file())}.")
    out.say(f"The program itself goes with: {_uninstaller()}", is_line=True)
    return Result({**document, "data_left": journal.size() > 0}, "failed" not in clients.values())


def _remove_data(settings: Settings, folder: Path, document: dict[str, Any], *, yes: bool) -> None:
    """Offer an export, then remove the journal and what else this program keeps."""
    place = folder.resolve()
    for own in (settings.storage_path.resolve(), settings.journal_directory.resolve()):
        if place.is_relative_to(own):
            raise InvalidInputError(f"--export: {_shown(folder)} is removed with the data.", hint="Name another.")
    is_wanted = out.agrees(f"Export everything to {_shown(folder)} first?", _REFUSAL, yes=yes)
    # It is read back before it gets its name.
    if is_wanted and (made := backed_up(settings, folder, keep=None)):
        document["exported"] = str(made.path)
        out.say(f"Exported. To have it back: learning-memory-server import {_shown(made.path)}", is_line=True)
    if not out.agrees("Remove all data for good?", _REFUSAL, yes=yes):
        return
    _remove_folders(settings, document)


def _remove_folders(settings: Settings, document: dict[str, Any]) -> None:
    """Remove the journal and what else this program keeps, down to its empty folders."""
    aside = settings.storage_path.glob(f"*{SET_ASIDE}*")
    _remove([settings.journal_directory, *(settings.storage_path / name for name in _DATA), *aside], document)
    (settings.storage_path / LOCK).unlink(missing_ok=True)
    with suppress(OSError):
        settings.storage_path.rmdir()  # Whatever else is in it is not ours


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


def _uninstaller() -> str:
    """Return the command that removes this program, by how it was installed."""
    parts = Path(sys.prefix).parts
    if "pipx" in parts:
        return f"pipx uninstall {APPLICATION}"
    if "uv" in parts and "tools" in parts:
        return f"uv tool uninstall {APPLICATION}"
    return f"{shlex.quote(sys.executable)} -m pip uninstall {APPLICATION}"


def _shown(path: Path) -> str:
    return out.one_line(str(path))
