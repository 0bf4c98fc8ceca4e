"""`search`: by meaning where the index can be had, else by words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from learning_memory_server.cli.access import (
    chosen_project,
    chosen_time,
    complete_index,
    open_settings,
    read_entries,
    services_of,
)
from learning_memory_server.cli.terminal import coloured, day, one_line, output, show_hanging, show_notice
from learning_memory_server.domain.limits import QUERY_MAX, checked_text
from learning_memory_server.errors import (
    AlreadyRunningError,
    EmbeddingUnavailableError,
    StorageUnavailableError,
)
from learning_memory_server.search.searcher import search_words

if TYPE_CHECKING:
    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.search.searcher import ExperienceQuery, SearchResult
    from learning_memory_server.server.config import Settings

_INDENT = " " * 6


async def search_entries(
    query: ExperienceQuery, *, project: str | None, since: str | None, lexical: bool
) -> None:
    """Print the experiences that match best.

    Args:
        query: What to look for.
        project: The project that the option names, if it is given.
        since: The time that the option names, if it is given.
        lexical: Search by words, without the lock and the model.
    """
    settings = open_settings()
    query = replace(
        query,
        text=checked_text("QUERY", query.text, QUERY_MAX),
        project=chosen_project(project, settings),
        since=chosen_time(since),
    )
    if lexical:
        _show(search_words(read_entries(settings), query))
        return
    try:
        result = await _by_meaning(query, settings)
    except AlreadyRunningError as error:
        show_notice(f"{error.message} This search goes by words.")
        result = search_words(read_entries(settings), query)
    _show(result)


async def _by_meaning(query: ExperienceQuery, settings: Settings) -> SearchResult:
    async with services_of(settings, "search") as services:
        try:
            await complete_index(services)
        except (EmbeddingUnavailableError, StorageUnavailableError) as error:
            show_notice(" ".join(filter(None, (error.message, error.hint, "This search goes by words."))))
        return await services.searcher.search_experiences(query)


def _show(result: SearchResult) -> None:
    console = output()
    if not result.found:
        console.print(f"Nothing found ({result.mode}).")
        return
    for found in result.found:
        show_hanging(
            console, Text(f"{found.score:.2f}  ", "bold cyan"), Text(one_line(found.entry.goal), "bold")
        )
        _show_entry(found.entry)
    console.print(Text(f"{len(result.found)} found, mode: {result.mode}", "dim"))


def _show_entry(entry: Ghap) -> None:
    end = entry.outcome
    facts = Text(" · ").join(
        [
            coloured(end.status.value),
            coloured(entry.tier.value),
            *map(Text, (entry.domain, entry.strategy, day(end.resolved_at), entry.project, entry.id)),
        ]
    )
    output().print(Text.assemble(_INDENT, facts))
    story = {
        "believed": entry.hypothesis,
        "happened": end.result,
        "surprise": end.surprise,
        "cause": end.root_cause and f"{end.root_cause.category}: {end.root_cause.description}",
        "worked": end.lesson and end.lesson.what_worked,
        "takeaway": end.lesson and end.lesson.takeaway,
    }
    for name, text in story.items():
        if text:
            show_hanging(output(), Text(f"{_INDENT}{name:<9} ", "dim"), Text(one_line(text)))
    output().print()
