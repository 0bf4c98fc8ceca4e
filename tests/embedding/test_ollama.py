"""Ollama over HTTP: its vectors, and a plain sentence for every failure."""

import json
import socket
from collections.abc import Iterator

import numpy as np
import pytest

from learning_memory_server.embedding.extras.ollama import OllamaEmbedder, OllamaServer, full_name
from learning_memory_server.embedding.graph import prompts_of
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.errors import EmbeddingUnavailableError, ModelServerAwayError
from tests.embedding.ollama_stub import CONTEXT, OllamaStub, Wrong

MODEL = "nomic-embed-text"


@pytest.fixture
def stub() -> Iterator[OllamaStub]:
    with OllamaStub() as running:
        yield running


@pytest.fixture
def embedder(stub: OllamaStub) -> OllamaEmbedder:
    return OllamaEmbedder(MODEL, stub.url)


def refusal_of(stub: OllamaStub, model: str = MODEL, timeout: float = 5) -> str:
    with pytest.raises(EmbeddingUnavailableError) as caught:
        OllamaEmbedder(model, stub.url, timeout)
    assert caught.value.hint
    return caught.value.sentence


def test_documents_are_unit_rows_in_the_order_of_their_texts(stub: OllamaStub) -> None:
    texts = [f"text number {number}" for number in range(70)]

    vectors = OllamaEmbedder(MODEL, stub.url).embed_documents(texts)

    expected = HashingEmbedder(8).embed_documents([f"search_document: {text}" for text in texts])
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected, atol=1e-6)


def test_no_document_is_an_empty_array(embedder: OllamaEmbedder) -> None:
    assert embedder.embed_documents([]).shape == (0, 8)


def test_a_model_that_wants_prompts_gets_them(stub: OllamaStub, embedder: OllamaEmbedder) -> None:
    stub.requests.clear()

    vector = embedder.embed_queries(["a b"])[0]
    embedder.embed_documents(["a b"])

    assert stub.embedded == ["search_query: a b", "search_document: a b"]
    np.testing.assert_allclose(vector, HashingEmbedder(8).embed_queries(["search_query: a b"])[0], atol=1e-6)
    assert stub.requests[0] == ("/api/embed", {"model": MODEL, "input": ["search_query: a b"], "truncate": True})


@pytest.mark.parametrize(
    ("model", "query"),
    [
        ("nomic-embed-text:v1.5", "search_query: "),
        ("someone/Nomic-Embed-Text", "search_query: "),
        ("embeddinggemma", "task: search result | query: "),
        ("all-minilm", ""),
        ("nomic-embed-text-like", ""),
    ],
)
def test_prompts_depend_on_the_name_without_owner_and_tag(model: str, query: str) -> None:
    assert prompts_of(model).query == query


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("nomic-embed-text", "nomic-embed-text:latest"),
        ("registry.ollama.ai/library/All-Minilm:22m", "all-minilm:22m"),
        ("hf.co/owner/model-GGUF:Q4_K_M", "hf.co/owner/model-gguf:q4_k_m"),
        ("localhost:5000/owner/model", "localhost:5000/owner/model:latest"),
    ],
)
def test_a_name_is_completed_like_ollama_does(name: str, full: str) -> None:
    assert full_name(name) == full


def test_the_identity_has_the_digest_that_the_name_points_to(stub: OllamaStub) -> None:
    identity = OllamaEmbedder(MODEL, stub.url).identity
    again = OllamaEmbedder(f"{MODEL}:latest", stub.url).identity
    stub.digest = "f" * 64
    moved = OllamaEmbedder(MODEL, stub.url).identity

    assert (identity.provider, identity.model) == ("ollama", "nomic-embed-text:latest")
    assert (identity.weights, identity.dimension, identity.max_tokens) == (OllamaStub.digest, 8, CONTEXT)
    assert "search_document" in identity.definition
    assert again.digest == identity.digest
    assert moved.digest != identity.digest


def test_a_tag_that_moves_under_a_running_server_is_noticed(stub: OllamaStub, embedder: OllamaEmbedder) -> None:
    stub.digest = "f" * 64

    with pytest.raises(EmbeddingUnavailableError, match="has changed since this server started") as caught:
        embedder.embed_queries(["x"])[0]
    assert "hub stop" in str(caught.value.hint)


def test_a_dimension_that_changes_between_answers_is_noticed(stub: OllamaStub, embedder: OllamaEmbedder) -> None:
    stub.dimension = 16

    with pytest.raises(EmbeddingUnavailableError, match="has changed since this server started"):
        embedder.embed_documents(["x"])


def test_a_missing_model_has_to_be_pulled(stub: OllamaStub) -> None:
    assert refusal_of(stub, "all-minilm") == "Ollama has no model 'all-minilm'. Run: ollama pull all-minilm"


def test_a_model_that_was_removed_has_to_be_pulled(stub: OllamaStub, embedder: OllamaEmbedder) -> None:
    stub.name = "other:latest"

    with pytest.raises(EmbeddingUnavailableError, match="has no model 'nomic-embed-text'"):
        embedder.embed_queries(["x"])[0]


def test_a_server_that_does_not_run_is_reported() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://name:secret@127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(
            EmbeddingUnavailableError, match=r"Ollama at http://127\.[^ ]* cannot be reached: nothing"
        ) as caught:
            OllamaEmbedder(MODEL, url)

    assert "ollama serve" in str(caught.value.hint)
    assert "secret" not in caught.value.sentence


@pytest.mark.slow
def test_a_silent_server_times_out(stub: OllamaStub) -> None:
    stub.fail(Wrong.HANGS)

    assert "sent nothing for 0.2 seconds" in refusal_of(stub, timeout=0.2)
    assert len(stub.requests) == 1


@pytest.mark.slow
def test_a_lost_connection_is_retried(stub: OllamaStub) -> None:
    stub.drops = 2

    assert OllamaEmbedder(MODEL, stub.url).embed_queries(["x"])[0].shape == (8,)


@pytest.mark.slow
def test_a_connection_that_is_lost_three_times_is_an_error(stub: OllamaStub) -> None:
    stub.drops = 100

    assert "ended the connection" in refusal_of(stub)
    assert len(stub.requests) == 3


@pytest.mark.parametrize("path", ["/api/tags", "/api/show", "/api/embed"])
def test_an_error_of_the_server_is_quoted_and_not_retried(path: str, stub: OllamaStub) -> None:
    stub.answers[path] = 500, json.dumps({"error": f"llama runner process has terminated:\n{'x' * 900}"})

    said = refusal_of(stub)

    assert said.startswith("Ollama answered with HTTP status 500: llama runner process has terminated: xxx")
    assert len(said) < 300
    assert [asked for asked, _ in stub.requests].count(path) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/api/tags", 200, "<html>It works!</html>"),
        ("/api/tags", 404, "404 page not found"),
        ("/api/tags", 200, "[]"),
        ("/api/show", 502, "<html>Bad gateway</html>"),
        ("/api/embed", 200, "{}"),
        ("/api/embed", 200, '{"embeddings": null}'),
        ("/api/embed", 200, '{"embeddings": []}'),
        ("/api/embed", 200, '{"embeddings": [0.1, 0.2]}'),
        ("/api/embed", 200, '{"embeddings": [[0.1, 0.2], [0.1]]}'),
        ("/api/embed", 200, '{"embeddings": [["a", "b"]]}'),
        ("/api/embed", 200, '{"embeddings": [[0.1, 0.2]'),
        ("/api/embed", 200, '{"embedding": [0.1, 0.2]}'),
    ],
)
def test_an_answer_that_is_not_ollama_s_is_a_clear_error(path: str, status: int, body: str, stub: OllamaStub) -> None:
    stub.answers[path] = status, body

    assert "does not seem to be Ollama" in refusal_of(stub)


@pytest.mark.parametrize(
    ("status", "body", "is_away"),
    [(502, "<html>Bad gateway</html>", True), (503, '{"error": "server busy"}', False), (404, "", False)],
)
def test_a_proxy_without_ollama_behind_it_is_no_answer(
    status: int, body: str, stub: OllamaStub, *, is_away: bool
) -> None:
    stub.answers["/api/version"] = status, body

    with pytest.raises(EmbeddingUnavailableError) as caught:
        OllamaServer(stub.url, 60).version()
    assert isinstance(caught.value, ModelServerAwayError) is is_away


@pytest.mark.parametrize("vector", ["[0.0, 0.0]", "[NaN, 1.0]", "[null, 1.0]", "[1e300, 1.0]"])
def test_a_vector_without_a_direction_is_refused(vector: str, stub: OllamaStub) -> None:
    stub.answers["/api/embed"] = 200, f'{{"embeddings": [{vector}]}}'

    assert "without a direction" in refusal_of(stub)


def test_too_few_vectors_are_refused(stub: OllamaStub, embedder: OllamaEmbedder) -> None:
    stub.answers["/api/embed"] = 200, json.dumps({"embeddings": [[1.0] * 8]})

    with pytest.raises(EmbeddingUnavailableError, match="does not seem to be Ollama"):
        embedder.embed_documents(["a", "b"])


def test_a_text_that_the_server_refuses_as_too_long_is_truncated(stub: OllamaStub) -> None:
    stub.refuses_long = True
    embedder = OllamaEmbedder(MODEL, stub.url)
    long = "word " * 1500

    vectors = embedder.embed_documents(["short", long])

    expected = HashingEmbedder(8).embed_documents(["search_document: short"])
    np.testing.assert_allclose(vectors[:1], expected, atol=1e-6)
    np.testing.assert_array_equal(vectors[1], embedder.embed_documents([long])[0])


def test_the_server_tells_its_version(stub: OllamaStub) -> None:
    assert OllamaServer(stub.url, 60).version() == "0.12.6"


@pytest.mark.slow
def test_an_endless_answer_is_not_read_to_its_end(stub: OllamaStub) -> None:
    stub.answers["/api/tags"] = (200, '{"models": [' + " " * (65 << 20))

    assert "more than 64 MiB" in refusal_of(stub)


def test_queries_are_embedded_in_one_request(stub: OllamaStub, embedder: OllamaEmbedder) -> None:
    stub.requests.clear()

    together = embedder.embed_queries(["a b", "c"])

    expected = HashingEmbedder(8).embed_documents(["search_query: a b", "search_query: c"])
    np.testing.assert_allclose(together, expected, atol=1e-6)
    assert [path for path, _ in stub.requests].count("/api/embed") == 1
