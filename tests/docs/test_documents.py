"""Documents name only what exists: files, modules, links, make targets and commands."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest
import typer.main

from learning_memory_server.cli.app import app
from learning_memory_server.server.settings import RETIRED, Settings
from learning_memory_server.sharing.shared import SHARED
from learning_memory_server.system.ipc.discovery import LOG
from learning_memory_server.system.ipc.programs import RECORD
from learning_memory_server.system.locations import SILENT

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = "learning_memory_server"
DOCUMENTS: Final = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "journal").glob("*.md"),
        *(ROOT / ".github").rglob("*.md"),
    ]
)
LINK: Final = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE: Final = re.compile(r"`([^`\n]+)`")
FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PATH: Final = re.compile(r"[\w.-]+(?:/[\w.-]+)*(?:/|\.(?:py|md|toml|txt|yml|yaml|jsonl?))")
"""A name that ends like a file, or like a folder."""
FOLDERS_OF_A_USER: Final = re.compile(
    r"(?:open|entries|memories|backups|index|map|clusters|claims|\.learning-memory/lessons)/?"
)
"""Folders of the journal and the data, which documents mention too."""
MADE_ELSEWHERE: Final = re.compile(
    r"(?:settings(?:\.local)?|\.?mcp|server|about|shared|compared|hub|(?:cleared-)?sessions|rules-off|refusals|outdated-points|model-scales|qdrant-owner"
    r"|claude_desktop_config|learning-memory|modules|tokenizer|config_sentence_transformers)\.json"
    r"|(?:values|verdicts|advice|trials|failures|servers|clusters|projects|answers|rules|rule-counts|old)\.jsonl|(?:learned|bench)\.md|config\.toml"
)
"""Files that this program, another one or its user makes."""

every_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def prose(document: Path) -> str:
    return FENCE.sub("", document.read_text("utf-8"))


def shell_lines(document: Path) -> Iterator[str]:
    """The commands of a document: lines of its shell blocks, and code in its sentences."""
    text = document.read_text("utf-8")
    for language, block in FENCE.findall(text):
        if language in {"sh", "shell", "bash"}:
            yield from block.splitlines()
    yield from CODE.findall(prose(document))


def exists(name: str, document: Path) -> bool:
    """Whether a file or folder of this name is in the project: from its root, its package, or the document."""
    return any((base / name).exists() for base in (ROOT, ROOT / PACKAGE, document.parent))


@every_document
def test_every_relative_link_leads_to_a_file(document: Path) -> None:
    targets = [target.split("#")[0] for target in LINK.findall(prose(document)) if "://" not in target]

    assert [target for target in targets if target and not (document.parent / target).exists()] == []


@every_document
def test_every_path_in_a_document_exists(document: Path) -> None:
    named = [name for name in CODE.findall(prose(document)) if PATH.fullmatch(name)]
    expected = [
        name
        for name in named
        if not FOLDERS_OF_A_USER.fullmatch(name)
        and not MADE_ELSEWHERE.fullmatch(Path(name).name)
        and "YYYY" not in name
    ]

    assert [name for name in expected if not exists(name, document)] == []


@every_document
def test_every_module_in_a_document_can_be_found(document: Path) -> None:
    text = document.read_text("utf-8")
    named = set(re.findall(rf"\b{PACKAGE}(?:\.\w+)+|\b(?:benchmarks|scripts)\.[a-z_]+(?=[ `])", text))

    assert [name for name in sorted(named) if find_spec(name) is None] == []


@every_document
def test_every_make_target_in_a_document_is_in_the_makefile(document: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = {
        target
        for line in shell_lines(document)
        if (command := re.match(r"make ([a-z -]+)", line))
        for target in command[1].split("  ")[0].split()
    }

    assert named <= targets


@every_document
def test_every_command_in_a_document_is_one_of_the_command_line(document: Path) -> None:
    group = typer.main.get_command(app)
    commands = getattr(group, "commands", {})
    known = {"--direct", "COMMAND", *commands, *(name for each in group.params for name in each.opts)}
    for line in shell_lines(document):
        words = shlex.split(line, comments=True) if "learning-memory-server " in line else []
        if "learning-memory-server" not in words:
            continue
        first = words[words.index("learning-memory-server") + 1]
        assert first in known, line


def test_the_map_names_every_room_and_module_of_the_package() -> None:
    text = (ROOT / "docs" / "explain" / "architecture.md").read_text("utf-8")
    rooms = [
        f"{path.name}/" if path.is_dir() else path.name
        for path in (ROOT / PACKAGE).iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    ]

    assert [room for room in rooms if f"`{room}`" not in text and room != "__init__.py"] == []


def test_the_index_of_decisions_lists_every_page_with_its_title() -> None:
    folder = ROOT / "docs" / "explain" / "decisions"
    index = (folder / "README.md").read_text("utf-8")
    for page in sorted(folder.glob("[0-9]*.md")):
        number, title = page.read_text("utf-8").splitlines()[0].removeprefix("# ").split(". ", 1)
        assert int(page.name.split("-")[0]) == int(number)
        assert f"{number}. [{title}]({page.name})" in index


def test_a_decision_that_the_code_names_has_evidence() -> None:
    named = {
        int(number)
        for path in (ROOT / PACKAGE).rglob("*.py")
        for number in re.findall(r"\b[Dd]ecision\s+(\d+)", path.read_text("utf-8"))
    }
    pages = (ROOT / "docs" / "explain" / "decisions").glob("[0-9]*.md")
    with_evidence = {int(page.name.split("-")[0]) for page in pages if "**Evidence" in page.read_text("utf-8")}

    assert named
    assert named <= with_evidence


def test_the_page_of_data_names_every_file_of_the_data_folder(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "explain" / "data.md").read_text("utf-8")
    settings = Settings(storage_path=tmp_path)
    places = [getattr(settings, name) for name in vars(Settings) if name.endswith(("_file", "_directory", "_path"))]
    names = {place.name for place in places if isinstance(place, Path) and place.parent == tmp_path}

    assert {"archive.key", "backups", "index"} < names
    assert [
        name for name in {*names, *RETIRED, SHARED, LOG, RECORD, SILENT} if not re.search(rf"`{name}/?`", text)
    ] == []


def test_the_projects_address_is_written_in_one_place() -> None:
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    home = urls["Homepage"].removeprefix("https://")
    files = [
        *DOCUMENTS,
        *(
            path
            for folder in (PACKAGE, "tests", "benchmarks", "scripts", ".github")
            for path in (ROOT / folder).rglob("*")
            if path.suffix in {".py", ".yml", ".json", ".jsonl"}
        ),
    ]

    assert urls["Security"].removeprefix("https://").startswith(home)
    assert [path for path in files if home in path.read_text("utf-8", errors="replace")] == []


def test_pre_commit_runs_the_commands_of_make_check() -> None:
    recipe = re.search(r"^check:.*\n((?:\t.+\n)+)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert recipe is not None
    wanted = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe[1].splitlines()]
    hooks = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")

    assert re.findall(r"entry: (.+)", hooks) == wanted
