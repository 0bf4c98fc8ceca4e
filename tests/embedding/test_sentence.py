"""A model of the sentence-transformers library: seconds to load, and no network."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from learning_memory_server.embedding.extras.sentence import SentenceEmbedder
from learning_memory_server.embedding.loading import load_embedder
from learning_memory_server.embedding.source import find_source
from learning_memory_server.errors import EmbeddingUnavailableError
from tests.original_model import ORIGINAL
from tests.processes import python

pytestmark = [pytest.mark.slow, pytest.mark.torch]

QUERY = "the database connection pool ran out under load"
PARAPHRASE = "Under heavy traffic no DB connections were left."
UNRELATED = "The button's border colour follows the dark theme."


@pytest.fixture(scope="module")
def embedder() -> SentenceEmbedder:
    return SentenceEmbedder(find_source(str(ORIGINAL)))


def test_documents_are_unit_rows(embedder: SentenceEmbedder) -> None:
    vectors = embedder.embed_documents([QUERY, PARAPHRASE, UNRELATED, "x" * 20_000, "word " * 2000])

    assert vectors.shape == (5, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_a_query_is_one_unit_vector_and_the_same_as_a_document(embedder: SentenceEmbedder) -> None:
    vector = embedder.embed_queries([QUERY])[0]

    assert vector.shape == (384,)
    np.testing.assert_allclose(vector, embedder.embed_documents([QUERY])[0], atol=1e-5)


def test_a_paraphrase_is_nearer_than_an_unrelated_text(embedder: SentenceEmbedder) -> None:
    query = embedder.embed_queries([QUERY])[0]
    near, far = embedder.embed_documents([PARAPHRASE, UNRELATED]) @ query

    assert near > 0.4
    assert far < 0.2


def test_the_vector_of_a_text_does_not_depend_on_its_batch(embedder: SentenceEmbedder) -> None:
    alone = embedder.embed_documents([PARAPHRASE])[0]
    together = embedder.embed_documents(["word " * 300, PARAPHRASE, "x"])[1]

    np.testing.assert_allclose(alone, together, atol=1e-5)


def test_the_identity_names_the_weights_and_not_the_folder(embedder: SentenceEmbedder) -> None:
    identity = embedder.identity

    assert (identity.provider, identity.model) == ("sentence-transformers", "model")
    assert (identity.dimension, identity.max_tokens) == (384, 256)
    assert identity.weights.startswith("53aa51172d14")
    assert "/" not in f"{identity}"
    assert identity.digest == load_embedder(str(ORIGINAL)).identity.digest


def test_an_empty_folder_is_not_a_model(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingUnavailableError, match="not on this machine"):
        load_embedder(str(tmp_path))


def test_a_damaged_model_is_reported_without_the_library_s_message(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(ORIGINAL, tmp_path / "damaged"))
    (folder / "model.safetensors").write_bytes(b"half a model")

    with pytest.raises(EmbeddingUnavailableError, match="could not be loaded") as caught:
        load_embedder(str(folder))
    assert "doctor" in str(caught.value.hint)


def test_a_model_that_needs_its_own_code_is_refused(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(ORIGINAL, tmp_path / "own"))
    config = json.loads((folder / "config.json").read_text("utf-8"))
    own = {"model_type": "own", "auto_map": {"AutoConfig": "own.Config", "AutoModel": "own.Model"}}
    (folder / "config.json").write_text(json.dumps({**config, **own}), "utf-8")
    (folder / "own.py").write_text("raise SystemExit('it was run')", "utf-8")

    with pytest.raises(EmbeddingUnavailableError) as caught:
        load_embedder(str(folder))
    assert caught.value.hint == "It needs its own code, which this server never runs: choose another model."


MISSING = """
import sys

def watch(event, _arguments):
    if event in {"socket.connect", "socket.getaddrinfo"}:
        print("asked the network")

sys.addaudithook(watch)
from learning_memory_server.embedding.loading import load_embedder
from learning_memory_server.errors import EmbeddingUnavailableError
try:
    load_embedder("nobody/such-a-model")
except EmbeddingUnavailableError as error:
    print(error.message)
"""


def test_a_missing_model_is_a_clear_error_without_a_network() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}

    assert python(MISSING, env=environment) == "The embedding model 'nobody/such-a-model' is not on this machine.\n"
