"""The rule in one place: a model's scale, how well it reads a question, fusion, floor. Reference code; see DESIGN.md.

Vectors have length 1. A *closeness* is a cosine on the scale of the default model, so that every constant of the package that is compared
with a cosine holds for any model: unrelated texts have .088 on it, equal ones 1.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

PACKED: Final = Path(__file__).with_name("calibration.json")

# ---------------------------------------------------------------------------------------------------------- C: the scale of a model


@dataclass(frozen=True, slots=True)
class Scale:
    """What a model's cosines mean. Measured once for a model, with the packed texts (66 of them, 0.7 s)."""

    unrelated: float  # its mean cosine of a question and a text about something else
    spread: float  # the usual spread of one off-topic question's cosines, as closeness

    def closeness(self, cosine: Any) -> Any:
        """Return a cosine as it would be with the default model: unrelated and equal texts have the same on both."""
        return 1.0 - (1.0 - cosine) * (1.0 - DEFAULT.unrelated) / (1.0 - self.unrelated)

    @property
    def unit(self) -> float:
        """The unit of the floor: .06 for the default model. The square root, because a coarser model's good answers are no farther."""
        return _UNIT * math.sqrt(self.spread / DEFAULT.spread)


DEFAULT: Final = Scale(unrelated=0.088, spread=0.065)  # all-MiniLM-L6-v2
_UNIT: Final = 0.06


def measure(embed: Callable[[list[str]], np.ndarray], packed: Path = PACKED) -> Scale:
    """Return the scale of a model that is seen for the first time."""
    texts = [each for each in json.loads(packed.read_text("utf-8"))["texts"] if each["language"] == "en"]
    of = {kind: [each for each in texts if each["kind"] in kinds] for kind, kinds in
          {"text": ("text",), "question": ("question",), "off": ("off_topic", "prompt")}.items()}
    vectors = {kind: embed([each["text"] for each in few]) for kind, few in of.items()}
    others = np.array([[q["topic"] != t["topic"] for t in of["text"]] for q in of["question"]])
    unrelated = float((vectors["question"] @ vectors["text"].T)[others].mean())
    stretch = (1.0 - DEFAULT.unrelated) / (1.0 - unrelated)
    return Scale(unrelated, float((vectors["off"] @ vectors["text"].T).std(axis=1).mean() * stretch))


# ----------------------------------------------------------------------------------------- A: how well the model reads the question

_HAN: Final = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_UNREAD, _READ = 2.4, 3.4  # letters per piece


def reading(pieces: Sequence[tuple[str, bool]]) -> float:
    """Return how well a model reads a question, from 0 to 1, by its own tokenizer.

    Args:
        pieces: The characters of each piece, and whether it is known. A model without a tokenizer on this machine reads everything: 1.

    Letters per piece: 4.3 in English, 2.7 in German, 2.9 in French, 2.6 in Spanish, 1 in Russian or Japanese, .7 in Chinese. An unknown
    piece counts as one for each of its letters. A Han character counts as two letters: it says as much.
    """
    letters = count = 0
    for characters, is_known in pieces:
        found = sum(map(str.isalpha, characters))
        if not found:
            continue
        count += 1 if is_known else found
        letters += found + len(_HAN.findall(characters)) if is_known else 0
    return min(max((letters / count - _UNREAD) / (_READ - _UNREAD), 0.0), 1.0) if count else 1.0


# --------------------------------------------------------------------------------------------------------------------- A: fusion

_GROWTH: Final = 1.1
_MOST: Final = 0.5
_UNREAD_SHARE: Final = 0.15
LEXICAL_WEIGHT: Final = 0.55
_HALF: Final = 20.0


def semantic_weight(best: float, noise: float, read: float) -> float:
    """Return what meaning counts: how far the best text stands out from the noise, times how well the model reads the question.

    Args:
        best: The best closeness of the search.
        noise: The question's mean closeness to the collection.
        read: See `reading`.
    """
    stands_out = min(max(_GROWTH * (best - noise - _UNIT), 0.0), _MOST)
    return stands_out * (_UNREAD_SHARE + (1 - _UNREAD_SHARE) * read)


def relevance(closeness: float, bm25: float, contrast: float, weight: float) -> float:
    """Return how well a text matches, from 0 to 1. The lexical part is today's."""
    squared = bm25 * bm25
    return weight * min(max(closeness, 0.0), 1.0) + LEXICAL_WEIGHT * contrast * squared / (squared + _HALF * _HALF)


# ------------------------------------------------------------------------------------------------------------ C, D: noise of a store

SAMPLE: Final = 200
"""How many points of a collection its mean is taken of; again when it has grown by a quarter."""
_FEW: Final = 50
_OFF_TOPIC: Final = 0.03
"""The mean closeness of an off-topic question to any text: what stands for the points that a small collection lacks."""


def noise(vector: np.ndarray, mean: np.ndarray | None, points: int, scale: Scale) -> float:
    """Return a question's mean closeness to a collection: one dot product with the mean of its vectors, whatever the filter."""
    own = float(scale.closeness(vector @ mean)) if mean is not None and points else _OFF_TOPIC
    share = min(points, _FEW) / _FEW
    return share * own + (1 - share) * _OFF_TOPIC


# -------------------------------------------------------------------------------------------------------------------- D: the floor

_WORDS: Final = 10.0
_HALF_OF_WORDS: Final = 15.0
_BASE, _PER_LN = 2.0, 0.72
_FOREIGN: Final = 2.5
_SAME_LANGUAGE: Final = 0.15
OTHERS: Final = 1 / 3
"""What the other results need of the threshold, once one has reached it."""


def evidence(closeness: float, bm25: float, noise: float, scale: Scale = DEFAULT) -> float:
    """Return how much speaks for a text being an answer, in units of the noise."""
    return (closeness - noise) / scale.unit + _WORDS * bm25 / (bm25 + _HALF_OF_WORDS)


def least(points: int, noise: float, read: float) -> float:
    """Return the evidence that the best result needs.

    Args:
        points: How many points the filter lets through: the best of many unrelated texts is nearer than the best of few.
        noise: The question's mean closeness to the whole collection.
        read: A question that the model reads badly and that is far from all texts is in another language than they are. It shares no
            words by chance, and needs less.
    """
    foreign = (1 - read) * min(max(1 - noise / _SAME_LANGUAGE, 0.0), 1.0)
    return _BASE + _PER_LN * math.log(max(points, 1)) - _FOREIGN * foreign
