"""What is said of the index, and which of its collections searches use."""

from __future__ import annotations

from learning_memory_server.index.backlog import Backlog
from learning_memory_server.index.comparing import Comparison
from learning_memory_server.index.completeness import Completeness
from learning_memory_server.index.document import Collection, WholeDocument

FULL, MEMORIES = Collection.EXPERIENCES_FULL, Collection.MEMORIES
PENDING = WholeDocument(MEMORIES, "new", "text", {})
ALL_THERE = Comparison(dict.fromkeys(Collection, 1.0), superfluous=0)


async def test_nothing_is_known_before_the_first_comparison() -> None:
    completeness = Completeness(Backlog())
    assert (completeness.missing, completeness.is_complete) == (None, False)
    assert not completeness.searchable


async def test_a_collection_that_has_half_of_its_documents_is_searched_and_one_that_has_less_is_not() -> None:
    backlog = Backlog()
    backlog.add([PENDING])
    completeness = Completeness(backlog)
    completeness.compared(Comparison({FULL: 0.5, MEMORIES: 0.4}, superfluous=0))
    assert (completeness.missing, completeness.is_complete) == (1, False)
    assert completeness.searchable == {FULL}
    completeness.caught_up()
    assert completeness.searchable == set(Collection)


async def test_what_becomes_pending_later_does_not_stop_searches_from_using_the_index() -> None:
    backlog = Backlog()
    completeness = Completeness(backlog)
    completeness.compared(ALL_THERE)
    assert completeness.is_complete
    backlog.add([PENDING])
    completeness.doubt()
    assert not completeness.is_complete
    completeness.compared(Comparison({MEMORIES: 0.1}, superfluous=0))
    assert MEMORIES in completeness.searchable


async def test_an_index_that_may_be_gone_is_not_searched() -> None:
    completeness = Completeness(Backlog())
    completeness.compared(ALL_THERE)
    completeness.lose()
    assert not completeness.searchable
    assert completeness.missing is None
