"""The tool that searches experiences."""

import asyncio
from typing import Annotated, Final, NotRequired, cast

from pydantic import Field

from learning_memory_server.index.queries import EntryQuery, ExperienceQuery
from learning_memory_server.learning.advice.validity import Validity
from learning_memory_server.learning.values.log import Standing
from learning_memory_server.learning.values.store import ValueStore
from learning_memory_server.model import limits
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.moment import parse_moment
from learning_memory_server.model.vocabulary import Axis, SearchMode, Strategy
from learning_memory_server.recall.experiences import ExperienceSearcher
from learning_memory_server.server.composition.services import Projects
from learning_memory_server.server.tools import arguments as args
from learning_memory_server.server.tools.toolset import ToolSet
from learning_memory_server.server.views import entry_views, fields, value_views
from learning_memory_server.server.views.score_views import ScoredExperience, left_out_note, scored_experience
from learning_memory_server.server.wire import page

toolset = ToolSet()

_DEPTH_REACHED: Final = (
    f"A search ranks only the best {limits.SEARCH_DEPTH_MAX:,}. To see others, narrow it with filters."
)


class MatchingValue(value_views.StandingValue):
    """A value in force that matches the query, and its standing: supported or unattested."""


class FoundExperiences(entry_views.Paged):
    """Experiences, best match first, and the `mode` of the search. A `note` says what is left out, and why.

    The first three are whole. Of the others, `learned` is the takeaway, what worked or the surprise, and texts are
    shortened; `full` shows all of them whole.
    """

    results: list[ScoredExperience]
    mode: str
    note: NotRequired[str]
    values: NotRequired[list[MatchingValue]]


@toolset.tool("Search experiences", changes=False)
async def search_experiences(
    searcher: ExperienceSearcher,
    values: ValueStore,
    projects: Projects,
    validity: Validity,
    caller: Caller,
    /,
    *,
    query: Annotated[args.QueryText, Field(description="The situation, in whole phrases.")],
    axis: args.AxisToCompare = Axis.FULL,
    domain: args.OnlyDomain | None = None,
    outcome: args.OnlyOutcome | None = None,
    strategy: Annotated[Strategy, Field(description="Only this strategy.")] | None = None,
    since: args.Since | None = None,
    project: args.ProjectName | None = None,
    limit: args.SearchLimit = 10,
    offset: args.Offset = 0,
    explain: args.Explain = False,
    min_score: args.MinScore | None = None,
    full: Annotated[bool, Field(description="All whole, not only three.")] = False,
) -> FoundExperiences:
    """Search what was believed in situations like this, and what happened.

    It answers "what did we learn about X?"; list_values has principles, search_memory notes. Call it
    before you commit to a hypothesis, when something surprises you, and when you are stuck. axis: full (the whole
    story), strategy, surprise or root_cause. outcome=falsified: beliefs that turned out wrong.
    """
    moment = parse_moment("since", since) if since else None
    where = EntryQuery(domain, outcome, strategy, projects.named(project, caller), moment)
    depth = min(offset + limit, limits.SEARCH_DEPTH_MAX)
    asked = ExperienceQuery(query, axis, where, depth, min_score)
    # At once: a server far away is waited for only once.
    result, matching = await asyncio.gather(
        searcher.search_experiences(asked), values.matching(query, where.project) if offset == 0 else _no_values()
    )
    notes = await validity.judged_notes((found.entry for found in result.found[offset:]), caller)
    shown = [
        scored_experience(found, asked, explain=explain, is_short=number >= limits.EXPERIENCES_WHOLE and not full)
        | notes[found.entry.id]
        for number, found in enumerate(result.found[offset:], start=offset)
    ]
    is_end = len(result.found) == depth < offset + limit
    said = filter(None, [left_out_note(result.left_out), _DEPTH_REACHED if is_end else None])
    matched = [
        fields(MatchingValue, each.value, standing=each.support.status)
        for each in (matching if result.mode is not SearchMode.LEXICAL else ())
    ]
    reply = page(
        "results", shown, offset=offset, mode=result.mode.value, note=" ".join(said) or None, values=matched or None
    )
    return cast("FoundExperiences", reply)


async def _no_values() -> list[Standing]:
    """Return no values: they come with the first page."""
    return []
