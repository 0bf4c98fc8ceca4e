from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from learning_memory_server.errors import DiskFullError
from learning_memory_server.index.document import Collection, documents_of, point_id
from learning_memory_server.model.vocabulary import Axis
from tests.support import Parts, about, full_ghap, numbered


async def test_an_entry_is_on_each_of_its_axes(parts: Parts) -> None:
    await parts.index.open()
    await parts.learn(full_ghap(), numbered(1))

    counts = await parts.index.counts()
    assert [counts[Collection.of(axis)] for axis in Axis] == [2, 2, 1, 1]
    for axis in Axis:
        (record,) = await parts.store.retrieve(Collection.of(axis), [point_id("ghap", full_ghap().id)])
        assert record.payload["ghap_id"] == full_ghap().id


async def test_an_entry_persisted_twice_is_there_once(parts: Parts) -> None:
    await parts.index.open()
    assert await parts.persister.persist(numbered(1))
    assert await parts.persister.persist(numbered(1))

    assert (await parts.index.counts())[Collection.EXPERIENCES_FULL] == 1


async def test_an_entry_that_cannot_be_indexed_is_pending_and_not_an_error(parts: Parts) -> None:
    await parts.index.open()
    parts.store.down = DiskFullError("full")

    with capture_logs(processors=[merge_contextvars]) as logs:
        assert not await parts.persister.persist(numbered(1))
    assert parts.writer.pending == 2
    assert [(line["event"], line["ghap_id"]) for line in logs] == [("documents.postponed", numbered(1).id)]


async def test_the_source_is_every_resolved_entry_on_every_axis(parts: Parts) -> None:
    entries = [about("pool", 1), full_ghap()]
    parts.collector.add_resolved(entries)

    documents = list(parts.collector.documents())

    assert sorted(documents, key=repr) == sorted(
        (document for entry in entries for document in documents_of(entry)), key=repr
    )
