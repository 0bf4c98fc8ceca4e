"""A model that a server runs: nobody waits for a server that is away, and nothing hangs after its return."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager

import numpy as np
import pytest
from numpy.typing import NDArray

from learning_memory_server.embedding.base import PROBE
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.errors import EmbeddingUnavailableError, ModelServerAwayError
from learning_memory_server.system.waiting import Budget
from tests.fast_forward import fast_forward
from tests.support import MINUTES

AWAY = ModelServerAwayError("The server is away.", hint="Start it.")


class ModelServer(HashingEmbedder):
    """A server and its model. What hangs goes on hanging after it has healed, as behind a broken network."""

    def __init__(self) -> None:
        super().__init__(16)
        self.asked: list[str] = []
        self.loads = 0
        self._is_there = False
        self._fault: Exception | None = None
        self._answers = threading.Event()
        self._answers.set()
        self._hanging: list[threading.Event] = []

    def fail(self, fault: Exception) -> None:
        self._fault = fault

    def hang(self, *, is_there: bool = False) -> None:
        self._is_there = is_there
        self._answers = threading.Event()
        self._hanging.append(self._answers)

    def heal(self) -> None:
        self._fault = None
        self._answers = threading.Event()
        self._answers.set()

    def release(self) -> None:
        for event in self._hanging:
            event.set()

    def load(self) -> ModelServer:
        self.loads += 1
        self._serve("load")
        return self

    def reach(self) -> None:
        if self._is_there:
            self.asked.append("reach")
        else:
            self._serve("reach")

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self._serve(texts[0])
        return super().embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        for text in texts:
            self._serve(text)
        return HashingEmbedder(16).embed_queries(texts)

    def _serve(self, what: str) -> None:
        self.asked.append(what)
        answers, fault = self._answers, self._fault
        answers.wait(60)
        if fault:
            raise fault


@pytest.fixture
def server() -> Iterator[ModelServer]:
    one = ModelServer()
    yield one
    one.release()


@asynccontextmanager
async def running(server: ModelServer) -> AsyncIterator[EmbeddingService]:
    service = EmbeddingService(server.load, reach=server.reach)
    try:
        yield service
    finally:
        await service.stop()


async def seconds_until(is_so: Callable[[], bool]) -> float:
    now = asyncio.get_running_loop().time
    began = now()
    async with asyncio.timeout(MINUTES):
        while not is_so():
            await asyncio.sleep(0.5)
    return now() - began


async def fails_after(call: Awaitable[object]) -> float:
    """Return the seconds after which a call fails because its server is away."""
    now = asyncio.get_running_loop().time
    began = now()
    with pytest.raises(ModelServerAwayError):
        await call
    return now() - began


@fast_forward
async def test_a_query_that_is_not_answered_is_the_last_that_waits(server: ModelServer) -> None:
    async with running(server) as service:
        known = await service.embed_query("known", Budget(model=1))
        server.hang()
        assert await fails_after(service.embed_query("first", Budget(model=1))) >= 1
        assert await fails_after(service.embed_query("second", Budget(model=1))) < 0.5
        assert await service.embed_query("known", Budget(model=1)) is known
        assert "second" not in server.asked


@fast_forward
async def test_queries_and_documents_have_circuits_of_their_own(server: ModelServer) -> None:
    async with running(server) as service:
        await service.identity()
        server.hang()
        await fails_after(service.embed_documents(["a document"], Budget(model=1)))
        server.heal()
        # Documents still wait for their probe.
        assert (await service.embed_query("a query", Budget(model=1))).shape == (16,)
        assert await fails_after(service.embed_documents(["another"], Budget(model=1))) < 0.5


@fast_forward
async def test_a_write_whose_caller_waits_opens_the_circuit_too(server: ModelServer) -> None:
    async with running(server) as service:
        await service.identity()
        server.hang()
        hasty = Budget(request=0.9)
        assert 0.9 <= await fails_after(service.embed_documents(["first"], hasty)) < 5
        assert await fails_after(service.embed_documents(["second"], hasty)) < 0.5


async def test_a_refusal_opens_nothing(server: ModelServer) -> None:
    async with running(server) as service:
        await service.identity()
        server.fail(EmbeddingUnavailableError("There is no such model."))
        for text in ("first", "second"):
            with pytest.raises(EmbeddingUnavailableError, match="no such model"):
                await service.embed_query(text, Budget(model=30))
        assert server.asked[-2:] == ["first", "second"]


@pytest.mark.slow
async def test_a_deadline_that_this_process_missed_opens_nothing(server: ModelServer) -> None:
    async with running(server) as service:
        await service.identity()
        server.hang()
        late = asyncio.create_task(service.embed_query("late", Budget(model=0.01)))
        await asyncio.sleep(0)
        time.sleep(0.5)  # noqa: ASYNC251 - the loop is to be busy
        with pytest.raises(EmbeddingUnavailableError):
            await late
        server.heal()
        server.release()
        assert (await service.embed_query("next", Budget(model=30))).shape == (16,)


@pytest.mark.slow
@pytest.mark.parametrize("hangs", [False, True])
@fast_forward
async def test_after_the_servers_return_nothing_waits_for_what_still_hangs(server: ModelServer, *, hangs: bool) -> None:
    async with running(server) as service:
        await service.identity()
        returned: list[float] = []
        service.listeners.append(lambda: returned.append(asyncio.get_running_loop().time()))
        server.hang() if hangs else server.fail(AWAY)
        background = asyncio.create_task(service.embed_documents(["background"]))
        await fails_after(service.embed_query("query", Budget(model=0.5)))
        await fails_after(service.embed_documents(["waited for"], Budget(model=0.5)))
        if not hangs:
            await fails_after(background)
        await asyncio.sleep(7)
        # Nobody asks for vectors as long as nobody is there.
        assert set(server.asked[server.asked.index("reach") :]) == {"reach"}

        server.heal()

        assert await seconds_until(lambda: bool(returned)) <= 5
        assert (await service.embed_documents(["next"], Budget(model=0.5))).shape == (1, 16)
        if hangs:
            async with asyncio.timeout(MINUTES):
                assert (await background).shape == (1, 16)
        assert len(returned) == 1


@pytest.mark.slow
@fast_forward
async def test_a_model_whose_server_was_away_is_loaded_when_it_is_there(server: ModelServer) -> None:
    async with running(server) as service:
        returned: list[str] = []
        service.listeners.append(lambda: returned.append(service.state.value))
        server.fail(AWAY)
        await fails_after(service.identity())
        assert await fails_after(service.embed_query("query", Budget(model=1))) < 0.5
        await asyncio.sleep(10)
        assert server.loads == 1

        server.heal()

        assert await seconds_until(lambda: bool(returned)) <= 5
        assert returned == ["ready"]
        assert server.loads == 2


@pytest.mark.slow
@fast_forward
async def test_a_first_load_may_take_long_and_nobody_waits_for_it(server: ModelServer) -> None:
    async with running(server) as service:
        server.hang()
        background = asyncio.create_task(service.identity())
        assert 1 <= await fails_after(service.embed_query("first", Budget(model=1))) < 5
        assert await fails_after(service.embed_query("second", Budget(model=1))) < 0.5
        await asyncio.sleep(40)
        server.heal()
        server.release()
        assert (await background).dimension == 16
        assert server.loads == 1


@fast_forward
async def test_a_server_that_loads_its_model_for_long_is_asked_for_a_vector_once(server: ModelServer) -> None:
    async with running(server) as service:
        await service.identity()
        server.hang(is_there=True)
        await fails_after(service.embed_query("query", Budget(model=1)))
        await asyncio.sleep(50)
        assert server.asked[2:] == ["reach", PROBE]
        server.release()
        server.heal()
        await seconds_until(lambda: not service._served[0].circuit.is_open)
        assert (await service.embed_query("query", Budget(model=1))).shape == (16,)
        assert server.asked.count(PROBE) == 1


@pytest.mark.slow
@fast_forward
async def test_the_background_gives_a_server_that_is_away_a_moment(server: ModelServer) -> None:
    async with running(server) as service:
        await service.identity()
        server.fail(AWAY)
        await fails_after(service.embed_documents(["first"]))
        assert 8 < await fails_after(service.embed_documents(["second"])) < 15
        third = asyncio.create_task(service.embed_documents(["third"]))
        await asyncio.sleep(1)
        server.heal()
        assert (await third).shape == (1, 16)
        assert "second" not in server.asked
