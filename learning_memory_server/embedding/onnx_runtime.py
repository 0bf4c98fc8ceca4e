"""An exported model on onnxruntime: ready in a third of a second, and without torch."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from learning_memory_server.embedding.base import TEXT_TEMPLATE_VERSION, EmbeddingIdentity
from learning_memory_server.embedding.probe import PROBE, agrees
from learning_memory_server.embedding.source import file_digest
from learning_memory_server.errors import EmbeddingUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from tokenizers import Encoding

    from learning_memory_server.embedding.base import Runtime
    from learning_memory_server.embedding.source import ModelSource

MODEL: Final = "model.onnx"
WEIGHTS: Final = "weights.bin"
"""Beside the graph, so that it is mapped: of the word vectors, half of a small model, only what texts use is read."""
TOKENIZER: Final = "tokenizer.json"
META: Final = "meta.json"

_BATCH_TOKENS: Final = 512
"""Tokens that go through the model at a time, padding included. On one thread more is no faster (texts of 250 words
take 53 ms each, and 62 with 2048 tokens), and the runtime keeps the memory of its largest batch: 30 against 120 MB."""


@dataclass(frozen=True, slots=True)
class ExportMeta:
    """What an export is, written beside it.

    Args:
        identity: The original model's: the vectors are the same.
        query_prompt: Put before a query.
        document_prompt: Put before a document.
        probe: The original model's vector of the document `PROBE`.
        files: The SHA-256 of each other file, by name.
    """

    identity: EmbeddingIdentity
    query_prompt: str
    document_prompt: str
    probe: list[float]
    files: dict[str, str]

    def write(self, folder: Path) -> None:
        """Put the description into the export's folder."""
        (folder / META).write_text(json.dumps(asdict(self)), "utf-8")

    @classmethod
    def read(cls, folder: Path) -> ExportMeta:
        """Return the description in an export's folder.

        Raises:
            OSError: If there is none.
            KeyError, TypeError, ValueError: If it is damaged, or of another version of this package.
        """
        data = json.loads((folder / META).read_text("utf-8"))
        return cls(**{**data, "identity": EmbeddingIdentity(**data["identity"])})


class OnnxEmbedder:
    """An export of a sentence-transformers model, on one thread of the CPU.

    Its tokenizer file cuts and pads as the original did; pooling and normalisation are in its graph.

    Args:
        folder: The export.
        source: The original.

    Raises:
        EmbeddingUnavailableError: If it is another model's, a file was changed, or the vectors differ.
        Exception: Whatever the libraries raise for a folder that holds no working export.
    """

    runtime: Runtime = "onnxruntime"

    def __init__(self, folder: Path, source: ModelSource) -> None:
        self._meta = ExportMeta.read(folder)
        found = self.identity
        if (found.model, found.weights, found.template) != (
            source.name,
            source.weights,
            TEXT_TEMPLATE_VERSION,
        ):
            raise EmbeddingUnavailableError("The export is another model's.")
        for name in (MODEL, WEIGHTS, TOKENIZER):
            if file_digest(folder / name) != self._meta.files[name]:
                raise EmbeddingUnavailableError(f"{name} of the exported model is damaged.")
        # Tokenizing eight texts is not worth a thread for each core.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from onnxruntime import InferenceSession, SessionOptions  # noqa: PLC0415 - only here
        from tokenizers import Tokenizer  # noqa: PLC0415

        options = SessionOptions()
        # A thread that waits for the next operator by spinning slows every other process.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        self._session = InferenceSession(str(folder / MODEL), options, providers=["CPUExecutionProvider"])
        self._inputs = [node.name for node in self._session.get_inputs()]
        self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self._padding: int = (self._tokenizer.padding or {}).get("pad_id", 0)
        # A batch is chosen by its texts' true lengths, and padded then.
        self._tokenizer.no_padding()
        if not agrees(self._meta.probe, self.embed_documents([PROBE])[0]):
            raise EmbeddingUnavailableError("The exported model makes other vectors than the original.")

    @property
    def identity(self) -> EmbeddingIdentity:
        """The original model's: the vectors of both may be compared."""
        return self._meta.identity

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), dimension)."""
        vectors = np.empty((len(texts), self.identity.dimension), dtype=np.float32)
        encodings = self._tokenizer.encode_batch([self._meta.document_prompt + text for text in texts])
        for rows in _batches([len(encoding.ids) for encoding in encodings]):
            vectors[rows] = self._run([encodings[row] for row in rows])
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return an array of shape (dimension,)."""
        vector: NDArray[np.float32] = self._run([self._tokenizer.encode(self._meta.query_prompt + text)])[0]
        return vector

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
    """Yield the rows of each batch. Texts of like length go together: a batch is padded to its longest."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[row] > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
