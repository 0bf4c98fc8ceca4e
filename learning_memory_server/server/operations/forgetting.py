"""The operation `forget`: out of every reading at once, out of the index, and out of the files if that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.errors import InvalidInputError, NotFoundError
from learning_memory_server.indexing.document import point_id

if TYPE_CHECKING:
    from learning_memory_server.server.operations.report import Report
    from learning_memory_server.server.services import Services

_SHOWN: Final = 200
"""Characters of a memory that a preview shows."""


async def forget(  # noqa: PLR0913 - one for each option
    services: Services, report: Report, *, ids: list[str], project: str | None, purge: bool, preview: bool
) -> dict[str, Any]:
    """Forget entries, values and memories, or everything of a project; for ever.

    Args:
        services: Where from.
        report: Is told that files are rewritten.
        ids: Ids of entries, open ones as well, of values and of memories. None are needed to purge only.
        project: A project, in the place of ids.
        purge: Take what is forgotten out of the journal's files, too; this and all that was forgotten before.
        preview: Change nothing.

    Returns:
        `found`, what is forgotten (`kind`, `id`, `text`); `citing`, the ids of values that have one of the entries in their evidence, and stay; `indexed`, false if points could not be
        removed yet; and with `purge` `removed`, how many lines, and `doubtful`, files that a person should look at.

    Raises:
        InvalidInputError: If there are both ids and a project, or neither and no `purge`.
        NotFoundError: If an id names nothing; then nothing is forgotten.
        JournalUnavailableError: If it could not be written down.
    """
    if ids and project:
        raise InvalidInputError("Give either ids or a project.")
    if not (ids or project or purge):
        raise InvalidInputError("Give the ids of entries, values or memories, or a project, or only --purge.")
    entries, values, memories = services.collector, services.values, services.memory_log
    if project:
        ids = [
            each.id
            for found in (
                entries.look_up_project(project).found,
                values.look_up_project(project).found,
                memories.look_up_project(project).found,
            )
            for each in found
        ]
    ghaps, principles, texts = entries.look_up(ids), values.look_up(ids), memories.look_up(ids)
    if unknown := set(ghaps.unknown).intersection(principles.unknown, texts.unknown):
        raise NotFoundError(
            f"There is no entry, value or memory {', '.join(sorted(unknown))}; nothing was forgotten.",
            hint="Run `learning-memory-server list` or `values`, or call search_memory, for their ids.",
        )
    gone = [entry.id for entry in ghaps.found]
    reply: dict[str, Any] = {
        "found": [
            *({"kind": "ghap", "id": entry.id, "text": entry.goal} for entry in ghaps.found),
            *({"kind": "value", "id": value.id, "text": value.text} for value in principles.found),
            *({"kind": "memory", "id": each.id, "text": each.text[:_SHOWN]} for each in texts.found),
        ],
        "citing": [value.id for value in values.citing(gone) if value not in principles.found],
    }
    if preview:
        return reply
    entries.forget(gone)
    values.forget(value.id for value in principles.found)
    services.memories.forget(each.id for each in texts.found)
    points = [
        *(point_id("ghap", name) for name in (*gone, *ghaps.before)),
        *(point_id("value", name) for name in (*(v.id for v in principles.found), *principles.before)),
        *memories.points_of(texts),
    ]
    # An index that nobody has opened is compared with the journal when it is.
    reply["indexed"] = not points or not services.index.is_open or await services.writer.remove(points)
    if purge:
        report("Rewriting the journal's files")
        # Here, and not in a thread: nothing may be appended meanwhile.
        purged = services.journal.purge()
        services.clusterer.discard_kept()
        reply["removed"] = sum(purged.removed.values())
        reply["doubtful"] = [str(path) for path in purged.doubtful]
    return reply
