"""The verdicts in the journal: one for each value and entry, the last one given."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from learning_memory_server.journal.codec import VERDICT
from learning_memory_server.journal.records import Records
from learning_memory_server.model.verdict import Verdict, verdict_id

if TYPE_CHECKING:
    from learning_memory_server.journal.log import Log
    from learning_memory_server.model.caller import Caller
    from learning_memory_server.model.value import Value
    from learning_memory_server.model.vocabulary import Stance


class VerdictLog(Records[Verdict]):
    """The verdicts in the journal."""

    def __init__(self, log: Log) -> None:
        super().__init__(log, VERDICT)

    def record(self, caller: Caller, value: Value, at: datetime, stances: Mapping[str, Stance]) -> None:
        """Write verdicts on a value, all or none. Those that change nothing are left out."""
        new = []
        for ghap_id, stance in stances.items():
            before = self.find(verdict_id(value.id, ghap_id))
            if before is None or before.stance is not stance:
                requests = (
                    *(before.requests if before else ()),
                    *([caller.request] if caller.request else ()),
                )
                new.append(Verdict(value.id, ghap_id, stance, value.project, at, requests))
        self.add(*new)

    def by_value(self) -> dict[str, list[Verdict]]:
        """Return the verdicts on each value that has any, oldest first."""
        found: dict[str, list[Verdict]] = {}
        for verdict in self.all():
            found.setdefault(verdict.value_id, []).append(verdict)
        return found

    def about(self, ids: Container[str]) -> list[Verdict]:
        """Return the verdicts on these values or entries: they are forgotten with them."""
        return [each for each in self.all() if each.value_id in ids or each.ghap_id in ids]

    def import_new(self, verdicts: Iterable[Verdict], forgotten: Container[str]) -> list[Verdict]:
        """Import and return verdicts that are new, except those on values or entries that are forgotten here."""
        return self.add_new(
            each for each in verdicts if each.value_id not in forgotten and each.ghap_id not in forgotten
        )
