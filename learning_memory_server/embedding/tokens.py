"""What tokenizers make of texts, without running a model: how many tokens, and how well a model reads them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from learning_memory_server.embedding.graph import TOKENIZER, max_tokens_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_WINDOW: Final = 256  # Tokens that a model reads if its files do not say; also the most that this package uses
_PIECE: Final = re.compile(r"[A-Za-z]+|\d{1,3}|[^\W\d_A-Za-z]|[^\w\s]|_")
_UNKNOWN: Final = {"[UNK]", "<unk>"}  # How tokenizers call a piece that is not in their vocabulary
_HAN: Final = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_NAME: Final = re.compile(r"[\d_/\\@]|\w[.:]+\w|[a-z][A-Z]")
"""What marks a word as a name: an identifier, a path, a version or a code."""
_UNREAD, _READ = 2.4, 3.4  # letters per piece
_LETTERS: Final = 4  # Letters per token, estimated so that real counts are rarely higher


class EstimatedTokens:
    """Estimates from letters, for models whose tokenizer is not on this machine. Safe in any thread."""

    name = "estimate-1"  # measures that count differently have different names
    window = _WINDOW  # how many tokens of a text the model reads, special ones included

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, without special ones."""
        return [len(self.spans(text)) for text in texts]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the first character of each token, and the one after its last."""
        return [
            (at, min(at + _LETTERS, match.end()))
            for match in _PIECE.finditer(text)
            for at in range(match.start(), match.end(), _LETTERS)
        ]


class ModelTokens:
    """A separate copy of a model's tokenizer: the truncation and padding of the model's would change the counts."""

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
    """Return the words of a text that are no names: no identifier, path, version or code."""
    return " ".join(word for word in text.split() if not (word.isascii() and _NAME.search(word)))


def legibility(tokenizer: Tokenizer | None, text: str) -> float:
    """Return how well a model reads a text, from 0 to 1, by the letters in each piece that its tokenizer makes.

    A Han character counts as two letters, and names are left out. Without a tokenizer, every text counts as read.
    """
    text = without_names(text)
    encoded = tokenizer.encode(text, add_special_tokens=False) if tokenizer else None
    letters = count = done = 0
    for piece, (start, end) in zip(encoded.tokens, encoded.offsets, strict=True) if encoded else ():
        # Several pieces of one character, as those of bytes, have it once.
        characters = text[max(start, done) : end]
        done = max(done, end)
        found = sum(map(str.isalpha, characters))
        is_known = piece not in _UNKNOWN
        count += min(found, 1) if is_known else found
        letters += found + len(_HAN.findall(characters)) if is_known else 0
    return min(max((letters / count - _UNREAD) / (_READ - _UNREAD), 0.0), 1.0) if count else 1.0


TokenMeasure = EstimatedTokens | ModelTokens
