"""Tokenize texts without running a model: count tokens, and estimate how well a model knows a text's words."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from learning_memory_server.embedding.graph import TOKENIZER, max_tokens_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_WINDOW: Final = 256  # Maximum tokens for a model whose files do not state it; also the most that this package uses
_PIECE: Final = re.compile(r"[A-Za-z]+|\d{1,3}|[^\W\d_A-Za-z]|[^\w\s]|_")
_UNKNOWN: Final = {"[UNK]", "<unk>"}  # Names of the token for unknown pieces
_HAN: Final = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_NAME: Final = re.compile(r"[\d_/\\@]|\w[.:]+\w|[a-z][A-Z]")
"""Signs that a word is a name: an identifier, a path, a version or a code."""
_UNREAD, _READ = 2.4, 3.4  # letters per piece
_LETTERS: Final = 4  # Letters per token, a low estimate so that real counts are rarely higher


class EstimatedTokens:
    """Estimates from letters, for models without a local tokenizer. Thread-safe."""

    name = "estimate-1"  # must differ between measures with different counts
    window = _WINDOW  # the maximum number of tokens of a text, including special ones

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, without special ones."""
        return [len(self.spans(text)) for text in texts]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the span of each token: its first character, and the one after its last."""
        return [
            (at, min(at + _LETTERS, match.end()))
            for match in _PIECE.finditer(text)
            for at in range(match.start(), match.end(), _LETTERS)
        ]


class ModelTokens:
    """A separate copy of a model's tokenizer, because the model's truncation and padding would change the counts."""

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        content = (folder / TOKENIZER).read_bytes()
        self._tokenizer = Tokenizer.from_str(content.decode())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.window = min(max_tokens_of(folder) or _WINDOW, _WINDOW)
        self.name = f"{hashlib.sha256(content).hexdigest()[:12]}-{self.window}"

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, without special ones."""
        return [len(found) for found in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the span of each token."""
        return [(start, end) for start, end in self._tokenizer.encode(text, add_special_tokens=False).offsets if end]


def without_names(text: str) -> str:
    """Return a text without names: identifiers, paths, versions and codes."""
    return " ".join(word for word in text.split() if not (word.isascii() and _NAME.search(word)))


def legibility(tokenizer: Tokenizer | None, text: str) -> float:
    """Estimate how well a model knows a text's words, from 0 to 1, by the letters per piece of its tokenizer.

    A Han character counts as two letters, and names are ignored. Without a tokenizer, the result is 1.
    """
    text = without_names(text)
    encoded = tokenizer.encode(text, add_special_tokens=False) if tokenizer else None
    letters = count = done = 0
    for piece, (start, end) in zip(encoded.tokens, encoded.offsets, strict=True) if encoded else ():
        # Several pieces of one character, such as bytes, count it once.
        characters = text[max(start, done) : end]
        done = max(done, end)
        found = sum(map(str.isalpha, characters))
        is_known = piece not in _UNKNOWN
        count += min(found, 1) if is_known else found
        letters += found + len(_HAN.findall(characters)) if is_known else 0
    return min(max((letters / count - _UNREAD) / (_READ - _UNREAD), 0.0), 1.0) if count else 1.0


TokenMeasure = EstimatedTokens | ModelTokens
