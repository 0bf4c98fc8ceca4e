import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from learning_memory_server.embedding.extras.sentence import CrossEncoderReranker
from learning_memory_server.embedding.source import find_reranker, is_reranker
from learning_memory_server.errors import EmbeddingUnavailableError
from tests.original_model import ORIGINAL
from tests.processes import python
from tests.tiny_reranker import FAVOURITE, save_reranker

pytestmark = pytest.mark.torch

QUERY = "which pool is it"
TEXTS = ["the pool", f"an {FAVOURITE} pool", "nothing", FAVOURITE, "the cache of the pool", "", "x " * 500]


@pytest.fixture(scope="module")
def reranker(reranker_folder: Path) -> CrossEncoderReranker:
    return CrossEncoderReranker(str(reranker_folder))


def test_a_score_is_the_models_from_0_to_1(reranker: CrossEncoderReranker, reranker_folder: Path) -> None:
    from sentence_transformers import CrossEncoder
    from torch.nn import Identity

    original = CrossEncoder(str(reranker_folder), device="cpu", local_files_only=True)
    raw = original.predict([(QUERY, text) for text in TEXTS], activation_fn=Identity(), show_progress_bar=False)

    scores = reranker.scores(QUERY, TEXTS)

    assert scores.shape == (len(TEXTS),)
    assert ((scores > 0) & (scores < 1)).all()
    np.testing.assert_allclose(scores, 1 / (1 + np.exp(-raw)), atol=1e-6)


@pytest.mark.slow
def test_raw_scores_of_a_model_are_mapped_to_0_to_1_too(tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder
    from torch.nn import Identity

    plain = save_reranker(tmp_path / "plain")
    raw = CrossEncoder(str(plain), device="cpu", local_files_only=True, activation_fn=Identity())
    raw.save_pretrained(str(tmp_path / "raw"))
    assert is_reranker(tmp_path / "raw")

    scores = CrossEncoderReranker(str(tmp_path / "raw")).scores(QUERY, TEXTS)

    np.testing.assert_allclose(scores, CrossEncoderReranker(str(plain)).scores(QUERY, TEXTS), atol=1e-6)


def test_what_the_model_favours_wins(reranker: CrossEncoderReranker) -> None:
    scores = dict(zip(TEXTS, reranker.scores(QUERY, TEXTS).tolist(), strict=True))

    assert sorted(scores, key=lambda text: -scores[text])[:2] == [FAVOURITE, f"an {FAVOURITE} pool"]


def test_no_texts_have_no_scores(reranker: CrossEncoderReranker) -> None:
    assert reranker.scores(QUERY, []).tolist() == []


def test_a_long_query_leaves_room_for_the_text(reranker: CrossEncoderReranker) -> None:
    favoured, other = reranker.scores("which pool " * 100, [FAVOURITE, "pool"])

    assert favoured > other


def test_an_embedding_model_is_not_accepted_as_a_re_ranker() -> None:
    with pytest.raises(EmbeddingUnavailableError, match="is not a re-ranking model") as caught:
        CrossEncoderReranker(str(ORIGINAL))

    assert "Set reranker_model to a cross-encoder" in str(caught.value.hint)


@pytest.mark.slow
def test_a_model_that_gives_classes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingUnavailableError, match="gives 3 numbers for a text, not one score"):
        CrossEncoderReranker(str(save_reranker(tmp_path / "classes", labels=3)))


@pytest.mark.slow
def test_scores_that_are_not_numbers_are_an_error(tmp_path: Path) -> None:
    broken = CrossEncoderReranker(str(save_reranker(tmp_path / "broken", weight=float("nan"))))

    with pytest.raises(EmbeddingUnavailableError, match="scores that are not numbers"):
        broken.scores(QUERY, TEXTS)


def forget_words(folder: Path) -> None:
    for path in (*folder.glob("tokenizer*"), *folder.glob("vocab*")):
        path.unlink()


def truncate(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"half a model")


@pytest.mark.parametrize(
    ("spoil", "said", "hint"),
    [
        (shutil.rmtree, "is not on this machine", "or leave it out."),
        (lambda folder: (folder / "config.json").unlink(), "is not on this machine", "or leave it out."),
        (lambda folder: (folder / "model.safetensors").unlink(), "it has no weights", "Copy the whole"),
        (forget_words, "it has no vocabulary", "Copy the whole"),
        (truncate, "could not be loaded", "doctor"),
    ],
)
def test_a_folder_without_a_model_is_a_clear_error(
    spoil: Callable[[Path], None], said: str, hint: str, reranker_folder: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(reranker_folder, tmp_path / "copy"))
    spoil(folder)

    with pytest.raises(EmbeddingUnavailableError, match=said) as caught:
        CrossEncoderReranker(str(folder))
    assert caught.value.message.startswith("The re-ranking model")
    assert hint in str(caught.value.hint)


@pytest.mark.usefixtures("restored_process")
def test_a_name_that_was_not_downloaded_says_how_to_download_it() -> None:
    with pytest.raises(EmbeddingUnavailableError, match="'nobody/ranks' is not on this machine") as caught:
        find_reranker("nobody/ranks")

    assert caught.value.hint == (
        "Run `learning-memory-server setup --model nobody/ranks`, or leave reranker_model out. "
        "A folder is named by its absolute path."
    )


USE = """
import sys

def watch(event, _arguments):
    if event in {"socket.connect", "socket.getaddrinfo"}:
        print("asked the network")

sys.addaudithook(watch)
from learning_memory_server.embedding.extras.sentence import CrossEncoderReranker
from learning_memory_server.errors import EmbeddingUnavailableError
try:
    CrossEncoderReranker("nobody/such-a-model")
except EmbeddingUnavailableError as error:
    print(error.message)
print(CrossEncoderReranker(sys.argv[1]).scores("a", ["b", "c"]).shape)
"""


@pytest.mark.slow
def test_neither_a_missing_model_nor_a_present_one_asks_the_network(reranker_folder: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}

    said = python(USE, reranker_folder, env=environment)

    assert said == "The re-ranking model 'nobody/such-a-model' is not on this machine.\n(2,)\n"
