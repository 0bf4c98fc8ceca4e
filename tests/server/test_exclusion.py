"""A folder that a person leaves out: no hook, tool, report, import or rule reads or shows anything there."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.errors import InvalidSettingsError
from learning_memory_server.server.calls import Calls
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.exclusion import Exclusion, matching
from learning_memory_server.server.settings import load_settings
from learning_memory_server.server.tools.catalog import HOOK
from learning_memory_server.server.tools.toolset import Result
from tests.server.agent import CALLER

ENTRY = {
    "domain": "debugging",
    "strategy": "read-the-error",
    "goal": "make the page load",
    "hypothesis": "the cache is stale",
    "action": "clear it",
    "prediction": "it loads",
}


@pytest.fixture
def clients(tmp_path: Path) -> Path:
    folder = tmp_path / "clients" / "acme" / "src"
    folder.mkdir(parents=True)
    return tmp_path / "clients"


@pytest.mark.parametrize(
    ("pattern", "folder"),
    [
        ("{}/clients", "clients"),
        ("{}/clients", "clients/acme/src"),
        ("{}/clients/*", "clients/acme"),
        ("{}/clients/*", "clients/acme/src"),
        ("{}/clients/ac??", "clients/acme/src"),
        ("{}/**/acme", "clients/acme/src"),
        ("{}/**/src", "clients/acme/src"),
        ("{}/linked/*", "clients/acme"),
        ("{}/clients/*", "linked/acme"),
    ],
)
def test_a_folder_is_left_out_with_all_below_it(pattern: str, folder: str, clients: Path, tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(clients)
    wanted = pattern.format(tmp_path)
    assert matching([wanted], tmp_path / folder) == wanted


@pytest.mark.parametrize(
    ("pattern", "folder"),
    [
        ("{}/clients/*", "clients"),
        ("{}/clients", "clients2"),
        ("{}/clients/acme", "clients/acme2"),
        ("{}/c*s", "work/clients"),
        ("{}/*/src", "clients/acme/src"),
    ],
)
@pytest.mark.usefixtures("clients")
def test_a_folder_beside_it_is_not(pattern: str, folder: str, tmp_path: Path) -> None:
    assert matching([pattern.format(tmp_path)], tmp_path / folder) == ""


def test_a_worktree_of_a_repository_that_is_left_out_is_so_too(clients: Path, tmp_path: Path) -> None:
    def run(*words: str) -> None:
        subprocess.run(["git", *words], cwd=clients / "acme", check=True, capture_output=True)

    run("init", "-q")
    run("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first")
    run("worktree", "add", "-q", str(tmp_path / "elsewhere"))
    assert matching([f"{clients}/*"], tmp_path / "elsewhere")


@pytest.mark.parametrize("given", ["clients/*", "${HOME}/clients", "$HOME/clients", "./clients"])
def test_a_pattern_names_a_folder_from_the_root_or_the_home(given: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"exclude = [{given!r}]\n")
    with pytest.raises(InvalidSettingsError, match="exclude in"):
        load_settings({"LEARNING_MEMORY_CONFIG": str(file)})


def test_the_home_is_expanded(tmp_path: Path) -> None:
    given = {"LEARNING_MEMORY_EXCLUDE": '["~/clients/*/"]', "LEARNING_MEMORY_STORAGE_PATH": str(tmp_path)}
    assert load_settings(given).exclude == (f"{Path.home()}/clients/*",)


@pytest.fixture
def calls(services: Services, clients: Path) -> Calls:
    """The calls of a session in a folder that is left out."""
    services.exclusion.patterns = [f"{clients}/*"]
    return Calls(services.injectable(), replace(CALLER, folder=str(clients / "acme")), has_hooks=True)


def text_of(result: Result) -> str:
    return "" if result.text == "{}" else str(json.loads(result.text)["hookSpecificOutput"]["additionalContext"])


@pytest.mark.parametrize("tool", ["start_ghap", "list_ghap_entries", "search_experiences", "add_memory", "get_stats"])
async def test_no_tool_reads_or_keeps_anything(tool: str, calls: Calls, services: Services) -> None:
    texts = {"search_experiences": {"query": "page"}, "add_memory": {"text": "The page is slow."}}
    given: dict[str, Any] = {"start_ghap": ENTRY, **texts}.get(tool, {})
    refused = await calls.call(1, tool, given)
    assert refused.is_error
    assert "is left out of the memory" in refused.text
    assert not services.journal.open_entries()
    assert not services.memory_log.all()


@pytest.mark.parametrize(
    "event",
    [
        {"event": "UserPromptSubmit", "prompt": "make the page load"},
        {"event": "PostToolUseFailure", "command": "make", "error": "Exit code 2\nmake: *** No rule"},
        {"event": "PostToolUse", "command": "pytest", "output": "1 passed"},
        {"event": "PreToolUse", "command": "git push --force", "call": "one"},
        {"event": "Stop"},
    ],
)
@pytest.mark.parametrize("is_inside", [True, False], ids=["session there", "goes there"])
async def test_no_hook_reads_or_says_anything(
    event: dict[str, str], is_inside: bool, calls: Calls, services: Services, clients: Path, tmp_path: Path
) -> None:
    if not is_inside:
        calls = Calls(services.injectable(), replace(CALLER, folder=str(tmp_path)), has_hooks=True)
    answered = await calls.call(1, HOOK, {"event": {**event, "folder": str(clients / "acme" / "src"), "session": "s"}})
    assert text_of(answered) == ""
    assert services.failure_log.all() == []


async def test_the_first_session_there_says_it_once(calls: Calls, clients: Path) -> None:
    start = {"event": {"event": "SessionStart", "folder": str(clients / "acme"), "session": "s", "source": "startup"}}
    said = [text_of(await calls.call(number, HOOK, start)) for number in range(3)]
    assert (
        said[0]
        == f"{clients / 'acme'} is left out of the memory: the setting `exclude` has {clients}/*. Nothing is read, kept or shown here."
    )
    assert said[1:] == ["", ""]
    assert await calls.session_context() == said[0]


async def test_a_change_of_the_settings_file_counts_at_once(
    services: Services, clients: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    monkeypatch.setenv("LEARNING_MEMORY_CONFIG", str(file))
    file.write_text("")
    exclusion = Exclusion.of(services.settings)
    assert await exclusion.find(str(clients / "acme")) == ""
    for content, expected in (
        (f'exclude = ["{clients}/*"]\n', f"{clients}/*"),
        ("exclude = [", f"{clients}/*"),
        ("", ""),
    ):
        file.write_text(content)
        assert await exclusion.find(str(clients / "acme")) == expected
