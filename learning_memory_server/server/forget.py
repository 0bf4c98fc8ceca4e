"""The operation `forget`: out of every reading at once, out of the index, and out of the files if that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from learning_memory_server.errors import InvalidInputError, NotFoundError
from learning_memory_server.indexing.document import point_id

if TYPE_CHECKING:
    from learning_memory_server.server.operations import Report
    from learning_memory_server.server.services import Services


async def forget(  # noqa: PLR0913 - one for each option
    services: Services, report: Report, *, ids: list[str], project: str | None, purge: bool, preview: bool
) -> dict[str, Any]:
    """Forget entries and values, or everything of a project; for ever.

    Args:
        services: Where from.
        report: Is told that files are rewritten.
        ids: Ids of entries, open ones as well, and of values.
        project: A project, in the place of ids.
        purge: Take what is forgotten out of the journal's files, too; this and all that was forgotten before.
        preview: Change nothing.

    Returns:
        `found`, what is forgotten (`kind`, `id`, `text`); `before`, the ids that were forgotten earlier; `citing`, the
        ids of values that have one of the entries in their evidence, and stay; `indexed`, false if points could not be
        removed yet; and with `purge` `removed`, how many lines, and `doubtful`, files that a person should look at.

    Raises:
        InvalidInputError: If there are both ids and a project, or neither and no `purge`.
        NotFoundError: If an id names nothing; then nothing is forgotten.
        JournalUnavailableError: If it could not be written down.
    """
    if ids and project:
        raise InvalidInputError("Give either ids or a project.")
    if not (ids or project or purge):
        raise InvalidInputError("Give the ids of entries or values, or a project.")
    entries, values = services.collector, services.values
    if project:
        ids = [entry.id for entry in entries.look_up_project(project).found]
        ids += [value.id for value in values.look_up_project(project).found]
    ghaps, principles = entries.look_up(ids), values.look_up(ids)
    if unknown := set(ghaps.unknown).intersection(principles.unknown):
        raise NotFoundError(
            f"There is no entry and no value {', '.join(sorted(unknown))}; nothing was forgotten.",
            hint="Run `learning-memory-server list` or `learning-memory-server values` for their ids.",
        )
    before = [*ghaps.before, *principles.before]
    gone = {entry.id for entry in ghaps.found}
    reply: dict[str, Any] = {
        "found": [
            *({"kind": "ghap", "id": entry.id, "text": entry.goal} for entry in ghaps.found),
            *({"kind": "value", "id": value.id, "text": value.text} for value in principles.found),
        ],
        "before": before,
        "citing": [value.id for value in values.citing(gone) if value not in principles.found],
    }
    if preview:
        return reply
    entries.forget(gone)
    values.forget(value.id for value in principles.found)
    points = [point_id(kind, name) for name in ids for kind in ("ghap", "value")]
    # An index that nobody has opened is compared with the journal when it is.
    reply["indexed"] = not points or not services.index.is_open or await services.writer.remove(points)
    if purge:
        report("Rewriting the journal's files")
        # Here, and not in a thread: nothing may be appended meanwhile.
        purged = services.journal.purge()
        reply["removed"] = sum(purged.removed.values())
        reply["doubtful"] = [str(path) for path in purged.doubtful]
    return reply
