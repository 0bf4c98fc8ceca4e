"""The re-ranking of the best of a search, by a model that reads the query and each text together.

It is never in the way: while the model is loading, if there is none, or if it fails or is slow, a search keeps the
order it had, and its mode tells that.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.domain.vocabulary import SearchMode
from learning_memory_server.errors import EmbeddingUnavailableError, LearningMemoryError
from learning_memory_server.indexing.fusion import RERANKED, reranked
from learning_memory_server.indexing.hybrid import mode_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from learning_memory_server.embedding.base import Reranker
    from learning_memory_server.embedding.service import EmbeddingService

SECONDS: Final = 2.0
"""How much longer a search may take to be re-ranked, unless it has a deadline of its own."""
_BATCH: Final = 8
"""Texts: what another query may have to wait for."""
_RETRY_SECONDS: Final = 60.0

log = structlog.get_logger()


class Reranking:
    """Loads a re-ranking model in the background at the first search, and runs it in the thread of the embedding model.

    Args:
        embeddings: Whose thread it is.
        load: Makes the model; slow, so it is called in a thread of its own. None if no model is wanted.
        retry_seconds: The least time between a failure to load, or a re-ranking that took too long, and the next try.
    """

    def __init__(
        self,
        embeddings: EmbeddingService,
        load: Callable[[], Reranker] | None,
        retry_seconds: float = _RETRY_SECONDS,
    ) -> None:
        self._embeddings = embeddings
        self._load = load
        self._retry_seconds = retry_seconds
        self._retry_at = 0.0
        self._model: Future[Reranker] | None = None
        self._rest_until = 0.0
        self._told: set[str] = set()

    @property
    def depth(self) -> int:
        """How many results a search must have at least for the best of them to be known; 0 without a model."""
        return RERANKED if self._load else 0

    async def loaded(self) -> None:
        """Wait until the model is loaded, if one is wanted. Searches do not: they go on without it.

        Raises:
            EmbeddingUnavailableError: If it cannot be loaded.
        """
        if self._load is None:
            return
        try:
            await asyncio.shield(asyncio.wrap_future(self._start(self._load)))
        except LearningMemoryError:
            raise
        except Exception as error:
            raise EmbeddingUnavailableError(
                f"The re-ranking model could not be loaded ({type(error).__name__}).",
                hint="Run `learning-memory-server doctor`.",
            ) from error

    async def rerank(
        self,
        query: str,
        scores: Sequence[float],
        texts: Callable[[int], Sequence[str]],
        seconds: float = SECONDS,
    ) -> tuple[list[float], SearchMode]:
        """Return the results' new scores, which may order them otherwise, and what ranks them now.

        Args:
            query: What was looked for.
            scores: The results' relevance, the best first; at least `depth` of them if there are as many.
            texts: Returns the indexed texts of a number of the best; it is called in a thread.
            seconds: How long this may take.
        """
        kept = list(scores), mode_for(query)
        if self._load is None or not scores or seconds <= 0 or monotonic() < self._rest_until:
            return kept
        model = self._start(self._load)
        if not model.done():
            return kept
        try:
            async with asyncio.timeout(seconds):
                read = await self._scores_of(model.result(), query, texts, min(RERANKED, len(scores)))
        except TimeoutError:
            # The next searches need not wait in vain.
            self._rest_until = monotonic() + self._retry_seconds
            # The seconds that are left of a deadline differ, but not what there is to say.
            self._tell("The re-ranking model takes too long on this machine.")
            return kept
        except Exception as error:  # noqa: BLE001 - whatever a library makes of it, there is an order already
            self._tell(
                error.sentence
                if isinstance(error, LearningMemoryError)
                else f"{type(error).__name__}: {error}"
            )
            return kept
        # What was not read may be worth nothing, as far as the model knows.
        read += [0.0] * (len(scores) - len(read))
        return list(map(reranked, scores, read)), SearchMode.RERANKED

    async def _scores_of(
        self, model: Reranker, query: str, texts: Callable[[int], Sequence[str]], count: int
    ) -> list[float]:
        wanted = await asyncio.to_thread(texts, count)
        # Equal texts get the very same score, whatever they are computed beside.
        different = list(dict.fromkeys(wanted))
        found: dict[str, float] = {}
        for start in range(0, len(different), _BATCH):
            batch = different[start : start + _BATCH]
            # One batch at a time, so that a caller who gives up leaves nothing behind.
            scores = await self._embeddings.run_for_query(partial(model.scores, query, batch))
            found |= zip(batch, scores.tolist(), strict=True)
        return [found[text] for text in wanted]

    def _start(self, load: Callable[[], Reranker]) -> Future[Reranker]:
        """Begin to load, unless that was begun before and may yet succeed."""
        model = self._model
        if model is None or (model.done() and model.exception() and monotonic() >= self._retry_at):
            model = self._model = Future()
            # A daemon: the end of the process does not wait for it.
            threading.Thread(target=self._load_into, args=(model, load), name="reranker", daemon=True).start()
        return model

    def _load_into(self, model: Future[Reranker], load: Callable[[], Reranker]) -> None:
        try:
            loaded = load()
        except BaseException as error:  # noqa: BLE001 - a panic in a library is no Exception
            self._retry_at = monotonic() + self._retry_seconds
            model.set_exception(error)
        else:
            model.set_result(loaded)

    def _tell(self, reason: str) -> None:
        """Log why results keep their order, once."""
        if reason not in self._told:
            self._told.add(reason)
            log.warning("search.not_reranked", reason=reason)
