"""Reading GHAP entries: the open one, one by its id, and a list."""

from typing import Annotated, Any, Required, cast

from pydantic import Field

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.index.queries import EntryQuery
from learning_memory_server.lessons.notes import EntryNotes
from learning_memory_server.model import limits
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.moment import parse_moment
from learning_memory_server.server.composition.stores import Projects
from learning_memory_server.server.tools import arguments as args
from learning_memory_server.server.tools.toolset import STORED_TEXT, ToolSet, fitted, page
from learning_memory_server.server.views import entry_views, fields
from learning_memory_server.sharing.shared import SharedLessons

toolset = ToolSet()


class ActiveEntry(entry_views.OpenEntry, total=False):
    """The whole open entry, if there is one, and the other open entries of the project.

    At those in `open_elsewhere` somebody else is at work.
    """

    has_active: Required[bool]
    orphaned: list[entry_views.EntryKey]
    open_elsewhere: list[entry_views.EntryKey]
    hint: str
    stored_text: str
    left_out: dict[str, str]


class ReadEntry(entry_views.WholeEntry, total=False):
    """The whole entry."""

    stored_text: Required[str]


class EntryList(entry_views.Paged):
    """Resolved entries, newest first."""

    results: list[entry_views.Summary]


@toolset.tool("Show the open GHAP entry", changes=False)
async def get_active_ghap(collector: ObservationCollector, caller: Caller, /) -> ActiveEntry:
    """Show your open GHAP entry, and what else is open in this project.

    Call it when you resume work. To adopt an orphaned entry, update_ghap with its id as ghap_id; to drop it,
    resolve_ghap as abandoned. `open_elsewhere` is others' work.
    """
    entry = collector.still_open.current(caller)
    orphans = collector.still_open.others(caller, elsewhere=False)
    elsewhere = collector.still_open.others(caller, elsewhere=True)
    reply: dict[str, Any] = {"has_active": entry is not None}
    if entry is not None:
        reply |= entry_views.open_entry(entry)
    if orphans:
        reply["orphaned"] = [fields(entry_views.EntryKey, each) for each in reversed(orphans)]
    if elsewhere:
        reply["open_elsewhere"] = [
            fields(entry_views.EntryKey, each) | {"owner": collector.still_open.owner(each, caller).value}
            for each in reversed(elsewhere)
        ]
    if collector.still_open.is_ambiguous(caller):
        reply["hint"] = (
            "Several entries are open in this session: a call without ghap_id is refused. Give the id of yours in each."
        )
    elif entry is not None and collector.still_open.left(caller):
        reply["hint"] = "A call without ghap_id is about this entry, the newest one of this session."
    elif orphans and entry is None:
        reply["hint"] = "Give one of the orphaned ids as ghap_id to update_ghap or resolve_ghap."
    if len(reply) > 1:
        reply |= STORED_TEXT
    shown = fitted(reply, limits.REPLY_MAX)
    # The newest first; the oldest were left out.
    newest_first = {name: shown[name][::-1] for name in ("orphaned", "open_elsewhere") if name in shown}
    return cast("ActiveEntry", shown | newest_first)


@toolset.tool("Show a GHAP entry", changes=False)
async def get_ghap_entry(
    collector: ObservationCollector,
    shared: SharedLessons,
    entry_notes: EntryNotes,
    caller: Caller,
    /,
    *,
    ghap_id: Annotated[args.Identifier, Field(description="The entry's ID.")],
) -> ReadEntry:
    """Read one entry in full, with its notes and earlier hypotheses."""
    entry = shared.entries.get(ghap_id) or collector.get(ghap_id)
    shown = entry_views.whole_entry(entry) | (await entry_notes.present([entry], caller))[entry.id] | STORED_TEXT
    return cast("ReadEntry", fitted(shown, limits.REPLY_MAX))


@toolset.tool("List resolved GHAP entries", changes=False)
async def list_ghap_entries(
    collector: ObservationCollector,
    entry_notes: EntryNotes,
    projects: Projects,
    caller: Caller,
    /,
    *,
    limit: args.ListingLimit = 20,
    domain: args.OnlyDomain | None = None,
    outcome: args.OnlyOutcome | None = None,
    since: args.Since | None = None,
    project: args.ProjectName | None = None,
    offset: args.Offset = 0,
) -> EntryList:
    """List resolved GHAP entries, newest first, in short.

    search_experiences finds those on a topic.
    """
    entries = collector.list_resolved(
        EntryQuery(
            domain=domain,
            outcome=outcome,
            project=projects.named(project, caller),
            since=parse_moment("since", since) if since else None,
        )
    )
    listed = entries[offset : offset + limit]
    notes = await entry_notes.present(listed, caller)
    shown = [entry_views.summary(entry) | notes[entry.id] for entry in listed]
    return cast("EntryList", page("results", shown, offset=offset, of=len(entries)))
