"""`search`: by meaning where the index can be had, else by words."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.text import Text

from learning_memory_server.cli.access import chosen_project, chosen_time, open_settings, read_entries
from learning_memory_server.cli.connection import open_connection
from learning_memory_server.cli.terminal import coloured, day, one_line, output, show_hanging, show_notice
from learning_memory_server.domain.limits import QUERY_MAX, checked_text
from learning_memory_server.errors import (
    AlreadyRunningError,
    DeadlineExceededError,
    EmbeddingUnavailableError,
    StorageUnavailableError,
)
from learning_memory_server.observation.query import EntryQuery
from learning_memory_server.search.searcher import ExperienceQuery, search_words
from learning_memory_server.server.tools import views

if TYPE_CHECKING:
    from learning_memory_server.domain.vocabulary import Axis, Domain, OutcomeStatus, Strategy
    from learning_memory_server.server.config import Settings

_INDENT = " " * 6


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
) -> None:
    """Print the experiences that match best.

    Args:
        query: What to look for.
        axis: Which view on an experience to search.
        domain: Only this kind of task.
        outcome: Only this outcome.
        strategy: Only this strategy.
        project: The project that the option names, if it is given.
        since: The time that the option names, if it is given.
        limit: How many to show.
        lexical: Search by words, without the lock and the model.
    """
    settings = open_settings()
    wanted = ExperienceQuery(
        checked_text("QUERY", query, QUERY_MAX),
        axis,
        EntryQuery(domain, outcome, strategy, chosen_project(project, settings), chosen_time(since)),
        limit,
    )
    if lexical:
        found, mode = _by_words(wanted, settings)
    else:
        try:
            found, mode = await _by_meaning(wanted, settings)
        except AlreadyRunningError as error:
            show_notice(f"{error.message} This search goes by words.")
            found, mode = _by_words(wanted, settings)
        except (DeadlineExceededError, EmbeddingUnavailableError, StorageUnavailableError) as error:
            show_notice(" ".join(filter(None, (error.message, error.hint, "This search goes by words."))))
            found, mode = _by_words(wanted, settings)
    _show(found, mode)


async def _by_meaning(query: ExperienceQuery, settings: Settings) -> tuple[list[dict[str, Any]], str]:
    where = query.where
    async with open_connection(settings, "search") as connection:
        await connection.run("complete", to_search=True)
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
        )
    return reply["results"], reply["mode"]


def _by_words(query: ExperienceQuery, settings: Settings) -> tuple[list[dict[str, Any]], str]:
    result = search_words(read_entries(settings), query)
    return [views.experience(found.entry, found.score) for found in result.found], result.mode


def _show(found: list[dict[str, Any]], mode: str) -> None:
    console = output()
    if not found:
        console.print(f"Nothing found ({mode}).")
        return
    for experience in found:
        show_hanging(
            console,
            Text(f"{experience['score']:.2f}  ", "bold cyan"),
            Text(one_line(experience["goal"]), "bold"),
        )
        _show_experience(experience)
    console.print(Text(f"{len(found)} found, mode: {mode}", "dim"))


def _show_experience(experience: dict[str, Any]) -> None:
    facts = Text(" · ").join(
        [
            coloured(experience["outcome_status"]),
            coloured(experience["confidence_tier"]),
            *(Text(one_line(experience[name])) for name in ("domain", "strategy")),
            Text(day(datetime.fromisoformat(experience["created_at"]))),
            *(Text(one_line(experience[name])) for name in ("project", "id")),
        ]
    )
    output().print(Text.assemble(_INDENT, facts))
    cause, lesson = experience.get("root_cause"), experience.get("lesson", {})
    story = {
        "believed": experience.get("hypothesis"),
        "happened": experience.get("outcome_result"),
        "surprise": experience.get("surprise"),
        "cause": cause and f"{cause['category']}: {cause['description']}",
        "worked": lesson.get("what_worked"),
        "takeaway": lesson.get("takeaway"),
    }
    for name, text in story.items():
        if text:
            show_hanging(output(), Text(f"{_INDENT}{name:<9} ", "dim"), Text(one_line(text)))
    output().print()
