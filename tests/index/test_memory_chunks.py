import tracemalloc

import pytest

from learning_memory_server.embedding.tokens import EstimatedTokens
from learning_memory_server.index.memory_chunks import Chunker, documents_of
from learning_memory_server.model.memory import Memory
from tests.support import NOON

CHUNKER = Chunker(EstimatedTokens())
TEXT = "\n\n".join(
    f"## Part {number // 20}\n\nParagraph {number} tells of topic{number}. " + "It goes on and on. " * 16
    for number in range(3_000)
)


def memory_of(text: str) -> Memory:
    metadata = {"source": "wiki", "tags": ["ops", "db"]}
    return Memory("m1", text, metadata, NOON, "garden", NOON, chunking=CHUNKER.chunk(text))


def test_a_document_has_the_text_and_the_span_of_its_chunk() -> None:
    memory = memory_of(TEXT[:20_000])
    documents = list(documents_of(memory, CHUNKER))
    assert [each.text for each in documents_of(memory, CHUNKER, {2, 3})] == [each.text for each in documents[2:4]]
    assert [each.payload["chunk_index"] for each in documents] == list(range(len(documents)))
    assert documents[3].payload == {
        "memory_id": "m1",
        "tags": ["ops", "db"],
        "source": "wiki",
        "project": "garden",
        "created_at": NOON.isoformat(),
        "chunk_index": 3,
        "start": documents[3].payload["start"],
        "end": documents[3].payload["end"],
    }


@pytest.mark.slow
def test_the_documents_of_a_long_text_take_little_ram() -> None:
    memory = memory_of(TEXT)
    tracemalloc.start()
    try:
        documents = list(documents_of(memory, CHUNKER))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(TEXT) > 1_000_000
    assert held / len(documents) < 300


def test_the_header_has_what_was_given_and_nothing_else() -> None:
    text = "The pool runs dry."
    dated = Memory("m1", text, {"timestamp": "2026-03-01"}, NOON, "garden", NOON, chunking=CHUNKER.chunk(text))
    bare = Memory("m1", text, {}, NOON, "garden", NOON, chunking=CHUNKER.chunk(text))

    assert [each.text for each in documents_of(dated, CHUNKER)] == [f"{NOON:%Y-%m-%d}\n{text}"]
    assert [each.text for each in documents_of(bare, CHUNKER)] == [text]
