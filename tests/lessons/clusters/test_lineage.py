"""A number is assigned once and then always leads to its members."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from learning_memory_server.errors import NotFoundError
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.lessons.clusters.clusters import Lineage, LineageLog
from learning_memory_server.lessons.clusters.fitting import inherit
from learning_memory_server.model.value import ClusterId
from learning_memory_server.model.vocabulary import Axis
from tests.lessons.clusters.parts import ALL, TYPES, Learning, entries_about, ids, learning, named
from tests.support import NOON, TickingClock

Groups = list[frozenset[str]]

GROUPINGS = st.lists(
    # The place of up to 24 entries, fit after fit: one of five clusters, or -1 for none.
    st.lists(st.integers(-1, 4), min_size=1, max_size=24),
    min_size=1,
    max_size=6,
)


def groups_of(places: Sequence[int]) -> Groups:
    return [
        frozenset(f"e{entry:02}" for entry, place in enumerate(places) if place == group)
        for group in range(5)
        if group in places
    ]


async def grow(log: LineageLog, groupings: Sequence[Sequence[int]]) -> list[dict[int, frozenset[str]]]:
    """Record one fit after another, and return the clusters of each."""
    fits = []
    for places in groupings:
        groups = groups_of(places)
        lineage = await log.of(Axis.FULL, None)
        before = {number: frozenset(members) for number, members in lineage.members.items()}
        fits.append(dict(zip(inherit(before, groups, lineage.next_number), groups, strict=True)))
        await log.remember(Axis.FULL, None, fits[-1])
    return fits


@pytest.mark.slow
@given(GROUPINGS)
def test_numbers_are_never_reused_and_lead_to_current_clusters_or_none(groupings: list[list[int]]) -> None:
    async def check(folder: str) -> None:
        journal = Journal(Path(folder) / "journal")
        fits = await grow(LineageLog(journal.clusters, TickingClock()), groupings)
        last_members: dict[int, frozenset[str]] = {}
        gone: set[int] = set()
        for fit in fits:
            assert gone.isdisjoint(fit)
            gone |= last_members.keys() - fit.keys()
            last_members |= fit
        # As a restarted process reads it.
        lineage = await LineageLog(journal.clusters, TickingClock()).of(Axis.FULL, None)
        assert lineage.members == fits[-1]
        assert lineage.gone == {number: last_members[number] for number in gone}
        assert lineage.next_number == max(last_members, default=-1) + 1

        living = {member: number for number, members in fits[-1].items() for member in members}
        everybody = {f"e{entry:02}" for entry in range(1, 24)}  # the first was forgotten
        places = {member: living.get(member) for member in everybody}
        for number, members in last_members.items():
            found = lineage.whereabouts(number, places)
            assert found is not None
            assert found.clusters == Counter(living[m] for m in members & everybody if m in living)
            assert found.clusters.keys() <= fits[-1].keys()
            assert found.loose == len((members & everybody) - living.keys())
            assert sum(found.clusters.values()) + found.loose + found.forgotten == len(members)
        assert lineage.whereabouts(lineage.next_number, places) is None

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(check(folder))


@pytest.mark.parametrize(
    ("places", "message", "successors"),
    [
        ({"a": 1, "b": 1, "c": 1, "d": 1}, "no longer exists. Its members are now: 4 in full_1.", "cluster_id full_1"),
        (
            {"a": 1, "b": 1, "c": 1, "d": None},
            "no longer exists. Its members are now: 3 in full_1, 1 in no cluster.",
            "cluster_id full_1",
        ),
        (
            {"a": 7, "b": 1, "c": 1},
            "no longer exists. Its members are now: 2 in full_1, 1 in full_7, 1 forgotten.",
            "cluster_id full_1 or cluster_id full_7",
        ),
        (
            {"a": 7, "b": 1, "c": 1, "d": None},
            "no longer exists. Its members are now: 2 in full_1, 1 in full_7, 1 in no cluster.",
            "cluster_id full_1 or cluster_id full_7",
        ),
        (
            {"a": None, "b": None, "c": None, "d": 1},
            "no longer exists. Its members are now: 1 in full_1, 3 in no cluster.",
            "cluster_id full_1",
        ),
        ({"a": None, "b": None, "d": None}, "no longer exists. Its members are now: 3 in no cluster, 1 forgotten.", ""),
        ({}, "no longer exists. Its members are now: 4 forgotten.", ""),
    ],
)
def test_the_error_says_what_became_of_a_cluster_and_names_its_successors(
    places: dict[str, int | None], message: str, successors: str
) -> None:
    found = Lineage(gone={3: frozenset("abcd")}, next_number=8).whereabouts(3, places)

    assert found is not None
    error = found.error(ClusterId(Axis.FULL, 3))
    assert error.message == f"full_3 {message}"
    to_check = f"Check with get_cluster_members, then use {successors}."
    assert str(error.hint).startswith(to_check if successors else "Call get_clusters with axis full.")


@pytest.fixture
def log(journal: Journal) -> LineageLog:
    return LineageLog(journal.clusters, TickingClock())


async def test_a_chain_of_mergers_leads_to_the_current_cluster(log: LineageLog) -> None:
    # Entries 0-2 join 3-8, and those then join 9-23.
    await grow(log, [[0] * 3 + [1] * 6 + [2] * 15, [1] * 9 + [2] * 15, [2] * 24])
    lineage = await log.of(Axis.FULL, None)

    assert lineage.members.keys() == {2}
    found = lineage.whereabouts(0, {f"e{entry:02}": 2 for entry in range(24)})
    assert found is not None
    assert (found.clusters, found.loose, found.forgotten) == ({2: 3}, 0, 0)


async def test_who_moved_where_is_recorded(log: LineageLog, journal: Journal) -> None:
    # The last three part from the first, and then join the others.
    await grow(log, [[0] * 8 + [1] * 9, [0] * 5 + [2] * 3 + [1] * 9, [0] * 5 + [1] * 12])

    parted = ["e05", "e06", "e07"]
    _, second, third = (record.data for record in journal.clusters.read().records)
    assert second == {"next_number": 3, "moved": dict.fromkeys(parted, 2)}
    assert third == {"next_number": 3, "moved": dict.fromkeys(parted, 1)}


async def test_a_fit_that_moves_no_entry_is_not_recorded(log: LineageLog, journal: Journal) -> None:
    await grow(log, [[0, 0, 0, 1, 1, 1]] * 3)
    assert len(journal.clusters.read().records) == 1


async def test_projects_share_numbers_of_an_axis_and_their_names_are_not_journalled(
    log: LineageLog, journal: Journal
) -> None:
    for project in (None, "acme/secret", None):
        lineage = await log.of(Axis.FULL, project)
        groups = [frozenset({"a", "b"}), frozenset({"c", "d"})]
        numbers = inherit(
            {number: frozenset(each) for number, each in lineage.members.items()},
            groups,
            await log.next_number(Axis.FULL),
        )
        await log.remember(Axis.FULL, project, dict(zip(numbers, groups, strict=True)))

    again = LineageLog(journal.clusters, TickingClock())
    assert (await again.of(Axis.FULL, None)).members.keys() == {0, 1}
    assert (await again.of(Axis.FULL, "acme/secret")).members.keys() == {2, 3}
    assert await again.next_number(Axis.FULL) == 4
    assert await again.next_number(Axis.STRATEGY) == 0
    projects = ["acme/other", "acme/secret"]
    assert [await again.owner(ClusterId(Axis.FULL, number), projects) for number in range(5)] == [
        None,
        None,
        "acme/secret",
        "acme/secret",
        None,
    ]
    assert b"acme" not in (journal.path / "clusters.jsonl").read_bytes()


@pytest.mark.parametrize("bad", [{"moves": {}}, {"moved": {"a": ["b"]}, "next_number": 9}])
async def test_a_line_that_cannot_be_decoded_hides_no_other_line(log: LineageLog, journal: Journal, bad: Any) -> None:
    for data in ({"moved": {"a": 0}, "next_number": 1}, bad, {"moved": {"b": 1}, "next_number": 2}):
        journal.clusters.append([JournalRecord("clusters", "full", NOON, data)])
    assert (await log.of(Axis.FULL, None)).members == {0: {"a"}, 1: {"b"}}
    assert journal.known_damage == 1


@pytest.mark.slow
async def test_vanished_clusters_are_traced_over_fits_and_restarts(tmp_path: Path) -> None:
    more = entries_about("types", range(30, 42))
    async with learning(tmp_path, *ALL, min_cluster_size=4) as each:
        assert set(named(await each.clusters())) == {"full_0", "full_1", "full_2"}
    async with learning(tmp_path, min_cluster_size=7) as each:
        # Another setting is another fit; this one has no room for the smallest topic.
        found = await each.clusters()
        assert set(named(found)) == {"full_0", "full_1"}
        with pytest.raises(NotFoundError, match=r"full_2 no longer exists\. Its members are now: 6 in no cluster"):
            found.get(ClusterId(Axis.FULL, 2))
        await each.parts.learn(*more)
        found = await each.clusters()
        assert named(found)["full_3"] == ids(TYPES) | ids(more)
    async with learning(tmp_path, min_cluster_size=7) as each:
        found = await each.clusters()
        with pytest.raises(
            NotFoundError, match=r"full_2 no longer exists\. Its members are now: 6 in full_3"
        ) as caught:
            found.get(ClusterId(Axis.FULL, 2))
        assert caught.value.hint is not None
        assert "full_3" in caught.value.hint


@pytest.mark.slow
async def test_numbers_from_another_writer_are_used_after_a_reread(each: Learning) -> None:
    lineage = (await each.clusters()).lineage
    assert set(lineage.members) == {0, 1, 2}
    moved = {member: number + 10 for member, number in lineage.number_of().items()}
    each.parts.journal.clusters.append([JournalRecord("clusters", "full", NOON, {"next_number": 13, "moved": moved})])

    each.clusterer.reread_numbers()

    assert set(named(await each.clusters())) == {"full_10", "full_11", "full_12"}
    assert each.runs == 2
