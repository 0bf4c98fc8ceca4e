"""The commands that change, copy or move the stored data, and their options."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from learning_memory_server.cli.options import JsonOption, ProjectOption
from learning_memory_server.model.limits import BACKUPS_KEPT
from learning_memory_server.model.vocabulary import Axis

maintenance = typer.Typer()


@maintenance.command()
def reindex(
    axis: Annotated[Axis | None, typer.Argument(help="Only this axis; by default everything.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Rebuild the index from the journal.

    The old index answers searches until the new one is complete. An
    interrupted rebuild resumes where it stopped. The journal does not change.
    """
    from learning_memory_server.cli.maintenance.indexing import rebuild  # noqa: PLC0415

    asyncio.run(rebuild(axis, as_json=as_json))


@maintenance.command("import")
def import_(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", exists=True, dir_okay=False, readable=True, help="An archive, or a JSONL file."
        ),
    ],
    project: Annotated[
        str | None,
        typer.Option(
            "--project",
            metavar="NAME",
            help="Project for entries that name none; `current` is this folder's.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would happen, and change nothing.")
    ] = False,
    apply_deletions: Annotated[
        bool,
        typer.Option("--apply-deletions", help="Also forget whatever the file records as forgotten."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, and ask nothing.")] = False,
) -> None:
    """Import an archive made by `export`, or resolved GHAP entries from a JSONL file.

    The JSONL file comes from a journal of this server or of its predecessor,
    whose entries name no project. Without --project they go under this
    folder's; on a terminal you are asked first.
    Entries keep their ids and times, so a second import changes nothing. What
    is stored here stays as it is, and what was forgotten here stays forgotten.
    If anything will change, the journal is backed up first, as by `backup`.
    Rejected lines are listed with the reason, and the exit code is 1.
    """
    from learning_memory_server.cli.maintenance.importing import import_file  # noqa: PLC0415

    accepted = import_file(path, project, dry_run=dry_run, apply_deletions=apply_deletions, as_json=as_json)
    if not asyncio.run(accepted):
        raise typer.Exit(1)


@maintenance.command("learn-from")
def learn_from(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PATH]",
            exists=True,
            readable=True,
            help="A transcript, or a folder of them; by default where Claude Code keeps them.",
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also from other projects, each under its own name.")
    ] = False,
    tasks: Annotated[
        bool,
        typer.Option(
            "--tasks", help="Also keep what each session was asked first and answered last, as a memory."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Keep it, and do not ask.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON. Nothing is kept without --yes.")
    ] = False,
) -> None:
    """Learn from Claude Code's past sessions of this project which commands failed, and what mended them.

    The transcripts are read on this machine, without a model, and stay as they
    are. Shows what would be kept, then asks: the line that names each error,
    the command, and the similar command that worked within the next five;
    without secrets, names and folders of this machine. `failures` lists it
    afterwards, and agents are shown it when the error comes again. Run it again
    after an interruption, or later: what is known is not added twice.
    With --tasks, a session that wrote something within the last hour is left
    for the next time.
    """
    from learning_memory_server.cli.maintenance.learning import learn  # noqa: PLC0415

    asyncio.run(learn(path, every=every, tasks=tasks, yes=yes, as_json=as_json))


@maintenance.command()
def export(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            dir_okay=False,
            help="The archive to write; its name must end in .tar.gz, .tgz or .tar.",
        ),
    ],
    project: ProjectOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write everything in the journal to one file: entries, also open ones, values, verdicts, memories and failures.

    What was forgotten is left out. So is the index, which is rebuilt from the
    journal. Sessions may keep running.
    """
    from learning_memory_server.cli.maintenance.exporting import export as write  # noqa: PLC0415

    write(path, project, force=force)


@maintenance.command()
def backup(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[FOLDER]", file_okay=False, help="By default `backups` in storage_path."),
    ] = None,
    keep: Annotated[int, typer.Option("--keep", min=1, help="How many backups to keep.")] = BACKUPS_KEPT,
) -> None:
    """Export to a dated file in a folder, and remove the oldest backups there.

    What is forgotten later remains in earlier backups until they are removed,
    or until `forget --purge --backups`.
    If the journal is empty, nothing is backed up and no backup is removed.
    """
    from learning_memory_server.cli.maintenance.exporting import backup as write  # noqa: PLC0415

    write(folder, keep)


@maintenance.command()
def restore(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", exists=True, dir_okay=False, readable=True, help="A backup."),
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON. A journal that is not empty needs --yes.")
    ] = False,
) -> None:
    """Import a backup. If the journal is not empty, first show what will change, then ask.

    Adds what is missing. What is stored here stays as it is, and what was
    forgotten here stays forgotten. The journal is backed up first.
    """
    from learning_memory_server.cli.maintenance.restoring import restore as add_missing  # noqa: PLC0415

    if not asyncio.run(add_missing(path, yes=yes, as_json=as_json)):
        raise typer.Exit(1)


@maintenance.command()
def migrate(
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="URL", help="From the embedded engine to this Qdrant server."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="URL", help="From this Qdrant server to the embedded engine."),
    ] = None,
    leave: Annotated[
        str | None,
        typer.Option("--leave", metavar="URL", help="Remove all of your points from this Qdrant server."),
    ] = None,
    gone: Annotated[
        bool, typer.Option("--gone", help="With --leave: the server no longer exists, and is not asked.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Copy the index to a Qdrant server or cluster, or back. The journal stays where it is.

    Vectors are copied, not recomputed. Points already there are skipped, so an
    interrupted migration can be run again. The setting qdrant_api_key holds
    the server's key. The engine in use does not change: the last lines of the
    output say how to change it. With --leave nothing is copied: a server that
    you no longer use forgets your points, of every model, and nobody else's.
    """
    from learning_memory_server.cli.maintenance.indexing import move_index  # noqa: PLC0415

    if not asyncio.run(move_index(to=to, source=source, leave=leave, gone=gone, as_json=as_json)):
        raise typer.Exit(1)


@maintenance.command()
def owner(
    keep: Annotated[
        bool, typer.Option("--keep", help="The storage folder was moved here: its points stay its own.")
    ] = False,
    new: Annotated[
        bool, typer.Option("--new", help="The storage folder is a copy: it becomes an owner of its own.")
    ] = False,
) -> None:
    """Show whose points on a Qdrant server are yours, or say what became of a moved or copied folder.

    Several people can share a server, because each storage folder has an owner
    of its own. A copied folder would remove the points of the one it was copied
    from, so nothing is removed until you say which it is. A new owner's index
    is built again; the points of the owner before stay on the server.
    """
    from learning_memory_server.cli.maintenance.ownership import show_owner  # noqa: PLC0415

    show_owner(keep=keep, new=new)


@maintenance.command()
def forget(  # noqa: PLR0913 - one for each option
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Ids of entries, values, memories and errors."),
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(
            "--project", metavar="NAME", help="Everything of a project; `current` is this folder's."
        ),
    ] = None,
    purge: Annotated[
        bool,
        typer.Option("--purge", help="Rewrite the journal's files, leaving out everything ever forgotten."),
    ] = False,
    backups: Annotated[
        bool, typer.Option("--backups", help="With --purge: also rewrite the backups in storage_path.")
    ] = False,
    preview: Annotated[
        bool, typer.Option("--dry-run", "--preview", help="Show what would be forgotten, and change nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON. Nothing is forgotten without --yes.")
    ] = False,
) -> None:
    """Forget entries, values, memories and errors for good: nothing finds them any more, and no import restores them.

    Without --purge, their texts stay in the journal's files, marked as
    forgotten. Earlier backups have them until --purge --backups; exports, and
    backups in other folders, until you remove those.
    """
    from learning_memory_server.cli.maintenance.forgetting import forget as forget_them  # noqa: PLC0415

    done = forget_them(
        ids or [], project, purge=purge, backups=backups, preview=preview, yes=yes, as_json=as_json
    )
    if not asyncio.run(done):
        raise typer.Exit(1)


@maintenance.command()
def scan(
    backups: Annotated[
        bool, typer.Option("--backups", help="Also look at the backups in storage_path, and rewrite them.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Replace what is found, and do not ask.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON. Nothing is replaced without --yes.")
    ] = False,
) -> None:
    """Find secrets that were stored before redaction knew them, and replace them with markers.

    Shows where each one is and of what kind, never the secret itself. In a
    terminal it asks before it changes anything. It then rewrites the journal's
    files and the index; sessions may keep running. The settings
    redaction_patterns and redaction_allow say what else is a secret and what is
    not. The exit code is 1 if a secret was found and is still there.
    """
    from learning_memory_server.cli.maintenance.scanning import scan as find_secrets  # noqa: PLC0415

    if not asyncio.run(find_secrets(backups=backups, yes=yes, as_json=as_json)):
        raise typer.Exit(1)


@maintenance.command("download-model")
def download_model(
    model: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="An embedding or re-ranking model on huggingface.co, such as `owner/name`."
        ),
    ],
) -> None:
    """Download a model from huggingface.co, and load it once to check that it works.

    Nothing else uses the network for a model. The default model needs no
    download: it comes with this package.
    """
    from learning_memory_server.cli.maintenance.downloading import fetch_model  # noqa: PLC0415

    fetch_model(model)
