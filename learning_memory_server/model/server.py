"""A Qdrant server that has, or had, points of an owner."""

import hashlib
from dataclasses import dataclass

from learning_memory_server.model.stored import Stored


@dataclass(frozen=True, slots=True)
class KnownServer(Stored):
    """A server with its configured addresses, several for a cluster; `is_left` once the owner's points are gone."""

    urls: tuple[str, ...]
    owner: str
    is_left: bool = False

    @property
    def id(self) -> str:
        """The id of its journal lines."""
        digest = hashlib.sha256("\n".join((self.owner, *sorted(self.urls))).encode()).hexdigest()
        return f"server_{digest[:16]}"
