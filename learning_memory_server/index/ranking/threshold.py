"""Every threshold on how near texts are. All are closenesses: see `embedding.scale`, so that they hold for any model.

The results of a search are compared by strength: how much nearer a text is than the collection is on average, which
counts as .25 at most if the model reads the question, in units of .06, and what it shares in words, 10 * bm25 / (bm25 +
15). The best result must have

    max(0.3 + 0.8 * ln(points * min(terms, 5)), 1.5) * (1 - 0.44 * (1 - read) * (1 - usual / .15))

and the others a third of it, because a question that has an answer may have several. It rises with the points that the
filter lets through, because the best of many unrelated texts is nearer than the best of few, and with the question's
terms, because a text shares one of many by chance. A question that the model reads badly and that is far from all texts
is in another language than they are: it shares no words by chance.

Decision 9 has what it silences and loses. `python -m benchmarks.thresholds` measures it with several models.
"""

import math
from typing import Final

from learning_memory_server.embedding.scale import DEFAULT_SCALE, Scale

# ---- A search

UNIT: Final = 0.06
"""The unit of strength for the default model."""
_BASE, _PER_LN, _LEAST = 0.3, 0.8, 1.5
_MANY: Final = 5
"""The terms from which more make no difference."""
_FOREIGN: Final = 0.44
_SAME_LANGUAGE: Final = 0.15
_MOST_USUAL: Final = 0.25
"""The most that counts as usual. Where all texts are about one thing, as in one conversation or in a store of similar
entries, a text that answers a question is not much nearer than the rest. No off-topic question in English has more than
.21 in any of 11 sets; texts in a language that the model does not read are all near to each other."""
OTHERS: Final = 1 / 3
"""What the others need of that strength, once the best result has it."""

COVERED: Final = 0.6
"""The share of a question's terms that the best result of a lexical search has if it is strong: two of three do."""

# ---- What is said unasked

ADVICE: Final = 0.475
"""The least score of an experience that is shown unasked from a small store: see `learning.advice.finder`."""
_GROWTH_OF_ADVICE: Final = 0.04
"""What the threshold of advice rises by as a store of more than 100 entries becomes e times as large: the best of many
unrelated texts scores higher than the best of few. Measured with 156 goals and hypotheses and 100 to 3,000 functions
that have nothing to do with them: one in ten finds a function of at least .45 among 100, and of at least .60 among
3,000."""
_GROWS_ABOVE: Final = 100
PROMPT: Final = 0.05
"""What the threshold is higher by for a user's prompt, which asks for nothing and is mostly about something else.
`benchmarks.recurrence`, 36 prompts that one of 72 experiences bears on and 80 that none does, of the same kind of work:
silent at .98 of the latter, shown at .83 of the former, each time the right one. Without it, silent at .96."""
ERROR: Final = 0.62
"""The same at a command that failed, in a store of 100 entries, for what the command calls and the line that names its
error. It grows from `_FEW` entries on: in a small store, what a command and a lesson share weighs less. At .6, 3 of 150
recorded sessions are told something over 81 entries of another project, at .62 none; see `benchmarks.lessons`."""
_FEW: Final = 10
VALUE: Final = 0.3
"""How much nearer a value must be than experiences usually are for it to be shown unasked. Of 72 hypotheses about
twelve groups of experiences (`benchmarks/data/value-texts.json`), the group's own value is shown for .43 of them, and
another one for .01 if the right one is absent. A fixed closeness of .45 showed .38 and .03, and on two sets of short
requests another one for .47 and .09, where this shows it for .13 and .09: how near texts are depends on the store."""
MEAN, DEVIATION = 0.17, 0.13
"""The usual mean closeness of an experience and a goal with a hypothesis, and its usual deviation in one store."""

# ---- Two texts

NEAR: Final = 0.24
"""How much nearer a value must be than experiences usually are to what was believed and learned for it to be named.
With 72 experiences and 12 values (`benchmarks.thresholds`), the right value is named for .76 of them, and another one
for .04 if the right one is absent. At .2 it is .86 and .15, at .28 .54 and .03."""
ALIKE: Final = 0.8
"""The least closeness at which a value is shown as similar. With all-MiniLM-L6-v2, 13 of 15 pairs of principles that
say the same in other words reach it (3 of them 0.9), and 1 of 12 pairs that differ: there, one forbids what the other
asks for, which is worth showing as well."""
NEAR_COPY: Final = 0.95
"""The closeness from which two texts count as one. With .92, purity falls from .85 to .79 on 1,000 banking requests;
.98 misses copies with one word changed. Without copies, .95 is within .01 ARI of no rule."""


def unit_of(scale: Scale) -> float:
    """Return the unit of strength. The square root, because a coarser model's good answers are no farther."""
    return UNIT * math.sqrt(scale.spread / DEFAULT_SCALE.spread)


def least_strength(points: int, count: int, usual: float, read: float) -> float:
    """Return the strength that the best result of a search needs.

    Args:
        points: How many points the filter lets through; on the axis `full`, those of all axes.
        count: How many different terms the query has.
        usual: The query's mean closeness to the whole collection.
        read: How well the model reads the query; see `embedding.tokens`.
    """
    by_chance = _BASE + _PER_LN * math.log(max(points, 1) * min(max(count, 1), _MANY))
    foreign = (1.0 - read) * min(max(1.0 - usual / _SAME_LANGUAGE, 0.0), 1.0)
    return max(by_chance, _LEAST) * (1.0 - _FOREIGN * foreign)


def counted_as_usual(usual: float, read: float) -> float:
    """Return what a query's mean closeness to the collection counts as in the strength of a result."""
    return min(usual, _MOST_USUAL + 1.0 - read)


def least_of_advice(entries: int) -> float:
    """Return the least score of an experience that is shown unasked from a store of so many entries."""
    return ADVICE + _GROWTH_OF_ADVICE * math.log(max(entries / _GROWS_ABOVE, 1.0))


def least_at_error(entries: int) -> float:
    """Return the same at a command that failed."""
    return ERROR + _GROWTH_OF_ADVICE * math.log(max(entries, _FEW) / _GROWS_ABOVE)
