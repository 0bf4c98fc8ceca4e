import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.embedding.tokens import without_names
from learning_memory_server.errors import DeadlineExceededError, StorageUnavailableError
from learning_memory_server.index.document import Collection, Document, WholeDocument, point_id
from learning_memory_server.index.engines.base import Filter, Record, VectorStore
from learning_memory_server.index.queries import ExperienceQuery, MemoryQuery
from learning_memory_server.index.ranking.fusion import DEPTH, Basis, contrast, relevance
from learning_memory_server.index.ranking.hybrid import Query, QueryContext, SearchTimer, search_hybrid
from learning_memory_server.index.ranking.terms import encode_document, encode_query
from learning_memory_server.model.vocabulary import SearchMode
from learning_memory_server.recall.memories import search_lexical
from tests.capture.memories.shelf import Shelf, open_shelf
from tests.faulty_store import FaultyStore
from tests.logs import everything_logged
from tests.support import Parts, about

NOTES = Collection.MEMORIES
ENTRIES = Collection.EXPERIENCES_FULL
WORDS = ("pool", "cache", "token", "retry", "queue", "shard", "index", "proxy", "build", "socket", "thread")


class Forgetting(FaultyStore):
    """A store in which a point is removed after a search, before its payload is read.

    Args:
        inner: The store that does the work.
        point: The point.
    """

    def __init__(self, inner: VectorStore, point: str) -> None:
        super().__init__(inner)
        self._point = point

    async def retrieve(self, collection: str, ids: Sequence[str], *, with_vectors: bool = False) -> list[Record]:
        await self.inner.delete(collection, [self._point])
        return await super().retrieve(collection, ids, with_vectors=with_vectors)


def note(number: int, text: str) -> Document:
    return WholeDocument(NOTES, point_id("memory", str(number)), text, {"number": number})


def query(text: str, limit: int = 10) -> Query:
    return Query(NOTES, text, limit, Filter())


def brute_force(documents: Sequence[Document], text: str, weight: float) -> list[tuple[str, float]]:
    """Return every document's relevance, computed without an engine, best first."""
    encoded = [dict(zip(*encode_document(document.text), strict=True)) for document in documents]
    vector = HashingEmbedder().embed_queries([text, without_names(text)]).sum(axis=0)
    vector /= np.linalg.norm(vector)
    vectors = HashingEmbedder().embed_documents([document.text for document in documents])
    cosines, scores = [], []
    for weights, row in zip(encoded, vectors, strict=True):
        bm25 = 0.0
        for term in set(encode_query(text)[0]) & weights.keys():
            having = sum(term in other for other in encoded)
            bm25 += weights[term] * math.log(1 + (len(encoded) - having + 0.5) / (having + 0.5))
        cosines.append(float(vector @ row))
        scores.append(bm25)
    stands_out = contrast(sorted(filter(None, scores), reverse=True))
    fused = [
        (document.point_id, relevance(cosine, bm25, Basis(stands_out, weight)))
        for document, cosine, bm25 in zip(documents, cosines, scores, strict=True)
    ]
    return sorted(fused, key=lambda pair: (-pair[1], pair[0]))


@pytest.mark.slow
async def test_every_score_is_exact_whichever_search_found_the_text(parts: Parts) -> None:
    documents = [
        note(n, " ".join((WORDS[n % 11], WORDS[n % 7], WORDS[n % 5], f"case{n}", "again " * (n % 4))))
        for n in range(4 * DEPTH)
    ]
    await parts.index.write(documents)

    for text in ("pool cache", "the retry of the index again", "case17 queue", "again and again"):
        matches = await parts.index.search_hybrid(query(text, 10))
        expected = dict(brute_force(documents, text, matches[0].explanation.basis.weight))
        assert len(matches) == 10
        assert [m.explanation.score for m in matches] == pytest.approx([expected[m.id] for m in matches], abs=1e-4)
        # All are asked for, so none can be missed.
        ranked = await parts.index.search_hybrid(query(text, 4 * DEPTH))
        assert [m.explanation.score for m in ranked] == pytest.approx(sorted(expected.values(), reverse=True), abs=1e-4)


async def test_a_text_that_only_one_search_finds_is_found(parts: Parts) -> None:
    # All of the crowd has a higher cosine: the model knows only words that are spelled alike.
    crowd = [note(n, f"restart {' '.join(f'filler{n}x{k}' for k in range(9))}") for n in range(2 * DEPTH)]
    named = note(999, "readFile parseHeader")
    await parts.index.write([*crowd, named])
    text = "restart, read the file, parse the header"
    near = await parts.nearest(query(text).collection, text, DEPTH)
    assert named.point_id not in [hit.id for hit in near]

    best = (await parts.index.search_hybrid(query(text)))[0]

    vector, row = HashingEmbedder().embed_documents([text, named.text])
    assert (best.id, best.payload["number"]) == (named.point_id, 999)
    assert best.explanation.closeness == pytest.approx(float(vector @ row), abs=1e-4)


async def test_a_query_without_terms_is_a_semantic_search(parts: Parts) -> None:
    await parts.index.write([note(n, f"text {n}") for n in range(3)])

    matches = await parts.index.search_hybrid(query("?!"))

    assert len(matches) == 3
    assert [m.explanation.score for m in matches] == pytest.approx(
        [m.explanation.basis.weight * max(m.explanation.closeness or 0, 0) for m in matches]
    )


async def test_equal_texts_are_ordered_by_id(parts: Parts) -> None:
    await parts.index.write([note(n, "the very same words") for n in range(2 * DEPTH)])

    matches = await parts.index.search_hybrid(query("same words", 5))

    assert [m.id for m in matches] == sorted(point_id("memory", str(n)) for n in range(2 * DEPTH))[:5]


async def test_hidden_points_take_no_place(parts: Parts) -> None:
    await parts.index.write([note(n, f"pool of connections {n % 7}") for n in range(3 * DEPTH)])
    everything = await parts.index.search_hybrid(query("pool of connections 3", 3 * DEPTH))
    hidden = {match.payload["number"] for match in everything[: 2 * DEPTH + 5]}

    shown = await parts.index.search_hybrid(
        query("pool of connections 3"), lambda payload: payload["number"] not in hidden
    )
    none = await parts.index.search_hybrid(query("pool of connections 3"), lambda _: False)

    assert [match.id for match in shown] == [match.id for match in everything[2 * DEPTH + 5 :][:10]]
    assert none == []


async def test_a_filter_restricts_both_searches(parts: Parts) -> None:
    texts = ("pool of connections", "pool", "connections")
    await parts.index.write(
        [
            WholeDocument(ENTRIES, point_id("ghap", f"{project}{text}"), text, {"project": project})
            for project in ("shop", "site")
            for text in texts
        ]
    )

    asked = Query(ENTRIES, "pool of connections", 10, Filter(matches=(("project", "shop"),)))
    matches = await parts.index.search_hybrid(asked)

    assert [match.payload["project"] for match in matches] == ["shop"] * 3


async def test_the_nearest_vector_counts_whichever_collection_has_it(parts: Parts) -> None:
    other, text = "mypy generic variance", "pool of connections"
    nearest = {"own": (text, other), "sibling's": (other, text)}
    await parts.index.write(
        [
            WholeDocument(collection, point_id("ghap", name), each, {"name": name})
            for name, texts in nearest.items()
            for collection, each in zip((ENTRIES, Collection.EXPERIENCES_STRATEGY), texts, strict=True)
        ]
    )

    asked = Query(ENTRIES, text, 10, Filter(), siblings=(Collection.EXPERIENCES_STRATEGY,))
    matches = await parts.index.search_hybrid(asked)

    assert [match.payload["name"] for match in matches] == ["own", "sibling's"]
    assert [match.explanation.closeness for match in matches] == pytest.approx([1, 1])


async def test_a_point_that_is_removed_during_the_search_is_left_out(parts: Parts) -> None:
    documents = [note(n, "pool of connections") for n in range(3)]
    await parts.index.write(documents)
    removed = documents[1].point_id
    vector = await parts.embeddings.embed_query("pool")

    matches = await search_hybrid(Forgetting(parts.store, removed), query("pool"), QueryContext(vector), lambda _: True)

    assert {match.id for match in matches} == {each.point_id for each in documents} - {removed}


async def test_an_empty_collection_has_no_matches(parts: Parts) -> None:
    assert await parts.index.search_hybrid(query("pool")) == []


async def test_a_failing_engine_is_reported(parts: Parts) -> None:
    parts.store.down = StorageUnavailableError("down")
    with pytest.raises(StorageUnavailableError, match="down"):
        await parts.index.search_hybrid(query("pool"))


CHINESE = (
    "连接池在高负载下耗尽, 因为失败的导入任务没有归还连接",
    "缓存的键缺少租户编号, 所以一个客户看到了另一个客户的数据",
    "时区: 报表的日期差一天, 因为比较时用了本地时间",
    "构建脚本在没有网络的机器上失败, 依赖没有固定版本",
    "消息队列重复投递, 消费者必须是幂等的",
    "日志文件写满磁盘, 轮转的设置没有生效",
)


@pytest.mark.slow
async def test_a_query_that_the_model_cannot_read_is_ranked_by_its_words(tmp_path: Path) -> None:
    async with open_shelf(tmp_path, load=load_packaged) as shelf:
        for text in CHINESE:
            await shelf.add(text)
        await shelf.ready()
        for query, answer in (("连接池为什么耗尽", 0), ("报表日期差一天", 2), ("日志写满磁盘", 5)):
            hybrid = (await shelf.searcher.search(MemoryQuery(query))).found
            lexical = search_lexical(shelf.log, MemoryQuery(query), shelf.log.all()).found
            assert hybrid[0].memory.text == lexical[0].memory.text == CHINESE[answer]


TIMES = {"total_ms", "embedding_ms", "engine_ms"}


def of_searches(logs: Any) -> list[dict[str, Any]]:
    return [entry for entry in logs if entry["event"] in ("search.answered", "search.slow")]


async def test_a_search_logs_its_times_and_no_text(parts: Parts) -> None:
    await parts.ready()
    await parts.learn(about("pool", 1), about("cache", 2))
    with everything_logged() as logs:
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
    with everything_logged() as logs:
        await shelf.searcher.search(MemoryQuery("postgres"))
    (entry,) = of_searches(logs)
    assert (entry["collection"], entry["mode"], entry["count"]) == ("memories", "lexical", 1)
    assert entry["embedding_ms"] == entry["engine_ms"] == 0


@pytest.mark.parametrize(
    ("slow_ms", "event", "level"), [(0, "search.slow", "warning"), (60_000, "search.answered", "debug")]
)
def test_a_slow_search_is_a_warning(slow_ms: float, event: str, level: str) -> None:
    with everything_logged() as logs, SearchTimer("memories", slow_ms) as timer:
        timer.answered(SearchMode.SEMANTIC, 3)
    (entry,) = logs
    assert (entry["event"], entry["log_level"]) == (event, level)
    assert (entry["mode"], entry["count"]) == ("semantic", 3)
    assert entry.keys() >= TIMES


def test_a_search_that_fails_is_timed_too_without_a_mode() -> None:
    with (
        everything_logged() as logs,
        pytest.raises(DeadlineExceededError),
        SearchTimer("memories", 0) as timer,
        timer.part("embedding"),
    ):
        raise DeadlineExceededError("timed out")
    (entry,) = logs
    assert entry["event"] == "search.slow"
    assert entry["embedding_ms"] >= 0
    assert "mode" not in entry
