"""How well a value holds up, judged by the verdicts on it."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_Z: Final = 1.959963984540054
"""The two-sided 95 % quantile of the normal distribution."""


class Status(StrEnum):
    """What the verdicts on a value add up to."""

    UNATTESTED = "unattested"
    SUPPORTED = "supported"
    CONTESTED = "contested"


@dataclass(frozen=True, slots=True)
class Support:
    """How many entries support and contradict a value, by the verdicts on it."""

    supporting: int = 0
    contradicting: int = 0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the share that supports it.

        Three of three give 0.44 to 1, twelve of twelve 0.76 to 1: a few entries are weak evidence.
        """
        return wilson_interval(self.supporting, self.supporting + self.contradicting)

    @property
    def status(self) -> Status:
        """Unattested without a verdict for or against it; contested if as many contradict as support it, or more.

        One contradiction contests a value that nothing supports: an agent gave it with the entry in front of it.
        """
        if not self.supporting and not self.contradicting:
            return Status.UNATTESTED
        return Status.CONTESTED if self.contradicting >= self.supporting else Status.SUPPORTED


def wilson_interval(successes: float, trials: float) -> tuple[float, float]:
    """Return the bounds of Wilson's 95 % score interval of a share, each from 0 to 1; without trials, 0 and 1.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927), 209-212.
    The number of trials is not a whole number if they are weighted.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} of {trials} is not a share")
    if trials == 0:
        return 0.0, 1.0
    share, squared = successes / trials, _Z * _Z
    centre = share + squared / (2 * trials)
    spread = _Z * math.sqrt(share * (1 - share) / trials + squared / (4 * trials * trials))
    scale = 1 + squared / trials
    # At shares of 0 and 1, rounding would miss the exact bound.
    low = (centre - spread) / scale if successes else 0.0
    high = (centre + spread) / scale if successes < trials else 1.0
    return low, high
