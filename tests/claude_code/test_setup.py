"""`setup claude-code --plugin` with the real client: the plugin works, and never next to the plain server."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.claude_code.conftest import ClaudeCode, on_branch_of_the_entry
from tests.claude_code.model import run, say
from tests.claude_code.test_sessions import LESSON, load, resolve, start

pytestmark = pytest.mark.slow


def set_up(claude: ClaudeCode, *options: str) -> str:
    return claude.command("setup", "claude-code", "--yes", *options)


def servers(claude: ClaudeCode) -> Any:
    return json.loads((claude.home / ".claude.json").read_text("utf-8")).get("mcpServers", {})


def plugins(claude: ClaudeCode) -> list[str]:
    listed = (each["id"] for each in json.loads(claude.run("plugin", "list", "--json").stdout))
    # Newer versions list what they bring along, too.
    return [identity for identity in listed if not identity.endswith("@builtin")]


def copy(claude: ClaudeCode) -> Path:
    return claude.home / ".config" / "learning-memory-server" / "claude-code"


def test_without_the_program_only_the_two_command_hooks_fail_and_setup_mends_it(claude: ClaudeCode) -> None:
    set_up(claude, "--plugin")
    for name in (".mcp.json", "hooks/hooks.json"):
        file = copy(claude) / "learning-memory" / name
        file.write_text(re.sub(r'"/[^"]*(python[\d.]*|-server)"', '"/nowhere"', file.read_text("utf-8")), "utf-8")
    output = ("--output-format", "stream-json", "--verbose", "--include-hook-events")

    session = claude.session("begin", [run("false"), run("true"), say("Yes.")], *output, plugin=None)

    events = [json.loads(line) for line in session.done.stdout.splitlines()]
    ended = {each["hook_event"]: each["outcome"] for each in events if each.get("subtype") == "hook_response"}
    assert [name for name, outcome in ended.items() if outcome != "success"] == ["SessionStart"]
    assert ended.keys() >= {"UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop"}
    assert "SessionEnd hook [/nowhere" in session.done.stderr
    checked = claude.command("doctor", "--client", "claude-code", check=False)
    assert "would start /nowhere, which does not exist" in checked
    assert "The plugin will be written" in set_up(claude)
    assert "Nothing to change" in set_up(claude)


def test_a_disabled_plugin_is_enabled_and_nothing_is_left_after_its_own_uninstall(claude: ClaudeCode) -> None:
    set_up(claude, "--plugin")
    identity = "learning-memory@learning-memory-server"
    claude.run("plugin", "disable", "-s", "user", identity)
    assert f"claude plugin enable -s user {identity}" in set_up(claude)

    claude.run("plugin", "uninstall", "-s", "user", identity)
    assert "claude plugin marketplace remove" in set_up(claude, "--remove")
    assert not copy(claude).exists()
    assert "Nothing to change" in set_up(claude, "--remove")


def test_the_plugin_replaces_the_server_works_and_goes_again(claude: ClaudeCode) -> None:
    assert "--plugin" in set_up(claude)
    assert "learning-memory" in servers(claude)

    set_up(claude, "--plugin")

    assert (servers(claude), plugins(claude)) == ({}, ["learning-memory@learning-memory-server"])
    # The settings of this shell are where hooks find them, too.
    assert str(claude.memory.storage) in (claude.home / ".config/learning-memory-server/config.toml").read_text()
    claude.session("begin", [load(), start(), resolve(), say("Closed.")], plugin=None)
    # Neither a command of ours nor a setting is in this environment.
    without: dict[str, Any] = {name: "" for name in claude.environment() if name.startswith("LEARNING_MEMORY_")}
    on_branch_of_the_entry(claude)
    told = claude.session("go on", [say("Yes.")], plugin=None, PATH="/usr/bin:/bin", **without).told()
    assert LESSON in told

    assert "Nothing to change" in set_up(claude)
    assert "Nothing to change" in set_up(claude, "--plugin")
    set_up(claude, "--remove")

    assert (servers(claude), plugins(claude)) == ({}, [])
    assert not copy(claude).exists()
    assert json.loads(claude.run("plugin", "marketplace", "list", "--json").stdout) == []


def test_the_plugin_can_be_installed_from_a_checkout(claude: ClaudeCode) -> None:
    claude.run("plugin", "install", "learning-memory", "--marketplace", str(Path(__file__).parents[2]))
    assert plugins(claude) == ["learning-memory@learning-memory-server"]
