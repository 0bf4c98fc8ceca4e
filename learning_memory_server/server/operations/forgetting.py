"""The operation `forget`: out of every reading at once, out of the index, and out of the files if that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from learning_memory_server.domain.limits import VALUE_MAX
from learning_memory_server.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from learning_memory_server.journal.forgetting import Forgetting
    from learning_memory_server.server.operations.report import Report
    from learning_memory_server.server.services import Services

_SHOWN: Final = VALUE_MAX
"""Characters of a memory that a preview shows; no value has more."""


class Forgetful(Protocol):
    """What keeps the things of one kind and can forget them; `MemoryLog` says what each of these does."""

    def look_up(self, ids: Iterable[str]) -> Forgetting[Any]: ...  # noqa: D102
    def look_up_project(self, project: str) -> Forgetting[Any]: ...  # noqa: D102
    def forget(self, ids: Iterable[str], at: datetime, *, unknown_too: bool = False) -> Forgetting[Any]: ...  # noqa: D102
    def points_of(self, forgetting: Forgetting[Any]) -> list[str]: ...  # noqa: D102


def forgetful(services: Services) -> dict[str, Forgetful]:
    """Return what keeps the things that can be forgotten, by their kind."""
    return {"ghap": services.collector, "value": services.value_log, "memory": services.memory_log}


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
        `found`, what is forgotten (`kind`, `id`, `text`); `citing`, the ids of values that have one of the entries in
        their evidence, and stay; `indexed`, false if points could not be removed yet; and with `purge` `removed`, how
        many lines, and `doubtful`, files that a person should look at.

    Raises:
        InvalidInputError: If there are both ids and a project, or neither and no `purge`.
        NotFoundError: If an id names nothing; then nothing is forgotten.
        JournalUnavailableError: If it could not be written down.
    """
    if ids and project:
        raise InvalidInputError("Give either ids or a project.")
    if not (ids or project or purge):
        raise InvalidInputError("Give the ids of entries, values or memories, or a project, or only --purge.")
    kept = forgetful(services)
    if project:
        ids = [each.id for log in kept.values() for each in log.look_up_project(project).found]
    looked = {kind: log.look_up(ids) for kind, log in kept.items()}
    if unknown := set(ids).intersection(*(each.unknown for each in looked.values())):
        raise NotFoundError(
            f"There is no entry, value or memory {', '.join(sorted(unknown))}; nothing was forgotten.",
            hint="Run `learning-memory-server list` or `values`, or call search_memory, for their ids.",
        )
    found = {kind: [each.id for each in looked[kind].found] for kind in kept}
    citing = services.value_log.citing(found["ghap"])
    reply: dict[str, Any] = {
        "found": [
            {"kind": kind, "id": each.id, "text": each.goal if kind == "ghap" else each.text[:_SHOWN]}
            for kind in kept
            for each in looked[kind].found
        ],
        "citing": [value.id for value in citing if value.id not in found["value"]],
    }
    if preview:
        return reply
    points, at = [], services.clock()
    for kind, log in kept.items():
        log.forget(found[kind], at)
        points += log.points_of(looked[kind])
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
