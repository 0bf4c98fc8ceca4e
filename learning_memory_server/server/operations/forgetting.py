"""The operation `forget`: hide immediately, remove from the index, and with `purge` rewrite the journal's files."""

from typing import Any, Final

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.errors import InvalidInputError, NotFoundError
from learning_memory_server.index.engines.owner import find_owner
from learning_memory_server.journal.records import Records
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.limits import VALUE_MAX
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.operations.report import Report

_SHOWN: Final = VALUE_MAX
"""Characters of a memory that a preview shows; values are never longer."""


Forgetful = Records[Any] | ObservationCollector
"""A log with things that can be forgotten."""


def learned(services: Services) -> dict[str, Forgetful]:
    """Return the logs of all that is learned, by kind: verdicts and advice before what they are about."""
    return {"verdict": services.verdicts, "advice": services.advice_log, **forgetful(services)}


def forgetful(services: Services) -> dict[str, Forgetful]:
    """Return the logs whose items a person can forget, by kind."""
    return {
        "ghap": services.collector,
        "value": services.value_log,
        "memory": services.memory_log,
        "failure": services.failure_log,
    }


async def forget(  # noqa: PLR0913 - one for each option
    services: Services, report: Report, *, ids: list[str], project: str | None, purge: bool, preview: bool
) -> dict[str, Any]:
    """Permanently forget entries, values, memories and failures by their ids, or everything in a project.

    The verdicts on a forgotten entry or value, and the advice about it, are forgotten with it. If an id is unknown,
    nothing is forgotten. `purge` also removes from the journal's files what is forgotten now or was before; `preview`
    changes nothing. The reply's fields are those of `forget --json`, see docs/reference/cli.md.
    """
    if ids and project:
        raise InvalidInputError("Give either ids or a project.")
    if not (ids or project or purge):
        raise InvalidInputError("Give the ids of entries, values, memories or errors, or a project, or only --purge.")
    kept = forgetful(services)
    if project:
        ids = [each.id for log in kept.values() for each in log.look_up_project(project).found]
    looked = {kind: log.look_up(ids) for kind, log in kept.items()}
    if unknown := set(ids).intersection(*(each.unknown for each in looked.values())):
        raise NotFoundError(
            f"There is no entry, value, memory or error {', '.join(sorted(unknown))}; nothing was forgotten.",
            hint="Run `learning-memory-server list`, `values` or `failures`, or call search_memory, for their ids.",
        )
    found = {kind: [each.id for each in looked[kind].found] for kind in kept}
    citing = services.value_log.citing(found["ghap"])
    verdicts = services.verdicts.about({*found["ghap"], *found["value"]})
    reply: dict[str, Any] = {
        "found": [
            {"kind": kind, "id": each.id, "text": each.goal if isinstance(each, Ghap) else each.text[:_SHOWN]}
            for kind in kept
            for each in looked[kind].found
        ],
        "citing": [value.id for value in citing if value.id not in found["value"]],
        "verdicts": [
            {"value_id": each.value_id, "ghap_id": each.ghap_id, "stance": each.stance.value} for each in verdicts
        ],
    }
    if preview:
        return reply
    points, at = [], services.clock()
    # First: if the process dies in between, the entries and values can still be forgotten.
    services.verdicts.forget((each.id for each in verdicts), at)
    services.advice_log.forget(services.advice_log.about({*found["ghap"], *found["value"]}), at)
    if project:
        services.trials.forget((each.id for each in services.trials.look_up_project(project).found), at)
    for kind, log in kept.items():
        log.forget(found[kind], at)
        points += log.points_of(looked[kind])
    # An embedded index that is not open is compared with the journal when it opens, which cannot be said of a server.
    is_later = services.settings.qdrant_url is None and not services.index.is_open
    reply["indexed"] = not points or is_later or await services.writer.remove(points)
    reply["elsewhere"] = _elsewhere(services) if points else []
    if purge:
        report("Rewriting the journal's files")
        # Not in a thread: nothing may be appended during the purge.
        purged = services.journal.purge()
        reply["removed"] = sum(purged.removed.values())
        reply["doubtful"] = [str(path) for path in purged.doubtful]
    return reply


def _elsewhere(services: Services) -> list[str]:
    owner = find_owner(services.settings.owner_file)
    return [",".join(each.urls) for each in services.servers.elsewhere(services.settings.qdrant_url, owner)]
