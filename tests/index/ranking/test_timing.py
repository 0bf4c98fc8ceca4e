from typing import Any

import pytest
from structlog.testing import capture_logs

from learning_memory_server.errors import DeadlineExceededError
from learning_memory_server.index.queries import ExperienceQuery, MemoryQuery
from learning_memory_server.index.ranking.hybrid import SearchTimer
from learning_memory_server.model.vocabulary import SearchMode
from tests.capture.memories.shelf import Shelf
from tests.support import Parts, about

TIMES = {"total_ms", "embedding_ms", "engine_ms"}


def of_searches(logs: Any) -> list[dict[str, Any]]:
    return [entry for entry in logs if entry["event"] in ("search.answered", "search.slow")]


async def test_a_search_logs_its_times_and_no_text(parts: Parts) -> None:
    await parts.ready()
    await parts.learn(about("pool", 1), about("cache", 2))
    with capture_logs() as logs:
        await parts.searcher.search_experiences(ExperienceQuery("connection pool"))
    (entry,) = of_searches(logs)
    times = {name: entry.pop(name) for name in TIMES}
    assert entry == {
        "event": "search.answered",
        "log_level": "debug",
        "collection": "experiences_full",
        "mode": "hybrid",
        "count": 2,
    }
    assert 0 < times["embedding_ms"] + times["engine_ms"] <= times["total_ms"] + 0.2


async def test_a_lexical_search_needs_neither_the_model_nor_the_engine(shelf: Shelf) -> None:
    await shelf.add("postgres is the database")
    with capture_logs() as logs:
        await shelf.searcher.search(MemoryQuery("postgres"))
    (entry,) = of_searches(logs)
    assert (entry["collection"], entry["mode"], entry["count"]) == ("memories", "lexical", 1)
    assert entry["embedding_ms"] == entry["engine_ms"] == 0


@pytest.mark.parametrize(
    ("slow_ms", "event", "level"), [(0, "search.slow", "warning"), (60_000, "search.answered", "debug")]
)
def test_a_slow_search_is_a_warning(slow_ms: float, event: str, level: str) -> None:
    with capture_logs() as logs, SearchTimer("memories", slow_ms) as timer:
        timer.answered(SearchMode.SEMANTIC, 3)
    (entry,) = logs
    assert (entry["event"], entry["log_level"]) == (event, level)
    assert (entry["mode"], entry["count"]) == ("semantic", 3)
    assert entry.keys() >= TIMES


def test_a_search_that_fails_is_timed_too_without_a_mode() -> None:
    with (
        capture_logs() as logs,
        pytest.raises(DeadlineExceededError),
        SearchTimer("memories", 0) as timer,
        timer.part("embedding"),
    ):
        raise DeadlineExceededError("timed out")
    (entry,) = logs
    assert entry["event"] == "search.slow"
    assert entry["embedding_ms"] >= 0
    assert "mode" not in entry
