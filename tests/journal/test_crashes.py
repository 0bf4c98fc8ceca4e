"""Any sequence of writes, with the process dying at any byte of any of them, or the disk refusing one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings, strategies as st

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.lessons.values.log import ValueLog
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.value import ClusterId, Evidence, Value
from learning_memory_server.model.vocabulary import Axis
from tests.journal.mortal import MortalDisk, MortalSystem, PowerLossError
from tests.support import ALICE, BOB, CAROL, CONFIRMED, TickingClock, ghap, start

CASES = 2_000
CALLERS = (ALICE, BOB, CAROL)
# An append takes two steps, the first of which writes; the first append to a file takes up to six. None: no death.
SURVIVED_STEPS = [None, None, None, None, None, None, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 8, 11]
STEP_BYTES = 5
REFUSED_FROM, REFUSED_TWICE_FROM = 160, 208
FEWEST, MOST = 3, 8


@dataclass(frozen=True)
class End:
    """When an operation ends: after how many steps, at which byte of the next, by death or by one or two refusals."""

    steps: int
    cut: int
    refused: bool
    again: int | None = None  # how many steps are allowed between the two: none if it is the roll-back that fails

    def prepare(self, system: MortalSystem) -> None:
        if self.refused:
            system.refuse_after(self.steps, self.cut, self.again)
        else:
            system.die_after(self.steps, self.cut)


@dataclass(frozen=True)
class State:
    """What the journal should say. Each thing is identified by its one unique text."""

    open: dict[str, tuple[object, ...]] = field(default_factory=dict)
    resolved: dict[str, tuple[object, ...]] = field(default_factory=dict)
    forgotten: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    clusters: tuple[int, ...] = ()

    def and_also(self, added: State) -> State:
        return replace(
            self,
            resolved={**self.resolved, **added.resolved},
            values=self.values | added.values,
            clusters=(*self.clusters, *added.clusters),
        )


def told(entry: Ghap) -> tuple[object, ...]:
    """The parts of an entry that these tests change."""
    result = entry.resolution.result if entry.resolution else None
    return entry.project, entry.hypothesis, entry.iteration_count, entry.notes, entry.orphaned, result


class World:
    """A journal and its services in a process, the state they should be in, and the end of the process."""

    def __init__(self, path: Path, seen: Counter[str]) -> None:
        self.path = path
        self.seen = seen
        self.system = MortalSystem()
        self.clock = TickingClock(step=timedelta(days=3))
        self.state = State()
        self.ids: dict[str, str] = {}
        self.numbers = count()
        self.restart()

    def restart(self) -> None:
        self.journal = Journal(self.path, disk=MortalDisk(self.system))
        self.collector = ObservationCollector(self.journal, self.clock)
        self.values = ValueLog(self.journal.values)
        self.tidy = True

    def observed(self) -> State:
        """Return what a new reader of the files finds."""
        journal = Journal(self.path)
        collector, values = ObservationCollector(journal, self.clock), ValueLog(journal.values)
        # An open file may remain until the next start after its entry was resolved or forgotten. The files are
        # compared directly, because the collector corrects what a crash left of a start.
        files = journal.open_entries()
        still = {entry.id for entry in collector.look_up(file.id for file in files).found if not entry.resolution}
        opened = [file for file in files if file.id in still]
        entries = {entry.goal: entry for entry in (*collector.list_resolved(), *opened)}
        self.ids |= {goal: entry.id for goal, entry in entries.items()}
        self.ids |= {value.text: value.id for value in values.all()}
        gone = set(collector.look_up(self.ids.values()).before) | set(values.look_up(self.ids.values()).before)
        return State(
            {goal: told(entry) for goal, entry in entries.items() if not entry.resolution},
            {goal: told(entry) for goal, entry in entries.items() if entry.resolution},
            frozenset(text for text, name in self.ids.items() if name in gone),
            frozenset(value.text for value in values.all()),
            tuple(record.data["number"] for record in journal.clusters.read().records),
        )


def open_entry(world: World, choice: int) -> Ghap | None:
    """Return one of the open entries, as the process knows it."""
    goals = sorted(world.state.open)
    if not goals:
        return None
    (entry,) = world.collector.look_up([world.ids[goals[choice % len(goals)]]]).found
    return entry


# Each operation is a call and the states that it passes through: the last one if it was acknowledged, any of them
# if it was not.
Operation = tuple["Callable[[], object]", list[State]]


def starting(world: World, choice: int) -> Operation:
    caller, goal = CALLERS[choice % 3], f"goal {next(world.numbers)}"
    before, orphan = world.state, world.collector.still_open.current(caller)
    new = told(ghap(goal=goal, project=caller.project))
    states = [before, replace(before, open={**before.open, goal: new})]
    if orphan:
        marked = {orphan.goal: told(replace(orphan, orphaned=True))}
        states.append(replace(states[-1], open={**states[-1].open, **marked}))
    return lambda: start(world.collector, caller, goal=goal), states


def updating(world: World, choice: int) -> Operation | None:
    caller, number, entry = CALLERS[choice % 3], next(world.numbers), open_entry(world, choice)
    if entry is None:
        return None
    change: dict[str, Any] = {"note": f"note {number}"}
    after = replace(entry, notes=(*entry.notes, f"note {number}"))
    if world.collector.still_open.current(caller) is None and entry.project == caller.project:
        after = replace(after, orphaned=False)
    said = list(told(after))
    if choice % 2:
        change["hypothesis"] = said[1] = f"hypothesis {number}"
        said[2] = entry.iteration_count + 1
    before = world.state
    later = replace(before, open={**before.open, entry.goal: tuple(said)})
    return lambda: world.collector.update(caller, entry.id, **change), [before, later]


def resolving(world: World, choice: int) -> Operation | None:
    caller, entry = CALLERS[choice % 3], open_entry(world, choice)
    if entry is None:
        return None
    end = replace(CONFIRMED, result=f"result {next(world.numbers)}")
    before = world.state
    rest = {goal: said for goal, said in before.open.items() if goal != entry.goal}
    said = told(replace(entry, orphaned=False, resolution=end))
    return (
        lambda: world.collector.resolve(caller, entry.id, status=end.status, result=end.result),
        [before, replace(before, open=rest, resolved={**before.resolved, entry.goal: said})],
    )


def importing(world: World, choice: int) -> Operation:
    """Import new entries together with one that is known or forgotten."""
    at = world.clock()
    entries = []
    for _ in range(1 + choice % 3):
        number = next(world.numbers)
        entry = ghap(id=f"ghap_import_{number}", goal=f"goal {number}", created_at=at)
        entries.append(replace(entry, resolution=replace(CONFIRMED, resolved_at=at)))
    states = [world.state]
    for entry in entries:
        states.append(replace(states[-1], resolved={**states[-1].resolved, entry.goal: told(entry)}))
        world.ids[entry.goal] = entry.id
    goals = [text for text in world.ids if text.startswith("goal") and _is_past(world, text)]
    if goals:
        old = goals[choice % len(goals)]
        entries.append(replace(entries[0], id=world.ids[old], goal=old))
    return lambda: world.collector.add_resolved(entries), states


def forgetting(world: World, choice: int) -> Operation:
    """Forget up to three entries, some of which may be forgotten already."""
    goals = [text for text in world.ids if text.startswith("goal") and _is_past(world, text)]
    chosen = (goals[choice:] + goals[:choice])[: 1 + choice % 3]
    ids = [*(world.ids[goal] for goal in chosen), "ghap_unknown"]
    return lambda: world.collector.forget(ids, world.clock()), _forgetting_states(world.state, chosen)


def forgetting_a_project(world: World, choice: int) -> Operation:
    project = CALLERS[choice % 3].project
    found = world.collector.look_up_project(project).found
    return (
        lambda: world.collector.forget([entry.id for entry in found], world.clock()),
        _forgetting_states(world.state, [entry.goal for entry in found]),
    )


def storing_a_value(world: World, _: int) -> Operation:
    text = f"value {next(world.numbers)}"
    evidence = Evidence(("ghap_a", "ghap_b"), (0.6, 0.8), 0.9, 0.1, 0.2, "model")
    world.ids[text] = f"value_{text}"
    value = Value(world.ids[text], text, ClusterId(Axis.FULL, 0), "p", world.clock(), evidence)
    before = world.state
    later = replace(before, values=before.values | {text})
    return lambda: world.values.add(value), [before, later]


def forgetting_values(world: World, choice: int) -> Operation:
    before = world.state
    chosen = sorted(before.values)[choice % 3 :]
    states = [before]
    for text in chosen:
        last = states[-1]
        states.append(replace(last, values=last.values - {text}, forgotten=last.forgotten | {text}))
    ids = [world.ids[text] for text in chosen]
    return lambda: world.values.forget(ids, world.clock()), states


def clustering(world: World, _: int) -> Operation:
    number, before = next(world.numbers), world.state
    record = JournalRecord("clusters", "full", world.clock(), {"number": number})
    later = replace(before, clusters=(*before.clusters, number))
    return lambda: world.journal.clusters.append([record]), [before, later]


def purging(world: World, _: int) -> Operation:
    def purge() -> None:
        done = world.journal.purge()
        world.seen["purges that removed lines"] += bool(done.removed)
        for path in world.path.rglob("*.*"):
            for text in world.state.forgotten:
                assert f'"{text}"'.encode() not in path.read_bytes() or path in done.doubtful

    return purge, [world.state]


OPERATIONS: list[Callable[[World, int], Operation | None]] = [
    *[starting] * 3,
    *[updating, resolving, importing, forgetting, purging] * 2,
    *[forgetting_a_project, storing_a_value, forgetting_values, clustering],
]
"""What happens the oftener, the more often it is here."""


def decoded(plan: bytes) -> Iterator[tuple[Callable[[World, int], Operation | None], int, End | None]]:
    """Yield the operations that some bytes encode, with their choices and the moment when the process dies.

    One draw of bytes costs hypothesis a fraction of what it takes to draw each part.
    """
    if plan[-1] % 2:
        # By chance, few journals would have anything to purge.
        yield importing, 2, None
        yield forgetting, plan[0] % 3, None
    for place in range(0, len(plan) - STEP_BYTES + 1, STEP_BYTES):
        operation, choice, survived, high, low = plan[place : place + STEP_BYTES]
        steps = SURVIVED_STEPS[survived % len(SURVIVED_STEPS)]
        again = (0, 0, 1, 2)[high % 4] if choice >= REFUSED_TWICE_FROM else None
        end = None if steps is None else End(steps, high * 256 + low, choice >= REFUSED_FROM, again)
        yield OPERATIONS[operation % len(OPERATIONS)], choice % 8, end


def _is_past(world: World, text: str) -> bool:
    """Return whether it was acknowledged, or seen after a crash."""
    state = world.state
    return text in state.open or text in state.resolved or text in state.forgotten


def _forgetting_states(before: State, goals: list[str]) -> list[State]:
    states = [before]
    for goal in goals:
        last = states[-1]
        if goal not in last.forgotten:
            rest = {text: said for text, said in last.open.items() if text != goal}
            resolved = {text: said for text, said in last.resolved.items() if text != goal}
            states.append(replace(last, open=rest, resolved=resolved, forgotten=last.forgotten | {goal}))
    return states


def live_through(world: World, operation: Operation, end: End | None) -> None:
    """Run an operation, in which the process may die, and check what the journal says afterwards."""
    act, states = operation
    if end:
        end.prepare(world.system)
    try:
        done = act()
    except (PowerLossError, JournalUnavailableError) as error:
        refused = isinstance(error, JournalUnavailableError)
        world.system.live()
        is_double = bool(refused and end and end.again is not None)
        assert not refused or is_double or world.journal.damage() == [], "what was refused could be taken back"
        added = go_on(world) if refused else State()
        assert not world.journal.changed_by_others, "what this process did itself counts as done by another"
        recover(world, end)
        observed = world.observed()
        states = [state.and_also(added) for state in states]
        assert observed in states
        world.seen["double refusals"] += is_double
        world.state = observed
        world.seen["refusals" if refused else "deaths"] += 1
        world.seen["ends that left the new state" if observed == states[-1] else "ends that left an old one"] += 1
    else:
        # The step that was refused in an acknowledged operation is the removal of a file, which the next start repeats,
        # or the mark of an orphan.
        world.tidy = world.tidy and not (end and end.refused)
        assert not world.system.dirty or not world.tidy, "a loss of power would take it back"
        world.system.live()
        if isinstance(done, Ghap):
            world.ids[done.goal] = done.id
        world.state = world.observed() if end and end.refused else states[-1]
        assert world.state in states
        assert len(world.journal.open_files()) == len(world.state.open) or not world.tidy


def go_on(world: World) -> State:
    """Let the process acknowledge a record of each log after a refusal, and return what these are."""
    before, world.state = world.state, State()
    for make in (importing, storing_a_value, clustering):
        act, states = make(world, 0)
        act()
        world.state = states[-1]
    added, world.state = world.state, before
    return added


def recover(world: World, end: End | None) -> None:
    """Start the next process, which may die during recovery."""
    world.restart()
    if end:
        world.system.die_after(end.cut % 5, end.cut)
    try:
        set_aside = world.journal.recover(world.clock())
    except PowerLossError:
        world.seen["deaths in recovery"] += 1
        world.system.live()
        set_aside = world.journal.recover(world.clock())
    world.system.live()
    world.seen["torn lines"] += len(set_aside)
    assert world.journal.damage() == []
    assert list(world.path.rglob("*.tmp")) == []


def emptied(path: Path) -> Path:
    """Empty the directory. Creating and removing directories would take longer than everything else."""
    for file in path.rglob("*.*"):
        file.unlink()
    return path


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_death_at_any_byte(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=CASES, suppress_health_check=list(HealthCheck))
    @given(st.binary(min_size=STEP_BYTES * FEWEST, max_size=STEP_BYTES * MOST))
    def recovers(plan: bytes) -> None:
        seen["cases"] += 1
        world = World(emptied(tmp_path / f"journal-{seen['cases'] // 50}"), seen)
        for make, choice, end in decoded(plan):
            note(f"{make.__name__} {choice} {end or ''}")
            if operation := make(world, choice):
                seen[make.__name__] += 1
                live_through(world, operation, end)
        assert world.observed() == world.state
        assert {entry.goal for entry in world.collector.list_resolved()} == world.state.resolved.keys()

    recovers()

    print(dict(seen))  # noqa: T201 - how much was tried is the result
    assert seen["cases"] >= CASES
    # A generator that stops reaching one of these would prove nothing about it.
    assert min(seen[make.__name__] for make in OPERATIONS) > CASES / 20
    for reached in (
        "deaths",
        "refusals",
        "double refusals",
        "ends that left the new state",
        "ends that left an old one",
        "deaths in recovery",
        "torn lines",
        "purges that removed lines",
    ):
        assert seen[reached] > CASES / 100, reached
