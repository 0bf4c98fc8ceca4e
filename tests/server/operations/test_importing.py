"""Importing records: all of a batch or none, and nothing twice."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.errors import InsufficientDataError, InvalidInputError
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.kinds import GHAP, MEMORY as MEMORIES
from learning_memory_server.model.advice import Reason
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.memory import Memory
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.server.composition.services import Services
from tests.journal.archive.making import advice_record, failure_record, held, value_record, verdict_record
from tests.lessons.errors.agent import Agent, Recorder
from tests.services import opened, run
from tests.support import ALICE, NOON, about, ghap

ENTRIES = [about(topic, number) for number, topic in enumerate(["pool", "cache", "types"] * 10)]
MEMORY = Memory(
    id="7b0f7d5e-9a51-4c8e-8f0a-0123456789ab",
    text="The build machine has two cores.",
    metadata={"tags": ["ci"]},
    date=NOON,
    project=ALICE.project,
    created_at=NOON,
    request="front:1",
)

ITEM = {"id": "a", "kind": "experience"}


def memory_record(**changes: Any) -> JournalRecord:
    return JournalRecord("memory", MEMORY.id, NOON, {**MEMORIES.encode(MEMORY), **changes})


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[Services]:
    async with opened(tmp_path) as services:
        yield services


async def take(services: Services, *records: JournalRecord) -> list[str]:
    added: list[str] = (await run(services, "add_records", records=[each.to_fields() for each in records]))["added"]
    return added


def entries(*these: Ghap) -> list[JournalRecord]:
    return [JournalRecord.of(GHAP, entry) for entry in these]


@pytest.mark.slow
async def test_new_clusters_continue_the_imported_numbering(services: Services) -> None:
    await run(services, "complete")
    # A request before the import must not clear the numbering.
    with pytest.raises(InsufficientDataError):
        await services.clusterer.cluster_axis(Axis.FULL)
    numbers = JournalRecord("clusters", Axis.FULL, NOON, {"next_number": 50, "moved": {}})
    assert await take(services, numbers) == [Axis.FULL]
    assert await take(services, numbers) == []
    await take(services, *entries(*ENTRIES))
    await run(services, "complete")
    found = (await services.clusterer.cluster_axis(Axis.FULL)).clusters
    assert len(found) == 3
    assert min(cluster.id.number for cluster in found) == 50
    other = JournalRecord("clusters", Axis.STRATEGY, NOON, {"next_number": 9, "moved": {}})
    assert await take(services, other) == []


async def test_values_and_memories_are_imported_once_and_can_be_found(services: Services) -> None:
    records = [value_record(1, request="front:2"), memory_record()]
    assert await take(services, *records) == [value_record(1).id, MEMORY.id]
    assert await take(services, *records) == []
    assert (await run(services, "complete"))["points"] == 2
    kept = held(services.journal).records
    assert all("request" not in record.data for record in kept.values())
    assert kept["memory", MEMORY.id].data["text"] == MEMORY.text


async def test_verdicts_are_imported_unless_what_they_are_about_is_forgotten(services: Services) -> None:
    services.collector.add_resolved(ENTRIES[:2])
    await run(services, "apply_deletions", forgotten={"ghap": [ENTRIES[5].id]}, existing_too=True)
    records = [verdict_record(1, ENTRIES[number].id) for number in (0, 1, 5)]
    assert await take(services, value_record(1), *records) == [
        value_record(1).id,
        *(record.id for record in records[:2]),
    ]
    assert await take(services, *records) == []
    (standing,) = services.values.list_values()
    assert standing.supporting == (ENTRIES[0].id, ENTRIES[1].id)

    await run(services, "apply_deletions", forgotten={"ghap": [ENTRIES[0].id]}, existing_too=True)
    assert [verdict.ghap_id for verdict in services.verdicts.all()] == [ENTRIES[1].id]
    gone = {"verdict": [records[1].id, records[2].id]}
    noted = await run(services, "apply_deletions", forgotten=gone, existing_too=False)
    assert (noted["forgotten"], noted["noted"]) == (0, 1)
    await run(services, "apply_deletions", forgotten={"value": [value_record(1).id]}, existing_too=True)
    assert services.verdicts.all() == []
    assert await take(services, value_record(1), *records) == []


async def test_an_entry_or_a_value_is_forgotten_with_the_verdicts_on_it(services: Services) -> None:
    services.collector.add_resolved(ENTRIES[:3])
    records = [verdict_record(number, entry.id) for number in (1, 2) for entry in ENTRIES[:2]]
    await take(services, value_record(1), value_record(2), *records)

    async def forget(*ids: str) -> None:
        await run(services, "forget", ids=list(ids), project=None, purge=True, preview=False)

    await forget(ENTRIES[0].id)
    assert {verdict.ghap_id for verdict in services.verdicts.all()} == {ENTRIES[1].id}
    assert ENTRIES[0].id.encode() not in (services.journal.path / "verdicts.jsonl").read_bytes()
    await forget(value_record(1).id)
    (left,) = services.verdicts.all()
    assert (left.value_id, left.ghap_id) == (value_record(2).id, ENTRIES[1].id)


async def test_a_deletion_elsewhere_counts_the_verdicts_that_it_lists(services: Services) -> None:
    services.collector.add_resolved(ENTRIES[:3])
    verdicts = [verdict_record(1, entry.id) for entry in ENTRIES[:3]]
    await take(services, value_record(1), *verdicts)
    forgotten = {"ghap": [ENTRIES[0].id], "verdict": [verdicts[0].id, verdicts[1].id]}
    applied = await run(services, "apply_deletions", forgotten=forgotten, existing_too=True)
    assert applied["forgotten"] == 3
    assert [verdict.id for verdict in services.verdicts.all()] == [verdicts[2].id]


async def test_advice_is_imported_and_forgotten_with_what_it_is_about_and_what_it_showed(services: Services) -> None:
    services.collector.add_resolved(ENTRIES[:4])
    first = advice_record(ENTRIES[2].id, ENTRIES[0].id)
    matched = {"id": ENTRIES[1].id, "kind": "experience", "score": 0.512, "reason": "both"}
    second = advice_record(ENTRIES[3].id, ENTRIES[1].id, items=[matched])
    assert await take(services, first, second) == [first.id, second.id]
    kept = [item for advice in services.advice_log.all() for item in advice.items]
    assert [(item.score, item.reason) for item in kept] == [(None, None), (0.512, Reason.BOTH)]
    assert await take(services, first, second) == []
    await run(services, "forget", ids=[ENTRIES[0].id], project=None, purge=True, preview=False)
    assert [advice.id for advice in services.advice_log.all()] == [second.id]
    assert ENTRIES[0].id.encode() not in (services.journal.path / "advice.jsonl").read_bytes()
    await run(services, "apply_deletions", forgotten={"ghap": [ENTRIES[3].id]}, existing_too=True)
    assert services.advice_log.all() == []
    assert await take(services, first, second) == []


async def test_failures_are_imported_once_and_an_error_is_forgotten_with_them_all(services: Services) -> None:
    records = [failure_record("a1"), failure_record("b2"), failure_record("c3", "elsewhere")]
    assert await take(services, *records) == [record.id for record in records]
    assert await take(services, *records) == []
    (error,) = {each.error for each in services.failure_log.all() if each.project == ALICE.project}
    forgotten = await run(services, "forget", ids=[error], project=None, purge=True, preview=False)
    assert {each["id"] for each in forgotten["found"]} == {record.id for record in records[:2]}
    assert forgotten["removed"] == 2
    assert b"python3" in (services.journal.path / "failures.jsonl").read_bytes()
    assert await take(services, *records) == []
    await run(services, "forget", ids=[], project="elsewhere", purge=True, preview=False)
    assert b"python3" not in (services.journal.path / "failures.jsonl").read_bytes()
    assert services.failure_log.all() == []
    assert await take(services, *records) == []


async def test_deletions_elsewhere_count_for_imported_failures(services: Services) -> None:
    await take(services, failure_record())
    gone = {"failure": [failure_record().id, failure_record("never").id]}
    assert (await run(services, "apply_deletions", forgotten=gone, existing_too=True))["forgotten"] == 1
    await Agent(Recorder(services.failure_log, services.redaction), "new", ALICE.project).fails(
        "python run.py", "KeyError: 'price'"
    )
    assert await take(services, failure_record("never")) == []


async def test_a_secret_in_an_imported_failure_is_not_stored(services: Services) -> None:
    secret = "ghp_" + "a8Kd93jfLw02mXq7Zt5vBn1cYr6uPe4oHs8g"
    await take(services, failure_record(remedy=f"curl -H 'Authorization: token {secret}' x"))
    (kept,) = services.failure_log.all()
    assert "[redacted: " in str(kept.worked)
    assert secret.encode() not in (services.journal.path / "failures.jsonl").read_bytes()


async def test_a_memory_that_was_forgotten_elsewhere_is_never_imported(services: Services) -> None:
    forgotten = {"memory": [MEMORY.id]}
    noted = await run(services, "apply_deletions", forgotten=forgotten, existing_too=False)
    assert (noted["noted"], noted["forgotten"]) == (1, 0)
    assert await take(services, memory_record()) == []
    assert services.memory_log.all() == []
    assert (await run(services, "apply_deletions", forgotten=forgotten, existing_too=True))["noted"] == 0


@pytest.mark.slow
async def test_nothing_that_was_forgotten_comes_back(services: Services) -> None:
    await take(services, value_record(1), memory_record())
    services.collector.add_resolved(ENTRIES[:2])
    await take(services, *entries(ghap()))
    await run(services, "complete")
    forgotten = {
        "ghap": [ENTRIES[0].id, ghap().id, ENTRIES[5].id],
        "value": [value_record(1).id, value_record(2).id],
        "memory": [MEMORY.id],
    }
    noted = await run(services, "apply_deletions", forgotten=forgotten, existing_too=False)
    assert noted == {"forgotten": 0, "noted": 2, "indexed": True}
    applied = await run(services, "apply_deletions", forgotten=forgotten, existing_too=True)
    assert applied == {"forgotten": 4, "noted": 0, "indexed": True}
    again = await run(services, "apply_deletions", forgotten=forgotten, existing_too=True)
    assert again == {"forgotten": 0, "noted": 0, "indexed": True}
    assert await take(services, value_record(1), value_record(2), memory_record()) == []
    assert await take(services, *entries(ghap(), *(ENTRIES[number] for number in (0, 1, 5)))) == []
    assert (await run(services, "complete"))["points"] == 2
    assert held(services.journal).entries.keys() == {ENTRIES[1].id}


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (None, r"records\[1\]: Input should be a valid dictionary\."),
        ({}, r"records\[1\]: Object missing required field `kind`\."),
        (
            {"kind": "value", "id": "v", "at": NOON.isoformat(), "data": 3},
            r"records\[1\]: Expected `object`, got `int` - at `\$\.data`\.",
        ),
        ({"kind": "value", "id": "v", "at": "now", "data": {}}, r"records\[1\]: Invalid RFC3339 .*\$\.at"),
        (
            {"kind": "value", "id": "\ud800", "at": NOON.isoformat(), "data": {}},
            r"records\[1\]: cannot be stored in the journal",
        ),
        ({"kind": "dream", "id": "d", "at": NOON.isoformat(), "data": {}}, "the kind 'dream'"),
        (value_record(1, text="x" * 501), "text: 501 characters"),
        (advice_record("ghap_1", "a b"), "items: 'a b' is not a valid id"),
        (advice_record("ghap_1", "a", ghap_id="ghap_2"), "is not the id of this advice"),
        (advice_record("ghap_1", "a", channel="smoke"), "is not data of the kind 'advice'"),
        (advice_record("ghap_1", "a", created_at="2026-01-01T00:00:00"), "must have an offset"),
        (advice_record("ghap_1", "a", items=[{**ITEM, "score": 1e9}]), "score: must be a number"),
        (advice_record("ghap_1", "a", items=[{**ITEM, "score": True}]), r"got `bool` - at `\$.items\[0\].score`"),
        (advice_record("ghap_1", "a", items=[{**ITEM, "reason": "luck"}]), "is not data of the kind"),
        (failure_record(id="failure_1"), "is not the id of this failure"),
        (failure_record(command="x" * 401), "command, remedy: 401 characters"),
        (failure_record(signature=""), "signature: must not be empty"),
        (failure_record(times=True), r"Expected `int`, got `bool` - at `\$.times`"),
        (failure_record(times=0), "times: must be a whole number"),
        (failure_record(created_at="2026-01-01T00:00:00"), "must have an offset"),
        (failure_record(remedy=7), r"Expected `str \| null`, got `int` - at `\$.worked`"),
        (verdict_record(1, "ghap_1", verdict="likes"), "is not data of the kind 'verdict'"),
        (verdict_record(1, "ghap_1", ghap_id="ghap_2"), "is not the id of this verdict"),
        (verdict_record(1, "a b"), "ghap_id: 'a b' is not a valid id"),
        (verdict_record(1, "a", created_at="2026-01-01T00:00:00"), "must have an offset"),
        (value_record(1, evidence=3), "is not data of the kind 'value'"),
        (memory_record(text=""), "text: must not be empty"),
        (memory_record(metadata={"timestamp": "yesterday"}), "timestamp"),
        (memory_record(id="other"), "is not the id of this memory"),
        (JournalRecord("clusters", Axis.FULL, NOON, {"moved": {}}), "is not data of the kind 'clusters'"),
        (
            JournalRecord("clusters", Axis.FULL, NOON, {"next_number": -1, "moved": {}}),
            "must be whole numbers from 0 to 100,000,000",
        ),
    ],
)
async def test_one_bad_record_refuses_the_whole_batch(services: Services, bad: object, reason: str) -> None:
    given = bad.to_fields() if isinstance(bad, JournalRecord) else bad
    with pytest.raises(InvalidInputError, match=reason):
        await run(services, "add_records", records=[value_record(3).to_fields(), given])
    assert not held(services.journal).records


async def test_one_bad_entry_refuses_the_whole_batch(services: Services) -> None:
    (good,) = entries(ENTRIES[0])
    for bad, reason in [
        ({"id": "other"}, r"records\[1\]: id: "),
        ({"goal": "\ud800"}, r"records\[1\]: cannot be stored in the journal\."),
        ({"goal": ""}, r"records\[1\]: goal: must not be empty"),
    ]:
        with pytest.raises(InvalidInputError, match=reason):
            await take(services, good, replace(good, data={**good.data, **bad}))
    assert not held(services.journal).entries


async def test_an_open_entry_is_imported_as_an_orphan_that_can_be_adopted(services: Services) -> None:
    assert await take(services, *entries(ghap(), ghap())) == [ghap().id]
    (orphan,) = services.collector.still_open.others(ALICE, elsewhere=False)
    assert services.collector.still_open.current(ALICE) is None
    adopted = services.collector.update(ALICE, orphan.id, note="mine now")
    assert services.collector.still_open.current(ALICE) == adopted
