"""A model as an ONNX graph on onnxruntime: ready in a third of a second, and without torch."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from learning_memory_server.embedding.base import PROBE, EmbeddingIdentity, agrees
from learning_memory_server.embedding.source import file_digest
from learning_memory_server.errors import EmbeddingUnavailableError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Encoding

    from learning_memory_server.embedding.base import Runtime
    from learning_memory_server.embedding.source import ModelSource

MODEL: Final = "model.onnx"
WEIGHTS: Final = "weights.bin"
"""The weights are in their own file, which is mapped: of the word vectors, half of a small model, only those in use
are read."""
TOKENIZER: Final = "tokenizer.json"
META: Final = "meta.json"

_BATCH_TOKENS: Final = 512
"""Tokens in a batch, padding included. Larger batches are no faster on one thread (a text of 250 words takes 53 ms, and
62 with 2,048 tokens), and the runtime keeps the RAM of its largest batch: 30 MB, and 120 with 2,048."""


@dataclass(frozen=True, slots=True)
class ExportMeta:
    """The description of an export, in the same folder."""

    identity: EmbeddingIdentity  # the original model's identity: the vectors are the same
    query_prompt: str  # the text before a query
    document_prompt: str  # the text before a document
    probe: list[float]
    """The original model's vector of the document `PROBE`; empty for the packaged model, whose files are the same
    everywhere."""
    files: dict[str, str]  # the SHA-256 of each other file, by name
    packed: dict[str, list[int]] = field(default_factory=dict)
    """The matrices that the graph expects unpacked, by name: rows, columns, and where in the file of weights."""

    def write(self, folder: Path) -> None:
        """Write the description to the export's folder."""
        (folder / META).write_text(json.dumps(asdict(self)), "utf-8")

    @classmethod
    def read(cls, folder: Path) -> ExportMeta:
        """Return the description in an export's folder."""
        data = json.loads((folder / META).read_text("utf-8"))
        # Older exports have a part `template` that is always 1.
        data["identity"].pop("template", None)
        return cls(**{**data, "identity": EmbeddingIdentity(**data["identity"])})


class OnnxEmbedder:
    """The packaged model, or an export of a sentence-transformers model, on one thread of the CPU.

    Pooling and normalisation are in the graph.

    Raises:
        EmbeddingUnavailableError: If it is another model's, a file was changed, or the vectors differ.
        Exception: Whatever the libraries raise for a folder without a working export.
    """

    runtime: Runtime = "onnxruntime"

    def __init__(self, folder: Path, source: ModelSource) -> None:
        self._meta = ExportMeta.read(folder)
        found = self.identity
        if (found.model, found.weights) != (source.name, source.weights):
            raise EmbeddingUnavailableError("The export is another model's.")
        for name in (MODEL, WEIGHTS, TOKENIZER):
            if file_digest(folder / name) != self._meta.files[name]:
                raise EmbeddingUnavailableError(f"{name} of the model is damaged.")
        # Tokenizing eight texts is not worth a thread per core.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from onnxruntime import (  # noqa: PLC0415 - only here
            InferenceSession,
            OrtValue,
            SessionOptions,
            disable_telemetry_events,
        )
        from tokenizers import Tokenizer  # noqa: PLC0415

        # The variable that the package sets does not reach what Windows itself collects.
        disable_telemetry_events()
        options = SessionOptions()
        # A thread that spins while it waits for the next operator slows down every other process.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        if self._meta.packed:
            weights = np.memmap(folder / WEIGHTS, dtype=np.uint8, mode="r")
            matrices = [
                OrtValue.ortvalue_from_numpy(unpack(weights[offset:], rows, columns))
                for rows, columns, offset in self._meta.packed.values()
            ]
            options.add_external_initializers(list(self._meta.packed), matrices)
        self._session = InferenceSession(str(folder / MODEL), options, providers=["CPUExecutionProvider"])
        self._inputs = [node.name for node in self._session.get_inputs()]
        self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self._padding: int = (self._tokenizer.padding or {}).get("pad_id", 0)
        # Texts are batched by their true lengths and padded afterwards.
        self._tokenizer.no_padding()
        # The packaged tokenizer is for chunks, too, and has a limit that is not the model's.
        self._tokenizer.enable_truncation(
            found.max_tokens, direction=(self._tokenizer.truncation or {}).get("direction", "right")
        )
        if self._meta.probe and not agrees(self._meta.probe, self.embed_documents([PROBE])[0]):
            raise EmbeddingUnavailableError("The exported model's vectors differ from the original's.")

    @property
    def identity(self) -> EmbeddingIdentity:
        """The original model's identity: the vectors of both are comparable."""
        return self._meta.identity

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), dimension)."""
        return self._embed([self._meta.document_prompt + text for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return an array of shape (dimension,)."""
        vector: NDArray[np.float32] = self.embed_queries([text])[0]
        return vector

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), dimension)."""
        return self._embed([self._meta.query_prompt + text for text in texts])

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self.identity.dimension), dtype=np.float32)
        encodings = self._tokenizer.encode_batch(texts)
        for rows in _batches([len(encoding.ids) for encoding in encodings]):
            vectors[rows] = self._run([encodings[row] for row in rows])
        return vectors

    def _run(self, encodings: Sequence[Encoding]) -> NDArray[np.float32]:
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
        (vectors,) = self._session.run(None, {name: arrays[name] for name in self._inputs})
        result: NDArray[np.float32] = vectors
        return result


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the rows of each batch. Texts of similar length go together: a batch is padded to its longest text."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[row] > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


BLOCK: Final = 64
"""Numbers with one scale. The rows of a matrix must be a multiple of it."""
_LARGEST: Final = 511
_PER_BYTE: Final = 4
"""Numbers whose lower bits share a byte: one of each quarter of the rows."""


def pack(matrix: NDArray[np.float32]) -> bytes:
    """Return a matrix of shape (rows, columns) in ten bits a number: upper bits, lower bits and scales, each by rows.

    Each column is divided into blocks of `BLOCK` numbers with one scale. A number is a whole multiple of its scale,
    from -511 to 511; its upper eight bits are stored apart from its lower two, of which four share a byte.

    With eight bits, the cosine of a text's vector to the original's falls to 0.9996, and a few results of a search
    change places. With ten, it stays above 0.99997.
    """
    rows, columns = matrix.shape
    blocks = matrix.reshape(rows // BLOCK, BLOCK, columns)
    scales = (np.abs(blocks).max(axis=1, keepdims=True) / np.float32(_LARGEST)).astype(np.float16)
    # The scale as it is stored, rounded.
    multiples = np.rint(blocks / scales.astype(np.float32)).clip(-_LARGEST, _LARGEST).astype(np.int16)
    upper = (multiples >> 2).astype(np.int8)
    lower = (multiples & 3).astype(np.uint8).reshape(_PER_BYTE, rows // _PER_BYTE, columns)
    joined = lower[0] | lower[1] << 2 | lower[2] << 4 | lower[3] << 6
    return b"".join(part.tobytes() for part in (upper, joined, scales.astype("<f2")))


def unpack(data: NDArray[np.uint8], rows: int, columns: int) -> NDArray[np.float32]:
    """Return the matrix of shape (rows, columns) that begins at `data[0]`."""
    quarter = rows // _PER_BYTE
    upper_end = rows * columns
    lower_end = upper_end + quarter * columns
    scales_end = lower_end + 2 * (rows // BLOCK) * columns
    upper = data[:upper_end].view(np.int8).reshape(_PER_BYTE, quarter, columns)
    lower = data[upper_end:lower_end].reshape(quarter, columns)
    scales = data[lower_end:scales_end].view("<f2").reshape(rows // BLOCK, 1, columns)
    numbers = np.empty((_PER_BYTE, quarter, columns), dtype=np.float32)
    for part in range(_PER_BYTE):
        np.multiply(upper[part], np.float32(4), out=numbers[part])
        numbers[part] += lower >> (2 * part) & 3
    blocks = numbers.reshape(rows // BLOCK, BLOCK, columns)
    blocks *= scales
    return blocks.reshape(rows, columns)
