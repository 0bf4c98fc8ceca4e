"""On a server that others use too, results, scores, thresholds and advice are those of having it alone."""

from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
import pytest

from learning_memory_server.advice import constants
from learning_memory_server.index.document import Collection
from learning_memory_server.index.queries import ExperienceQuery
from learning_memory_server.model.vocabulary import Axis, SearchMode
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.operations import operate
from tests.advice.parts import MeasuredModel
from tests.index.engines.double import QdrantDouble, serving
from tests.server.agent import ENTRY
from tests.services import opened
from tests.support import ALICE, TOPICS, about

OTHERS = 400
BACKGROUND = 10
"""Fewer than there are entries, so that advice also looks for the nearest in the whole index."""
QUESTIONS = (*(TOPICS[topic] for topic in ("pool", "cache", "types")), "worker", "what to buy for dinner")
ENTRIES = [about(topic, number) for number, topic in enumerate(["pool", "cache", "types"] * 10)]


def settle_others(double: QdrantDouble, name: str, texts: list[dict[str, Any]]) -> None:
    """Put points of somebody else next to ours, with the terms that ours have."""
    from qdrant_client import models

    rng = np.random.default_rng(3)
    points = [
        models.PointStruct(
            id=number,
            vector={"dense": rng.normal(size=384).tolist(), "bm25": models.SparseVector(**texts[number % len(texts)])},
            payload={"owner": "somebody else", "project": "theirs"},
        )
        for number in range(OTHERS)
    ]
    double.engine.client.upsert(name, points)


async def answers(services: Services) -> list[Any]:
    found: list[Any] = []
    for axis in (Axis.FULL, Axis.STRATEGY):
        for text in QUESTIONS:
            result = await services.searcher.search_experiences(ExperienceQuery(text, axis, min_score=0.0))
            assert result.mode is SearchMode.HYBRID
            found.append([(each.entry.id, each.explanation) for each in result.found])
            assert result.found[0].explanation.basis.least is not None
            found.append(await services.index.count(Collection.of(axis)))
    related = [await advice(services, text) for text in QUESTIONS]
    assert sum(map(bool, related)) > 1
    return [*found, related]


async def advice(services: Services, hypothesis: str) -> Any:
    """Return what start_ghap says is related, in a session that was shown nothing."""
    arguments = {**ENTRY, "goal": hypothesis, "hypothesis": hypothesis}
    call = {"tool": "start_ghap", "arguments": arguments, "project": ALICE.project, "session": token_hex(8)}
    return (await operate(services, lambda *_: None, "call", call)).get("related")


@pytest.mark.slow
async def test_results_scores_and_advice_are_the_same_alone_and_beside_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "BACKGROUND", BACKGROUND)
    with serving() as double:
        async with opened(tmp_path, qdrant_url=double.url, load=MeasuredModel) as services:
            services.room.has_deadline = False
            services.collector.add_resolved(ENTRIES)
            await operate(services, lambda *_: None, "complete", {})
            alone = await answers(services)
            for name in double.engine.created:
                stored, _ = double.engine.client.scroll(name, with_vectors=["bm25"], limit=50)
                sparse = [each.vector["bm25"] for each in stored if isinstance(each.vector, dict)]
                texts = [{"indices": each.indices, "values": each.values} for each in sparse]  # type: ignore[union-attr]
                if texts:
                    settle_others(double, name, texts)
            beside = await answers(services)
    assert beside == alone
