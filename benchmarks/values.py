"""Test and judge texts about groups of experiences: `python -m benchmarks.values`.

`benchmarks/data/value-texts.json` has the groups, and five texts about each, written before anything was tried on them.

- topic: how many texts of each kind `validate_value`'s rule accepts, with each group as a cluster.
- told: how often the three failed hypotheses shown with a contradiction include one that speaks against it, if all
  experiences are one cluster; random is the chance that three drawn from all failed hypotheses do.
- in force: the accepted texts of each kind, stored as values, before and after verdicts. The good text is supported and
  its opposite contradicted by the experiences that speak against the opposite; the others get the verdict `neither`.
"""

import argparse
import asyncio
import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.population import completed
from learning_memory_server.index.document import Collection, point_id
from learning_memory_server.lessons.clustering.topic import ClusterEvidence, match_topic
from learning_memory_server.lessons.values.log import closest_members
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Ghap, Lesson, Resolution, RootCause
from learning_memory_server.model.value import ClusterId, Evidence, Value
from learning_memory_server.model.vocabulary import Axis, Domain, OutcomeStatus, RootCauseCategory, Stance, Strategy
from learning_memory_server.server.composition.logging import configure_logging
from learning_memory_server.server.composition.services import Services

DATA = Path(__file__).parent / "data" / "value-texts.json"
KINDS = ("good", "platitude", "topical", "contradiction", "off_topic")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
CALLER = Caller("benchmark", "a" * 16)
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Group:
    """A group of experiences and the texts about it.

    Args:
        name: What the group is about.
        texts: By kind.
        members: The experiences.
        against: Those that speak against the contradiction.
    """

    name: str
    texts: dict[str, str]
    members: list[Ghap]
    against: list[Ghap]


def main() -> None:
    """Run the benchmark."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    configure_logging("error")
    asyncio.run(run())


def groups() -> list[Group]:
    """Return the groups with their experiences as entries."""
    found = []
    for number, group in enumerate(json.loads(DATA.read_text("utf-8"))["groups"]):
        members = [
            entry(10 * number + place, *parts, against=place in group["against"])
            for place, parts in enumerate(group["experiences"])
        ]
        texts = {kind: group[kind] for kind in KINDS}
        found.append(Group(group["name"], texts, members, [members[place] for place in group["against"]]))
    return found


def entry(number: int, goal: str, hypothesis: str, outcome: str, lesson: str, *, against: bool) -> Ghap:
    """Return a resolved entry."""
    failed = outcome == "f"
    if against and not failed:
        raise ValueError(f"{goal!r} did not fail, so it speaks against nothing")
    at = NOON + timedelta(minutes=number)
    resolution = Resolution(
        OutcomeStatus.FALSIFIED if failed else OutcomeStatus.CONFIRMED,
        lesson,
        at + timedelta(seconds=30),
        surprise=lesson if failed else None,
        root_cause=RootCause(RootCauseCategory.WRONG_ASSUMPTION, lesson) if failed else None,
        lesson=Lesson(lesson, lesson),
    )
    return Ghap(
        id=f"ghap_20260101_120000_{number:06x}",
        project=CALLER.project,
        agent_session=CALLER.session,
        created_at=at,
        domain=Domain.DEBUGGING,
        strategy=Strategy.CHECK_ASSUMPTIONS,
        goal=goal,
        hypothesis=hypothesis,
        action="Try it and look",
        prediction=f"If so, this works: {goal}",
        resolution=resolution,
    )


async def run() -> None:
    """Fill a store, and print every table."""
    written = groups()
    async with completed([member for group in written for member in group.members]) as services:
        accepted = await print_topic(services, written)
        await print_told(services, written)
        print_in_force(services, written, accepted)


async def print_topic(services: Services, written: list[Group]) -> list[tuple[int, str]]:
    """Print how many texts of each kind the rule accepts, and return the group and the kind of those."""
    evidence = []
    for number, group in enumerate(written):
        points = [point_id("ghap", member.id) for member in group.members]
        found = await services.index.vectors_of(Collection.EXPERIENCES_FULL, points)
        vectors = np.array([found[point] for point in points])
        weights = np.array([member.weight for member in group.members])
        evidence.append(ClusterEvidence.of(f"full_{number}", vectors, weights))
    accepted = []
    for number, (group, own) in enumerate(zip(written, evidence, strict=True)):
        others = [other for other in evidence if other is not own]
        for kind in KINDS:
            vector = await services.index.embed(group.texts[kind])
            if match_topic(vector, own, others).valid:
                accepted.append((number, kind))
    print(f"topic: accepted of {len(written)}")
    for kind in KINDS:
        print(f"  {kind:14}{sum(each == kind for _, each in accepted):4}")
    return accepted


async def print_told(services: Services, written: list[Group]) -> None:
    """Print how often a contradiction is shown a failed hypothesis that speaks against it."""
    members = [member for group in written for member in group.members]
    failed = sum(member.outcome.status is OutcomeStatus.FALSIFIED for member in members)
    told = 0
    chances = []
    for group in written:
        vector = await services.index.embed(group.texts["contradiction"])
        closest = await closest_members(services.index, Axis.FULL, members, vector)
        told += bool({each.id for each in closest.falsified} & {each.id for each in group.against})
        others = failed - len(group.against)
        chances.append(1 - math.comb(others, SHOWN) / math.comb(failed, SHOWN))
    print(f"told: contradictions shown what speaks against them, of {len(written)}, one cluster of {len(members)}")
    print(f"  {'shown':14}{told:4}\n  {'random':14}{sum(chances):6.1f}")


def print_in_force(services: Services, written: list[Group], accepted: list[tuple[int, str]]) -> None:
    """Store the accepted texts, and print how many of each kind are in force before and after verdicts."""
    kinds = {}
    for number, kind in accepted:
        made = value(f"value_{number}_{kind}", written[number], kind)
        services.value_log.add(made)
        kinds[made.id] = kind
    before = in_force(services, kinds)
    stances = {"good": Stance.SUPPORTS, "contradiction": Stance.CONTRADICTS}
    for number, kind in accepted:
        for member in written[number].against:
            stance = stances.get(kind, Stance.NEITHER)
            services.values.judge(CALLER, f"value_{number}_{kind}", member.id, stance)
    after = in_force(services, kinds)
    print("in force, of those accepted: before and after verdicts")
    for kind in KINDS:
        print(f"  {kind:14}{before[kind]:4}{after[kind]:4}")


def in_force(services: Services, kinds: dict[str, str]) -> dict[str, int]:
    """Return how many values of each kind are in force."""
    counts = dict.fromkeys(KINDS, 0)
    for standing in services.values.list_values():
        counts[kinds[standing.value.id]] += standing.is_in_force
    return counts


def value(name: str, group: Group, kind: str) -> Value:
    """Return a text as a stored value."""
    evidence: dict[str, Any] = {"similarity": 0.0, "centroid_distance": 1.0, "threshold": 1.0}
    members = tuple(member.id for member in group.members)
    return Value(
        id=name,
        text=group.texts[kind],
        cluster_id=ClusterId(Axis.FULL, 0),
        project=CALLER.project,
        created_at=NOON,
        evidence=Evidence(member_ids=members, centroid=(), embedding="", **evidence),
    )


if __name__ == "__main__":
    main()
