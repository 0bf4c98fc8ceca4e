"""Models that bring an ONNX file and a tokenizer are run as they are, without torch."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from learning_memory_server.embedding.base import Embedder
from learning_memory_server.embedding.loading import load_embedder
from learning_memory_server.embedding.source import find_source
from learning_memory_server.errors import EmbeddingUnavailableError
from tests.processes import python
from tests.tiny_onnx import POSITIONS, change, expected, graph, save_model, write_json

TEXTS = ["pool connection", "", "theme", "something else", "colour " * 30]
POOLING = "1_Pooling/config.json"
PROMPTS = "config_sentence_transformers.json"
LENGTH = "sentence_bert_config.json"


def load(folder: Path) -> Embedder:
    return load_embedder(str(folder))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save_model(tmp_path / "tiny")


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_the_vectors_of_tokens_become_one_as_the_model_says(pooling: str, tmp_path: Path) -> None:
    model = load(save_model(tmp_path / "tiny", pooling=pooling))

    vectors = model.embed_documents(TEXTS)

    assert model.runtime == "onnxruntime"
    assert vectors.shape == (len(TEXTS), 8)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, [expected(text, pooling) for text in TEXTS], atol=1e-6)
    np.testing.assert_allclose(model.embed_queries(TEXTS), vectors, atol=1e-6)
    assert model.embed_documents([]).shape == (0, 8)


def test_the_way_that_version_6_of_the_library_writes_is_read_too(folder: Path) -> None:
    write_json(folder / POOLING, {"embedding_dimension": 8, "pooling_mode": "cls", "include_prompt": True})
    write_json(folder / LENGTH, {"transformer_task": "feature-extraction"})
    write_json(folder / "tokenizer_config.json", {"model_max_length": POSITIONS})
    model = load(folder)

    np.testing.assert_allclose(model.embed_queries([TEXTS[0]])[0], expected(TEXTS[0], "cls"), atol=1e-6)
    assert model.identity.max_tokens == POSITIONS


@pytest.mark.parametrize("inputs", [("input_ids",), ("input_ids", "attention_mask")], ids=len)
def test_a_graph_gets_the_inputs_that_it_has(inputs: tuple[str, ...], tmp_path: Path) -> None:
    model = load(save_model(tmp_path / "tiny", inputs=inputs))

    np.testing.assert_allclose(model.embed_queries([TEXTS[0]])[0], expected(TEXTS[0]), atol=1e-6)


def test_a_vector_does_not_depend_on_the_texts_beside_it(tmp_path: Path) -> None:
    model = load(save_model(tmp_path / "tiny", scaled=True))

    np.testing.assert_array_equal(model.embed_documents(TEXTS), [model.embed_documents([text])[0] for text in TEXTS])


def test_prompts_come_before_queries_and_documents(tmp_path: Path) -> None:
    stated = {"query": "query: ", "passage": "passage: ", "clustering": "theme "}
    model = load(save_model(tmp_path / "asymmetric", prompts=stated))

    np.testing.assert_allclose(model.embed_queries(["pool"])[0], expected("query: pool"), atol=1e-6)
    np.testing.assert_allclose(model.embed_documents(["pool"])[0], expected("passage: pool"), atol=1e-6)


def test_e5_has_its_prompts_though_its_files_do_not_say_so(tmp_path: Path) -> None:
    model = load(save_model(tmp_path / "multilingual-e5-small", prompts={"query": "", "document": ""}))

    np.testing.assert_allclose(model.embed_queries(["pool"])[0], expected("query: pool"), atol=1e-6)
    np.testing.assert_allclose(model.embed_documents(["pool"])[0], expected("passage: pool"), atol=1e-6)


def test_texts_are_made_lower_case_if_the_model_wants_it(folder: Path) -> None:
    change(folder / LENGTH, do_lower_case=True)

    np.testing.assert_allclose(load(folder).embed_queries(["POOL"])[0], expected("pool"), atol=1e-6)


CHANGES: dict[str, Callable[[Path], Any]] = {
    "weights": lambda folder: (folder / "onnx/model.onnx").write_bytes(graph(["input_ids"])),
    "weights above 2 GB": lambda folder: (folder / "onnx/model.onnx_data").write_bytes(b"more"),
    "file": lambda folder: (folder / "onnx/model.onnx").rename(folder / "onnx/model_quantized.onnx"),
    "pooling": lambda folder: change(folder / POOLING, pooling_mode="cls"),
    "prompts": lambda folder: change(folder / PROMPTS, prompts={"query": "query: "}),
    "length": lambda folder: change(folder / LENGTH, max_seq_length=POSITIONS - 1),
    "lower case": lambda folder: change(folder / LENGTH, do_lower_case=True),
    "tokenizer": lambda folder: (folder / "tokenizer.json").write_text(
        (folder / "tokenizer.json").read_text("utf-8").replace("theme", "themes"), "utf-8"
    ),
}


@pytest.mark.parametrize("changed", CHANGES)
def test_whatever_decides_the_vectors_is_part_of_the_identity(changed: str, folder: Path) -> None:
    before = load(folder).identity
    CHANGES[changed](folder)
    after = load(folder).identity

    assert after.digest != before.digest
    assert (before.provider, before.model, before.dimension) == ("onnxruntime", "tiny", 8)


def test_what_does_not_decide_the_vectors_is_not(folder: Path, tmp_path: Path) -> None:
    before = load(folder).identity
    moved = Path(shutil.copytree(folder, tmp_path / "elsewhere" / "tiny"))
    (moved / "README.md").write_text("new", "utf-8")
    (moved / "model.safetensors").write_bytes(b"the same weights for another library")

    assert load(moved).identity == before


def test_the_usual_file_is_taken_unless_another_is_named(folder: Path) -> None:
    other = folder / "onnx" / "model_quantized.onnx"
    other.write_bytes(graph(["input_ids"]))

    assert load(folder).identity.definition.startswith("onnx/model.onnx ")
    named = load(other).identity
    assert named.definition.startswith("onnx/model_quantized.onnx ")
    assert named.model == "tiny"


def test_the_only_file_is_taken(folder: Path) -> None:
    (folder / "onnx/model.onnx").rename(folder / "onnx/model_qint8_avx512_vnni.onnx")

    assert load(folder).identity.definition.startswith("onnx/model_qint8_avx512_vnni.onnx ")


def several(folder: Path) -> None:
    (folder / "onnx/model.onnx").rename(folder / "onnx/model_O2.onnx")
    (folder / "onnx/model_O1.onnx").touch()


UNUSABLE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no tokenizer": (
        lambda folder: (folder / "tokenizer.json").rename(folder / "vocab.txt"),
        "it brings onnx/model.onnx, but no tokenizer.json.",
    ),
    "no vocabulary": (lambda folder: (folder / "tokenizer.json").unlink(), "it has no vocabulary."),
    "no weights": (lambda folder: (folder / "onnx/model.onnx").unlink(), "it has no weights."),
    "no modules": (lambda folder: (folder / "modules.json").unlink(), "its pooling is unknown"),
    "torn modules": (lambda folder: (folder / "modules.json").write_text("[{", "utf-8"), "is damaged."),
    "odd modules": (lambda folder: write_json(folder / "modules.json", {"a": 1}), "is damaged."),
    "another part": (
        lambda folder: write_json(
            folder / "modules.json", [{"type": f"x.{name}", "path": ""} for name in ("Transformer", "Dense")]
        ),
        "it consists of Transformer, Dense",
    ),
    "unknown pooling": (
        lambda folder: change(folder / POOLING, pooling_mode_lasttoken=True),
        "its pooling is lasttoken+mean, and not mean or cls.",
    ),
    "no pooling": (lambda folder: (folder / POOLING).unlink(), "its pooling is unknown"),
    "prompts left out": (
        lambda folder: change(folder / POOLING, include_prompt=False),
        "its pooling leaves out the prompt.",
    ),
    "shortened": (lambda folder: change(folder / PROMPTS, truncate_dim=4), "its vectors are shortened."),
    "no length": (
        lambda folder: [(folder / name).write_text("{}", "utf-8") for name in (LENGTH, "config.json")],
        "do not say how many tokens it reads.",
    ),
    "several files": (several, "it brings several ONNX files; name one, as in tiny/onnx/model_O1.onnx."),
    "a damaged graph": (
        lambda folder: (folder / "onnx/model.onnx").write_bytes(b"half a graph"),
        "could not be loaded (",
    ),
    "a damaged tokenizer": (
        lambda folder: (folder / "tokenizer.json").write_text("{", "utf-8"),
        "could not be loaded (",
    ),
    "a graph of pictures": (
        lambda folder: (folder / "onnx/model.onnx").write_bytes(graph(["input_ids", "pixel_values"])),
        "The graph of tiny wants input_ids, pixel_values",
    ),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_a_model_that_cannot_be_run_is_a_clear_error(case: str, folder: Path) -> None:
    spoil, said = UNUSABLE[case]
    spoil(folder)

    with pytest.raises(EmbeddingUnavailableError) as caught:
        load(folder)
    assert said in caught.value.message
    assert caught.value.hint


def test_a_file_that_is_named_and_missing_is_a_clear_error(folder: Path) -> None:
    with pytest.raises(EmbeddingUnavailableError, match=r"it has no onnx/other.onnx, only onnx/model.onnx"):
        load(folder / "onnx" / "other.onnx")


def test_what_onnxruntime_cannot_run_is_left_to_the_library(folder: Path) -> None:
    (folder / "modules.json").unlink()
    (folder / "model.safetensors").write_bytes(b"weights")

    source = find_source(str(folder))

    assert source.graph is None
    assert source.obstacle.startswith("its pooling is unknown")


WITHOUT_LIBRARIES = """
import sys
for name in ("torch", "sentence_transformers", "transformers", "onnx"):
    sys.modules[name] = None
from learning_memory_server.embedding.loading import load_embedder
from learning_memory_server.errors import EmbeddingUnavailableError
for model in sys.argv[1:]:
    try:
        print(load_embedder(model).embed_queries(["a text"])[0].shape)
    except EmbeddingUnavailableError as error:
        print(error.sentence)
print("huggingface_hub" in sys.modules)
"""


@pytest.mark.slow
def test_it_needs_no_library_and_another_model_says_how_to_install_what_it_needs(folder: Path, tmp_path: Path) -> None:
    other = save_model(tmp_path / "other")
    (other / "onnx/model.onnx").rename(other / "model.safetensors")

    printed = python(
        WITHOUT_LIBRARIES, "all-MiniLM-L6-v2", folder, other, env={**os.environ, "PYTHONWARNINGS": "error"}
    )

    packaged, own, sentence, imported = printed.splitlines()
    assert (packaged, own, imported) == ("(384,)", "(8,)", "False")
    assert sentence.startswith(
        "This model needs the extra sentence-transformers: it brings no ONNX file, and the package "
        "sentence-transformers is not installed. "
    )
    assert 'pip install ".[sentence-transformers]"' in sentence
    assert 'pip install "sentence-transformers>=6,<7"' in sentence


def cached(home: Path, name: str, commit: str) -> Path:
    """Put a model into a cache as the hub's client does on a system without links, and return its folder."""
    repository = home / f"models--{name.replace('/', '--')}"
    save_model(repository / "snapshots" / commit)
    (repository / "refs").mkdir(exist_ok=True)
    (repository / "refs" / "main").write_text(commit, "utf-8")
    return repository / "snapshots" / commit


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restored_process: None) -> Path:  # noqa: ARG001
    """The cache of models. A look into it forbids the network to the libraries, for the whole process."""
    monkeypatch.setenv("SENTENCE_TRANSFORMERS_HOME", str(tmp_path))
    return tmp_path


def test_a_model_in_the_cache_is_found_by_its_name(home: Path) -> None:
    folder = cached(home, "acme/small", "0123abcd")
    (folder / "onnx" / "model_quantized.onnx").write_bytes(graph(["input_ids"]))

    usual = load_embedder("acme/small").identity
    named = load_embedder("acme/small/onnx/model_quantized.onnx").identity

    assert usual.model == named.model == "acme/small"
    assert usual.digest != named.digest


def test_links_into_the_cache_s_store_are_followed(home: Path) -> None:
    folder = cached(home, "acme/small", "0123abcd")
    blobs = folder.parent.parent / "blobs"
    blobs.mkdir()
    for number, path in enumerate(path for path in folder.rglob("*") if path.is_file()):
        path.rename(blobs / str(number))
        path.symlink_to(os.path.relpath(blobs / str(number), path.parent))

    assert load_embedder("acme/small").identity.model == "acme/small"


def test_the_commit_of_the_first_use_is_kept(home: Path) -> None:
    cached(home, "acme/small", "first")
    before = load_embedder("acme/small").identity
    change(cached(home, "acme/small", "second") / POOLING, pooling_mode="cls")

    assert load_embedder("acme/small").identity == before
    record = json.loads((home / "models--acme--small" / "learning-memory.json").read_text("utf-8"))
    assert record["commit"] == "first"
    assert record["digests"]["onnx/model.onnx"] == before.weights


def test_a_file_that_changed_since_the_first_use_is_a_clear_error(home: Path) -> None:
    folder = cached(home, "acme/small", "first")
    load_embedder("acme/small")
    (folder / "onnx/model.onnx").write_bytes(graph(["input_ids"]))

    with pytest.raises(EmbeddingUnavailableError, match=r"SHA-256 of onnx/model\.onnx has changed") as caught:
        load_embedder("acme/small")
    assert "setup --model acme/small`, which repairs it" in str(caught.value.hint)
    assert str(home / "models--acme--small" / "learning-memory.json") in str(caught.value.hint)


@pytest.mark.parametrize("content", ["{", "[]", '{"commit": 3, "digests": []}'])
def test_a_damaged_record_is_written_again(content: str, home: Path) -> None:
    record = cached(home, "acme/small", "first").parent.parent / "learning-memory.json"
    record.write_text(content, "utf-8")

    load_embedder("acme/small")

    assert json.loads(record.read_text("utf-8"))["commit"] == "first"


@pytest.mark.parametrize("name", ["absent/model", "/no/such/folder", "not a name", "absent", "../small"])
def test_what_is_not_there_is_a_clear_error(name: str, home: Path) -> None:
    cached(home, "acme/small", "first")

    with pytest.raises(EmbeddingUnavailableError, match="is not on this machine"):
        load_embedder(name)


@pytest.mark.slow
@pytest.mark.torch
def test_the_library_makes_the_same_vectors_of_what_it_saved(tmp_path: Path) -> None:
    from learning_memory_server.embedding.extras.sentence import SentenceEmbedder
    from tests.tiny_bert import save_bert

    with_graph = save_bert(tmp_path / "bert")
    without = Path(shutil.copytree(with_graph, tmp_path / "plain"))
    shutil.rmtree(without / "onnx")
    texts = ["pool", "connection pool theme", "", "colour " * 100]

    model = load(with_graph)
    original = SentenceEmbedder(find_source(str(without)))

    assert model.runtime == "onnxruntime"
    np.testing.assert_allclose(model.embed_documents(texts), original.embed_documents(texts), atol=1e-5)
    np.testing.assert_allclose(model.embed_queries(texts), original.embed_queries(texts), atol=1e-5)
    assert model.identity.max_tokens == original.identity.max_tokens
