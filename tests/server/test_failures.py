"""What a client sees when something behind the tools fails."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

import learning_memory_server
from learning_memory_server.capture.entries.collector import ObservationPersister
from learning_memory_server.embedding.base import Embedder
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.errors import DeadlineExceededError, EmbeddingUnavailableError
from learning_memory_server.index.engines.edge import EdgeStore
from learning_memory_server.index.index import VectorIndex
from learning_memory_server.index.kept_files import OutdatedPoints
from learning_memory_server.index.queries import ExperienceQuery
from learning_memory_server.index.writer import IndexWriter
from learning_memory_server.lessons.clusters.clusterer import ExperienceClusterer
from learning_memory_server.lessons.values.store import ValueStore
from learning_memory_server.model.moment import utc_now
from learning_memory_server.recall.recall import ExperienceSearcher
from learning_memory_server.server.calls import Calls
from learning_memory_server.server.composition.services import Services
from tests.logs import everything_logged
from tests.server.agent import CALLER, CONFIRMED, ENTRY, Agent, agent_of, connected
from tests.services import opened, settings_in
from tests.support import InProcessFitting

SECRET = "no route to /home/ann/.keys with token hunter2"  # noqa: S105


class FailingSearcher:
    """A searcher that raises the given failure."""

    def __init__(self, failure: Exception) -> None:
        self._failure = failure

    async def search_experiences(self, _query: ExperienceQuery) -> NoReturn:
        raise self._failure


class FailingFollower:
    """Raises the given failure once an entry is resolved."""

    def __init__(self, failure: Exception) -> None:
        self._failure = failure

    async def persist(self, _given: object) -> NoReturn:
        raise self._failure

    find_near = persist


@pytest.mark.parametrize("failure", [RuntimeError(SECRET), OSError(2, SECRET, "/etc/shadow"), KeyError(SECRET)])
async def test_the_client_of_an_unforeseen_failure_sees_only_its_number_in_the_log(
    services: Services, failure: Exception
) -> None:
    broken = {**services.injectable(), ExperienceSearcher: FailingSearcher(failure)}
    with everything_logged() as logs:
        async with agent_of(broken) as agent:
            error = await agent.refused("search_experiences", query="x")
    assert error["type"] == "internal_error"
    assert not any(word in str(error) for word in ("hunter2", "/home", "/etc", "Error(", "Traceback"))
    number = re.search(r"\(request ([0-9a-f]{8})\)", error["message"])
    assert number
    (entry,) = (entry for entry in logs if entry["event"] == "tool.called")
    assert (entry["request"], entry["tool"]) == (number[1], "search_experiences")
    assert (entry["outcome"], entry["exc_info"]) == ("crashed", failure)


def caused(failure: Exception, cause: Exception) -> Exception:
    failure.__cause__ = cause
    return failure


REPLACED = [
    ModuleNotFoundError(SECRET, name="learning_memory_server.recall.recall"),
    ImportError("cannot import name 'x' from 'learning_memory_server.errors'"),
    SyntaxError("unexpected EOF while parsing"),
    FileNotFoundError(2, "No such file", str(Path(learning_memory_server.__file__).with_name("page.html"))),
    caused(RuntimeError(SECRET), ImportError(SECRET)),
    ExceptionGroup(SECRET, [ValueError("a"), ImportError(SECRET)]),
]


@pytest.mark.parametrize("failure", REPLACED, ids=lambda failure: type(failure).__name__)
async def test_a_late_import_that_fails_says_that_the_installation_was_replaced_and_a_hub_makes_room(
    services: Services, failure: Exception
) -> None:
    broken = {**services.injectable(), ExperienceSearcher: FailingSearcher(failure)}
    asked: list[str] = []
    for on_replaced, hint in ((None, "Restart the client"), (lambda: asked.append("room"), "Call again")):
        async with connected(Calls(broken, CALLER, on_replaced=on_replaced)) as client:
            error = await Agent(client, {}).refused("search_experiences", query="x")
            assert "was replaced while it ran" in error["message"]
            assert error["hint"].startswith(hint)
            assert "hunter2" not in str(error)
    assert asked == ["room"]


async def test_another_failure_does_not_end_a_hub(services: Services) -> None:
    asked: list[str] = []
    broken = {**services.injectable(), ExperienceSearcher: FailingSearcher(FileNotFoundError(2, "no", "/etc/x"))}
    async with connected(Calls(broken, CALLER, on_replaced=lambda: asked.append("room"))) as client:
        assert "unexpectedly" in (await Agent(client, {}).refused("search_experiences", query="x"))["message"]
    assert asked == []


async def test_the_log_tells_a_callers_mistake_from_a_call_that_found_nothing(services: Services) -> None:
    with everything_logged() as logs:
        async with agent_of(services.injectable()) as agent:
            await agent.refused("search_experiences", query=" ")
            await agent.refused("get_ghap_entry", ghap_id="ghap_20260101_000000_abcdef")
    levels = [(line.get("type"), line["log_level"]) for line in logs if line["event"] == "tool.called"]
    assert levels == [("validation_error", "warning"), ("not_found", "info")]
    (registered,) = (line for line in logs if line["event"] == "tools.registered")
    assert registered["count"] == 17
    steps = [line["event"] for line in logs if line["log_level"] == "debug"]
    assert [steps.count(f"tool.{step}") for step in ("started", "validated")] == [2, 1]


async def test_a_failure_does_not_end_the_session(services: Services) -> None:
    broken = {**services.injectable(), ExperienceSearcher: FailingSearcher(RuntimeError(SECRET))}
    async with agent_of(broken) as agent:
        await agent.refused("search_experiences", query="x")
        await agent.resolve_new()


@pytest.mark.parametrize("service", [ObservationPersister, ValueStore])
async def test_an_outcome_is_kept_and_said_to_be_whatever_fails(services: Services, service: type) -> None:
    broken = {**services.injectable(), service: FailingFollower(KeyError(SECRET))}
    with everything_logged() as logs:
        async with agent_of(broken) as agent:
            ghap_id = (await agent.call("start_ghap", **ENTRY))["id"]
            reply = await agent.call("resolve_ghap", **CONFIRMED)
            found = await agent.call("list_ghap_entries")
    assert reply["indexed"] is False
    assert reply["warning"].startswith("The entry is saved.")
    assert [each["id"] for each in found["results"]] == [ghap_id]
    assert "resolution.unfinished" in {each["event"] for each in logs}


async def test_a_missed_deadline_is_a_timeout(services: Services) -> None:
    failure = DeadlineExceededError("The search took more than a second.")
    async with agent_of({**services.injectable(), ExperienceSearcher: FailingSearcher(failure)}) as agent:
        error = await agent.refused("search_experiences", query="x")
    assert error == {"type": "timeout", "message": "The search took more than a second."}


def raising(failure: Exception) -> Callable[[], Embedder]:
    def load() -> Embedder:
        raise failure

    return load


@pytest.mark.parametrize(
    "failure", [EmbeddingUnavailableError("The model is not on this machine."), RuntimeError(SECRET)]
)
async def test_without_a_model_clusters_are_unavailable_and_the_error_says_why(
    services: Services, tmp_path: Path, failure: Exception
) -> None:
    embeddings = EmbeddingService(raising(failure))
    index = VectorIndex(embeddings, lambda _identity: EdgeStore(tmp_path / "never"), {})
    clusterer = ExperienceClusterer(
        index,
        IndexWriter(index, [], OutdatedPoints(tmp_path / "outdated.json")),
        services.collector,
        InProcessFitting(),
        services.journal.clusters,
        utc_now,
        20,
    )
    async with agent_of({**services.injectable(), ExperienceClusterer: clusterer}) as agent:
        error = await agent.refused("get_clusters", axis="full")
    embeddings.close()
    assert error["type"] == "embedding_unavailable"
    assert "hunter2" not in str(error)


async def test_without_an_index_clusters_fail_and_everything_else_works(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    settings.index_directory.write_text("in the way")
    async with opened(settings) as services, agent_of(services) as agent:
        error = await agent.refused("get_clusters", axis="full")
        assert error["type"] == "storage_unavailable"
        assert str(tmp_path) not in str(error)

        await agent.call("start_ghap", **ENTRY)
        resolved = await agent.call("resolve_ghap", **CONFIRMED)
        assert resolved["indexed"] is False
        found = await agent.call("search_experiences", query="stale price cache")
        assert (found["mode"], found["count"]) == ("lexical", 1)
        assert (await agent.call("list_ghap_entries"))["count"] == 1


async def test_an_unusable_journal_is_an_error_that_does_not_show_its_path(services: Services, agent: Agent) -> None:
    (services.journal.path / "open").write_text("in the way")
    for error in (await agent.refused("start_ghap", **ENTRY), await agent.refused("get_active_ghap")):
        assert error["type"] == "storage_unavailable"
        assert str(services.settings.storage_path) not in str(error)


async def test_an_entry_that_could_not_be_written_stays_open(services: Services, agent: Agent) -> None:
    started = await agent.call("start_ghap", **ENTRY)
    (services.journal.path / "entries").write_text("in the way")
    error = await agent.refused("resolve_ghap", **CONFIRMED)
    assert error["type"] == "storage_unavailable"
    assert (await agent.call("get_active_ghap"))["id"] == started["id"]
    assert (await agent.call("list_ghap_entries"))["count"] == 0

    (services.journal.path / "entries").unlink()
    assert (await agent.call("resolve_ghap", **CONFIRMED))["id"] == started["id"]
