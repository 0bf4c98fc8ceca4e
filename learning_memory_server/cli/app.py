"""The command line: its help, and the commands that only show something."""

import asyncio
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from learning_memory_server.cli.clients.names import ClientName
from learning_memory_server.cli.endings import FailuresAsSentences, run_to_the_end
from learning_memory_server.cli.hub_commands import hub
from learning_memory_server.cli.maintenance.commands import maintenance
from learning_memory_server.cli.options import (
    DomainOption,
    ExplainOption,
    JsonOption,
    MemoriesSinceOption,
    OutcomeOption,
    ProjectOption,
    SinceOption,
    SourceOption,
    StrategyOption,
    TagOption,
)
from learning_memory_server.cli.setting_up import clients
from learning_memory_server.model import limits
from learning_memory_server.model.value import ValueOrder
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.system.paths import APPLICATION

app = typer.Typer(
    cls=FailuresAsSentences,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command that the arguments name, and end the process."""
    run_to_the_end(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{APPLICATION} {metadata.version(APPLICATION)}")
        raise typer.Exit


app.add_typer(clients)
memories = typer.Typer()
app.add_typer(maintenance)
app.add_typer(memories, name="memories")
app.add_typer(hub, name="hub")


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """A memory for coding agents that keeps what they believed, what happened, and what they learned.

    Without a command this is the MCP server on stdio, as clients start it. All
    sessions share one process, the hub, which owns the data; the first session
    starts it. With --direct as the only argument, the server runs without a hub
    and owns the data itself (for tests, debugging and sandboxes).

    Commands that search or change the data work through the hub too, and start
    it if none runs. Commands that only read the journal start nothing.
    """


@app.command()
def status(as_json: JsonOption = False) -> None:
    """Show what is stored, where, and which process is using it."""
    from learning_memory_server.cli.status import show_status  # noqa: PLC0415

    show_status(as_json=as_json)


@app.command()
def doctor(
    quick: Annotated[bool, typer.Option("--quick", help="Load no model and start no server.")] = False,
    fix: Annotated[
        bool, typer.Option("--fix", help="Repair what is safe to repair, then check again.")
    ] = False,
    client: Annotated[
        ClientName | None, typer.Option("--client", help="Check this client, and nothing else.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check every layer, and say what is wrong and what to do about it. The exit code is 1 if there is a problem.

    For each client that has this server, it starts the server as that client
    does, with the environment that the client passes on, and lists its tools.

    --fix makes folders and files private, and completes or rebuilds the index.
    It never changes the journal's content.
    """
    from learning_memory_server.cli.doctor.command import examine  # noqa: PLC0415

    if not asyncio.run(examine(quick=quick, fix=fix, client=client, as_json=as_json)):
        raise typer.Exit(1)


@app.command("list")
def list_(  # noqa: PLR0913 - one for each option
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many to show.")] = 20,
    domain: DomainOption = None,
    outcome: OutcomeOption = None,
    since: SinceOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """List resolved GHAP entries, newest first."""
    from learning_memory_server.cli.listing import list_entries  # noqa: PLC0415

    list_entries(limit, domain=domain, outcome=outcome, since=since, project=project, as_json=as_json)


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="ID", help="An id; the beginning of it is enough.")],
    as_json: JsonOption = False,
) -> None:
    """Show everything about one entry, value, memory, error or cluster."""
    from learning_memory_server.cli.showing import show as show_one  # noqa: PLC0415

    asyncio.run(show_one(name, as_json=as_json))


@app.command()
def search(  # noqa: PLR0913 - one for each option
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")],
    axis: Annotated[Axis, typer.Option("--axis", help="Which view of an experience to search.")] = Axis.FULL,
    domain: DomainOption = None,
    outcome: OutcomeOption = None,
    strategy: StrategyOption = None,
    project: ProjectOption = None,
    since: SinceOption = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=limits.SEARCH_RESULTS_MAX, help="How many to show.")
    ] = 10,
    lexical: Annotated[
        bool, typer.Option("--lexical", help="Search lexically: no wait for the model or the index.")
    ] = False,
    explain: ExplainOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find experiences. The search is hybrid, or lexical if the index cannot be used."""
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
            explain=explain,
            as_json=as_json,
        )
    )


@memories.callback(invoke_without_command=True)
def list_memories(  # noqa: PLR0913 - one for each option
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many to show.")] = 20,
    tags: TagOption = None,
    source: SourceOption = None,
    project: ProjectOption = None,
    since: MemoriesSinceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List memories, the texts that agents kept, the last one added first."""
    if context.invoked_subcommand:
        return
    from learning_memory_server.cli import memories as commands  # noqa: PLC0415

    commands.list_memories(limit, where=commands.memory_filter(tags, source, project, since), as_json=as_json)


@memories.command("search")
def search_memories(  # noqa: PLR0913 - one for each option
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What the text might say.")],
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=limits.LISTING_MAX, help="How many to show.")
    ] = 10,
    tags: TagOption = None,
    source: SourceOption = None,
    project: ProjectOption = None,
    since: MemoriesSinceOption = None,
    explain: ExplainOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find memories, each with its best passage. The search is hybrid, or lexical if the index cannot be used."""
    from learning_memory_server.cli import memories as commands  # noqa: PLC0415

    where = commands.memory_filter(tags, source, project, since)
    asyncio.run(commands.search_memories(query, limit, where=where, explain=explain, as_json=as_json))


@app.command()
def clusters(
    axis: Annotated[Axis, typer.Argument(metavar="AXIS", help="full, strategy, surprise or root_cause.")],
    members: Annotated[
        str | None, typer.Option("--members", metavar="ID", help="Show the experiences of this cluster.")
    ] = None,
    project: ProjectOption = None,
    noise: Annotated[
        bool, typer.Option("--noise", help="Also show experiences that are in no cluster: the newest 50.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what keeps recurring on an axis: clusters of similar experiences.

    With --project, only that project's experiences are clustered, and the clusters
    have ids of their own.
    """
    from learning_memory_server.cli.clusters import show_clusters  # noqa: PLC0415

    asyncio.run(show_clusters(axis, members, project, noise=noise, as_json=as_json))


@app.command()
def values(
    axis: Annotated[Axis | None, typer.Option("--axis", help="Only values of this axis.")] = None,
    sort: Annotated[ValueOrder, typer.Option("--sort", help="Which come first.")] = ValueOrder.SUPPORT,
    superseded: Annotated[
        bool, typer.Option("--superseded", help="Include values that a newer one superseded.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List values, the principles learned from clusters, and the verdicts on each.

    +6 -2 says that six entries support a value, and two contradict it.
    A value is supported or contested by the entries that agents judged to speak
    for or against it, and unattested while there are none. A contested value has
    at least as many against it as for it.
    """
    from learning_memory_server.cli.values import list_values  # noqa: PLC0415

    asyncio.run(list_values(axis, sort, superseded=superseded, as_json=as_json))


@app.command()
def failures(
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many to show.")] = 20,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """List errors of commands, the last seen first, and what mended them.

    An error is what failing commands of a project have in common: the line that
    names it, without names, paths and numbers. What worked is a similar command
    that succeeded soon after. It is left out while remedies disagree, or if it
    was shown and did not help. `forget` takes the id of an error.
    """
    from learning_memory_server.cli.failures import list_errors  # noqa: PLC0415

    list_errors(limit, project, as_json=as_json)


@app.command()
def calibration(project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Show how many hypotheses held, and how well the stated confidence fits that.

    The Brier score is the mean squared difference between confidence and
    outcome (1 confirmed, 0 falsified; abandoned entries do not count): 0 is
    perfect, and always saying 0.5 gets 0.25. With ten bins of equal width,
    brier = reliability - resolution + uncertainty
    + within bin variance - 2 * within bin covariance.
    The first and the last confidence stated for an entry are scored apart.
    """
    from learning_memory_server.cli.calibration import show_calibration  # noqa: PLC0415

    show_calibration(project, as_json=as_json)


@app.command()
def dashboard(
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
    from learning_memory_server.cli.dashboard import show_dashboard  # noqa: PLC0415

    asyncio.run(show_dashboard(file, project, may_open=not no_open))


@app.command()
def context() -> None:
    """Show what a new session of this project should know, or nothing if there is nothing.

    These are open entries, values in force and the latest lessons, in at most
    `budget_bytes` bytes. MCP clients read the same as the resource `context`.
    """
    from learning_memory_server.cli.context import show_context  # noqa: PLC0415

    show_context()


@app.command()
def hook() -> None:
    """Answer a client's hook: JSON on stdin, and JSON or nothing on stdout.

    For programs. It passes the client's words to the hub and prints what the hub
    says, within a second. Without a hub, it starts one and prints nothing.
    Whatever goes wrong, it is silent and succeeds.
    """
    from learning_memory_server.hub.front.hook import main as answer  # noqa: PLC0415

    answer()


@app.command()
def replay(
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="DATE", help="Only entries started since then: ISO 8601, in UTC."),
    ] = None,
    judgements: Annotated[
        Path | None,
        typer.Option("--judgements", metavar="FILE", help="Judged pairs; others are added to it."),
    ] = None,
    transcripts: Annotated[
        Path | None,
        typer.Option("--transcripts", metavar="PATH", help="Claude Code's, for the errors that came again."),
    ] = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what past entries would have been told, from those resolved before each.

    The journal is walked through time in a temporary folder, with no language
    model: for how many failures something would have been shown, how near it
    was, and the cases side by side. Whether it applied, only a person can say:
    --judgements writes the pairs to a file, and counts those judged in it.

    With --transcripts, past sessions go through time, too: for how many errors that
    an earlier session had something would have been said at the failing command,
    how much of it was right, and how many calls that would have saved, compared
    with silence and with the last success.
    """
    from learning_memory_server.cli.replay import show_replay  # noqa: PLC0415

    asyncio.run(show_replay(since, project, judgements, transcripts, as_json=as_json))


@app.command()
def demo() -> None:
    """Show what the server does, with example entries in a temporary folder."""
    from learning_memory_server.cli.demo.demo import run_demo  # noqa: PLC0415

    asyncio.run(run_demo())
