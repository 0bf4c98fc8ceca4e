"""Advice in the journal: the things shown about an entry."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from learning_memory_server.journal.log import Log
from learning_memory_server.journal.records import Records
from learning_memory_server.model.advice import Advice, Channel, Effect, advice_id
from learning_memory_server.model.entry import Ghap


class AdviceLog(Records[Advice]):
    """The advice in the journal.

    An earlier version could withhold advice, to measure its effect. Its lines about that are not advice, since nothing
    was shown; they are only forgotten with what they are about.
    """

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._withheld: dict[str, Advice] = {}
        self._effects: tuple[int, dict[str, tuple[int, int]]] | None = None
        self._added = 0
        self._shown: tuple[tuple[int, int], Counter[str]] | None = None

    def of(self, entry: Ghap) -> list[Advice]:
        """Return the advice on an entry, in the order of its iterations."""
        names = (
            advice_id(entry.id, revision, channel)
            for revision in range(1, entry.iteration_count + 1)
            for channel in Channel
        )
        return [found for name in names if (found := self.find(name))]

    def add(self, *things: Advice, at: datetime | None = None) -> None:
        """Write advice to the log; see `Records.add`."""
        before = [self.find(each.id) for each in things]
        super().add(*things, at=at)
        self._added += 1
        # What is shown says nothing of effects yet, and counting them again would take longer, the more there is.
        if any(item.effect for each in (*before, *things) if each for item in each.items):
            self._effects = None

    def mark(self, entry: Ghap, effects: Mapping[str, Effect], at: datetime) -> None:
        """Record helped and misled, without unchanged ones. Things that are not in `effects` had none."""
        before = self.of(entry)
        marked = [
            replace(advice, items=tuple(replace(item, effect=effects.get(item.id)) for item in advice.items))
            for advice in before
        ]
        self.add(*(advice for advice in marked if advice not in before), at=at)

    def said(self) -> set[tuple[str, str, Effect]]:
        """Return for which entry each thing helped or misled."""
        own = (advice for advice in self.all() if not advice.imported)
        return {(advice.ghap_id, item.id, item.effect) for advice in own for item in advice.items if item.effect}

    def effects(self) -> Mapping[str, tuple[int, int]]:
        """Return for how many entries each thing misled, and for how many it helped, by its id."""
        self._loaded()
        forgotten = len(self._tombstones)
        if self._effects is None or self._effects[0] != forgotten:
            said = [(name, effect) for _, name, effect in self.said()]
            misled, helped = (
                Counter(name for name, effect in said if effect is kind) for kind in (Effect.MISLED, Effect.HELPED)
            )
            names = misled.keys() | helped.keys()
            self._effects = forgotten, {name: (misled[name], helped[name]) for name in names}
        return self._effects[1]

    def is_worn(self, name: str) -> bool:
        """Return whether something was shown twice or more, and never helped."""
        effects, state = self.effects(), (self._added, len(self._tombstones))
        if self._shown is None or self._shown[0] != state:
            own = (each for each in self.all() if not each.imported)
            self._shown = state, Counter(item.id for each in own for item in each.items)
        return self._shown[1][name] > 1 and not effects.get(name, (0, 0))[1]

    def about(self, ids: Container[str]) -> list[str]:
        """Return the ids of the advice on these entries, or that showed them or these values: forgotten with them."""
        everything = (*self.all(), *self._withheld.values())
        return [each.id for each in everything if each.ghap_id in ids or any(item.id in ids for item in each.items)]

    def import_new(self, given: Iterable[Advice], forgotten: Container[str]) -> list[Advice]:
        """Import and return advice that is new, except that on or with something that is forgotten here."""
        return self.add_new(
            each
            for each in given
            if each.ghap_id not in forgotten
            and not any(item.id in forgotten for item in each.items)
            and not _was_withheld(each)
        )

    def _forgettable(self, name: str) -> Advice | None:
        return self.find(name) or self._withheld.get(name)

    def _read(self) -> dict[str, Advice]:
        read = super()._read()
        self._withheld = {name: each for name, each in read.items() if _was_withheld(each)}
        return {name: each for name, each in read.items() if name not in self._withheld}


def _was_withheld(advice: Advice) -> bool:
    """Return whether a line of an earlier version says that this was never shown."""
    return bool(advice.others.get("withheld"))


def counts_of(advice: Sequence[Advice]) -> dict[str, int]:
    """Return for how many entries advice was shown, how much, and how often it helped or misled."""
    shown = {(each.ghap_id, item.id) for each in advice for item in each.items}
    said = {(each.ghap_id, item.id, item.effect) for each in advice for item in each.items}
    effects = Counter(effect for _, _, effect in said)
    return {
        "entries": len({name for name, _ in shown}),
        "items": len(shown),
        "helped": effects[Effect.HELPED],
        "misled": effects[Effect.MISLED],
    }
