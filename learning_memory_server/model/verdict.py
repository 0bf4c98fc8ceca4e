"""A verdict: what an agent saw of a value in one resolved entry."""

import hashlib
from dataclasses import dataclass
from datetime import datetime

from learning_memory_server.model.stored import Stored
from learning_memory_server.model.vocabulary import Stance


@dataclass(frozen=True, slots=True)
class Verdict(Stored):
    """Whether an entry supports a value. A later verdict on the same value and entry replaces an earlier one.

    `requests` names the calls that gave it or one that it replaces; see `Caller.request`. The project is the value's.
    """

    value_id: str
    ghap_id: str
    stance: Stance
    project: str
    created_at: datetime
    requests: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of this value and entry together, so that there is one verdict for each pair."""
        return verdict_id(self.value_id, self.ghap_id)


def verdict_id(value_id: str, ghap_id: str) -> str:
    """Return the id of the verdict on a value and an entry: the same for the same pair, anywhere."""
    return f"verdict_{hashlib.sha256(f'{value_id} {ghap_id}'.encode()).hexdigest()[:24]}"
