import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.index.engines.base import SparseVector
from learning_memory_server.index.queries import EntryQuery, ExperienceQuery, FoundExperience, SearchResult
from learning_memory_server.index.ranking.fusion import relevance
from learning_memory_server.index.ranking.terms import encode_query
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.vocabulary import Axis, Domain, OutcomeStatus, SearchMode, Strategy
from tests.fast_forward import fast_forward
from tests.support import CAROL, CONFIRMED, NOON, Parts, SilentModel, about, full_ghap, numbered, open_parts

MODES = [SearchMode.LEXICAL, SearchMode.HYBRID]


async def keep(parts: Parts, mode: SearchMode, *entries: Ghap) -> None:
    """Add entries so that a search of them has the given mode."""
    if mode is SearchMode.HYBRID:
        await parts.ready()
        await parts.learn(*entries)
    else:
        parts.collector.add_resolved(entries)


async def search(parts: Parts, text: str, **options: Any) -> SearchResult[FoundExperience]:
    return await parts.searcher.search_experiences(ExperienceQuery(text, **options))


def ids(result: SearchResult[FoundExperience]) -> list[str]:
    return [found.entry.id for found in result.found]


@pytest.mark.parametrize("mode", MODES)
async def test_the_best_match_comes_first_complete_and_with_its_mode(parts: Parts, mode: SearchMode) -> None:
    entries = [about("cache", 1), about("pool", 2), about("types", 3)]
    await keep(parts, mode, *entries)

    result = await search(parts, "connection pool exhausted")

    assert result.mode is mode
    assert result.found[0].entry == entries[1]
    scores = [found.score for found in result.found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.parametrize("mode", MODES)
async def test_an_empty_store_has_no_results(parts: Parts, mode: SearchMode) -> None:
    await keep(parts, mode)

    result = await search(parts, "anything")

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
        ({"resolution": replace(LATE_END, status=OutcomeStatus.ABANDONED)}, {"outcome": OutcomeStatus.ABANDONED}),
        ({"resolution": LATE_END}, {"since": LATE}),
        (
            {"domain": Domain.SECURITY, "project": CAROL.project, "resolution": LATE_END},
            {"domain": Domain.SECURITY, "project": CAROL.project, "since": LATE},
        ),
    ],
)
async def test_a_filter_applies_before_the_best_are_taken(
    parts: Parts, mode: SearchMode, changes: dict[str, Any], restriction: dict[str, Any]
) -> None:
    better = [about("pool", number) for number in range(1, 15)]
    worst = numbered(50, **{"goal": "pool and much that is about other things", **changes})
    await keep(parts, mode, *better, worst)

    unrestricted = await search(parts, "connection pool exhausted", limit=1)
    restricted = await search(parts, "connection pool exhausted", where=EntryQuery(**restriction), limit=1)

    assert ids(unrestricted) != [worst.id]
    assert ids(restricted) == [worst.id]
    assert restricted.mode is mode


@pytest.mark.parametrize("mode", MODES)
async def test_since_is_inclusive(parts: Parts, mode: SearchMode) -> None:
    await keep(parts, mode, numbered(1, resolution=LATE_END))

    at = await search(parts, "pool", where=EntryQuery(since=LATE))
    after = await search(parts, "pool", where=EntryQuery(since=LATE + timedelta(microseconds=1)))

    assert (len(at.found), len(after.found)) == (1, 0)


@pytest.mark.parametrize("mode", MODES)
async def test_an_axis_has_only_the_entries_that_are_on_it(parts: Parts, mode: SearchMode) -> None:
    await keep(parts, mode, numbered(1), full_ghap())

    for axis in (Axis.SURPRISE, Axis.ROOT_CAUSE):
        result = await search(parts, "load balancer queued", axis=axis)
        assert ids(result) == [full_ghap().id]


@pytest.mark.parametrize("mode", MODES)
async def test_no_more_results_than_the_limit_are_returned(parts: Parts, mode: SearchMode) -> None:
    await keep(parts, mode, *(about("pool", number) for number in range(1, 6)))

    assert len((await search(parts, "pool", limit=3)).found) == 3
    assert len((await search(parts, "pool")).found) == 5


@pytest.mark.parametrize("mode", MODES)
async def test_the_takeaway_and_the_domain_are_searched(parts: Parts, mode: SearchMode) -> None:
    await keep(parts, mode, numbered(1, domain=Domain.SECURITY), full_ghap())

    takeaway = await search(parts, "look in front of the service", limit=1)
    domain = await search(parts, "security", limit=1)

    assert ids(takeaway) == [full_ghap().id]
    assert ids(domain) == [numbered(1).id]


async def test_open_entries_are_not_experiences(parts: Parts) -> None:
    parts.journal.save_open(numbered(1, resolution=None))

    assert (await search(parts, "pool")).found == []


async def test_pending_entries_are_found_before_the_index_is_open(parts: Parts) -> None:
    parts.collector.add_resolved([numbered(1)])
    assert not await parts.persister.persist(numbered(1))

    result = await search(parts, "database pool")

    assert (ids(result), result.mode) == ([numbered(1).id], SearchMode.LEXICAL)


async def test_while_the_index_is_still_being_filled_a_search_is_lexical_and_complete(parts: Parts) -> None:
    parts.collector.add_resolved([about("pool", 1), about("pool", 2)])
    await parts.index.open()

    result = await search(parts, "connection pool")

    assert (len(result.found), result.mode) == (2, SearchMode.LEXICAL)


async def test_a_query_without_terms_is_a_semantic_search(parts: Parts) -> None:
    await keep(parts, SearchMode.HYBRID, numbered(1))

    result = await search(parts, "=> ?!")

    assert (ids(result), result.mode) == ([numbered(1).id], SearchMode.SEMANTIC)


async def test_when_the_engine_fails_the_journal_answers_and_says_so(parts: Parts) -> None:
    await keep(parts, SearchMode.HYBRID, numbered(1))
    parts.store.down = StorageUnavailableError("down")

    result = await search(parts, "database pool")

    assert (ids(result), result.mode) == ([numbered(1).id], SearchMode.LEXICAL)
    parts.store.down = None
    again = await search(parts, "database pool")
    assert again.mode is SearchMode.HYBRID


async def test_a_match_has_the_hybrid_score(parts: Parts) -> None:
    await keep(parts, SearchMode.HYBRID, about("pool", 1), about("types", 2))

    found = (await search(parts, "pool exhausted")).found
    vector = await parts.embeddings.embed_query("pool exhausted")

    near = await parts.store.search("experiences_full", vector, limit=2)
    terms = SparseVector(*encode_query("pool exhausted"))
    (worded,) = await parts.store.search("experiences_full", terms, limit=2)
    basis = found[0].explanation.basis
    assert (basis.contrast, found[1].explanation.basis) == (1, basis)
    scores = [relevance(near[0].score, worded.score, basis), relevance(near[1].score, 0, basis)]
    assert [match.score for match in found] == pytest.approx(scores)
    assert [match.entry.id for match in found] == [about("pool", 1).id, about("types", 2).id]


@pytest.mark.slow
async def test_scores_are_never_negative(parts: Parts) -> None:
    await keep(parts, SearchMode.HYBRID, numbered(1))

    scores = []
    for number in range(60):
        result = await search(parts, f"word{number}")
        scores.append(result.found[0].score)

    assert min(scores) == 0
    assert max(scores) <= 1


async def test_what_is_forgotten_is_not_shown_though_the_index_still_holds_it(parts: Parts) -> None:
    entries = [about("pool", number) for number in range(1, 9)]
    await keep(parts, SearchMode.HYBRID, *entries)
    everything = ids(await search(parts, "connection pool"))

    parts.collector.forget(everything[:3], parts.clock())

    result = await search(parts, "connection pool", limit=3)
    assert (ids(result), result.mode) == (everything[3:6], SearchMode.HYBRID)
    assert (await parts.index.counts())["experiences_full"] == 8


@pytest.mark.parametrize("silent", ["model", "engine"])
@fast_forward
async def test_while_model_or_engine_are_silent_the_journal_answers_within_two_seconds(
    tmp_path: Path, silent: str
) -> None:
    model = SilentModel()

    async with open_parts(tmp_path, load=lambda: model) as parts:
        await keep(parts, SearchMode.HYBRID, numbered(1))
        parts.store.hangs = silent == "engine"
        if silent == "model":
            model.released.clear()
        now = asyncio.get_running_loop().time
        began = now()

        result = await search(parts, "database pool")

        assert (ids(result), result.mode) == ([numbered(1).id], SearchMode.LEXICAL)
        # A tenth more on a loaded machine.
        assert now() - began < 2.2
        parts.store.hangs = False
        model.released.set()


@pytest.mark.slow
async def test_a_hundred_searches_at_once_are_all_hybrid(parts: Parts) -> None:
    await keep(parts, SearchMode.HYBRID, *(about("pool", number) for number in range(1, 6)))
    searches = [search(parts, f"pool {number}") for number in range(100)]

    results = await asyncio.gather(*searches)

    assert {(len(result.found), result.mode) for result in results} == {(5, SearchMode.HYBRID)}
