"""`project`: list, rename, merge and split the projects with stored records."""

from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import Annotated, Any

import typer

from learning_memory_server.cli import out
from learning_memory_server.cli.access import stop_running_hub
from learning_memory_server.cli.command import Commands, Offline, Result, chosen_project, open_settings
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.names import Names
from learning_memory_server.model import limits
from learning_memory_server.model.limits import checked_text
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.project import name_among
from learning_memory_server.server.claims import claims_of
from learning_memory_server.server.settings import Settings
from learning_memory_server.system.locking import hold

commands = Commands()
project = Commands(no_args_is_help=True, help="The projects, what they are called, and which are one.")
commands.add_typer(project, name="project")

NameArgument = Annotated[str, typer.Argument(metavar="PROJECT", help="Its name, or `current`.")]


@project.command("list")
def list_projects() -> Result:
    """List the projects that have records, with their folders on this machine."""
    settings = open_settings()
    stored, found = Offline(settings), claims_of(settings).folders()
    names = stored.journal.names
    entries = Counter(entry.project for entry in stored.collector.list_resolved())
    rows: list[dict[str, Any]] = []
    for name in stored.projects.all():
        ids = sorted(each for each in {name, *found, *(said.id for said in names.all())} if names.of(each) == name)
        folders = sorted(map(str, chain.from_iterable(found.get(each, ()) for each in ids)))
        rows.append({"project": name, "ids": ids, "entries": entries[name], "folders": folders})
    if rows:
        projects = [row["project"] for row in rows]
        shown = [
            [name_among(row["project"], projects), f"{row['entries']:,}", ", ".join(row["folders"]) or "-"]
            for row in rows
        ]
        out.table(["project", "entries", "folders here"], shown, numbers=["entries"])
    else:
        out.say("Nothing is stored of any project yet.")
    return Result({"projects": rows})


@project.command(example="shop webshop")
def rename(called: NameArgument, name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it.")]) -> None:
    """Call a project something else from now on, or its former name again.

    Records keep their project, so this can be undone.
    """
    stored = Offline(open_settings())
    before, known = chosen_project(called, stored, "PROJECT"), stored.projects.all()
    checked_text("NAME", name, limits.PROJECT_MAX)
    change_names(stored.settings, lambda names: names.rename(before, name, known, utc_now()))
    out.say(f"{before} is called {name} now.")


@project.command(example="shop-34a889 shop")
def merge(
    called: NameArgument, into: Annotated[str, typer.Argument(metavar="INTO", help="The project that it is.")]
) -> None:
    """Read a project as another from now on: one memory, under the name of the second.

    Records keep their project, so `split` undoes it.
    """
    stored = Offline(open_settings())
    first, second = chosen_project(called, stored, "PROJECT"), chosen_project(into, stored, "INTO")
    change_names(stored.settings, lambda names: names.merge(first, second, utc_now()))
    out.say(f"{first} is read as {second} now. Undo: learning-memory-server project split {second}")


@project.command(example="shop")
def split(called: NameArgument) -> None:
    """Read what was merged into a project as projects of their own again.

    Records from after the merge stay with the project.
    """
    stored = Offline(open_settings())
    whole = chosen_project(called, stored, "PROJECT")
    parts = change_names(stored.settings, lambda names: names.split(whole, utc_now()))
    out.say(f"Projects of their own again: {', '.join(parts)}.")


def change_names(settings: Settings, change: Callable[[Names], Any]) -> Any:
    """Change project names. The next hub reads all records under the new names."""
    stop_running_hub()
    with hold(settings.journal_directory, settings.storage_path, "project"):
        return change(Journal(settings.journal_directory).names)
