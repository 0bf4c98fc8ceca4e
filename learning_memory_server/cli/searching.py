"""`search`: a hybrid search, or a lexical one if the index cannot be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from learning_memory_server.cli.access.connection import WITHOUT_INDEX, open_connection, prepare_search
from learning_memory_server.cli.access.reading import open_settings, read_entries
from learning_memory_server.cli.listing import entry_facts
from learning_memory_server.cli.options import chosen_project, chosen_time
from learning_memory_server.cli.terminal import output, show_hanging, show_json, show_notice, show_records
from learning_memory_server.errors import AlreadyRunningError
from learning_memory_server.index.entry_query import EntryQuery, ExperienceQuery
from learning_memory_server.model.limits import QUERY_MAX, checked_text
from learning_memory_server.model.lines import one_line
from learning_memory_server.recall.experiences import search_lexical
from learning_memory_server.server.views.score_views import formula, scored_experience

if TYPE_CHECKING:
    from learning_memory_server.model.vocabulary import Axis, Domain, OutcomeStatus, Strategy
    from learning_memory_server.server.settings import Settings


async def search_entries(  # noqa: PLR0913 - one for each option
    query: str,
    *,
    axis: Axis,
    domain: Domain | None,
    outcome: OutcomeStatus | None,
    strategy: Strategy | None,
    project: str | None,
    since: str | None,
    limit: int,
    lexical: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """Print the experiences that match best.

    Args:
        query: What to look for.
        axis: Which view of an experience to search.
        domain: Only this kind of task.
        outcome: Only this outcome.
        strategy: Only this strategy.
        project: The value of `--project`.
        since: The value of `--since`.
        limit: How many to show.
        lexical: Search lexically, without the lock and the model.
        explain: Show where each score comes from.
        as_json: Print a `FoundDocument`.
    """
    settings = open_settings()
    wanted = ExperienceQuery(
        checked_text("QUERY", query, QUERY_MAX),
        axis,
        EntryQuery(domain, outcome, strategy, chosen_project(project, settings), chosen_time(since)),
        limit,
    )
    reply = None
    if not lexical:
        try:
            reply = await _search_index(wanted, settings, explain=explain)
        except AlreadyRunningError as error:
            show_notice(f"{error.message} This search is lexical.")
        except WITHOUT_INDEX as error:
            show_notice(f"{error.sentence} This search is lexical.")
    found, mode = reply or _search_journal(wanted, settings, explain=explain)
    if as_json:
        show_json({"results": found, "count": len(found), "mode": mode})
    else:
        _show(found, mode)


async def _search_index(
    query: ExperienceQuery, settings: Settings, *, explain: bool
) -> tuple[list[dict[str, Any]], str]:
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


def _search_journal(
    query: ExperienceQuery, settings: Settings, *, explain: bool
) -> tuple[list[dict[str, Any]], str]:
    result = search_lexical(read_entries(settings), query)
    return [scored_experience(found, query, explain=explain) for found in result.found], result.mode


def _show(found: list[dict[str, Any]], mode: str) -> None:
    if not found:
        output().print(f"Nothing found ({mode}).")
        return
    for experience in found:
        lesson = experience.get("lesson", {})
        learned = lesson.get("takeaway") or lesson.get("what_worked") or experience.get("surprise")
        facts = [Text(f"{experience['score']:.2f}", "bold"), *entry_facts(experience)]
        show_records([(facts, " → ".join(filter(None, (experience["goal"], learned))))])
        if parts := experience.get("explanation"):
            show_hanging(output(), Text("  score  ", "dim"), Text(explained(parts, mode)))
    output().print(Text(f"{len(found)} found, mode: {mode}", "dim"))


def explained(parts: dict[str, Any], mode: str) -> str:
    """Return the formula of a score, the axis whose vector was nearest, and the terms that match."""
    facts = [formula(parts, mode)]
    if "axis" in parts:
        facts.append(f"nearest axis {parts['axis']}")
    if "terms" in parts:
        facts.append(f"terms {', '.join(map(one_line, parts['terms']))}")
    return "; ".join(facts)
