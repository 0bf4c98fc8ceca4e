"""What is said of the index, and whether searches use it."""

from __future__ import annotations

from learning_memory_server.indexing.backlog import Backlog
from learning_memory_server.indexing.comparing import Comparison
from learning_memory_server.indexing.completeness import Completeness
from learning_memory_server.indexing.document import Collection, WholeDocument


def lacking(count: int) -> tuple[Backlog, Completeness]:
    backlog = Backlog()
    backlog.add(WholeDocument(Collection.VALUES, str(number), "text", {}) for number in range(count))
    return backlog, Completeness(backlog)


async def test_nothing_is_known_before_the_first_comparison() -> None:
    _, completeness = lacking(0)
    assert (completeness.missing, completeness.is_complete) == (None, False)
    assert not completeness.is_searchable


async def test_an_index_that_has_half_of_the_journal_is_searched_and_one_that_has_less_is_not() -> None:
    for missing, is_searched in [(5, True), (6, False)]:
        _, completeness = lacking(missing)
        completeness.compared(Comparison(documents=10, superfluous=0))
        assert (completeness.missing, completeness.is_complete) == (missing, False)
        assert completeness.is_searchable is is_searched


async def test_what_becomes_pending_later_does_not_stop_searches_from_using_the_index() -> None:
    backlog, completeness = lacking(0)
    completeness.compared(Comparison(documents=2, superfluous=0))
    assert completeness.is_complete
    backlog.add([WholeDocument(Collection.VALUES, "new", "text", {})])
    completeness.doubt()
    assert completeness.is_searchable
    assert not completeness.is_complete
    completeness.compared(Comparison(documents=1, superfluous=0))
    assert completeness.is_searchable


async def test_an_index_that_may_be_gone_is_not_searched() -> None:
    _, completeness = lacking(0)
    completeness.compared(Comparison(documents=2, superfluous=0))
    completeness.lose()
    assert not completeness.is_searchable
    assert completeness.missing is None
