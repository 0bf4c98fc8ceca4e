"""The operations on the index: complete it, compare it with the journal, or rebuild it."""

import asyncio
import math
import time
from typing import Annotated, Any, Final

from pydantic import Field

from learning_memory_server.errors import EmbeddingUnavailableError
from learning_memory_server.index.document import Collection
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.composition.statistics import damage_notice
from learning_memory_server.server.operations.report import Report
from learning_memory_server.system import timeouts

_AxisName = Annotated[str, Field(pattern=f"^({'|'.join(Axis)})$")]
_LOOK_SECONDS: Final = 0.2


async def complete(
    services: Services, report: Report, *, to_search: bool = False, within: float = math.inf
) -> dict[str, Any]:
    """Wait until the model is loaded and the whole journal is in the index.

    Once the model is loaded, this takes `within` seconds at most. With `to_search` it also waits for the re-ranking
    model. `notices` says what was repaired or is missing.
    """
    writer = services.writer
    report("Loading the embedding model")
    await services.index.open()
    catching_up = asyncio.create_task(writer.complete())
    until = time.monotonic() + within
    try:
        # The hub may already be catching up, so progress is measured by the number of missing points.
        total = 0
        while not (await asyncio.wait([catching_up], timeout=_LOOK_SECONDS))[0] and time.monotonic() < until:
            total = max(total, writer.pending)
            report("Indexing", total - writer.pending, total)
        if in_time := catching_up.done():
            await catching_up
    finally:
        catching_up.cancel()
    notices = list(services.index.notices)
    if not in_time:
        # Until the index was compared, the number is not known; none is not the answer.
        how_many = "" if writer.missing is None else f"; {writer.missing:,} of its vectors are missing"
        notices.append(f"The index is not complete yet{how_many}.")
    if damaged := services.journal.known_damage:
        notices.append(damage_notice(damaged))
    if to_search and services.reranking.depth:
        report("Loading the re-ranking model")
        try:
            await services.reranking.loaded()
        except EmbeddingUnavailableError as error:
            notices.append(f"{error.sentence} Results are not re-ranked.")
    points = sum((await services.index.counts()).values())
    return {"points": points, "notices": notices}


async def compare(services: Services, report: Report) -> dict[str, Any]:
    """Compare the index with the journal, without writing anything.

    The reply counts the `points` of the index, those `missing` and those `superfluous`. `model` says why the loaded
    model cannot be used. What a server refuses is added; see `Pauses.describe`.
    """
    report("Loading the embedding model")
    await services.index.open()
    missing = await services.writer.find_pending()
    return {
        "model": await _failure_of_model(services),
        "points": sum((await services.index.counts()).values()),
        "missing": missing,
        "superfluous": services.writer.reconciler.superfluous,
        "notices": services.index.notices,
        **(services.availability.refusal() if services.availability else {}),
    }


async def _failure_of_model(services: Services) -> str | None:
    """Try the model. One that a server runs may have gone, or changed, since it was loaded."""
    try:
        # As a document: queries are remembered.
        await services.embeddings.embed_documents(["anything"], timeouts.REQUEST)
    except EmbeddingUnavailableError as error:
        return error.sentence
    return None


async def reindex(services: Services, report: Report, *, axis: _AxisName | None) -> dict[str, Any]:
    """Rebuild the index, or one axis of it, from the journal. The old index serves searches until then.

    `points` counts those built now and those kept from an interrupted rebuild, which the next call resumes.
    """
    report("Loading the embedding model")
    await services.index.open()
    collections = list(Collection) if axis is None else [Collection.of(Axis(axis))]
    points = await services.writer.rebuild(collections, lambda done, total: report("Rebuilding the index", done, total))
    return {"points": points, "notices": services.index.notices}
