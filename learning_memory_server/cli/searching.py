"""`search`, and what commands that search have in common."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import typer
from rich.text import Text

from learning_memory_server.cli.access.connection import WITHOUT_INDEX, open_connection, prepare_search
from learning_memory_server.cli.access.reading import open_settings, read_entries
from learning_memory_server.cli.command import (
    Commands,
    DomainOption,
    ExplainOption,
    OutcomeOption,
    ProjectOption,
    Result,
    SinceOption,
    StrategyOption,
    chosen_project,
    chosen_time,
)
from learning_memory_server.cli.listing import Record, View, entry_facts
from learning_memory_server.cli.terminal import output, show_hanging, show_notice, show_records
from learning_memory_server.errors import AlreadyRunningError
from learning_memory_server.index.entry_query import EntryQuery, ExperienceQuery
from learning_memory_server.model.limits import QUERY_MAX, SEARCH_RESULTS_MAX, checked_text
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.recall.experiences import search_lexical
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.views.score_views import formula, scored_experience

Found = tuple[list[dict[str, Any]], str]
"""The results of a search, and its mode."""

commands = Commands()


@commands.command()
async def search(  # noqa: PLR0913 - one for each option
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")],
    axis: Annotated[Axis, typer.Option("--axis", help="Which view of an experience to search.")] = Axis.FULL,
    domain: DomainOption = None,
    outcome: OutcomeOption = None,
    strategy: StrategyOption = None,
    project: ProjectOption = None,
    since: SinceOption = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=SEARCH_RESULTS_MAX, help="How many to show.")
    ] = 10,
    lexical: Annotated[
        bool, typer.Option("--lexical", help="Search lexically: no wait for the model or the index.")
    ] = False,
    explain: ExplainOption = False,
) -> Result:
    """Find experiences. The search is hybrid, or lexical if the index cannot be used."""
    settings = open_settings()
    wanted = ExperienceQuery(
        checked_text("QUERY", query, QUERY_MAX),
        axis,
        EntryQuery(domain, outcome, strategy, chosen_project(project, settings), chosen_time(since)),
        limit,
    )

    def scan() -> Found:
        result = search_lexical(read_entries(settings), wanted)
        return [scored_experience(found, wanted, explain=explain) for found in result.found], result.mode

    if lexical:
        return matches(scan(), _record)
    return matches(await search_or_scan(_search_index(wanted, settings, explain=explain), scan), _record)


async def _search_index(query: ExperienceQuery, settings: Settings, *, explain: bool) -> Found:
    where = query.where
    async with open_connection(settings, "search") as connection:
        await prepare_search(connection)
        reply = await connection.call_for_all(
            "search_experiences",
            "results",
            query=query.text,
            axis=query.axis,
            domain=where.domain,
            outcome=where.outcome,
            strategy=where.strategy,
            since=where.since.isoformat() if where.since else None,
            project=where.project,
            most=query.limit,
            limit=query.limit,
            # A person sees the scores, and where they end.
            min_score=0,
            full=True,
            # A hub of an earlier version does not know this argument.
            **({"explain": True} if explain else {}),
        )
    return reply["results"], reply["mode"]


def _record(experience: View) -> Record:
    lesson: dict[str, Any] = experience.get("lesson", {})
    learned = lesson.get("takeaway") or lesson.get("what_worked") or experience.get("surprise")
    return entry_facts(experience), " → ".join(filter(None, (experience["goal"], learned)))


async def search_or_scan(hybrid: Awaitable[Found], lexical: Callable[[], Found]) -> Found:
    """Return what a search of the index finds or, if that cannot be used, one of the journal."""
    try:
        return await hybrid
    except (AlreadyRunningError, *WITHOUT_INDEX) as error:
        reason = error.message if isinstance(error, AlreadyRunningError) else error.sentence
        show_notice(f"{reason} This search is lexical.")
        return lexical()


def matches(found: Found, record: Callable[[View], Record]) -> Result:
    """Show what a search found, with its scores."""
    results, mode = found
    for each in results:
        facts, text = record(each)
        show_records([([Text(f"{each['score']:.2f}", "bold"), *facts], text)])
        if parts := each.get("explanation"):
            show_hanging(output(), Text("  score  ", "dim"), Text(_explained(parts, mode)))
    if results:
        output().print(Text(f"{len(results)} found, mode: {mode}", "dim"))
    else:
        output().print(f"Nothing found ({mode}).")
    return Result({"results": results, "count": len(results), "mode": mode})


def _explained(parts: View, mode: str) -> str:
    """Return the formula of a score, the axis whose vector was nearest, and the terms that match."""
    facts = [formula(parts, mode)]
    if "axis" in parts:
        facts.append(f"nearest axis {parts['axis']}")
    if "terms" in parts:
        facts.append(f"terms {', '.join(map(one_line, parts['terms']))}")
    return "; ".join(facts)
