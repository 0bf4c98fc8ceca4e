"""How well a value holds, from how often experience bore it out and how often it went the other way."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

CONTESTED_FROM: Final = 3
"""Fewer experiences against a value than this do not make it contested: one or two are accidents."""
_Z: Final = 1.959963984540054
"""The two-sided 95 % quantile of the normal distribution."""


@dataclass(frozen=True, slots=True)
class Support:
    """What speaks for and against something, in numbers of experiences.

    Args:
        supporting: How many bear it out.
        contradicting: How many went the other way.
    """

    supporting: int = 0
    contradicting: int = 0

    @property
    def strength(self) -> float:
        """The share of experiences that bear it out, as little as that can be: the lower end of its 95 % interval.

        Three of three give 0.44, twelve of twelve 0.76: a small number of experiences is not believed at its word.
        """
        lower, _upper = wilson_interval(self.supporting, self.supporting + self.contradicting)
        return lower

    @property
    def is_contested(self) -> bool:
        """Whether more experiences went the other way than bear it out, and at least three did.

        A value whose 95 % interval lies below one half is always contested: that takes four against none.
        """
        return self.contradicting >= CONTESTED_FROM and self.contradicting > self.supporting


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """Return the bounds of Wilson's 95 % score interval of a share, each from 0 to 1; all of it without trials.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927), 209-212.

    Args:
        successes: From 0 to `trials`.
        trials: How many there were.

    Raises:
        ValueError: If there cannot be so many successes.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} of {trials} is no share")
    if trials == 0:
        return 0.0, 1.0
    share, squared = successes / trials, _Z * _Z
    centre = share + squared / (2 * trials)
    spread = _Z * math.sqrt(share * (1 - share) / trials + squared / (4 * trials * trials))
    scale = 1 + squared / trials
    # Rounding leaves a trace on either side of the ends, where the share is 0 or 1.
    low = (centre - spread) / scale if successes else 0.0
    high = (centre + spread) / scale if successes < trials else 1.0
    return low, high
