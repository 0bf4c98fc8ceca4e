import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learning_memory_server.learning.clusters.fitting import Matching, inherit

GONE = -1


def group(*members: str) -> frozenset[str]:
    return frozenset(members)


def letters(text: str) -> frozenset[str]:
    return frozenset(text)


def test_first_clusters_are_numbered_in_the_order_given() -> None:
    assert inherit({}, [letters("abc"), letters("de")], 0) == Matching((0, 1), 2, {}, {})


def test_a_cluster_keeps_its_number_whatever_its_place_and_size() -> None:
    before = {4: letters("abcd"), 7: letters("wxyz")}

    now = inherit(before, [letters("wxyz") | group("new1", "new2", "new3", "new4", "new5"), letters("abc")], 8)

    assert now == Matching((7, 4), 8, {}, {})


def test_a_new_topic_gets_a_new_number() -> None:
    now = inherit({0: letters("abc")}, [letters("abc"), letters("xyz")], 5)

    assert now == Matching((0, 5), 6, {}, {})


def test_the_larger_part_of_a_split_cluster_keeps_the_number() -> None:
    now = inherit({2: letters("abcdefgh")}, [letters("abc"), letters("defgh")], 3)

    assert now == Matching((3, 2), 4, {3: 2}, {})


def test_merged_clusters_keep_the_number_of_the_larger_one() -> None:
    now = inherit({0: letters("abc"), 1: letters("defgh")}, [letters("abcdefgh")], 2)

    assert now == Matching((1,), 2, {}, {0: 1})


def test_a_cluster_that_scattered_into_noise_leaves_no_trace() -> None:
    now = inherit({0: letters("abc"), 1: letters("xyz")}, [letters("abc")], 2)

    assert now == Matching((0,), 2, {}, {})


def test_a_share_below_three_tenths_does_not_inherit() -> None:
    before = {0: letters("abcdefghij")}
    quarters = [letters("abc"), letters("def"), letters("gh"), letters("ij")]

    assert inherit(before, quarters, 1).numbers == (0, 1, 2, 3)
    assert 0 not in inherit({0: letters("abcdefgh")}, [letters(pair) for pair in ("ab", "cd", "ef", "gh")], 1).numbers


def test_the_assignment_is_optimal_and_not_greedy() -> None:
    # 0 is most like the first cluster, but giving it the first leaves 1 with nothing.
    before = {0: letters("abcdef"), 1: letters("ghij")}

    now = inherit(before, [letters("abcghij"), letters("def")], 2)

    assert now.numbers == (1, 0)


def test_an_assigned_number_is_refused_as_the_next() -> None:
    with pytest.raises(ValueError, match="already assigned"):
        inherit({3: letters("abc")}, [letters("xyz")], 3)


runs = st.lists(st.lists(st.integers(GONE, 5), min_size=12, max_size=12), min_size=1, max_size=8)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(runs)
def test_over_any_history_numbers_are_unique_and_never_reused(history: list[list[int]]) -> None:
    previous: dict[int, frozenset[str]] = {}
    next_number = 0
    ever: set[int] = set()
    for placed in history:
        current = [
            frozenset(str(member) for member, where in enumerate(placed) if where == cluster)
            for cluster in sorted(set(placed) - {GONE})
        ]
        found = inherit(previous, current, next_number)
        fresh = set(found.numbers) - set(previous)

        assert len(found.numbers) == len(current)
        assert len(set(found.numbers)) == len(current)
        assert not fresh & ever
        assert found.next_number == next_number + len(fresh)
        assert set(found.split_from) <= fresh
        assert set(found.split_from.values()) <= set(previous)
        assert set(found.merged_into) <= set(previous) - set(found.numbers)
        assert set(found.merged_into.values()) <= set(found.numbers)

        ever |= fresh
        previous = dict(zip(found.numbers, current, strict=True))
        next_number = found.next_number


@given(runs)
@settings(max_examples=50, deadline=None)
def test_an_unchanged_clustering_keeps_every_number(history: list[list[int]]) -> None:
    placed = history[0]
    current = [
        frozenset(str(member) for member, where in enumerate(placed) if where == cluster)
        for cluster in sorted(set(placed) - {GONE})
    ]
    first = inherit({}, current, 10)

    again = inherit(dict(zip(first.numbers, current, strict=True)), current[::-1], first.next_number)

    assert again == Matching(first.numbers[::-1], first.next_number, {}, {})
