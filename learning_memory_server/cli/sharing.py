"""Share lessons through a repository: `share`, `join` and `leave`."""

import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.text import Text

from learning_memory_server.cli import out
from learning_memory_server.cli.access import open_connection
from learning_memory_server.cli.command import (
    Commands,
    Offline,
    YesOption,
    current_project,
    open_settings,
    open_settings_here,
)
from learning_memory_server.errors import InvalidInputError, NotFoundError
from learning_memory_server.model.answer import Said
from learning_memory_server.model.entry import WEIGHTS
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.vocabulary import Tier
from learning_memory_server.redaction.base import Redactor
from learning_memory_server.redaction.redactor import build_redactor
from learning_memory_server.server.composition.backends import redaction_gate
from learning_memory_server.server.settings import Settings
from learning_memory_server.sharing import files, tree
from learning_memory_server.sharing.check import doubtful, objections, parts_of
from learning_memory_server.sharing.review import AnswerableKind
from learning_memory_server.sharing.shared import SHARED, SharedLessons, identity_of, state_of

_COMMITS: Final = 5_000  # The number of newest commits to search for names

commands = Commands()
lessons = Commands(no_args_is_help=True, help="The shared lessons in the files of a repository.")
commands.add_typer(lessons, name="lessons")


@commands.command(example="ghap_20260301_120000_ffffff")
def share(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Ids of your resolved entries and of values.")
    ] = None,
    kind: Annotated[
        files.FileKind | None,
        typer.Option("--kind", help="Share what the ID says about the lesson in --about, not the ID's lesson."),
    ] = None,
    about: Annotated[
        str | None,
        typer.Option("--about", metavar="LESSON", help="A shared lesson, which the ID corrects if there is no --kind."),
    ] = None,
    yes: YesOption = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="Write nothing: check the shared files of this repository, or of the one named."),
    ] = False,
) -> None:
    """Write lessons into this repository, one file each, for others to review: show them, ask, and write.

    A LESSON is named by its file or by its id. Nothing is committed. A text that
    has a secret or plainly instructs its reader is not shared.
    You are asked about home folders, hosts of your own network, and names and
    addresses that git's log or this machine has; --yes does not answer that. With
    --kind withdraws, a lesson is taken back, for which no ID is needed.

    `share --check` is for a team's CI. It prints one line for each problem, and
    no secret, and needs no hub and no model. The exit code is 1 if there is a
    problem.
    """
    if check:
        check_files(Path(ids[0]) if ids else repository())
        return
    settings, top = open_settings_here(), repository()
    there, project = tree.sound_files(top), current_project(settings)
    redactor, names = secrets_finder(settings), _names(top)
    written = 0
    wanted = list(_wanted(settings, ids or [], kind, _lesson(about, project, there) if about else None))
    for what, origin, file in wanted:
        doubts = [f"it is of the project {origin}"] if origin not in {"", project} else []
        refused = [f"{reason}: {words}" if words else reason for reason, words in objections(file, redactor)]
        if not refused and (doubts := [*doubts, *doubtful(file, names)]):
            question = f"{what} has {', '.join(doubts)}. Share it anyway?"
            refused = [] if out.agrees(out.one_line(question)) else [f"a person has to agree to {', '.join(doubts)}"]
        for reason in refused:
            out.notice(f"{what} is not shared: {out.one_line(reason)}.")
        if refused:
            continue
        out.say(f"{files.FOLDER}/{file.name}", "bold")
        out.say(out.text_lines(file.render()))
        if file.name in there or out.agrees("Write this file?", yes=yes):
            _write(top, file)
            written += 1
    if written:
        out.say(f"Written: {out.counted(written, 'file')}. Commit and review them like any other change.")
    if written < len(wanted):
        raise typer.Exit(1)


@commands.command()
async def join() -> None:
    """Read the shared lessons of this repository; run it once in each clone.

    Searches then find them, marked as shared, with the name that git has for
    the person who merged them. Shows all, and asks once if agents may get them
    as advice. Later lessons wait in `review`.
    """
    settings, top = open_settings_here(), repository()
    out.only_a_person("Reading what others share")
    if not out.agrees(f"Read the shared lessons of {top}? Anyone who can write to it can write them."):
        raise typer.Exit(1)
    shallow = "This clone is shallow: nothing here can tell who merged a lesson, or know this repository again."
    if not tree.is_whole(Path(tree.place_of(top))) and not out.agrees(f"{shallow} Read them anyway?"):
        raise typer.Exit(1)
    project = current_project(settings)
    async with open_connection(settings, "join") as connection:
        found = await connection.run("join", folder=str(top), project=project)
        out.say(f"Joined: {out.counted(found['lessons'], 'shared lesson')} of {top}.")
        for name, reason in found["left_out"].items():
            out.notice(f"{out.one_line(name) or top}: left out, because {reason}.")
        items = [
            each for each in Offline(settings).review.waiting(project, utc_now()) if each.kind is AnswerableKind.SHARED
        ]
        for each in items:
            out.hanging(Text(f"{each.fared}: "), Text(out.one_line(each.text)))
        if items and out.agrees(f"May agents get {'it' if len(items) == 1 else f'all {len(items)}'} as advice?"):
            ids = [each.id for each in items]
            await connection.run("answer", ids=ids, said=Said.YES, project=project)


@commands.command()
async def leave() -> None:
    """Stop reading the shared lessons of this repository, and remove them from the index and from all replies."""
    async with open_connection(open_settings(), "leave") as connection:
        # The folder is enough if the clone is gone.
        found = await connection.run("unjoin", folder=str(tree.top_of(Path.cwd())))
    out.say(f"Left: the shared lessons of {found['folder']} are forgotten here.")
    out.say("To remove what is left of them in the index's files as well, run: learning-memory-server reindex")


def offer_join(settings: Settings) -> None:
    """Print a notice if this repository has shared lessons that are not read yet."""
    top = tree.top_of(Path.cwd())
    if (top / files.FOLDER).is_dir() and tree.place_of(top) not in SharedLessons(settings.storage_path / SHARED).joined:
        out.say("This repository has shared lessons. To read them, run: learning-memory-server join")


@lessons.command("check")
def lessons_check(
    folder: Annotated[Path | None, typer.Argument(help="The repository; this one if not given.")] = None,
) -> None:
    """Check the shared files of a worktree, one line for each problem. The exit code is 1 if there is one.

    It is `share --check`.
    """
    check_files(folder or repository())


def check_files(top: Path) -> None:
    """Print each problem of the shared files of a worktree, and exit with status 1 if there is any."""
    if not top.is_dir():
        raise InvalidInputError(f"{out.one_line(str(top))} is no folder.", hint="Name the folder of a repository.")
    redactor, said = secrets_finder(open_settings()), tree.working_files(top)
    shared = {name: file for name, file in said.items() if isinstance(file, files.SharedFile)}
    problems = [(name, reason) for name, reason in said.items() if isinstance(reason, str)]
    for name, file in shared.items():
        problems += [(name, reason) for reason, _ in objections(file, redactor)]
        paths = file.texts.get("Files", "").split()
        problems += [(name, f"it is about {path}, which is gone") for path in paths if not (top / path).exists()]
    for lesson in state_of(shared).values():
        problems += [(copy, f"it is a copy of {lesson.names[0]}") for copy in lesson.names[1:]]
    for name, reason in problems:
        out.say(out.one_line(f"{files.FOLDER}/{name}: {reason}"), is_line=True)
    out.say(f"{out.counted(len(shared), 'shared file')}, {out.counted(len(problems), 'problem')}.")
    if problems:
        raise typer.Exit(1)


def _wanted(
    settings: Settings, ids: Sequence[str], kind: files.FileKind | None, about: files.SharedFile | None
) -> Iterator[tuple[str, str, files.SharedFile]]:
    """Yield the id, the project and the file of each item to share."""
    is_verdict = kind in {files.FileKind.CONFIRMS, files.FileKind.CONTRADICTS, files.FileKind.WITHDRAWS}
    if (kind and not (is_verdict and about)) or (about and not kind and len(ids) != 1):
        raise InvalidInputError("Give --about with --kind confirms, contradicts or withdraws, or with one ID alone.")
    if not ids and not (kind is files.FileKind.WITHDRAWS and about):
        raise InvalidInputError("Give the ids of entries or values to share.")
    if kind and about and not ids:
        yield about.name, "", files.verdict(kind, about)
    stored, corrects = Offline(settings), about.content if about else ""
    for name in ids:
        entry, value = next(iter(stored.collector.look_up([name]).found), None), stored.value_log.find(name)
        if value and not kind:
            yield name, value.project, files.of_value(value, corrects)
        elif entry and entry.resolution and entry.learned and entry.weight > WEIGHTS[Tier.ABANDONED]:
            file = files.verdict(kind, about, entry) if kind and about else files.of_entry(entry, corrects)
            yield name, entry.project, file
        else:
            raise NotFoundError(
                f"There is no value {name}, and no entry that is resolved and has a lesson or a root cause.",
                hint="`learning-memory-server list` and `values` show the ids.",
            )


def _lesson(named: str, project: str, there: Mapping[str, files.SharedFile]) -> files.SharedFile:
    """Return the lesson with a file name or an id."""
    found = there.get(Path(named).name)
    ids = {identity_of(project, file.content): file for file in there.values() if file.kind in files.TEACHING}
    if not (file := found or ids.get(named)):
        raise NotFoundError(f"There is no shared lesson {named} in this worktree.")
    return file


def repository() -> Path:
    """Return the top folder of the current worktree."""
    top = tree.top_of(Path.cwd())
    if not tree.place_of(top):
        raise InvalidInputError(f"{top}: there is no git repository here.")
    return top


def secrets_finder(settings: Settings) -> Redactor:
    """Return a redactor, even if redaction is off."""
    return redaction_gate(settings).redactor if settings.redaction else build_redactor()


def _names(top: Path) -> set[str]:
    """Return the names and addresses in git's log and of this machine's accounts."""
    said = tree.line(top, "log", f"--max-count={_COMMITS}", "--format=%an%n%ae%n%cn%n%ce").splitlines()
    found = {*said, socket.gethostname()}
    if sys.platform != "win32":
        import pwd

        people = [each for each in pwd.getpwall() if "/home" in each.pw_dir or "/Users" in each.pw_dir]
        found |= {name for each in people for name in (each.pw_name, each.pw_gecos.split(",")[0])}
    return parts_of(found)


def _write(top: Path, file: files.SharedFile) -> None:
    folder = top / files.FOLDER
    if tree.is_linked(top, files.FOLDER):
        raise InvalidInputError(f"{folder} is a link, so nothing was written.")
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError), (folder / file.name).open("x", encoding="utf-8", newline="\n") as stream:
        stream.write(file.render())
