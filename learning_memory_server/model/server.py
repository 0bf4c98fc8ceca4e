"""A Qdrant server that has, or had, points of an owner."""

import hashlib
from dataclasses import dataclass

from learning_memory_server.model.stored import Stored


@dataclass(frozen=True, slots=True)
class KnownServer(Stored):
    """A server as its addresses were set; several for a cluster. It `is_left` if all of the owner's points are gone."""

    urls: tuple[str, ...]
    owner: str
    is_left: bool = False

    @property
    def id(self) -> str:
        """The id of its lines in the journal."""
        digest = hashlib.sha256("\n".join((self.owner, *sorted(self.urls))).encode()).hexdigest()
        return f"server_{digest[:16]}"
