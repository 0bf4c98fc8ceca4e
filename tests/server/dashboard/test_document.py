"""The data of the page: everything is in it, and it is what the commands show."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.model.entry import Anchor, Resolution
from learning_memory_server.model.vocabulary import Axis, OutcomeStatus
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.dashboard.page import as_text
from tests.server.dashboard.making import CALLER, THEMES, entry, fill, learn, store
from tests.sharing.repositories import git
from tests.support import NOON


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[Services]:
    async with store(tmp_path) as opened:
        yield opened


def quiet(doing: str, done: int = 0, total: int = 0) -> None:
    """Report nothing."""
    assert doing
    assert done <= total


async def gathered(services: Services, project: str | None = None) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(as_text(await services.dashboard.document(project)))
    return document


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], list[list[str]]]:
    """The document of a filled store, and the members of each cluster on the axis full."""

    async def fill_and_gather() -> tuple[dict[str, Any], list[list[str]]]:
        async with store(tmp_path_factory.mktemp("filled")) as services:
            await fill(services)
            found = (await services.clusterer.cluster_axis(Axis.FULL)).clusters
            members = [[str(cluster.id), *(member.id for member in cluster.members)] for cluster in found]
            return await gathered(services), members

    return asyncio.run(fill_and_gather())


@pytest.mark.slow
async def test_an_empty_store_has_a_document(services: Services) -> None:
    await services.index.open()
    document = await gathered(services)
    assert document["entries"] == document["values"] == document["memories"] == []
    assert [(found["wanted"], found["compared"]) for found in document["axes"].values()] == [(0, 0)] * len(Axis)


@pytest.mark.slow
def test_every_experience_is_compared_on_its_axes(filled: tuple[dict[str, Any], Any]) -> None:
    document, _ = filled
    full, causes = document["axes"]["full"], document["axes"]["root_cause"]
    explained = [number for number, each in enumerate(document["entries"]) if "root_cause" in each]
    for axis, expected in ((full, list(range(30))), (causes, explained)):
        assert axis["compared"] == axis["wanted"] == len(expected)
        members = [number for cluster in axis["clusters"] for number in cluster["members"]]
        assert sorted([*members, *axis["alone"]]) == expected


@pytest.mark.slow
async def test_what_is_like_no_cluster_comes_the_newest_first(services: Services) -> None:
    odd = [
        entry(number, goal=words, hypothesis=words, resolution=Resolution(OutcomeStatus.CONFIRMED, words, NOON))
        for number, words in ((90, "Bake bread with less salt"), (91, "Tune the old piano by ear"))
    ]
    odd[1] = replace(odd[1], resolution=replace(odd[1].outcome, resolved_at=NOON + timedelta(days=1)))
    await learn(services, *(entry(number) for number in range(30)), *odd)
    document = await gathered(services)
    alone = [document["entries"][number]["id"] for number in document["axes"]["full"]["alone"]]
    assert alone == [odd[1].id, odd[0].id]


@pytest.mark.slow
async def test_what_is_not_in_the_index_yet_is_not_said_to_be_like_no_cluster(services: Services) -> None:
    await learn(services, *(entry(number) for number in range(30)))
    services.collector.add_resolved([entry(30)])
    full = (await gathered(services))["axes"]["full"]
    assert (full["wanted"], full["compared"], full["alone"]) == (31, 30, [])


@pytest.mark.slow
def test_clusters_have_the_members_the_tool_shows(filled: tuple[dict[str, Any], list[list[str]]]) -> None:
    document, expected = filled
    assert len(expected) == len(THEMES)
    assert expected == [
        [cluster["cluster_id"], *(document["entries"][number]["id"] for number in cluster["members"])]
        for cluster in document["axes"]["full"]["clusters"]
    ]


@pytest.mark.slow
def test_values_advice_failures_memories_open_entries_are_in_it(filled: tuple[dict[str, Any], Any]) -> None:
    document, _ = filled
    old, new = document["values"]
    assert old["superseded_by"] == new["id"]
    assert (new["support"]["supporting"], new["support"]["contradicting"]) == (3, 1)
    shown, earlier = document["advice"]
    assert [item["effect"] for item in shown["items"]] == ["helped", "misled"]
    assert [(item["score"], item["reason"]) for item in shown["items"]] == [(0.612, "both"), (0.5, "similar")]
    assert earlier["items"][0]["score"] is None
    counts = document["shown"][""]
    assert counts == document["shown"][CALLER.project]
    assert counts["words"].startswith("3 times, helped 1, misled 1, unknown 1 (as agents say)")
    (error,) = document["errors"]
    again, mended = error["failures"]
    assert (error["times"], error["sessions"], error["followed"]) == (2, 1, "docker compose build")
    assert (error["followed_in"], error["stayed_away"]) == (1, 0)
    assert mended["worked"] == "docker compose build"
    assert "worked" not in again
    assert document["memories"][0]["text"] == "The backup runs at four."
    assert document["open"][0]["goal"] == "Draw the first page within a second"


async def test_of_a_very_long_memory_the_beginning_is_shown(services: Services) -> None:
    text = "a" * 50_000
    await services.memories.add(CALLER, text, {})
    (shown,) = (await gathered(services))["memories"]
    assert shown["text"] == text[:20_000]
    assert shown["characters"] == 50_000


@pytest.mark.slow
async def test_a_project_has_only_its_own(services: Services) -> None:
    await learn(services, *(entry(number, project="mine" if number < 4 else "theirs") for number in range(10)))
    document = await gathered(services, "mine")
    assert len(document["entries"]) == document["axes"]["full"]["wanted"] == 4
    assert "theirs" not in json.dumps(document)
    assert document["axes"]["full"]["needed"] == 20
    assert document["axes"]["root_cause"]["needed"] == 8


@pytest.mark.slow
async def test_a_value_is_at_its_cluster_though_a_projects_clusters_have_ids_of_their_own(services: Services) -> None:
    await fill(services)
    everywhere, here = await gathered(services), await gathered(services, CALLER.project)
    for document in (everywhere, here):
        named = {each["cluster_id"]: each["members"] for each in document["axes"]["full"]["clusters"]}
        for each in document["values"]:
            assert document["entries"][named[each["cluster"]][0]]["hypothesis"] == THEMES[0]
    assert {each["cluster"] for each in everywhere["values"]}.isdisjoint(each["cluster"] for each in here["values"])


@pytest.mark.slow
async def test_what_became_of_files_is_told_of_a_project_whose_folder_is_known(
    services: Services, tmp_path: Path
) -> None:
    await services.index.open()
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    here, there = (
        entry(number, anchors=(Anchor("cart.py", "0" * 40),), project=name)
        for number, name in enumerate((CALLER.project, "acme/blog"))
    )
    services.collector.add_resolved([here, there])
    document = await services.dashboard.document(None, {CALLER.project: str(folder)})
    assert {each["id"]: each.get("freshness") for each in document["entries"]} == {
        here.id: "its file is gone",
        there.id: None,
    }


async def test_without_an_index_everything_but_the_clusters_is_there(services: Services) -> None:
    await learn(services, *(entry(number) for number in range(3)))

    async def closed(_collection: object) -> dict[str, Any]:
        raise StorageUnavailableError("The disk is on fire.")

    services.index.vectors = closed  # type: ignore[method-assign, assignment]
    document = await gathered(services)
    assert len(document["entries"]) == 3
    full = document["axes"]["full"]
    assert (full["wanted"], full["compared"], full["clusters"], full["alone"]) == (3, 0, [], [])
    assert full["notice"] == "The disk is on fire."
