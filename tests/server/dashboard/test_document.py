"""The data of the page: everything is in it, and it is what the commands show."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.model.entry import Anchor
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.dashboard.page import as_text
from tests.server.dashboard.making import CALLER, THEMES, dashboard_of, entry, fill, learn, store
from tests.sharing.repositories import git


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[Services]:
    async with store(tmp_path) as opened:
        yield opened


def quiet(doing: str, done: int = 0, total: int = 0) -> None:
    """Report nothing."""
    assert doing
    assert done <= total


async def gathered(services: Services, project: str | None = None) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(as_text(await dashboard_of(services).document(project)))
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
    assert [found["of"] for found in document["axes"].values()] == [[]] * len(Axis)


@pytest.mark.slow
def test_every_experience_has_a_place_on_its_axes(filled: tuple[dict[str, Any], Any]) -> None:
    document, _ = filled
    full, causes = document["axes"]["full"], document["axes"]["root_cause"]
    assert sorted(full["of"]) == list(range(30))
    assert len(full["places"]) == 30
    explained = [number for number, each in enumerate(document["entries"]) if "root_cause" in each]
    assert sorted(causes["of"]) == explained


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
    assert len(document["entries"]) == len(document["axes"]["full"]["of"]) == 4
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
async def test_a_new_entry_moves_no_other(services: Services) -> None:
    await learn(services, *(entry(number) for number in range(30)))
    dashboard = dashboard_of(services)

    async def places() -> dict[str, list[float]]:
        document = await dashboard.document()
        full = document["axes"]["full"]
        return {
            document["entries"][number]["id"]: place for number, place in zip(full["of"], full["places"], strict=True)
        }

    before = await places()
    (last,) = services.collector.add_resolved([entry(30)])
    assert await services.persister.persist(last)
    after = await places()
    assert len(after) == 31
    # The engine and the processor round in their own ways.
    assert {name: after[name] for name in before} == {
        name: pytest.approx(place, abs=2e-4) for name, place in before.items()
    }


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
    document = await dashboard_of(services).document(None, {CALLER.project: str(folder)})
    assert {each["id"]: each.get("freshness") for each in document["entries"]} == {
        here.id: "its file is gone",
        there.id: None,
    }


async def test_without_an_index_everything_but_the_map_is_there(services: Services) -> None:
    services.collector.add_resolved([entry(number) for number in range(3)])

    async def closed(_collection: object) -> dict[str, Any]:
        raise StorageUnavailableError("The disk is on fire.")

    services.index.vectors = closed  # type: ignore[method-assign, assignment]
    document = await gathered(services)
    assert len(document["entries"]) == 3
    assert document["axes"]["full"] == {"of": [], "places": [], "clusters": [], "notice": "The disk is on fire."}
