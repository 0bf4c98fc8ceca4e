"""The exported model against the original: the same vectors, without torch."""

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from structlog.testing import capture_logs

from learning_memory_server.embedding.base import Embedder
from learning_memory_server.embedding.extras.exports import has_export
from learning_memory_server.embedding.extras.onnx_export import SAMPLES, export
from learning_memory_server.embedding.extras.sentence import SentenceEmbedder
from learning_memory_server.embedding.loading import ModelExporter, load_embedder
from learning_memory_server.embedding.onnx_runtime import OnnxEmbedder
from learning_memory_server.embedding.source import find_source
from learning_memory_server.errors import EmbeddingUnavailableError
from tests.original_model import ORIGINAL

pytestmark = [pytest.mark.slow, pytest.mark.torch]

MODEL = str(ORIGINAL)
"""Any model but the packaged one."""

TEXTS = [
    *SAMPLES,
    *(f"{'Why does case ' * number}{number} fail? " for number in range(1, 13)),
    *("word " * length for length in (120, 200, 251, 252, 253, 254, 255, 256, 257, 300)),
    *("é" * length for length in (1, 50, 99, 100, 101, 300)),
    "\n\n",
    "🙂",
    "漢字とかな交じりの文。" * 60,
    "Привет, мир! Почему тест падает через раз?",
    "مرحبا بالعالم",
    "SELECT * FROM t WHERE a = 'b' -- comment",
    "\x00 control \x07 characters \ufffd",
    "A" * 99 + " " + "b" * 101,
]


def cosines(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float32]:
    result: NDArray[np.float32] = np.sum(left * right, axis=1)
    return result


def queries(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    return np.array([embedder.embed_query(text) for text in texts])


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models")
    export(MODEL, path)
    return path


@pytest.fixture(scope="module")
def original() -> SentenceEmbedder:
    return SentenceEmbedder(MODEL)


@pytest.fixture(scope="module")
def exported(models: Path) -> Embedder:
    return load_embedder(MODEL, None, models)


@pytest.fixture
def copied(models: Path, tmp_path: Path) -> Path:
    """A copy of the folder of exports to damage; its files are shared until one is replaced."""
    return Path(shutil.copytree(models, tmp_path / "models", copy_function=os.link))


def variant(folder: Path, **changes: dict[str, object]) -> str:
    """Make a model of the packaged weights with other settings, given by file stem."""
    shutil.copytree(ORIGINAL, folder)
    names = {
        "pooling": "1_Pooling/config.json",
        "prompts": "config_sentence_transformers.json",
        "length": "sentence_bert_config.json",
    }
    for stem, change in changes.items():
        path = folder / names[stem]
        path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **change}), "utf-8")
    return str(folder)


def test_documents_and_queries_are_the_original_s(exported: Embedder, original: SentenceEmbedder) -> None:
    assert len(TEXTS) >= 50
    assert exported.runtime == "onnxruntime"
    together = cosines(exported.embed_documents(TEXTS), original.embed_documents(TEXTS))
    alone = cosines(queries(exported, TEXTS), queries(original, TEXTS))

    assert together.min() > 0.9999
    assert alone.min() > 0.9999


def test_the_identity_is_the_original_s_so_that_the_index_is_shared(
    exported: Embedder, original: SentenceEmbedder
) -> None:
    assert exported.identity == original.identity
    assert exported.identity.digest == original.identity.digest


def test_vectors_are_unit_rows_in_the_order_of_their_texts(exported: Embedder) -> None:
    vectors = exported.embed_documents(TEXTS)

    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(vectors, np.vstack([exported.embed_documents([t]) for t in TEXTS]), atol=1e-5)
    assert exported.embed_documents([]).shape == (0, 384)
    assert exported.embed_query("x").shape == (384,)


def test_the_files_are_for_their_owner_alone(models: Path) -> None:
    (folder,) = models.iterdir()

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {
        "meta.json": 0o600,
        "model.onnx": 0o600,
        "tokenizer.json": 0o600,
        "weights.bin": 0o600,
    }


def test_a_dimension_that_is_not_the_model_s_is_the_same_clear_error(models: Path) -> None:
    with pytest.raises(EmbeddingUnavailableError, match=r"embedding_dimension is 768, but .* 384"):
        load_embedder(MODEL, 768, models)


WITHOUT_TORCH = """
import sys
from pathlib import Path
from learning_memory_server.embedding.loading import load_embedder
embedder = load_embedder(sys.argv[2], None, Path(sys.argv[1]))
embedder.embed_query("a query")
embedder.embed_documents(["a document"])
heavy = {"torch", "transformers", "sentence_transformers", "onnx", "huggingface_hub"}
print(embedder.runtime, sorted(heavy & sys.modules.keys()))
"""


def test_torch_is_not_imported_once_there_is_an_export(models: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT_TORCH, str(models), MODEL],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "onnxruntime []\n"


def truncate(folder: Path) -> None:
    data = (folder / "model.onnx").read_bytes()
    replace(folder / "model.onnx", data[: len(data) // 2])


def flip_a_byte(folder: Path) -> None:
    data = bytearray((folder / "tokenizer.json").read_bytes())
    data[len(data) // 2] ^= 1
    replace(folder / "tokenizer.json", bytes(data))


def forget_the_meta(folder: Path) -> None:
    (folder / "meta.json").unlink()


def tear_the_meta(folder: Path) -> None:
    replace(folder / "meta.json", (folder / "meta.json").read_bytes()[:100])


def claim_other_weights(folder: Path) -> None:
    meta = json.loads((folder / "meta.json").read_text("utf-8"))
    meta["identity"]["weights"] = "0" * 64
    replace(folder / "meta.json", json.dumps(meta).encode())


def claim_other_vectors(folder: Path) -> None:
    meta = json.loads((folder / "meta.json").read_text("utf-8"))
    meta["probe"].reverse()
    replace(folder / "meta.json", json.dumps(meta).encode())


def replace(path: Path, data: bytes) -> None:
    path.unlink()
    path.write_bytes(data)


DAMAGES = [
    truncate,
    flip_a_byte,
    forget_the_meta,
    tear_the_meta,
    claim_other_weights,
    claim_other_vectors,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_export_is_not_used(damage: Callable[[Path], None], copied: Path) -> None:
    (folder,) = copied.iterdir()
    damage(folder)

    with capture_logs() as logs:
        embedder = load_embedder(MODEL, None, copied)

    assert embedder.runtime == "sentence-transformers"
    assert [entry["event"] for entry in logs] == ["model.export_rejected"]


def test_a_damaged_export_and_a_half_written_one_are_replaced(copied: Path) -> None:
    (folder,) = copied.iterdir()
    truncate(folder)
    unfinished = folder.with_name(f"{folder.name}.tmp")
    unfinished.mkdir()
    (unfinished / "model.onnx").write_bytes(b"half")

    export(MODEL, copied)

    assert list(copied.iterdir()) == [folder]
    assert load_embedder(MODEL, None, copied).runtime == "onnxruntime"


def test_a_half_written_export_is_ignored(tmp_path: Path, models: Path) -> None:
    (folder,) = models.iterdir()
    shutil.copytree(folder, tmp_path / f"{folder.name}.tmp", copy_function=os.link)

    assert not has_export(tmp_path, find_source(MODEL))
    assert load_embedder(MODEL, None, tmp_path).runtime == "sentence-transformers"


def test_a_working_export_is_kept(models: Path) -> None:
    (folder,) = models.iterdir()
    before = folder.stat()

    assert export(MODEL, models) == folder
    assert folder.stat() == before


def test_exporting_writes_nothing_to_stdout(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    export(MODEL, tmp_path)

    assert capfd.readouterr() == ("", "")


def test_prompts_length_and_cls_pooling_are_the_model_s(tmp_path: Path) -> None:
    model = variant(
        tmp_path / "asymmetric",
        pooling={"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False},
        prompts={"prompts": {"query": "Search for: ", "passage": "Passage: "}},
        length={"max_seq_length": 64},
    )
    (tmp_path / "models").mkdir()
    export(model, tmp_path / "models")
    original, exported = SentenceEmbedder(model), load_embedder(model, None, tmp_path / "models")

    assert exported.runtime == "onnxruntime"
    assert exported.identity == original.identity
    assert exported.identity.max_tokens == 64
    assert cosines(exported.embed_documents(TEXTS), original.embed_documents(TEXTS)).min() > 0.9999
    assert cosines(queries(exported, TEXTS), queries(original, TEXTS)).min() > 0.9999
    # Prompts have an effect.
    assert exported.embed_query("a text") @ exported.embed_documents(["a text"])[0] < 0.999


def test_a_change_of_a_model_s_settings_is_another_export(tmp_path: Path) -> None:
    one = find_source(variant(tmp_path / "one" / "model"))
    other = find_source(variant(tmp_path / "other" / "model", length={"max_seq_length": 64}))

    assert one.weights == other.weights
    assert one.digest != other.digest
    assert one.digest == find_source(variant(tmp_path / "third" / "model")).digest


def test_a_model_with_other_parts_is_not_exported(tmp_path: Path) -> None:
    model = variant(
        tmp_path / "max", pooling={"pooling_mode_max_tokens": True, "pooling_mode_mean_tokens": False}
    )
    exporter = ModelExporter(delay=0)

    with capture_logs() as logs:
        embedder = load_embedder(model, None, tmp_path / "models", exporter)
        exporter.wait()

    assert embedder.runtime == "sentence-transformers"
    assert logs == []
    assert not (tmp_path / "models").exists()
    with pytest.raises(EmbeddingUnavailableError, match="cannot be exported"):
        export(model, tmp_path)


def test_an_export_whose_vectors_differ_is_discarded(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingUnavailableError, match=r"vectors differ .* \(smallest cosine 1\.00000\)"):
        export(MODEL, tmp_path, agreement=1.5)

    assert list(tmp_path.iterdir()) == []


def test_an_export_of_another_model_is_refused(tmp_path: Path, models: Path) -> None:
    (folder,) = models.iterdir()
    with pytest.raises(EmbeddingUnavailableError, match="another model's"):
        OnnxEmbedder(folder, find_source(variant(tmp_path / "other")))


CACHED = """
import sys
from learning_memory_server.embedding.source import find_source
from learning_memory_server.errors import EmbeddingUnavailableError
source = find_source("acme/small")
print(source.name, source.weights[:12])
for name in ("acme/halved", "absent/model", "/no/such/folder", "./relative", "not a name"):
    try:
        find_source(name)
    except EmbeddingUnavailableError as error:
        print(error.message)
print("torch" in sys.modules)
"""


def test_a_model_in_the_local_cache_is_known_by_its_weights(tmp_path: Path) -> None:
    repository = tmp_path / "hub" / "models--acme--small"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("0123abcd", "utf-8")
    variant(repository / "snapshots" / "0123abcd")
    halved = Path(shutil.copytree(repository, tmp_path / "hub" / "models--acme--halved"))
    (halved / "snapshots" / "0123abcd" / "model.safetensors").unlink()

    done = subprocess.run(
        [sys.executable, "-c", CACHED],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_CACHE": str(tmp_path / "hub")},
    )

    assert done.stdout.splitlines() == [
        "acme/small 53aa51172d14",
        "The embedding model 'acme/halved' is incomplete: it has no weights.",
        "The embedding model 'absent/model' is not on this machine.",
        "The embedding model '/no/such/folder' is not on this machine.",
        "The embedding model './relative' is not on this machine.",
        "The embedding model 'not a name' is not on this machine.",
        "False",
    ]


def test_queries_have_the_same_vectors_together_as_one_at_a_time(exported: Embedder) -> None:
    together = exported.embed_queries(TEXTS)

    np.testing.assert_allclose(together, queries(exported, TEXTS), rtol=0, atol=1e-5)
