"""The commands and their options. Each command's work is in a module of its own, imported when it is run."""

import asyncio
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from learning_memory_server.cli.hub_commands import hub
from learning_memory_server.cli.keeping import keeping
from learning_memory_server.domain import limits
from learning_memory_server.domain.value import ValueOrder
from learning_memory_server.domain.vocabulary import Axis, Domain, OutcomeStatus, Strategy
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.paths import APPLICATION

# The options that several commands have.
DomainOption = Annotated[Domain | None, typer.Option("--domain", help="Only this kind of task.")]
OutcomeOption = Annotated[OutcomeStatus | None, typer.Option("--outcome", help="Only this outcome.")]
StrategyOption = Annotated[Strategy | None, typer.Option("--strategy", help="Only this strategy.")]
ProjectOption = Annotated[
    str | None,
    typer.Option("--project", metavar="NAME", help="Only this project; `current` is this folder's."),
]
SinceOption = Annotated[
    str | None,
    typer.Option("--since", metavar="DATE", help="Only what was resolved since: ISO 8601, in UTC."),
]


class FailuresAsSentences(TyperGroup):
    """Where an anticipated failure becomes a sentence and the exit code 1, whatever command it ended."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - the signature of typer's private click
        """Run the command."""
        try:
            return super().invoke(ctx)
        except LearningMemoryError as error:
            from learning_memory_server.cli.terminal import show_failure  # noqa: PLC0415 - rich

            show_failure(error)
            raise typer.Exit(1) from None


app = typer.Typer(
    cls=FailuresAsSentences,
    no_args_is_help=True,
    # With local variables a traceback would show what agents wrote.
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command that the arguments name, and end the process."""
    app(prog_name=APPLICATION)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{APPLICATION} {metadata.version(APPLICATION)}")
        raise typer.Exit


app.add_typer(keeping)
app.add_typer(hub, name="hub")


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """A memory for coding agents that keeps what they believed, what happened, and what they learned.

    Without a command this is the MCP server on stdio, as clients start it.
    All sessions share one hub, which holds the memory; the first starts it.
    With --direct as the only argument there is no hub: the server holds
    the memory alone (for tests, debugging and sandboxes).

    The commands work through the hub while one runs, and hold the memory
    themselves while none does.
    """


@app.command()
def status() -> None:
    """Show what is kept, where, and who is using it."""
    from learning_memory_server.cli.status import show_status  # noqa: PLC0415

    show_status()


@app.command()
def doctor(
    quick: Annotated[bool, typer.Option("--quick", help="Do not load the models.")] = False,
    fix: Annotated[
        bool, typer.Option("--fix", help="Repair what is safe to repair, and look again.")
    ] = False,
) -> None:
    """Check every layer, and say what is wrong and what to do. Exit code 1 if something is.

    --fix closes folders and files to other users, and completes the index or makes it anew. It never changes what is
    in the journal.
    """
    from learning_memory_server.cli.doctor import examine  # noqa: PLC0415

    if not asyncio.run(examine(quick=quick, fix=fix)):
        raise typer.Exit(1)


@app.command()
def reindex(
    axis: Annotated[Axis | None, typer.Argument(help="Only this axis; by default everything.")] = None,
) -> None:
    """Make the index anew from the journal.

    The present index answers until the new one is complete. If it is interrupted, the next time goes on
    from there. Nothing in the journal changes.
    """
    from learning_memory_server.cli.reindexing import make_anew  # noqa: PLC0415

    asyncio.run(make_anew(axis))


@app.command("import")
def import_(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", exists=True, dir_okay=False, readable=True, help="An archive, or a JSONL file."
        ),
    ],
    project: Annotated[
        str | None,
        typer.Option("--project", metavar="NAME", help="The project of entries that name none."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would happen, and change nothing.")
    ] = False,
    apply_deletions: Annotated[
        bool, typer.Option("--apply-deletions", help="Forget what is here and was forgotten there.")
    ] = False,
) -> None:
    """Take in an archive that `export` made, or resolved GHAP entries from a JSONL file.

    A JSONL file is a journal's of ours, or the predecessor's. Entries keep their ids and times, so that
    importing a file twice changes nothing, and what is here stays as it is. Nothing brings back what was
    forgotten here. Lines that cannot be taken are listed with the reason, and the exit code is then 1.
    """
    from learning_memory_server.cli.importing import import_file  # noqa: PLC0415

    if not asyncio.run(import_file(path, project, dry_run=dry_run, apply_deletions=apply_deletions)):
        raise typer.Exit(1)


@app.command("list")
def list_(
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many to show.")] = 20,
    domain: DomainOption = None,
    outcome: OutcomeOption = None,
    since: SinceOption = None,
    project: ProjectOption = None,
) -> None:
    """List resolved GHAP entries, newest first."""
    from learning_memory_server.cli.listing import list_entries  # noqa: PLC0415

    list_entries(limit, domain=domain, outcome=outcome, since=since, project=project)


@app.command()
def search(  # noqa: PLR0913 - one for each option
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")],
    axis: Annotated[Axis, typer.Option("--axis", help="Which view on an experience to search.")] = Axis.FULL,
    domain: DomainOption = None,
    outcome: OutcomeOption = None,
    strategy: StrategyOption = None,
    project: ProjectOption = None,
    since: SinceOption = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=limits.SEARCH_RESULTS_MAX, help="How many to show.")
    ] = 10,
    lexical: Annotated[
        bool, typer.Option("--lexical", help="Search by words: at once, without the model and the index.")
    ] = False,
) -> None:
    """Find experiences by meaning; by words alone while there is no index to be had."""
    from learning_memory_server.cli.searching import search_entries  # noqa: PLC0415

    asyncio.run(
        search_entries(
            query,
            axis=axis,
            domain=domain,
            outcome=outcome,
            strategy=strategy,
            project=project,
            since=since,
            limit=limit,
            lexical=lexical,
        )
    )


@app.command()
def clusters(
    axis: Annotated[Axis, typer.Argument(metavar="AXIS", help="full, strategy, surprise or root_cause.")],
    members: Annotated[
        str | None, typer.Option("--members", metavar="ID", help="Show the experiences of this cluster.")
    ] = None,
) -> None:
    """Show what keeps recurring on an axis: the groups of experiences that are alike."""
    from learning_memory_server.cli.clusters import show_clusters  # noqa: PLC0415

    asyncio.run(show_clusters(axis, members))


@app.command()
def values(
    axis: Annotated[Axis | None, typer.Option("--axis", help="Only values of this axis.")] = None,
    sort: Annotated[ValueOrder, typer.Option("--sort", help="Which come first.")] = ValueOrder.CLUSTER_SIZE,
    superseded: Annotated[
        bool, typer.Option("--superseded", help="Also values whose place another one took.")
    ] = False,
) -> None:
    """List the values: the principles that clusters of experiences have taught, and how they have held.

    strength is the lower 95 % bound of the share of experiences that bear a value out; contested ones have more
    experiences against them than for them.
    """
    from learning_memory_server.cli.listing import list_values  # noqa: PLC0415

    asyncio.run(list_values(axis, sort, superseded=superseded))


@app.command()
def forget(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Ids of entries, values and memories.")
    ] = None,
    project: Annotated[
        str | None,
        typer.Option("--project", metavar="NAME", help="All of a project; `current` is this folder's."),
    ] = None,
    purge: Annotated[
        bool,
        typer.Option(
            "--purge", help="Rewrite the journal's files without this and all that was forgotten before."
        ),
    ] = False,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show what would go, and change nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Forget entries, values and memories for ever: they are found nowhere any more, and never come back.

    Without --purge their lines stay in the journal's files, marked as forgotten. Copies of the journal that
    were made before still have them.
    """
    from learning_memory_server.cli.forgetting import forget as forget_them  # noqa: PLC0415

    asyncio.run(forget_them(ids or [], project, purge=purge, preview=preview, yes=yes))


@app.command("download-model")
def download_model(
    model: Annotated[
        str,
        typer.Argument(metavar="NAME", help="The name of a model on huggingface.co, to embed or to re-rank."),
    ],
) -> None:
    """Fetch a model from huggingface.co, and load it once to see that it works.

    Nothing else ever uses a network for a model. The default model needs none: it comes with this package.
    """
    from learning_memory_server.cli.downloading import fetch_model  # noqa: PLC0415

    fetch_model(model)


@app.command()
def demo() -> None:
    """Show what the server does, with examples in a temporary place."""
    from learning_memory_server.cli.demo import run_demo  # noqa: PLC0415
    from learning_memory_server.cli.terminal import output  # noqa: PLC0415

    if not asyncio.run(run_demo(output())):
        raise typer.Exit(1)
