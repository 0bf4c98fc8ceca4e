"""A server that does not answer is passed over, one that refuses is left alone for a while."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import structlog

from learning_memory_server.errors import NoAnswerError, RefusedError, StorageUnavailableError
from learning_memory_server.index.engines.availability import Availability
from learning_memory_server.index.engines.base import CollectionSpec
from learning_memory_server.index.engines.owner import open_owner
from learning_memory_server.index.engines.qdrant import QdrantStore
from tests.fast_forward import fast_forward
from tests.index.engines.double import QdrantDouble, Wrong, answering, opened, serving
from tests.index.engines.double_engine import Answer, recorded
from tests.index.engines.points import OPERATIONS, point
from tests.support import within

SECONDS = [1, 2, 4, 8, 16, 32, 60, 60]


@pytest.mark.slow
@fast_forward
async def test_pauses_grow_to_a_minute_and_begin_anew_after_a_success() -> None:
    admission, refusal = Availability().writes, RefusedError("No.", hint="Ask for more.")
    for seconds in SECONDS:
        admission.refused(refusal, None)
        assert refusal.retry_seconds == seconds
        # A request that was on its way by then does not make it longer.
        admission.refused(RefusedError("No."), None)
        await asyncio.sleep(seconds - 0.5)
        assert admission.refusal
        await asyncio.sleep(0.6)
        assert not admission.refusal
    admission.answered()
    admission.refused(refusal, None)
    again = admission.refusal
    assert again
    assert (type(again), again.message, again.hint) == (RefusedError, "No.", "Ask for more.")
    assert again.retry_seconds == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("said", [None, 3.0, 60.0])
@pytest.mark.parametrize("kind", ["reads", "writes"])
@fast_forward
async def test_a_pause_that_is_over_is_not_reported(kind: str, said: float | None) -> None:
    server, refusal = Availability(), RefusedError("No.")
    for _ in range(3):
        getattr(server, kind).refused(refusal, said)
        assert server.refusal()["refused"] == "No."
        assert server.refusal()["retry_seconds"] == pytest.approx(refusal.retry_seconds, abs=1)
        await asyncio.sleep((refusal.retry_seconds or 0.0) + 0.1)
        # Nobody has asked again, as where all that was refused had arrived.
        assert server.refusal() == {}


async def test_a_refusal_to_write_does_not_stop_reading_and_one_about_a_collection_stops_nothing(
    tmp_path: Path, spec: CollectionSpec, double: QdrantDouble
) -> None:
    async with cluster(tmp_path, spec, double) as store:
        double.refuse(recorded("read-only key: upsert"), only=lambda each: each.method == "PUT")
        for _ in range(3):
            with pytest.raises(RefusedError, match="may not write"):
                await store.upsert("notes", [point(1)])
            assert await store.count("notes") == 0
        assert len([each for each in double.asked if each.method == "PUT"]) == 1
        double.refuse(recorded("token for another collection: info"))
        for _ in range(3):
            with pytest.raises(RefusedError, match="may not use collection"):
                await store.count("notes")
        assert store.server.availability.reads.refusal is None


@pytest.mark.parametrize("lost", [Wrong.CLOSES_KEPT, Wrong.RESETS_KEPT])
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_kept_connection_that_is_lost_says_nothing_about_the_server(
    tmp_path: Path, spec: CollectionSpec, double: QdrantDouble, operation: str, lost: Wrong
) -> None:
    async with cluster(tmp_path, spec, double) as store:
        with structlog.testing.capture_logs() as logged:
            double.refuse(lost)
            await OPERATIONS[operation](store)
            # Several that are kept, and all of them are lost at once.
            double.heal()
            await asyncio.gather(*(store.count("notes") for _ in range(10)))
            double.refuse(lost)
            await asyncio.gather(*(OPERATIONS[operation](store) for _ in range(10)))
        assert not [each for each in logged if each["event"] == "circuit.opened"]
        double.heal()
        assert await store.count("notes") == (operation == "upsert")


async def test_who_loses_a_new_connection_too_is_not_asked_again(
    tmp_path: Path, spec: CollectionSpec, double: QdrantDouble
) -> None:
    async with cluster(tmp_path, spec, double) as store:
        double.refuse(Wrong.RESETS)
        with pytest.raises(NoAnswerError):
            await store.upsert("notes", [point(1)])
        assert len([each for each in double.asked if each.method == "PUT"]) == 2
        assert store.server.availability.is_open


@asynccontextmanager
async def cluster(path: Path, spec: CollectionSpec, *nodes: QdrantDouble) -> AsyncIterator[QdrantStore]:
    """A store whose addresses are nodes of one cluster."""
    for node in nodes[1:]:
        node.engine, node.turn = nodes[0].engine, nodes[0].turn
    async with opened(QdrantStore([node.url for node in nodes], open_owner(path / "owner.json")), spec) as store:
        for node in nodes:
            node.asked.clear()
        try:
            yield store
        finally:
            for node in nodes:
                node.heal()


@pytest.fixture
def second() -> Iterator[QdrantDouble]:
    with serving() as server:
        yield server


@pytest.mark.slow
@fast_forward
async def test_an_address_that_hangs_is_passed_over_until_it_is_back(
    tmp_path: Path, spec: CollectionSpec, double: QdrantDouble, second: QdrantDouble
) -> None:
    now = asyncio.get_running_loop().time
    async with cluster(tmp_path, spec, double, second) as store:
        returned: list[float] = []
        store.server.availability.listeners.append(lambda: returned.append(now()))
        double.refuse(Wrong.HANGS)
        began = now()
        await store.upsert("notes", [point(1)])
        assert 0.4 <= now() - began <= 1
        with within(0.4):
            for number in range(2, 6):
                await store.upsert("notes", [point(number)])
        # The first write; what follows are probes, which write nothing.
        assert [len(each.body["points"]) for each in double.asked if each.method == "PUT"][:1] == [1]
        assert not any(each.body["points"] for each in double.asked[1:])
        assert await store.count("notes") == 5

        double.heal()
        await answering(store)
        assert not returned, "the other address answered all the time, so nothing was missed"
        second.refuse(Wrong.RESETS)
        await store.upsert("notes", [point(6)])
        assert await store.count("notes") == 6


@pytest.mark.slow
@fast_forward
async def test_while_no_address_answers_requests_fail_at_once_and_each_is_probed(
    tmp_path: Path, spec: CollectionSpec, double: QdrantDouble, second: QdrantDouble
) -> None:
    now = asyncio.get_running_loop().time
    async with cluster(tmp_path, spec, double, second) as store:
        returned: list[float] = []
        store.server.availability.listeners.append(lambda: returned.append(now()))
        for node in (double, second):
            node.refuse(Wrong.RESETS)
        both = f"{double.server_port}, 127.0.0.1:{second.server_port} cannot be reached"
        with pytest.raises(NoAnswerError, match=both):
            await store.upsert("notes", [point(1)])
        asked = len(double.asked) + len(second.asked)
        for _ in range(50):
            with pytest.raises(NoAnswerError, match=both):
                await store.upsert("notes", [point(1)])
        assert len(double.asked) + len(second.asked) == asked
        # Reads have circuits of their own.
        for node in (double, second):
            node.fault = lambda request: Wrong.RESETS if request.method == "PUT" else None
        assert await store.count("notes") == 0
        await asyncio.sleep(20)
        probes = [len([each for each in node.asked if each.method == "PUT"]) for node in (double, second)]
        assert all(5 <= count <= 9 for count in probes)

        second.heal()
        await asyncio.sleep(5)
        assert len(returned) == 1
        await store.upsert("notes", [point(1)])
        assert await store.count("notes") == 1


@pytest.mark.slow
@pytest.mark.parametrize("situation", ["wrong key: upsert", "disk full: upsert", "strict mode: write rate"])
@fast_forward
async def test_a_server_that_refuses_is_left_alone_longer_and_longer(
    tmp_path: Path, spec: CollectionSpec, double: QdrantDouble, situation: str
) -> None:
    async with cluster(tmp_path, spec, double) as store:
        double.refuse(recorded(situation), only=lambda each: each.method == "PUT")
        sentences = set()
        for _ in range(13):
            with pytest.raises(StorageUnavailableError) as caught:
                await store.upsert("notes", [point(1)])
            sentences.add(caught.value.sentence)
            await asyncio.sleep(5)
        # After 0, 5, 10, 15, 25 and 45 seconds; or every minute, if it says so.
        asked = [each for each in double.asked if each.method == "PUT"]
        assert len(asked) == (2 if recorded(situation).retry_after else 6)
        assert len(sentences) == 1
        # Other kinds of request go on.
        assert await store.count("notes") == 0

        double.heal()
        await asyncio.sleep(61)
        await store.upsert("notes", [point(1)])
        assert await store.count("notes") == 1


@pytest.mark.parametrize(
    "situation", ["wrong dimension: query", "strict mode: filter without index", "collection missing: query"]
)
async def test_what_is_no_refusal_pauses_nothing(
    tmp_path: Path, spec: CollectionSpec, double: QdrantDouble, situation: str
) -> None:
    async with cluster(tmp_path, spec, double) as store:
        double.refuse(recorded(situation))
        for _ in range(3):
            with pytest.raises(StorageUnavailableError):
                await store.count("notes")
        assert len(double.asked) == 3
        double.heal()
        assert await store.count("notes") == 0


@pytest.mark.slow
async def test_a_proxy_without_a_server_behind_it_opens_the_circuit(
    tmp_path: Path, spec: CollectionSpec, double: QdrantDouble
) -> None:
    async with cluster(tmp_path, spec, double) as store:
        double.refuse(Answer(503, b"<html>Service Unavailable</html>"))
        for _ in range(3):
            with pytest.raises(NoAnswerError, match="status 503"):
                await store.count("notes")
        assert store.server.availability.is_open
        double.heal()
        await answering(store)
        assert await store.count("notes") == 0
