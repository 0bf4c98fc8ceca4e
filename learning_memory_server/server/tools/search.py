"""Finding experiences again."""

from __future__ import annotations

from typing import Final, NotRequired, cast

from learning_memory_server.domain import limits
from learning_memory_server.domain.caller import Caller
from learning_memory_server.domain.moment import parse_moment
from learning_memory_server.domain.vocabulary import Axis, Domain, OutcomeStatus, Strategy
from learning_memory_server.observation.query import EntryQuery
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

_DEPTH_REACHED: Final = f"A search ranks no more than the best {limits.SEARCH_DEPTH_MAX:,}. To see others, narrow it with the filters."


class FoundExperiences(views.Paged):
    """Experiences, best match first; `mode` is what ranked them. A `note` says where the ranking ends."""

    results: list[views.Experience]
    mode: str
    note: NotRequired[str]


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
    moment = parse_moment("since", since) if since else None
    where = EntryQuery(domain, outcome, strategy, named_project(project, caller), moment)
    depth = min(offset + limit, limits.SEARCH_DEPTH_MAX)
    result = await searcher.search_experiences(ExperienceQuery(query, axis, where, depth))
    shown = [views.experience(found.entry, found.score) for found in result.found[offset:]]
    is_cut = len(result.found) == depth < offset + limit
    reply = page(
        "results", shown, offset=offset, mode=result.mode.value, note=_DEPTH_REACHED if is_cut else None
    )
    return cast("FoundExperiences", reply)
