from datetime import date
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, strategies as st

from learning_memory_server.index.queries import FoundMemory, MemoryQuery, SearchResult
from learning_memory_server.model.vocabulary import SearchMode
from learning_memory_server.recall.recall import Recall, rank, with_iso_dates
from tests.capture.memories.shelf import Shelf
from tests.support import TEXTS


def keys(query: str, *texts: str, limit: int = 10) -> list[int]:
    return [key for key, _ in rank(query, list(enumerate(texts)), limit)]


def test_texts_that_share_no_word_are_left_out() -> None:
    assert keys("cache", "stale cache", "dry pool") == [0]


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    texts = ["pool alpha"] * 8 + ["cache alpha"]

    assert keys("pool cache", *texts)[0] == 8
    ranked = dict(rank("pool cache", list(enumerate(texts)), 10))
    assert ranked[8] > ranked[0] > 0


def test_more_of_the_words_is_better_and_so_is_more_often() -> None:
    assert keys("stale cache", "cache then none", "stale cache here", "other text two") == [1, 0]
    assert keys("cache", "cache one two six", "cache cache two six", "none at all here") == [1, 0]


def test_a_short_text_beats_a_long_one_with_the_same_words() -> None:
    assert keys("cache", "cache " + "filler " * 50, "cache hit") == [1, 0]


def test_repeating_a_word_saturates() -> None:
    (_, often), (_, once) = rank("cache", [(0, "cache " * 100), (1, "cache"), (2, "x" * 600)], 3)

    assert often < 3 * once


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("cache", "caches", True),
        ("cache", "cached", True),
        ("cache", "recache", False),
        ("timeout", "TimeoutError", True),
        ("error", "raise TimeoutError()", True),
        ("time", "timeouterror", False),
        ("api", "apiary", False),
        ("api", "the api fails", True),
        ("caches", "cache", True),
        ("CACHE", "Cache", True),
        ("закрытые соединения", "Пул не закрыл соединений.", True),
        ("Dockerのログ", "コンテナのDocker設定を直した", True),
        ("캐시를 비우기", "배포한 뒤 캐시가 남았다", True),
        ("ล้างแคช", "หลังติดตั้งต้องล้างแคชของnginx", True),
        ("सूचकांक", "तालिका में सूचकांक नहीं था", True),
        ("सूची", "सभी रुके", False),
        ("الذاكرة", "امتلأت الذَّاكِرَة بسبب redis", True),
        ("清缓存", "部署后要清空redis缓存", True),
        ("stra\u00dfe", "STRASSE", True),
        ("caf\u00e9", "caf\u00e9s", True),
        ("c++ (std::vector)", "std vector", True),
        ("read_file", "call read_file()", True),
        ("readFile", "call read_file()", True),
        ("reading files", "call read_file()", True),
        ("42", "exit code 42", True),
        ("42", "exit code 420", False),
    ],
)
def test_words_match_in_other_forms_and_inside_names(query: str, text: str, found: bool) -> None:
    assert keys(query, text, "something else entirely") == ([0] if found else [])


def test_the_exact_name_beats_its_words() -> None:
    assert keys("open_pool", "open the pool now", "call open_pool now") == [1, 0]


def test_stop_words_do_not_count_next_to_others() -> None:
    assert keys("why is the cache stale", "the why is the", "cache") == [1]


def test_a_query_of_stop_words_alone_still_finds_them() -> None:
    assert keys("to be or not to be", "to be is to do", "cache") == [0]


@pytest.mark.parametrize("query", ["", "   ", "!?", "..."])
def test_a_query_without_words_finds_nothing(query: str) -> None:
    assert keys(query, "cache", "") == []


def test_no_texts_and_empty_texts_are_not_an_error() -> None:
    assert rank("cache", [], 5) == []
    assert keys("cache", "", "") == []


def test_ties_keep_the_order_of_the_texts() -> None:
    assert keys("cache", *["cache same"] * 6) == [0, 1, 2, 3, 4, 5]


def test_the_limit_takes_the_best() -> None:
    texts = ["cache filler filler filler", "cache", "cache filler", "other"]

    assert keys("cache", *texts, limit=2) == [1, 2]
    assert keys("cache", *texts, limit=10) == [1, 2, 0]


def test_a_score_is_that_of_okapi_bm25() -> None:
    # idf = ln(1 + 1.5 / 1.5); one term in a text of one counts 2.2 / (1 + 1.2 * (0.25 + 0.75 / 32)).
    ((_, score),) = rank("cache", [("a", "cache"), ("b", "other")], 5)

    bm25 = 0.693147 * 2.2 / (1 + 1.2 * (0.25 + 0.75 / 32))
    assert score == pytest.approx(bm25, abs=1e-5)


@given(TEXTS, st.lists(TEXTS, max_size=6), st.integers(1, 5))
def test_any_scores_are_above_0_and_descend(query: str, texts: list[str], limit: int) -> None:
    ranked = rank(query, list(enumerate(texts)), limit)

    scores = [score for _, score in ranked]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)
    assert len(ranked) <= limit
    assert len({key for key, _ in ranked}) == len(ranked)


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("what broke on 25 May 2023?", "2023-05-25"),
        ("what broke on May 25, 2023", "2023-05-25"),
        ("the 1st of sept. 2024", "2024-09-01"),
        ("March 3rd 2024 and 4 March 2024", "2024-03-04 2024-03-03"),
        ("the release of May 25", "05 25"),
        ("29 February 2024", "2024-02-29"),
        ("what broke on 25 may", "05 25"),
        ("since the 3rd of march", "03 03"),
        ("the build of may 4th", "05 04"),
        ("until oct 10 it worked", "10 10"),
        ("3 may 2024", "2024-05-03"),
        ("2-3 May 2024", "2024-05-03"),
        ("the meeting of 25 May.", "05 25"),
        ("12 june", "06 12"),
    ],
)
def test_a_date_is_followed_by_its_iso_form(text: str, added: str) -> None:
    assert with_iso_dates(text) == f"{text} {added}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "it may fail 3 times",
        "31 February 2023",
        "2023-05-25",
        "May 99",
        "yesterday",
        "4 marching ants",
        "Python 3 may crash",
        "HTTP 2 may reset the stream",
        "node 18 may not find the module",
        "one of 5 may fail",
        "step 4 march through the list",
        "all 12 may 3 times",
        "it may 2 times out of 3 hang",
        "May 3 workers share a port?",
        "version 3.12 June 2024 build",
        "port 80:12 June",
        "issue #12 June",
        "May 3.5 be enough",
        "June 50% slower",
        "print 255 as hex, 17 oct or 10 dec",
        "convert dec 10 to hex",
        "use sep 2 in the printf call",
        "the sun 3 times",
        "mar 7 lines of the file",
        "v2 march",
    ],
)
def test_what_is_no_date_is_left_alone(text: str) -> None:
    assert with_iso_dates(text) == text


@given(st.dates(min_value=date(1000, 1, 1)))
def test_any_date_is_found_in_words(day: date) -> None:
    written = f"{day.day} {day:%B} {day.year}"
    assert with_iso_dates(written) == f"{written} {day.isoformat()}"


@pytest.mark.parametrize("mode", [SearchMode.LEXICAL, SearchMode.HYBRID])
async def test_a_date_in_words_finds_the_memory_of_that_day(mode: SearchMode, shelf: Shelf) -> None:
    for day in ("2023-05-24", "2023-05-25", "2022-05-25"):
        await shelf.add("we met and talked", timestamp=day)
    if mode is SearchMode.HYBRID:
        await shelf.ready()
    for text in ("what happened on 25 May 2023", "May 25th, 2023"):
        result = await shelf.searcher.search(MemoryQuery(text))
        assert result.mode is mode
        assert result.found[0].memory.date.isoformat().startswith("2023-05-25")


async def test_the_dates_of_a_question_are_read_once() -> None:
    asked = []

    async def ranked(query: MemoryQuery) -> SearchResult[FoundMemory]:
        asked.append(with_iso_dates(query.text))
        return SearchResult([], SearchMode.LEXICAL)

    nothing = SimpleNamespace(reconciler=SimpleNamespace(searchable=()))
    recall = Recall(cast("Any", None), cast("Any", nothing), cast("Any", None))
    await recall.search(MemoryQuery("3 May", 5), 1.0, cast("Any", None), ranked)
    assert asked == ["3 May 05 03"]
