"""How long searches take, for the log."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Final, Literal, Self

import structlog

from learning_memory_server.model.vocabulary import SearchMode

_SLOW: Final = 500.0
"""Milliseconds."""

log = structlog.get_logger()


class SearchTimer:
    """A context manager that times one search and logs it at the end; never a query or a text."""

    def __init__(self, collection: str, slow_ms: float = _SLOW) -> None:
        self._slow_ms = slow_ms
        self._answer: dict[str, Any] = {"collection": collection}
        self._parts = {"embedding": 0.0, "engine": 0.0}
        self._began = 0.0

    def __enter__(self) -> Self:
        self._began = perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        total = 1000 * (perf_counter() - self._began)
        times = {f"{name}_ms": round(spent, 1) for name, spent in self._parts.items()}
        write, event = (log.warning, "search.slow") if total > self._slow_ms else (log.debug, "search.answered")
        write(event, **self._answer, total_ms=round(total, 1), **times)

    def answered(self, mode: SearchMode, count: int) -> None:
        """Record what the search returns. Without this call, as after a timeout, the log says neither."""
        self._answer |= {"mode": mode.value, "count": count}

    @contextmanager
    def part(self, name: Literal["embedding", "engine"]) -> Iterator[None]:
        """Count a block's time as that of the model or of the engine."""
        began = perf_counter()
        try:
            yield
        finally:
            self._parts[name] += 1000 * (perf_counter() - began)
