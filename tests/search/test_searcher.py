from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from learning_memory_server.domain.vocabulary import Axis, Domain, OutcomeStatus, SearchMode, Strategy
from learning_memory_server.embedding.terms import encode_query
from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.indexing.fusion import relevance
from learning_memory_server.observation.query import EntryQuery
from learning_memory_server.search.searcher import ExperienceQuery
from learning_memory_server.storage.base import SparseVector
from tests.support import CAROL, CONFIRMED, NOON, about, full_ghap, numbered, open_memory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.search.searcher import SearchResult
    from tests.support import Memory

MODES = [SearchMode.LEXICAL, SearchMode.HYBRID]


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with open_memory(tmp_path) as opened:
        yield opened


async def keep(memory: Memory, mode: SearchMode, *entries: Ghap) -> None:
    """Keep entries so that a search for them is of the given mode."""
    if mode is SearchMode.HYBRID:
        await memory.ready()
        await memory.learn(*entries)
    else:
        memory.collector.add_resolved(entries)


def ids(result: SearchResult) -> list[str]:
    return [found.entry.id for found in result.found]


@pytest.mark.parametrize("mode", MODES)
async def test_the_best_match_comes_first_whole_and_with_its_mode(memory: Memory, mode: SearchMode) -> None:
    entries = [about("cache", 1), about("pool", 2), about("types", 3)]
    await keep(memory, mode, *entries)

    result = await memory.searcher.search_experiences(ExperienceQuery("connection pool exhausted"))

    assert result.mode is mode
    assert result.found[0].entry == entries[1]
    scores = [found.score for found in result.found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.parametrize("mode", MODES)
async def test_nothing_kept_is_nothing_found(memory: Memory, mode: SearchMode) -> None:
    await keep(memory, mode)

    result = await memory.searcher.search_experiences(ExperienceQuery("anything"))

    assert (result.found, result.mode) == ([], mode)


LATE = NOON + timedelta(days=3, microseconds=7)
LATE_END = replace(CONFIRMED, resolved_at=LATE)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("changes", "restriction"),
    [
        ({"domain": Domain.SECURITY}, {"domain": Domain.SECURITY}),
        ({"strategy": Strategy.ASK_USER}, {"strategy": Strategy.ASK_USER}),
        ({"project": CAROL.project}, {"project": CAROL.project}),
        (
            {"resolution": replace(LATE_END, status=OutcomeStatus.ABANDONED)},
            {"outcome": OutcomeStatus.ABANDONED},
        ),
        ({"resolution": LATE_END}, {"since": LATE}),
        (
            {"domain": Domain.SECURITY, "project": CAROL.project, "resolution": LATE_END},
            {"domain": Domain.SECURITY, "project": CAROL.project, "since": LATE},
        ),
    ],
)
async def test_a_filter_applies_before_the_best_are_taken(
    memory: Memory, mode: SearchMode, changes: dict[str, Any], restriction: dict[str, Any]
) -> None:
    better = [about("pool", number) for number in range(1, 15)]
    worst = numbered(50, **{"goal": "pool and much that is about other things", **changes})
    await keep(memory, mode, *better, worst)

    unrestricted = await memory.searcher.search_experiences(
        ExperienceQuery("connection pool exhausted", limit=1)
    )
    restricted = await memory.searcher.search_experiences(
        ExperienceQuery("connection pool exhausted", where=EntryQuery(**restriction), limit=1)
    )

    assert ids(unrestricted) != [worst.id]
    assert ids(restricted) == [worst.id]
    assert restricted.mode is mode


@pytest.mark.parametrize("mode", MODES)
async def test_since_includes_its_own_moment_and_nothing_before(memory: Memory, mode: SearchMode) -> None:
    await keep(memory, mode, numbered(1, resolution=LATE_END))

    at = await memory.searcher.search_experiences(ExperienceQuery("pool", where=EntryQuery(since=LATE)))
    after = await memory.searcher.search_experiences(
        ExperienceQuery("pool", where=EntryQuery(since=LATE + timedelta(microseconds=1)))
    )

    assert (len(at.found), len(after.found)) == (1, 0)


@pytest.mark.parametrize("mode", MODES)
async def test_an_axis_holds_only_the_entries_that_have_it(memory: Memory, mode: SearchMode) -> None:
    await keep(memory, mode, numbered(1), full_ghap())

    for axis in (Axis.SURPRISE, Axis.ROOT_CAUSE):
        result = await memory.searcher.search_experiences(ExperienceQuery("load balancer queued", axis=axis))
        assert ids(result) == [full_ghap().id]


@pytest.mark.parametrize("mode", MODES)
async def test_the_limit_limits(memory: Memory, mode: SearchMode) -> None:
    await keep(memory, mode, *(about("pool", number) for number in range(1, 6)))

    assert len((await memory.searcher.search_experiences(ExperienceQuery("pool", limit=3))).found) == 3
    assert len((await memory.searcher.search_experiences(ExperienceQuery("pool"))).found) == 5


@pytest.mark.parametrize("mode", MODES)
async def test_the_takeaway_and_the_domain_are_searched(memory: Memory, mode: SearchMode) -> None:
    await keep(memory, mode, numbered(1, domain=Domain.SECURITY), full_ghap())

    takeaway = await memory.searcher.search_experiences(
        ExperienceQuery("look in front of the service", limit=1)
    )
    domain = await memory.searcher.search_experiences(ExperienceQuery("security", limit=1))

    assert ids(takeaway) == [full_ghap().id]
    assert ids(domain) == [numbered(1).id]


async def test_open_entries_are_not_experiences(memory: Memory) -> None:
    memory.journal.save_open(numbered(1, resolution=None))

    assert (await memory.searcher.search_experiences(ExperienceQuery("pool"))).found == []


async def test_pending_entries_are_found_before_the_index_is_open(memory: Memory) -> None:
    memory.collector.add_resolved([numbered(1)])
    assert not await memory.persister.persist(numbered(1))

    result = await memory.searcher.search_experiences(ExperienceQuery("database pool"))

    assert (ids(result), result.mode) == ([numbered(1).id], SearchMode.LEXICAL)


async def test_while_the_index_is_still_being_filled_a_search_is_lexical_and_complete(memory: Memory) -> None:
    memory.collector.add_resolved([about("pool", 1), about("pool", 2)])
    await memory.index.open()

    result = await memory.searcher.search_experiences(ExperienceQuery("connection pool"))

    assert (len(result.found), result.mode) == (2, SearchMode.LEXICAL)


async def test_a_query_without_words_is_searched_by_meaning_alone(memory: Memory) -> None:
    await keep(memory, SearchMode.HYBRID, numbered(1))

    result = await memory.searcher.search_experiences(ExperienceQuery("=> ?!"))

    assert (ids(result), result.mode) == ([numbered(1).id], SearchMode.SEMANTIC)


async def test_when_the_engine_fails_the_journal_answers_and_says_so(memory: Memory) -> None:
    await keep(memory, SearchMode.HYBRID, numbered(1))
    memory.store.down = StorageUnavailableError("down")

    result = await memory.searcher.search_experiences(ExperienceQuery("database pool"))

    assert (ids(result), result.mode) == ([numbered(1).id], SearchMode.LEXICAL)
    memory.store.down = None
    again = await memory.searcher.search_experiences(ExperienceQuery("database pool"))
    assert again.mode is SearchMode.HYBRID


async def test_a_match_is_scored_by_meaning_and_by_words(memory: Memory) -> None:
    await keep(memory, SearchMode.HYBRID, about("pool", 1), about("types", 2))

    found = (await memory.searcher.search_experiences(ExperienceQuery("pool exhausted"))).found
    vector = await memory.embeddings.embed_query("pool exhausted")

    near = await memory.store.search("experiences_full", vector, limit=2)
    terms = SparseVector(*encode_query("pool exhausted"))
    (worded,) = await memory.store.search_terms("experiences_full", terms, limit=2)
    scores = [relevance(near[0].score, worded.score), relevance(near[1].score, 0)]
    assert [match.score for match in found] == pytest.approx(scores)
    assert [match.entry.id for match in found] == [about("pool", 1).id, about("types", 2).id]


async def test_scores_are_never_negative(memory: Memory) -> None:
    await keep(memory, SearchMode.HYBRID, numbered(1))

    scores = []
    for number in range(60):
        result = await memory.searcher.search_experiences(ExperienceQuery(f"word{number}"))
        scores.append(result.found[0].score)

    assert min(scores) == 0
    assert max(scores) <= 1


async def test_what_is_forgotten_is_not_shown_though_the_index_still_holds_it(memory: Memory) -> None:
    entries = [about("pool", number) for number in range(1, 9)]
    await keep(memory, SearchMode.HYBRID, *entries)
    everything = ids(await memory.searcher.search_experiences(ExperienceQuery("connection pool")))

    memory.collector.forget(everything[:3], memory.clock())

    result = await memory.searcher.search_experiences(ExperienceQuery("connection pool", limit=3))
    assert (ids(result), result.mode) == (everything[3:6], SearchMode.HYBRID)
    assert (await memory.index.counts())["experiences_full"] == 8
