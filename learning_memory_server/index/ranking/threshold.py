"""Every threshold of closeness (`embedding.scale`), so that they hold for any model.

The strength of a result is (closeness - the usual one) / .06, and 10 * bm25 / (bm25 + 15). If the query is read, 0.3 of
what its usual closeness exceeds .03 by does not count, nor what is above .25. The best result of a search must have

    max(0.3 + 0.8 * ln(points * min(terms, 5)), 1.5) * (1 - 0.44 * (1 - read) * (1 - usual / .15))

and the others a third of it. Decision 9 has the reasons and figures; `python -m benchmarks.thresholds` measures it.
"""

import math
from typing import Final

from learning_memory_server.embedding.scale import DEFAULT_SCALE, Scale

# ---- A search

UNIT: Final = 0.06  # The unit of strength for the default model
_BASE, _PER_LN, _LEAST = 0.3, 0.8, 1.5
_MANY: Final = 5  # The terms from which more make no difference
_FOREIGN: Final = 0.44
_SAME_LANGUAGE: Final = 0.15
_MOST_USUAL: Final = 0.25  # The most that counts as usual, for stores in which all texts are about one thing
OFF_TOPIC: Final = 0.03  # The mean closeness of an off-topic question to any text
_ON_TOPIC: Final = 0.3  # The share of the rest that does not count. With 0.5, a model of word vectors is less silent.
OTHERS: Final = 1 / 3  # What the others need of that strength, once the best result has it

COVERED: Final = 0.6  # The share of a question's terms in a strong best result: two of three suffice

# ---- Values; for lessons that are shown unasked see `advice.constants`

VALUE: Final = 0.3  # The least difference between a value and the usual closeness; see `benchmarks.thresholds`
MEAN: Final = 0.17  # Mean closeness of experiences and a goal with a hypothesis

# ---- Two texts

NEAR: Final = 0.24  # As `VALUE`, for a value to be named after an entry is resolved
ALIKE: Final = 0.8  # The least closeness at which a value is shown as similar; opposite principles may also reach it
NEAR_COPY: Final = 0.95  # The closeness from which two texts count as one


def unit_of(scale: Scale) -> float:
    """Return the unit of strength. The square root, because a coarser model's good answers are no farther."""
    return UNIT * math.sqrt(scale.spread / DEFAULT_SCALE.spread)


def least_strength(points: int, count: int, usual: float, read: float) -> float:
    """Return the strength that the best result of a search needs.

    Args:
        points: The points that the filter lets through; on the axis `full`, those of all axes.
        count: The number of different terms in the query.
        usual: The query's mean closeness to the whole collection.
        read: How well the model reads the query; see `embedding.tokens`.
    """
    by_chance = _BASE + _PER_LN * math.log(max(points, 1) * min(max(count, 1), _MANY))
    foreign = (1.0 - read) * min(max(1.0 - usual / _SAME_LANGUAGE, 0.0), 1.0)
    return max(by_chance, _LEAST) * (1.0 - _FOREIGN * foreign)


def counted_as_usual(usual: float, read: float) -> float:
    """Return what a query's mean closeness to the collection counts as in the strength of a result.

    It also shows that a query is on topic, so a share of what an off-topic one would not have does not count. If the
    model does not read the query, it only shows the language.
    """
    return min(usual - _ON_TOPIC * read * (usual - OFF_TOPIC), _MOST_USUAL + 1.0 - read)
