"""Finding experiences again."""

from __future__ import annotations

from typing import cast

from learning_memory_server.domain import limits
from learning_memory_server.domain.caller import Caller
from learning_memory_server.domain.moment import parse_moment
from learning_memory_server.domain.vocabulary import Axis, Domain, OutcomeStatus, Strategy
from learning_memory_server.search.searcher import ExperienceQuery, Searcher
from learning_memory_server.server.replies import page
from learning_memory_server.server.tools import views
from learning_memory_server.server.tools.arguments import (
    Offset,
    ProjectName,
    QueryText,
    SearchLimit,
    Since,
    named_project,
)
from learning_memory_server.server.tools.toolset import ToolSet

toolset = ToolSet()


class FoundExperiences(views.Paged):
    """Experiences, best match first; `mode` is what ranked them."""

    results: list[views.Experience]
    mode: str


@toolset.tool("Search experiences", changes=False)
async def search_experiences(
    searcher: Searcher,
    caller: Caller,
    /,
    *,
    query: QueryText,
    axis: Axis = Axis.FULL,
    domain: Domain | None = None,
    outcome: OutcomeStatus | None = None,
    strategy: Strategy | None = None,
    since: Since | None = None,
    project: ProjectName | None = None,
    limit: SearchLimit = 10,
    offset: Offset = 0,
) -> FoundExperiences:
    """Search past experiences by meaning: what was believed in a situation like this, and what happened.

    Call it before you commit to a hypothesis, when something surprises you, and when you are stuck. axis
    says what to compare: full (the whole story), strategy (how it was gone about), surprise (what was
    unexpected), root_cause (why it went wrong). outcome=falsified shows guesses that turned out wrong.
    In mode reranked a model has read the best 20; what comes after them was not read and scores below .01.
    """
    result = await searcher.search_experiences(
        ExperienceQuery(
            text=query,
            axis=axis,
            domain=domain,
            outcome=outcome,
            strategy=strategy,
            project=named_project(project, caller),
            since=parse_moment("since", since) if since else None,
            limit=min(offset + limit, limits.SEARCH_DEPTH_MAX),
        )
    )
    shown = [views.experience(found.entry, found.score) for found in result.found[offset:]]
    return cast("FoundExperiences", page("results", shown, offset=offset, mode=result.mode.value))
