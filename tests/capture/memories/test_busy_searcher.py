"""Memory searches under load: late models, late engines, and many at once."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.embedding.work_queue import QUERIES_AT_ONCE
from learning_memory_server.errors import DeadlineExceededError
from learning_memory_server.index.queries import MemoryQuery
from learning_memory_server.model.vocabulary import SearchMode
from learning_memory_server.recall.recall import rank
from learning_memory_server.system import timeouts
from learning_memory_server.system.waiting import Budget
from tests.capture.memories.shelf import open_shelf
from tests.fast_forward import FastForwardLoop, fast_forward
from tests.support import SilentModel


@fast_forward
async def test_a_search_whose_engine_is_silent_is_lexical_within_a_second(tmp_path: Path) -> None:
    async with open_shelf(tmp_path, deadline=timeouts.SEARCH_MEMORY) as shelf:
        await shelf.ready()
        await shelf.add("postgres is the database")
        shelf.store.hangs = True
        now = asyncio.get_running_loop().time
        began = now()

        result = await shelf.searcher.search(MemoryQuery("database"))

        assert now() - began < 1.1
        assert result.mode is SearchMode.LEXICAL
        assert [item.memory.text for item in result.found] == ["postgres is the database"]
        shelf.store.hangs = False


async def test_a_search_for_which_even_the_journal_takes_too_long_times_out(tmp_path: Path) -> None:
    async with open_shelf(tmp_path, deadline=0) as shelf:
        with pytest.raises(DeadlineExceededError, match=r"^timed out$"):
            await shelf.searcher.search(MemoryQuery("database"))


@fast_forward
async def test_a_search_whose_model_is_late_is_lexical_and_says_so(tmp_path: Path) -> None:
    model = SilentModel()
    async with open_shelf(tmp_path, load=lambda: model, deadline=0.5) as shelf:
        await shelf.ready()
        await shelf.add("postgres is the database")
        model.released.clear()
        try:
            result = await shelf.searcher.search(MemoryQuery("database"))
        finally:
            model.released.set()

        assert result.mode is SearchMode.LEXICAL
        assert [item.memory.text for item in result.found] == ["postgres is the database"]


class HeldRuns(HashingEmbedder):
    """A model whose runs are counted, each of one query or a batch, and wait until they may end."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = 0
        self.may_end = threading.Semaphore(0)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.begun += 1
        self.may_end.acquire()
        return self.embed_documents(texts)


async def test_a_hundred_searches_at_once_are_hybrid_and_share_the_runs_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, asked = HeldRuns(), list[str]()
    embed_query = EmbeddingService.embed_query

    async def listening(service: EmbeddingService, text: str, budget: Budget) -> NDArray[np.float32]:
        asked.append(text)
        return await embed_query(service, text, budget)

    monkeypatch.setattr(EmbeddingService, "embed_query", listening)
    async with open_shelf(tmp_path, load=lambda: model) as shelf:
        await shelf.ready()
        await shelf.add("postgres is the database")
        # Words only: with a name, a search asks the model twice.
        words = [f"database {first}{second}" for first in "abcdefghij" for second in "abcdefghij"]
        searches = [asyncio.create_task(shelf.searcher.search(MemoryQuery(text))) for text in words]

        def all_have_asked() -> bool:
            answered = sum(search.done() for search in searches)
            return len(asked) == min(answered + QUERIES_AT_ONCE, 100)

        ended = 0
        while not all(search.done() for search in searches):
            # Whatever is faster, the model or who asks it: a run ends once every search that may run waits for one.
            if model.begun > ended and all_have_asked():
                ended += 1
                model.may_end.release()
            await asyncio.sleep(0)

        results = [search.result() for search in searches]
        assert all(result.found for result in results)
        assert {result.mode for result in results} == {SearchMode.HYBRID}
        # By turns, a run is of those that came during the one before, and of the others.
        assert model.begun < 30


@fast_forward
async def test_lexical_searches_at_once_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, loop = threading.Lock(), asyncio.get_running_loop()
    assert isinstance(loop, FastForwardLoop)

    def alone(*arguments: Any) -> Any:
        assert lock.acquire(blocking=False)
        try:
            loop.pass_time(1)
            return rank(*arguments)
        finally:
            lock.release()

    monkeypatch.setattr("learning_memory_server.recall.memories.rank", alone)
    async with open_shelf(tmp_path, deadline=1) as shelf:
        await shelf.add("postgres is the database")
        # Together they take longer than the deadline of one.
        results = await asyncio.gather(*(shelf.searcher.search(MemoryQuery("database")) for _ in range(30)))

    assert {result.mode for result in results} == {SearchMode.LEXICAL}
    assert all(result.found for result in results)
