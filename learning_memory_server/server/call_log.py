"""The log line of a tool call: ids, counts and names of arguments, but never their values."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import structlog

from learning_memory_server.model.vocabulary import Axis

if TYPE_CHECKING:
    from learning_memory_server.errors import LearningMemoryError

log = structlog.get_logger()

_FORMS: Final = {
    "ghap_id": re.compile(r"ghap_[0-9]{8}_[0-9]{6}_[0-9a-f]{6}"),
    "value_id": re.compile(r"value_[0-9]{8}_[0-9]{6}_[0-9a-f]{6}"),
    "memory_id": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    "cluster_id": re.compile(rf"({'|'.join(Axis)})_[0-9]{{1,9}}"),
}
_ID_ARGUMENTS: Final = ("ghap_id", "value_id", "memory_id", "cluster_id", "supersedes")
_ID_FIELDS: Final = ("id", "cluster_id")
_NAMED: Final = re.compile(
    r"([a-z_]+)(?:\.[a-z_.\[\]0-9]+)?(?=:| and [a-z_]+:)|Field '([a-z_]+)|Invalid ([a-z_]+) ?([a-z_]+)?"
)
"""What may be an argument in a message: `goal: ...`, `surprise and root_cause: ...`, `Field 'goal' ...`,
`Invalid axis`."""


@dataclass(slots=True)
class CallLog:
    """Writes one line, `tool.called`, about one call; see the module."""

    arguments: Mapping[str, Any]
    known: Collection[str]
    _started: float = field(default_factory=time.perf_counter)

    def succeeded(self, facts: Mapping[str, Any]) -> None:
        """Log a reply: its `id`, `cluster_id` and `count`, where it has them."""
        ids = self._ids(facts.get(name) for name in _ID_FIELDS)
        count = {"count": facts["count"]} if "count" in facts else {}
        log.info("tool.called", outcome="ok", **self._took(), **count, **ids)

    def refused(self, error: LearningMemoryError) -> None:
        """Log an anticipated failure. Its message may quote an argument; only the argument's name is logged."""
        named = sorted(
            {name for names in _NAMED.findall(error.message) for name in names if name in self.known}
        )
        arguments = {"arguments": named} if named else {}
        log.info(
            "tool.called", outcome="refused", type=error.wire_type, **arguments, **self._took(), **self._ids()
        )

    def crashed(self, error: Exception) -> None:
        """Log an unexpected failure."""
        log.error("tool.called", outcome="crashed", exc_info=error, **self._took(), **self._ids())

    def cancelled(self) -> None:
        """Log that the client cancelled the call, or left."""
        log.info("tool.called", outcome="cancelled", **self._took(), **self._ids())

    def _took(self) -> dict[str, float]:
        return {"milliseconds": round(1000 * (time.perf_counter() - self._started), 1)}

    def _ids(self, returned: Iterable[object] = ()) -> dict[str, str]:
        """Return the ids that the call returned or was given, by kind. Anything else could be a text."""
        ids: dict[str, str] = {}
        for text in (*returned, *(self.arguments.get(name) for name in _ID_ARGUMENTS)):
            for kind, form in _FORMS.items():
                if isinstance(text, str) and form.fullmatch(text.strip()):
                    ids.setdefault(kind, text.strip())
        return ids
