"""What the doctor finds out about a Qdrant server, without changing anything there."""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.cli.command import describe_refusal
from learning_memory_server.cli.doctor import Finding, Level
from learning_memory_server.cli.doctor.storage import _compared, check_engine, check_server
from learning_memory_server.errors import EmbeddingUnavailableError, ForbiddenCollectionError
from learning_memory_server.hub.connections import describe
from learning_memory_server.index.document import Collection
from learning_memory_server.index.engines.base import CollectionSpec
from learning_memory_server.index.engines.owner import open_owner
from learning_memory_server.server.composition.backends import load_model
from learning_memory_server.server.settings import Settings
from tests.index.engines.double import QdrantDouble, Request, opened, serving, store_of
from tests.index.engines.double_engine import Answer, recorded
from tests.services import opened as services_in, run as run_operation, settings_in
from tests.support import numbered
from tests.terminals import on_a_terminal, read_until

SPEC = CollectionSpec("values", 4, variant="0123456789ab")


async def found(path: Path, url: str, **changes: Any) -> list[Finding]:
    settings = Settings(storage_path=path, qdrant_url=url, **changes)

    async def specs() -> list[CollectionSpec]:
        return [SPEC]

    return await asyncio.to_thread(list, check_server(settings, specs))


Look = Callable[[], Awaitable[list[Finding]]]


async def use(path: Path, double: QdrantDouble, *specs: CollectionSpec) -> None:
    """Make the owner and collections, as a first use does."""
    async with opened(store_of(double.url, path / "qdrant-owner.json"), *specs):
        pass


@pytest.fixture
async def look(tmp_path: Path, double: QdrantDouble) -> Look:
    """What is found on a server that was used."""
    await use(tmp_path, double, SPEC)
    return lambda: found(tmp_path, double.url)


def sentences(findings: list[Finding], level: Level) -> str:
    return " ".join(each.sentence for each in findings if each.level is level)


async def test_a_server_that_was_never_used_is_not_asked(tmp_path: Path, double: QdrantDouble) -> None:
    assert await found(tmp_path, double.url) == []
    assert double.asked == []


async def test_a_server_that_works_is_green_and_left_unchanged(look: Look, double: QdrantDouble) -> None:
    before = len(double.asked)
    (finding,) = await look()
    assert (finding.level, finding.sentence) == (Level.GREEN, "Qdrant 1.18.3.")
    changing = [each for each in double.asked[before:] if each.method != "GET"]
    assert [each.body for each in changing] == [{"actions": []}, {"points": []}]


@pytest.mark.parametrize(
    ("version", "note"),
    [("1.15.5", ""), ("1.18.3", ""), ("1.19.0", ""), ("1.21.0", "; this was tried with 1.15.5, 1.18.3 and 1.19.0")],
)
async def test_a_version_that_was_not_tried_is_a_note(
    look: Look, double: QdrantDouble, version: str, note: str
) -> None:
    installed = Answer(200, recorded("version").body.replace(b"1.18.3", version.encode()))
    double.refuse(installed, only=lambda request: request.path == "/")
    (finding,) = await look()
    assert finding.level is Level.GREEN
    assert finding.sentence == f"Qdrant {version}{note}."


async def test_a_key_that_may_only_read_is_red(look: Look, double: QdrantDouble) -> None:
    def refuse(request: Request) -> Answer | None:
        if request.method == "PUT":
            return recorded("read-only key: upsert of no points")
        return recorded("read-only key: change of no aliases") if request.method == "POST" else None

    double.fault = refuse
    findings = await look()
    assert "may not write" in sentences(findings, Level.RED)
    assert "may not create collections" in sentences(findings, Level.YELLOW)


async def test_a_key_that_may_not_create_what_is_missing_is_red_and_what_is_missing_is_named(
    tmp_path: Path, double: QdrantDouble
) -> None:
    open_owner(tmp_path / "qdrant-owner.json")
    double.refuse(recorded("token for this collection: change of no aliases"), only=lambda each: each.method == "POST")
    said = sentences(await found(tmp_path, double.url), Level.RED)
    assert "may not create collections" in said
    assert "`values-0123456789ab-1`" in said


async def test_write_access_is_tried_with_ones_own_collections(tmp_path: Path, double: QdrantDouble) -> None:
    await use(tmp_path, double, replace(SPEC, variant="000000000000"), SPEC)
    double.refuse(
        recorded("token for another collection: upsert"),
        only=lambda each: each.path == "/collections/values-0123456789ab-1/points",
    )
    assert "may not use" in sentences(await found(tmp_path, double.url), Level.RED)


async def test_without_a_model_no_collection_is_known_of(tmp_path: Path, double: QdrantDouble) -> None:
    await use(tmp_path, double, SPEC)

    async def no_specs() -> list[CollectionSpec]:
        raise EmbeddingUnavailableError("There is no model.")

    settings = Settings(storage_path=tmp_path, qdrant_url=double.url)
    (finding,) = await asyncio.to_thread(list, check_server(settings, no_specs))
    assert finding.level is Level.GREEN


@pytest.mark.parametrize(
    ("refused", "situation"),
    [
        ({"/collections/aliases"}, "token for this collection: change of no aliases"),
        ({"/collections/aliases", "/cluster"}, "token for this collection: create"),
    ],
    ids=["no aliases", "neither aliases nor the state of the cluster"],
)
async def test_a_key_for_some_collections_only_is_a_warning_and_not_called_refused(
    look: Look, double: QdrantDouble, refused: set[str], situation: str
) -> None:
    double.refuse(recorded(situation), only=lambda request: request.path in refused)
    findings = await look()
    assert [each.level for each in findings] == [Level.GREEN, Level.YELLOW]
    assert "may not create collections" in findings[1].sentence


async def test_uncreatable_collections_are_named_once(tmp_path: Path, double: QdrantDouble) -> None:
    double.refuse(recorded("token for this collection: create"), only=lambda each: each.method in {"PUT", "POST"})
    settings = settings_in(tmp_path, qdrant_url=double.url)
    findings = await asyncio.to_thread(list, check_engine(settings, lambda: load_model(settings)))
    assert [each.level for each in findings] == [Level.RED, Level.GREEN]
    assert findings[0].sentence.count("`values-") == 1


async def test_uncreatable_collections_are_named_once_each_time_that_they_are_asked_for(
    tmp_path: Path, double: QdrantDouble
) -> None:
    double.refuse(recorded("token for this collection: create"), only=lambda each: each.method in {"PUT", "POST"})
    async with services_in(settings_in(tmp_path, qdrant_url=double.url)) as services:
        for _ in range(4):
            with pytest.raises(ForbiddenCollectionError) as caught:
                await services.index.open()
            names = re.findall(r"`([a-z_]+-[0-9a-f]+-1)`", str(caught.value.hint))
            assert len(names) == len(set(names)) == len(Collection)


async def test_why_points_are_missing_and_when_that_is_tried_again_is_said(
    tmp_path: Path, double: QdrantDouble
) -> None:
    settings = settings_in(tmp_path, qdrant_url=double.url)
    async with services_in(settings) as services:
        await services.index.open()
        double.refuse(recorded("strict mode: write rate"), only=lambda each: each.method == "PUT")
        entry = numbered(1)
        services.collector.add_resolved([entry])
        assert not await services.persister.persist(entry)
        why = "limits how often it is asked"
        stats = (await services.statistics.collect())["index"]
        assert why in stats["refused"]
        assert 50 < stats["retry_seconds"] <= 60
        assert why in describe_refusal(await describe(services))
        found = await run_operation(services, "compare")
        (finding,) = _compared(found, settings)
        assert why in finding.sentence
        assert "It is asked again in" in finding.sentence


@pytest.mark.parametrize(("situation", "says"), [("wrong key: list", "refused"), ("token expired: list", "expired")])
async def test_a_key_that_does_not_work_is_red(look: Look, double: QdrantDouble, situation: str, says: str) -> None:
    double.refuse(recorded(situation))
    assert says in sentences(await look(), Level.RED)


async def test_a_key_that_would_be_sent_in_plain_text_is_red(tmp_path: Path) -> None:
    open_owner(tmp_path / "qdrant-owner.json")
    findings = await found(tmp_path, "http://10.0.0.7:6333", qdrant_api_key="k")
    assert "in plain text" in sentences(findings, Level.RED)


async def test_addresses_of_two_servers_are_not_one_cluster(tmp_path: Path, double: QdrantDouble) -> None:
    await use(tmp_path, double, SPEC)
    with serving() as other:
        assert "not nodes of one cluster" in sentences(await found(tmp_path, f"{double.url}, {other.url}"), Level.RED)
        for server in (double, other):
            server.refuse(recorded("cluster: status"), only=lambda request: request.path == "/cluster")
        findings = await found(tmp_path, f"{double.url},{other.url},http://127.0.0.1:1")
    assert sentences(findings, Level.RED) == ""
    assert "127.0.0.1:1 cannot be reached" in sentences(findings, Level.YELLOW)


async def test_a_copied_folder_asks_and_a_damaged_owner_is_red(tmp_path: Path, double: QdrantDouble) -> None:
    await use(tmp_path / "one", double, SPEC)
    (tmp_path / "one").rename(tmp_path / "two")
    (finding,) = [each for each in await found(tmp_path / "two", double.url) if each.level is Level.YELLOW]
    assert "comes back" in finding.sentence
    assert [question.split()[0] for question in finding.answers] == ["Was", "Is"]
    (tmp_path / "two" / "qdrant-owner.json").write_text("{}")
    (finding,) = await found(tmp_path / "two", double.url)
    assert "is damaged" in finding.sentence
    assert [question.partition(",")[0] for question in finding.answers] == ["Is there no copy of that file"]


@pytest.mark.slow
@pytest.mark.parametrize(("answers", "stays"), [(["y"], True), (["n", "y"], False), (["n", "n"], None)])
async def test_a_person_says_what_became_of_a_folder(
    answers: list[str], stays: bool | None, environment: dict[str, str], storage: Path, double: QdrantDouble
) -> None:
    await use(storage, double, SPEC)
    file = storage / "qdrant-owner.json"
    before = open_owner(file).name
    file.write_text(file.read_text().replace(str(storage), "/elsewhere"))
    environment = {**environment, "LEARNING_MEMORY_QDRANT_URL": double.url, "PATH": environment["HOME"]}

    def answer() -> int | None:
        with on_a_terminal(environment, "doctor", "--fix") as (process, terminal):
            for each in answers:
                assert b"[y/N]" in read_until(terminal, b"[y/N]")
                os.write(terminal, f"{each}\n".encode())
            read_until(terminal, b"nothing ends with this")
            return process.wait(60)

    assert await asyncio.to_thread(answer) == 0
    owner = open_owner(file)
    assert (owner.is_settled, owner.name == before) == (stays is not None, stays is not False)
