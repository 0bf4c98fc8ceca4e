"""Run a model as an ONNX graph with onnxruntime: ready in a third of a second, and without torch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from learning_memory_server.embedding.base import Vectors
from learning_memory_server.embedding.graph import TOKENIZER, Graph
from learning_memory_server.embedding.source import ModelSource, file_digest, packaged_source
from learning_memory_server.errors import EmbeddingUnavailableError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

    from learning_memory_server.embedding.base import Runtime

WEIGHTS: Final = "weights.bin"  # A separate mapped file, so that only the word vectors in use are read
META: Final = "meta.json"

_BATCH_TOKENS: Final = 512
"""Tokens in a batch of the packaged model, including padding: the runtime keeps the memory of its largest batch.

Texts of other models are run one at a time, because a quantized graph scales by the largest number in the batch.
"""
_INPUTS: Final = {"input_ids", "attention_mask", "token_type_ids"}
_TOKEN_VECTORS: Final = ("last_hidden_state", "token_embeddings")


def open_packaged(source: ModelSource | None = None) -> OnnxEmbedder:
    """Load the packaged model. Raises `EmbeddingUnavailableError` if a file was changed."""
    source = source or packaged_source()
    meta = json.loads((source.folder / META).read_text("utf-8"))
    files = {**meta["files"], WEIGHTS: source.weights}
    for name, digest in files.items():
        if file_digest(source.folder / name) != digest:
            raise EmbeddingUnavailableError(f"{name} of the model is damaged.")
    return OnnxEmbedder(source, meta["packed"], _BATCH_TOKENS)


class OnnxEmbedder:
    """A model on one CPU thread. Raises `EmbeddingUnavailableError` if the graph does not belong to a text model.

    Args:
        source: The model, which must have a graph.
        packed: The matrices to unpack for the graph, by name: rows, columns, and offset in `WEIGHTS`.
        batch_tokens: Maximum tokens of texts that are run together, including padding.
    """

    runtime: Runtime = "onnxruntime"

    def __init__(
        self, source: ModelSource, packed: Mapping[str, Sequence[int]] | None = None, batch_tokens: int = 0
    ) -> None:
        if source.graph is None:
            raise ValueError("The model has no graph.")
        self._graph = source.graph
        self._batch_tokens = batch_tokens
        from onnxruntime import InferenceSession, OrtValue, SessionOptions, disable_telemetry_events

        # The variable set by the package does not cover the data that Windows collects.
        disable_telemetry_events()
        options = SessionOptions()
        # A thread that spins between operators slows down all other processes.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        if packed:
            weights = np.memmap(source.folder / WEIGHTS, dtype=np.uint8, mode="r")
            matrices = [
                OrtValue.ortvalue_from_numpy(unpack(weights[offset:], rows, columns))
                for rows, columns, offset in packed.values()
            ]
            options.add_external_initializers(list(packed), matrices)
        path = str(source.folder / self._graph.file)
        self._session = InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self._inputs = [node.name for node in self._session.get_inputs()]
        if not set(self._inputs) <= _INPUTS:
            raise EmbeddingUnavailableError(
                f"The graph of {source.name} wants {', '.join(self._inputs)}, which a model of texts does not.",
                hint="Choose another model; docs/how-to/models.md names some.",
            )
        outputs = [node.name for node in self._session.get_outputs()]
        self._output = next((name for name in _TOKEN_VECTORS if name in outputs), outputs[0])
        self.tokenizer = _open_tokenizer(source.folder / TOKENIZER, self._graph)
        self._padding: int = (self.tokenizer.padding or {}).get("pad_id", 0)
        # Texts are batched by true length and padded afterwards.
        self.tokenizer.no_padding()
        dimension = self._run(self.tokenizer.encode_batch(["x"])).shape[1]
        self.identity = source.identity(dimension, self._graph.max_tokens)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension)."""
        return self._embed([self._graph.prompts.document + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension)."""
        return self._embed([self._graph.prompts.query + text for text in texts])

    def _embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.empty((len(texts), self.identity.dimension), dtype=np.float32)
        encodings = self.tokenizer.encode_batch(texts)
        for rows in _batches([len(encoding.ids) for encoding in encodings], self._batch_tokens):
            vectors[rows] = self._run([encodings[row] for row in rows])
        return vectors

    def _run(self, encodings: Sequence[Encoding]) -> Vectors:
        shape = len(encodings), max(len(encoding.ids) for encoding in encodings)
        arrays = {
            "input_ids": np.full(shape, self._padding, dtype=np.int64),
            "attention_mask": np.zeros(shape, dtype=np.int64),
            "token_type_ids": np.zeros(shape, dtype=np.int64),
        }
        for row, encoding in enumerate(encodings):
            arrays["input_ids"][row, : len(encoding.ids)] = encoding.ids
            arrays["attention_mask"][row, : len(encoding.ids)] = encoding.attention_mask
            arrays["token_type_ids"][row, : len(encoding.ids)] = encoding.type_ids
        (found,) = self._session.run([self._output], {name: arrays[name] for name in self._inputs})
        vectors: Vectors = found
        if self._graph.pooling == "in the graph":
            return vectors
        if vectors.ndim == 3:
            mask = arrays["attention_mask"][:, :, None].astype(np.float32)
            vectors = vectors[:, 0] if self._graph.pooling == "cls" else (vectors * mask).sum(axis=1) / mask.sum(axis=1)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.all(np.isfinite(lengths) & (lengths > 0)):
            raise EmbeddingUnavailableError("The model made a vector without a direction.")
        normalised: Vectors = (vectors / lengths).astype(np.float32)
        return normalised


def _open_tokenizer(path: Path, graph: Graph) -> Tokenizer:
    from tokenizers import Tokenizer, normalizers

    tokenizer = Tokenizer.from_file(str(path))
    # The limit in the file may differ from the model's. The packaged tokenizer also serves chunking.
    direction = (tokenizer.truncation or {}).get("direction", "right")
    tokenizer.enable_truncation(graph.max_tokens, direction=direction)
    if graph.lowercase:
        present = [tokenizer.normalizer] if tokenizer.normalizer else []
        tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *present])
    return tokenizer


def _batches(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Yield the row numbers of each batch. Similar lengths go together, since a batch is padded to its longest text."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[row] > tokens:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


BLOCK: Final = 64  # Numbers with a common scale. The number of rows of a matrix must be a multiple of it.
PER_BYTE: Final = 4  # Numbers whose lower bits share a byte, one from each quarter of the rows


def unpack(data: NDArray[np.uint8], rows: int, columns: int) -> Vectors:
    """Return the matrix of shape (rows, columns) that begins at `data[0]`, packed by `scripts/packing.py`."""
    quarter = rows // PER_BYTE
    upper_end = rows * columns
    lower_end = upper_end + quarter * columns
    scales_end = lower_end + 2 * (rows // BLOCK) * columns
    upper = data[:upper_end].view(np.int8).reshape(PER_BYTE, quarter, columns)
    lower = data[upper_end:lower_end].reshape(quarter, columns)
    scales = data[lower_end:scales_end].view("<f2").reshape(rows // BLOCK, 1, columns)
    numbers = np.empty((PER_BYTE, quarter, columns), dtype=np.float32)
    for part in range(PER_BYTE):
        np.multiply(upper[part], np.float32(4), out=numbers[part])
        numbers[part] += lower >> (2 * part) & 3
    blocks = numbers.reshape(rows // BLOCK, BLOCK, columns)
    blocks *= scales
    return blocks.reshape(rows, columns)
