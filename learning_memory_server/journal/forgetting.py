"""What forgetting some ids means: which of them there are, and which were forgotten before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Forgetting(Generic[T]):
    """What is forgotten, or would be.

    Args:
        found: What the ids named.
        before: The ids that were forgotten already. Their points may still be in the index, if the process
            died between the journal and the index.
        unknown: The ids that name nothing, and nothing that is forgotten.
    """

    found: tuple[T, ...] = ()
    before: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @classmethod
    def of(cls, ids: Iterable[str], known: Mapping[str, T], forgotten: Collection[str]) -> Forgetting[T]:
        """Look the ids up; each counts once."""
        wanted = list(dict.fromkeys(ids))
        return cls(
            tuple(known[name] for name in wanted if name in known),
            tuple(name for name in wanted if name not in known and name in forgotten),
            tuple(name for name in wanted if name not in known and name not in forgotten),
        )
