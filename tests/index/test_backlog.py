from __future__ import annotations

from learning_memory_server.index.backlog import Backlog
from learning_memory_server.index.document import Collection, WholeDocument


def document(name: str, text: str = "text", collection: Collection = Collection.VALUES) -> WholeDocument:
    return WholeDocument(collection, name, text, {})


def backlog_of(*documents: WholeDocument) -> Backlog:
    backlog = Backlog()
    backlog.add(documents)
    return backlog


def batched(backlog: Backlog) -> list[list[str]]:
    return [[each.point_id for each in batch] for batch in backlog.batches()]


def test_a_later_version_replaces_an_earlier_one() -> None:
    backlog = backlog_of(document("a", "old"), document("a", "new"))
    assert [[each.text for each in batch] for batch in backlog.batches()] == [["new"]]


def test_a_point_is_pending_in_each_of_its_collections() -> None:
    full, strategy = (
        document("a", collection=each)
        for each in (Collection.EXPERIENCES_FULL, Collection.EXPERIENCES_STRATEGY)
    )
    backlog = backlog_of(full, strategy)
    assert backlog.pending == 2
    backlog.mark_written([full])
    assert list(backlog.batches()) == [[strategy]]


def test_batches_are_small_and_of_similar_length() -> None:
    backlog = backlog_of(*(document(str(n), "x" * (n * 7 % 20)) for n in range(20)))
    lengths = [[len(each.text) for each in batch] for batch in backlog.batches()]
    assert lengths == [list(range(8)), list(range(8, 16)), list(range(16, 20))]


def test_what_has_been_pending_longest_comes_first_even_if_it_is_long() -> None:
    backlog = backlog_of(*(document(str(n), "long text") for n in range(64)), document("later", "x"))
    assert {name for batch in batched(backlog) for name in batch} == {str(n) for n in range(64)}


def test_what_is_no_longer_pending_when_its_turn_comes_is_left_out() -> None:
    backlog = backlog_of(*(document(str(n)) for n in range(24)))
    batches = backlog.batches()
    assert len(next(batches)) == 8
    backlog.remove({"8", "9"})
    backlog.add([document("10", "changed")])
    assert [each.point_id for each in next(batches)] == ["11", "12", "13", "14", "15"]
    backlog.remove({str(n) for n in range(16, 24)})
    assert list(batches) == []


def test_a_version_that_came_while_another_was_written_stays_pending() -> None:
    old = document("a", "old")
    backlog = backlog_of(old)
    backlog.add([document("a", "new")])
    backlog.mark_written([old])
    assert backlog.pending == 1


def test_what_is_removed_is_no_longer_pending_and_doomed_until_it_is_gone() -> None:
    backlog = backlog_of(document("a"), document("b"))
    backlog.remove({"a", "c"})
    assert batched(backlog) == [["b"]]
    assert backlog.doomed == {"a", "c"}
    backlog.mark_removed(["a", "c"], 0)
    assert backlog.doomed == set()


def test_what_is_removed_while_it_is_being_written_is_doomed_once_it_is_written() -> None:
    late, other = document("late"), document("other")
    backlog = backlog_of(late, other)
    backlog.remove({"late"})
    backlog.mark_removed(["late"], 0)
    backlog.mark_written([late, other])
    assert backlog.doomed == {"late"}
    assert backlog.pending == 0


def test_only_dropped_points_that_the_index_has_are_doomed() -> None:
    backlog = backlog_of(document("pending"), document("kept"))
    backlog.drop({"pending", "stored"}, {"stored", "kept"})
    assert batched(backlog) == [["kept"]]
    assert backlog.doomed == {"stored"}


def test_what_may_have_been_written_after_its_removal_is_removed_again() -> None:
    backlog = Backlog()
    backlog.give_up([document("late")])
    backlog.remove({"late", "other"})
    backlog.mark_removed(["late", "other"], now=100)

    backlog.look_again(now=105)
    assert not backlog.doomed
    backlog.look_again(now=110)
    assert backlog.doomed == {"late"}
    backlog.mark_removed(["late"], now=111)
    backlog.look_again(now=200)
    assert not backlog.doomed
