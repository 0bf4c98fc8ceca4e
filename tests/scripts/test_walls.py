"""A tenth of what several people do on one server, and whether what watches them notices anything."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from scripts.walls import walls
from scripts.walls_person import Person, deal
from scripts.walls_witness import Witness
from tests.index.engines.double import QdrantDouble, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PLACE = "/collections/notes--1"


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_each_has_exactly_what_is_their_own(tmp_path: Path) -> None:
    # On a busy machine the double is late, and more searches are lexical.
    wrong, summary = await walls(tmp_path, operations=200, searches=1_000, seed=7, hybrid=0.5)
    assert wrong == [], summary


@pytest.fixture
def double() -> Iterator[QdrantDouble]:
    with serving() as server:
        server.engine.answer("PUT", PLACE, {"vectors": {"dense": {"size": 2, "distance": "Cosine"}}})
        server.engine.answer(
            "PUT", f"{PLACE}/index", {"field_name": "owner", "field_schema": {"type": "keyword"}}
        )
        yield server


def point(owner: str) -> dict[str, Any]:
    return {"id": 7, "vector": {"dense": [1.0, 0.0]}, "payload": {"owner": owner}}


def of(owner: str) -> dict[str, Any]:
    return {"filter": {"must": [{"key": "owner", "match": {"value": owner}}]}, "with_payload": True}


def test_the_witness_has_nothing_against_what_is_allowed(double: QdrantDouble) -> None:
    witness = Witness(double)
    double.engine.answer("PUT", f"{PLACE}/points", {"points": [point("ann")]})
    double.engine.answer("POST", f"{PLACE}/points/scroll", of("ann"))
    double.engine.answer("POST", f"{PLACE}/points/delete", {"points": [7]})
    assert witness.wrong == []
    assert witness.answered["POST points/scroll"] == 1


@pytest.mark.parametrize(
    ("method", "what", "body", "says"),
    [
        ("DELETE", "", {}, "drops or renames"),
        ("POST", "/points", {"ids": [7]}, "a read without its owner"),
        ("PUT", "/points", {"points": [point("bob")]}, "overwritten by another owner"),
        ("POST", "/points/scroll", {"filter": {"must": [{"has_id": [7]}]}}, "a read without its owner"),
        ("POST", "/points/delete", {"points": [], "filter": of("ann")["filter"]}, "names no ids"),
    ],
)
def test_the_witness_notices_what_is_not_allowed(
    double: QdrantDouble, method: str, what: str, body: dict[str, Any], says: str
) -> None:
    witness = Witness(double)
    double.engine.answer("PUT", f"{PLACE}/points", {"points": [point("ann")]})
    double.engine.answer(method, PLACE + what, body)
    (wrong,) = witness.wrong
    assert says in wrong


def test_a_change_of_aliases_renames_unless_it_changes_none(double: QdrantDouble) -> None:
    witness = Witness(double)
    double.engine.answer("POST", "/collections/aliases", {"actions": []})
    assert witness.dropping == 0
    alias = {"create_alias": {"collection_name": "notes--1", "alias_name": "notes"}}
    double.engine.answer("POST", "/collections/aliases", {"actions": [alias]})
    assert witness.dropping == 1


def test_the_witness_notices_an_answer_with_anothers_point(double: QdrantDouble) -> None:
    witness = Witness(double)
    double.engine.answer("PUT", f"{PLACE}/points", {"points": [point("ann")]})
    # The double lets its caller see everything, as a broken filter would.
    double.engine.client.set_payload("notes--1", {"owner": "bob"}, [7])
    double.engine.answer("POST", f"{PLACE}/points/scroll", of("bob"))
    assert witness.wrong == ["notes--1: another's point was given"]
    assert witness.foreign == 1


def test_people_together_do_each_kind_of_operation() -> None:
    dealt = deal(200, 3, random.Random(1))  # noqa: S311 - reproducible
    assert [len(kinds) for kinds in dealt] == [200, 200, 200]
    done = Counter(itertools.chain(*dealt))
    assert done["search"] > 300
    assert all(hasattr(Person, f"_{kind}") for kind in done)
    assert {"kill", "away", "migrate", "reindex", "import", "export", "purge", "learn"} <= done.keys()
