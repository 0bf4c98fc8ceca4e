"""A model that is loaded in the background when it is first needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from time import monotonic
from typing import Final, Generic, TypeVar

from learning_memory_server.errors import EmbeddingUnavailableError, LearningMemoryError

T = TypeVar("T")

_WAIT_PER_SECOND: Final = 100
"""Seconds to wait per second of a failed attempt, so that loading takes at most a hundredth of the time."""


class ModelState(StrEnum):
    """Whether a model can be used."""

    IDLE = "idle"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


@dataclass
class LazyModel(Generic[T]):
    """Loads a model in a thread when it is first needed, and again, after a pause, if that failed.

    A later attempt may succeed: the model may have been downloaded since, or its server started.
    """

    name: str  # what errors call the model, such as "embedding model"
    load: Callable[[], T]  # slow; called until it succeeds once
    submit: Callable[[Callable[[], T]], Future[T]]  # runs a function in a thread
    retry_seconds: (
        float  # the least time between a failure and the next attempt; longer if loading takes long
    )
    _retry_at: float = field(default=0.0, init=False)
    _model: Future[T] | None = field(default=None, init=False)

    @property
    def state(self) -> ModelState:
        """Whether the model can be used."""
        if self._model is None:
            return ModelState.IDLE
        if not self._model.done():
            return ModelState.LOADING
        return ModelState.FAILED if self._model.exception() else ModelState.READY

    def start(self) -> Future[T]:
        """Start loading unless the model is loaded, is loading, or failed recently. Returns at once."""
        if self._model is None or (self.state is ModelState.FAILED and monotonic() >= self._retry_at):
            self._model = self.submit(self._try_to_load)
        return self._model

    def retry_now(self) -> None:
        """Let the next use load the model even if that failed recently."""
        self._retry_at = 0.0

    async def get(self) -> T:
        """Wait for the model and return it."""
        with self.errors("could not be loaded"):
            # Shielded: a cancelled caller must not cancel the loading for others.
            return await asyncio.shield(asyncio.wrap_future(self.start()))

    @contextmanager
    def errors(self, what_happened: str) -> Iterator[None]:
        """Turn whatever the model's library raises into an `EmbeddingUnavailableError` that does not quote it.

        `what_happened` is the rest of the sentence about the model, such as "failed".
        """
        try:
            yield
        except LearningMemoryError:
            raise
        except Exception as error:
            raise EmbeddingUnavailableError(
                f"The {self.name} {what_happened} ({type(error).__name__}).",
                hint="Run `learning-memory-server doctor`.",
            ) from error

    def _try_to_load(self) -> T:
        began = monotonic()
        try:
            return self.load()
        except BaseException:
            now = monotonic()
            self._retry_at = now + max(self.retry_seconds, _WAIT_PER_SECOND * (now - began))
            raise
