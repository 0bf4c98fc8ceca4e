"""What agents say of lessons: what helped and misled, and what supersedes what."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import Records
from learning_memory_server.lessons.effects import Effects
from learning_memory_server.lessons.files.freshness import Freshness
from learning_memory_server.lessons.notes import EntryNotes
from learning_memory_server.model.advice import Advice, AdviceKind, Citation, Effect, Item, TriggerKind
from learning_memory_server.model.entry import Anchor, Ghap
from tests.support import ALICE, NOON, TickingClock, about, reloaded

OLD: Final = about("pool", 1)
HELPED, MISLED = Effect.HELPED, Effect.MISLED


@pytest.fixture
def effects(tmp_path: Path) -> Effects:
    journal = Journal(tmp_path)
    effects = Effects(Records(journal.advice), ObservationCollector(journal, TickingClock()))
    effects.collector.add_resolved([OLD])
    return effects


def says(effects: Effects, number: int, *stated: Effect, of: str = OLD.id, topic: str = "types") -> Ghap:
    """Resolve an entry whose agent says this of a lesson."""
    cited = tuple(Citation(of, AdviceKind.EXPERIENCE, each) for each in stated)
    entry = about(topic, number)
    entry = replace(entry, resolution=replace(entry.outcome, cited=cited))
    effects.collector.add_resolved([entry])
    return entry


def line(number: int, effect: Effect | None, **changes: object) -> Advice:
    """A line of an earlier version, which had the effects in it."""
    items = (Item(OLD.id, AdviceKind.EXPERIENCE, effect=effect),)
    about_entry = {"ghap_id": f"ghap_{number}", "revision": 1, **changes}
    return Advice(TriggerKind.ENTRY_START, items, ALICE.project, NOON, **about_entry)  # type: ignore[arg-type]


def test_each_entry_counts_once_for_what_its_agent_says(effects: Effects) -> None:
    assert effects.counts() == {}
    for number, effect in enumerate((MISLED, HELPED, MISLED), 10):
        says(effects, number, effect)
    assert effects.counts() == {OLD.id: (2, 1)}
    assert (effects.has_misled(OLD.id), effects.has_helped(OLD.id)) == (True, True)
    assert not effects.has_misled("ghap_other")
    assert not effects.has_helped("ghap_other")


def test_effects_in_the_lines_of_earlier_versions_still_count(effects: Effects) -> None:
    effects.advice.add(line(1, HELPED), line(2, MISLED), line(3, None), line(4, HELPED, imported=True))
    assert effects.counts() == {OLD.id: (1, 1)}
    effects.advice.forget([line(1, HELPED).id], NOON)
    assert effects.counts() == {OLD.id: (1, 0)}


def test_what_misled_is_superseded_by_the_last_lesson_whose_agent_said_so(effects: Effects) -> None:
    says(effects, 10, MISLED)
    later = says(effects, 11, MISLED)
    assert effects.successors() == {OLD.id: later.id}
    notes = EntryNotes(effects, Freshness())
    assert notes.of([OLD, later], "") == {OLD.id: {"superseded_by": later.id}, later.id: {}}


def test_nothing_is_superseded_that_helped_as_often_or_by_what_teaches_nothing(effects: Effects) -> None:
    says(effects, 10, MISLED)
    says(effects, 11, HELPED)
    assert effects.successors() == {}
    mute = about("types", 12)
    cited = (Citation(OLD.id, AdviceKind.EXPERIENCE, MISLED),)
    effects.collector.add_resolved([replace(mute, resolution=replace(mute.outcome, lesson=None, cited=cited))])
    assert effects.has_misled(OLD.id)
    assert effects.successors() == {OLD.id: about("types", 10).id}


@pytest.mark.parametrize("seed", range(5))
def test_whatever_comes_and_goes_the_counts_are_what_the_journal_says(
    effects: Effects, tmp_path: Path, seed: int
) -> None:
    drawn, there = random.Random(seed), [OLD.id]
    for number in range(10, 40):
        if len(there) > 1 and drawn.random() < 0.7:
            effects.collector.forget([there.pop(drawn.randrange(1, len(there)))], NOON)
        there.append(says(effects, number, drawn.choice([MISLED, HELPED]), of=drawn.choice(there)).id)
        if drawn.random() < 0.3:
            effects.collector.anchor(there[-1], (Anchor("a.py", "0" * 40),))
        fresh = Effects(effects.advice, effects.collector)
        assert effects.successors() == fresh.successors()
        assert effects.counts() == fresh.counts()
    journal = Journal(tmp_path)
    again = Effects(Records(journal.advice), reloaded(journal))
    assert again.counts() == effects.counts()
