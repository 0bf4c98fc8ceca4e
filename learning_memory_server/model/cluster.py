"""Clusters as clients name them."""

from __future__ import annotations

from dataclasses import dataclass

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model.vocabulary import Axis


@dataclass(frozen=True, slots=True, order=True)
class ClusterId:
    """`{axis}_{number}`: stable while the cluster keeps its members, and never reused."""

    axis: Axis
    number: int

    def __str__(self) -> str:
        return f"{self.axis}_{self.number}"

    @classmethod
    def parse(cls, text: str) -> ClusterId:
        """Return the id that `text` spells, or raise InvalidInputError."""
        axis, _, number = text.strip().rpartition("_")
        if axis not in list(Axis) or not (number.isascii() and number.isdigit()):
            raise InvalidInputError(
                f"cluster_id: {text!r} is not of the form axis_number, such as full_0; the axes are {', '.join(Axis)}.",
                hint="Call get_clusters to see the ids.",
            )
        return cls(Axis(axis), int(number))
