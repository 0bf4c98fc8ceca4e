"""The written pages of the reference say what the code does."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from learning_memory_server import errors
from learning_memory_server.cli.app import declared
from learning_memory_server.embedding.base import DEFAULT_MODEL
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.model import limits
from learning_memory_server.model.entry import WEIGHTS, Lesson, Resolution, RootCause
from learning_memory_server.model.vocabulary import OutcomeStatus, RootCauseCategory
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.tools.catalog import TOOLS
from tests.docs.test_documents import CODE, DOCUMENTS, ROOT, prose
from tests.server.agent import ENTRY, agent_of, only_text
from tests.server.conftest import services, settings  # noqa: F401 - fixtures
from tests.support import NOON, ghap

REFERENCE: Final = Path(__file__).parents[2] / "docs" / "reference"
CLI: Final = REFERENCE / "cli.md"
TIERS: Final = REFERENCE / "tiers.md"
ERRORS: Final = REFERENCE / "errors.md"
DIFFERENCES: Final = REFERENCE / "differences.md"


def tables(page: Path) -> list[list[list[str]]]:
    """Return the cells of the rows of each table of a page, without the heads."""
    found: list[list[list[str]]] = [[]]
    for line in page.read_text("utf-8").splitlines():
        if line.startswith("| "):
            found[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        elif found[-1]:
            found.append([])
    return [rows[2:] for rows in found if rows]


def classes_of(root: type[LearningMemoryError]) -> Iterator[type[LearningMemoryError]]:
    yield root
    for child in root.__subclasses__():
        yield from classes_of(child)


def test_the_page_of_tiers_has_the_weights() -> None:
    rules, _ = tables(TIERS)
    assert {row[0].strip("`"): float(row[2]) for row in rules} == {
        tier.value: weight for tier, weight in WEIGHTS.items()
    }


@pytest.mark.parametrize("row", tables(TIERS)[1])
def test_the_examples_of_the_page_have_their_tiers(row: list[str]) -> None:
    status, hypothesis, prediction, given, tier = row
    resolution = Resolution(
        OutcomeStatus(status),
        "It is over.",
        NOON + timedelta(hours=1),
        surprise="It was empty." if "surprise" in given else None,
        root_cause=RootCause(RootCauseCategory.OVERSIGHT, "Nobody looked.") if "root cause" in given else None,
        lesson=Lesson("Looking.") if "lesson" in given else None,
    )
    assert f"`{ghap(hypothesis=hypothesis, prediction=prediction, resolution=resolution).tier}`" == tier


def test_the_page_of_errors_has_every_type_and_class() -> None:
    expected: dict[str, set[str]] = {}
    for each in classes_of(LearningMemoryError):
        expected.setdefault(each.wire_type, set()).add(each.__name__)
    written = {row[0].strip("`"): {name.strip("` ") for name in row[1].split(",")} for row in tables(ERRORS)[0]}
    # Tests of other rooms may have errors of their own.
    assert {kind: names & set(vars(errors)) for kind, names in expected.items()} == written


def commands(group: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.items():
        yield f"{path}{name}", command
        yield from commands(getattr(command, "commands", {}), f"{path}{name} ")


def flags(command: Any) -> set[str]:
    options = (each for each in command.params if each.param_type_name == "option")
    return {flag for each in options for flag in (*each.opts, *each.secondary_opts)}


def test_the_page_of_commands_has_every_flag_and_no_other() -> None:
    written = {}
    for section in CLI.read_text("utf-8").split("\n## ")[1:]:
        name, *lines = section.splitlines()
        cells = " ".join(line.split(" | ")[0] for line in lines if line.startswith("| `"))
        written[name] = {word for word in CODE.findall(cells) if word.startswith("-")}

    assert written == {path: flags(command) for path, command in commands(declared())}


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_flag_named_with_its_command_is_a_flag_of_it(page: Path) -> None:
    """Such as `forget --purge`, without the program's name."""
    known = dict(commands(declared()))
    for span in CODE.findall(prose(page)):
        words = span.split()
        path = max((name for name in known if words[: len(name.split())] == name.split()), key=len, default="")
        if path:
            given = {word.split("=")[0] for word in words if word.startswith("--")}
            assert given <= flags(known[path]) | {"--help"}, span


NARROW: Final = {"date_from": "2026-02-02", "date_to": "2026-02-01"}
CALLS: Final[list[list[tuple[str, dict[str, Any]]]]] = [
    [("start_ghap", {**ENTRY, "domain": "debuging"}), ("search_memory", {"query": "x", "response_format": "y"})],
    [("start_ghap", {**ENTRY, "goal": " "}), ("search_memory", {"query": " "})],
    [("start_ghap", {**ENTRY, "goal": "x" * 1001}), ("search_memory", {"query": "x" * 1001})],
    [
        ("store_value", {"text": "x", "supported_by": ["x"] * 51}),
        ("search_memory", {"query": "x", "filters": {"tags": ["x"] * 51}}),
    ],
    [("start_ghap", {**ENTRY, "x": "y" * 100_000}), ("add_memory", {"text": "x", "metadata": {"x": "y" * 100_000}})],
    [("start_ghap", {**ENTRY, "goal": "a\x00b"}), ("add_memory", {"text": "a\x00b"})],
    [("list_ghap_entries", {"limit": 0}), ("search_memory", {"query": "x", "limit": 0})],
    [
        ("list_ghap_entries", {"since": "soon"}),
        ("search_memory", {"query": "x", "filters": {"date_from": "2025/01/01"}}),
    ],
    [("search_memory", {"query": "x", "filters": NARROW})],
    [("start_ghap", {**ENTRY, "gaol": "x"}), ("search_memory", {"query": "x", "gaol": "x"})],
]
"""For each row of the page, a call of each kind of tool that is refused so."""


@pytest.mark.parametrize(("row", "calls"), [*zip(tables(ERRORS)[1], CALLS, strict=True)])
async def test_the_messages_of_the_page_are_those_of_the_tools(
    services: Services,  # noqa: F811 - a fixture
    row: list[str],
    calls: list[tuple[str, dict[str, Any]]],
) -> None:
    phrases = [cell.strip("`") for cell in row[1:] if cell]
    async with agent_of(services) as agent:
        for phrase, (tool, arguments) in zip(phrases, calls, strict=True):
            result = await agent.client.call_tool(tool, arguments)
            assert result.is_error
            assert phrase in only_text(result)


def test_the_differences_state_the_figures_of_the_code() -> None:
    text = DIFFERENCES.read_text("utf-8")
    memory = next(tool for tool in TOOLS if tool.name == "search_memory").input_schema["properties"]
    assert "| No default: weak matches are left out." in text
    assert "default" not in memory["min_similarity"]
    assert f"| {limits.SOURCE_MAX:,} characters. |" in text
    assert "MiniLM" in DEFAULT_MODEL
    assert Settings.model_fields["embedding_model"].default in (DEFAULT_MODEL, None)
    for row in tables(DIFFERENCES)[0]:
        assert len(row) == 3, row
