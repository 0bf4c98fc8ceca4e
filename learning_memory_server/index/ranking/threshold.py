"""All thresholds for closeness (`embedding.scale`), which are valid for any model.

The strength of a result is (closeness - usual closeness) / .06 + 10 * bm25 / (bm25 + 15). If the model reads the query,
the usual closeness is reduced by 0.3 of its excess over .03, and limited to .25. The best result of a search must have

    max(0.3 + 0.8 * ln(points * min(terms, 5)), 1.5) * (1 - 0.44 * (1 - read) * (1 - usual / .15))

and other results a third of it. Decision 9 has the reasons and figures; `python -m benchmarks.thresholds` measures it.
"""

import math
from typing import Final

from learning_memory_server.embedding.scale import DEFAULT_SCALE, Scale

# ---- A search

UNIT: Final = 0.06  # The unit of strength for the default model
_BASE, _PER_LN, _LEAST = 0.3, 0.8, 1.5
_MANY: Final = 5  # The number of terms above which more make no difference
_FOREIGN: Final = 0.44
_SAME_LANGUAGE: Final = 0.15
_MOST_USUAL: Final = 0.25  # Maximum usual closeness, for stores in which all texts have the same topic
OFF_TOPIC: Final = 0.03  # The mean closeness of an off-topic question to any text
_ON_TOPIC: Final = 0.3  # The share of the excess to ignore. With 0.5, a model of word vectors is less silent.
OTHERS: Final = 1 / 3  # The share of that strength for other results, if the best result reaches it

COVERED: Final = 0.6  # The share of a question's terms in a strong best result: two of three are enough

# ---- Values; for advice see `advice.constants`

VALUE: Final = 0.3  # Minimum difference between a value's closeness and the usual one; see `benchmarks.thresholds`
MEAN: Final = 0.17  # Mean closeness of experiences to a goal with a hypothesis

# ---- Comparison of two texts

NEAR: Final = 0.24  # Like `VALUE`, for naming a value after an entry is resolved
ALIKE: Final = 0.8  # Minimum closeness of similar values; opposite principles may also reach it
NEAR_COPY: Final = 0.95  # Minimum closeness of texts that count as equal


def unit_of(scale: Scale) -> float:
    """Return the unit of strength. It uses the square root, because good answers of a coarse model are not farther."""
    return UNIT * math.sqrt(scale.spread / DEFAULT_SCALE.spread)


def least_strength(points: int, count: int, usual: float, read: float) -> float:
    """Return the minimum strength of the best result of a search.

    Args:
        points: The number of points that pass the filter; for the axis `full`, on all axes.
        count: The number of different terms in the query.
        usual: The query's mean closeness to the whole collection.
        read: How well the model reads the query, from 0 to 1; see `embedding.tokens`.
    """
    by_chance = _BASE + _PER_LN * math.log(max(points, 1) * min(max(count, 1), _MANY))
    foreign = (1.0 - read) * min(max(1.0 - usual / _SAME_LANGUAGE, 0.0), 1.0)
    return max(by_chance, _LEAST) * (1.0 - _FOREIGN * foreign)


def counted_as_usual(usual: float, read: float) -> float:
    """Return the usual closeness to use in the strength of a result, from a query's mean closeness to the collection.

    A high mean also shows that a query is on topic, so a share of its excess over an off-topic query's is ignored. If
    the model does not read the query, the mean only reflects the language.
    """
    return min(usual - _ON_TOPIC * read * (usual - OFF_TOPIC), _MOST_USUAL + 1.0 - read)
