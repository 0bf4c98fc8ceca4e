"""Texts measured as models measure them, without loading a model."""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from learning_memory_server.embedding.base import DEFAULT_MODEL
from learning_memory_server.embedding.source import find_source, packaged_model

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_WINDOW: Final = 256
"""Tokens that a model reads where its files do not say; also the most that is made use of."""
_PIECE: Final = re.compile(r"[A-Za-z]+|\d{1,3}|[^\W\d_A-Za-z]|[^\w\s]|_")
_LETTERS: Final = 4
"""Letters to a token, estimated so that real counts are rarely higher."""


class TokenMeasure(Protocol):
    """Counts tokens and finds them in a text, from any thread."""

    @property
    def name(self) -> str:
        """Differs from measures that count differently."""
        ...

    @property
    def window(self) -> int:
        """How many tokens of a text the model reads, its own special ones included."""
        ...

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, without special ones."""
        ...

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the first character of each token, and the one after its last."""
        ...


class EstimatedTokens:
    """A guess from letters, for models whose tokenizer is elsewhere."""

    name = "estimate-1"
    window = _WINDOW

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return [sum(_tokens_of(match.group()) for match in _PIECE.finditer(text)) for text in texts]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where each token is."""
        return [
            (at, min(at + _LETTERS, match.end()))
            for match in _PIECE.finditer(text)
            for at in range(match.start(), match.end(), _LETTERS)
        ]


class ModelTokens:
    """A model's own tokenizer; a separate one, because a shared one changes what the other counts.

    Args:
        folder: The model's files, with `tokenizer.json`.

    Raises:
        Exception: Whatever the library raises for a file that holds no tokenizer.
    """

    def __init__(self, folder: Path) -> None:
        # Measuring goes on beside the model and beside the answers to clients.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from tokenizers import Tokenizer  # noqa: PLC0415 - only here

        content = (folder / "tokenizer.json").read_bytes()
        self._tokenizer = Tokenizer.from_str(content.decode())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.window = _window_of(folder)
        self.name = f"{hashlib.sha256(content).hexdigest()[:12]}-{self.window}"

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, without special ones."""
        return [
            len(found) for found in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        ]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where each token is."""
        return [
            (start, end)
            for start, end in self._tokenizer.encode(text, add_special_tokens=False).offsets
            if end
        ]


def model_folder(model: str) -> Path:
    """Return the folder of a model, as `find_source` does; of the packaged one without reading its weights.

    Raises:
        EmbeddingUnavailableError: If the model is not on this machine.
    """
    return packaged_model() if model == DEFAULT_MODEL else find_source(model).folder


def _window_of(folder: Path) -> int:
    """Return how many tokens the model in a folder reads, as far as that is of use."""
    for name, key in (
        ("sentence_bert_config.json", "max_seq_length"),
        ("config.json", "max_position_embeddings"),
    ):
        with suppress(OSError, ValueError, AttributeError):
            found = json.loads((folder / name).read_text("utf-8")).get(key)
            if isinstance(found, int) and found > 0:
                return min(found, _WINDOW)
    return _WINDOW


def _tokens_of(piece: str) -> int:
    return -(-len(piece) // _LETTERS)
