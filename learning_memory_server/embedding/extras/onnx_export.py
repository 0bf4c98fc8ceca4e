"""Exports a model to ONNX, once: `python -m learning_memory_server.embedding.extras.onnx_export MODEL FOLDER`.

It runs in its own process, because the 0.8 GB that torch and the export need are freed only when a process ends.
Nothing is written to stdout.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from learning_memory_server.embedding import onnx_runtime
from learning_memory_server.embedding.base import PROBE
from learning_memory_server.embedding.extras.sentence import SentenceEmbedder
from learning_memory_server.embedding.onnx_runtime import ExportMeta, OnnxEmbedder
from learning_memory_server.embedding.source import file_digest, find_source
from learning_memory_server.errors import (
    AlreadyRunningError,
    EmbeddingUnavailableError,
    LearningMemoryError,
)
from learning_memory_server.system import timeouts
from learning_memory_server.system.files import sync_directory, sync_file
from learning_memory_server.system.locking import exclusive

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sentence_transformers import SentenceTransformer

    from learning_memory_server.embedding.base import Embedder
    from learning_memory_server.embedding.source import ModelSource


_OPSET: Final = 17
AGREEMENT: Final = 0.9999
"""The least cosine between the export's and the original's vector of each sample; in practice it is 1.00000."""

SAMPLES: Final = (
    "x",
    "",
    " \t\n ",
    "Why did the nightly import fail?",
    "The connection pool ran out because a transaction was never closed, so every later request waited.",
    "  Upper CASE, naïve café, Ünïcödé e\u0301 and\u00a0odd\u2003spaces \u200b inside ",
    "接続プールが枯渇した。数据库连接没有关闭。",
    "🚀🔥 shipped it 👩‍👩‍👧‍👦 ✅",
    "def close(self) -> None:\n    if self._pool[0] != 'open':\n        raise RuntimeError(f\"{self!r}\")\n",
    "[CLS] text with [SEP] special [MASK] tokens <s> </s> <pad> [UNK]",
    "https://example.org/a/b?c=d&e=%20f#g 0x7fffdeadbeef 2026-01-01T00:00:00Z 3.14e-10",
    "a sentence of a middling length, repeated until it is long. " * 9,
    "word " * 2000,
    "x" * 20_000,
)
"""Texts to compare vectors on: short and too long, other scripts, code, and what a tokenizer treats specially."""


def main(arguments: Sequence[str]) -> None:
    """Export a model to a folder of exports, unless that has been done or is being done."""
    model, models = arguments[0], Path(arguments[1])
    if hasattr(os, "nice"):
        os.nice(19)
        signal.alarm(timeouts.EXPORT)
    if not models.is_dir():
        # The process that started the export is gone, and so is the data.
        sys.exit(f"{models} does not exist.")
    try:
        with exclusive(models, "the export of an embedding model", name="the model export folder"):
            export(model, models)
    except AlreadyRunningError:
        return
    except LearningMemoryError as error:
        sys.exit(error.message)


def export(model: str, models: Path, agreement: float = AGREEMENT) -> Path:
    """Return the folder of the model's export, after making it if there is none that works.

    A crash leaves either a complete export or none. The caller must have locked `models`.
    """
    source = find_source(model)
    folder = models / source.digest
    if _works(folder, source):
        return folder
    if not source.weights:
        raise EmbeddingUnavailableError(f"The weights of {model} are unknown, so it is not exported.")
    original = SentenceEmbedder(model)
    if not original.is_exportable:
        raise EmbeddingUnavailableError(f"{model} has parts that cannot be exported.")
    unfinished = models / f"{folder.name}.tmp"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    try:
        # Before the export, which changes how the model computes attention.
        expected = _vectors(original)
        _write(original, expected[0], unfinished)
        cosines = np.sum(_vectors(OnnxEmbedder(unfinished, source)) * expected, axis=1)
        if not np.all(cosines > agreement):
            raise EmbeddingUnavailableError(
                f"The export's vectors differ from those of {model} (smallest cosine {cosines.min():.5f})."
            )
        for path in unfinished.iterdir():
            path.chmod(0o600)
            sync_file(path)
        sync_directory(unfinished)
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.rename(folder)
        sync_directory(models)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def _works(folder: Path, source: ModelSource) -> bool:
    try:
        OnnxEmbedder(folder, source)
    except Exception:  # noqa: BLE001 - whatever is wrong with it, it is made again
        return False
    return True


def _vectors(embedder: Embedder) -> NDArray[np.float32]:
    """Return the vectors of the probe and the samples, first as documents, then as queries."""
    texts = (PROBE, *SAMPLES)
    return np.vstack([embedder.embed_documents(texts), *(embedder.embed_query(text) for text in texts)])


def _write(original: SentenceEmbedder, probe: NDArray[np.float32], folder: Path) -> None:
    _write_tokenizer(original.model, folder / onnx_runtime.TOKENIZER)
    _write_graph(original.model, folder / onnx_runtime.MODEL)
    meta = ExportMeta(
        identity=original.identity,
        query_prompt=_prompt(original.model, "query"),
        # The names and their order are the library's.
        document_prompt=_prompt(original.model, "document", "passage", "corpus"),
        probe=[float(value) for value in probe],
        files={path.name: file_digest(path) for path in sorted(folder.iterdir())},
    )
    meta.write(folder)


def _write_tokenizer(model: SentenceTransformer, path: Path) -> None:
    from tokenizers import Tokenizer  # noqa: PLC0415 - only here

    tokenizer = model.tokenizer
    # A copy, because the model's own changes its truncation and padding with each call.
    copy = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    copy.enable_truncation(model.max_seq_length or 0, direction=tokenizer.truncation_side)
    copy.enable_padding(
        pad_id=tokenizer.pad_token_id,
        pad_type_id=tokenizer.pad_token_type_id,
        pad_token=tokenizer.pad_token,
    )
    copy.save(str(path), pretty=False)


def _write_graph(model: SentenceTransformer, path: Path) -> None:
    import onnx  # noqa: PLC0415 - only here
    import torch  # noqa: PLC0415 - seconds

    class Graph(torch.nn.Module):  # type: ignore[misc]
        """From token ids to vectors of length 1."""

        def __init__(self) -> None:
            super().__init__()
            self.transformer, self.pooling = model[0], model[1]

        def forward(self, *arrays: torch.Tensor) -> torch.Tensor:
            pooled = self.pooling(self.transformer(dict(zip(inputs, arrays, strict=True))))
            return torch.nn.functional.normalize(pooled["sentence_embedding"], p=2, dim=1)

    # The fused attention cannot be traced.
    transformer: Any = model[0]
    transformer.model.set_attn_implementation("eager")
    # Two texts of different lengths, so that neither the batch nor the padding looks constant.
    example = model.preprocess(["a text", "another one, which is longer"])
    inputs = [name for name in ("input_ids", "attention_mask", "token_type_ids") if name in example]
    axes: dict[str, dict[int, str]] = {name: {0: "batch", 1: "length"} for name in inputs}
    with warnings.catch_warnings(), torch.inference_mode():
        # Warnings say that the exporter is old and that lengths are fixed; the comparison disproves the latter.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Graph().eval(),
            tuple(example[name] for name in inputs),
            str(path),
            input_names=inputs,
            output_names=["vectors"],
            dynamic_axes={**axes, "vectors": {0: "batch"}},
            opset_version=_OPSET,
            dynamo=False,
        )
    onnx.save(onnx.load(path), path, save_as_external_data=True, location=onnx_runtime.WEIGHTS)


def _prompt(model: SentenceTransformer, *names: str) -> str:
    """Return the model's prompt: by the library's rule, the first of these names that it has, else its default."""
    chosen = next((name for name in names if name in model.prompts), model.default_prompt_name)
    return model.prompts.get(chosen) or "" if chosen else ""


if __name__ == "__main__":
    main(sys.argv[1:])
