"""The plugin's copy for this machine, and what Claude Code is asked to do with it."""

import json
import re
import shutil
import stat
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.cli.clients import claude_code as plugin
from learning_memory_server.cli.clients.catalog import Launch, Machine
from learning_memory_server.cli.clients.change import packaged
from learning_memory_server.errors import ClientSetupError
from learning_memory_server.hooks import event
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.server.tools.catalog import hook, toolset
from learning_memory_server.version import VERSION

KINDS = {TriggerKind.SESSION_START, TriggerKind.SESSION_END, TriggerKind.PROMPT, TriggerKind.COMMAND}
LAUNCH = Launch("/opt/bin/learning-memory-server")


ROOT, PLUGIN = Path(__file__).parents[3], packaged(plugin.FOLDER)


def read(path: str, folder: Path = PLUGIN) -> Any:
    return json.loads((folder / path).read_bytes())


def hooks_in(folder: Path = PLUGIN, kind: str = "") -> list[dict[str, Any]]:
    """Return the plugin's hooks, or only those of a kind."""
    groups = [group for groups in read("hooks/hooks.json", folder)["hooks"].values() for group in groups]
    return [each for group in groups for each in group["hooks"] if kind in each["type"]]


def test_the_plugin_has_the_packages_version_and_name() -> None:
    manifest = read(".claude-plugin/plugin.json")
    assert (manifest["name"], manifest["version"]) == (plugin.NAME, VERSION)


def test_its_commands_are_those_that_an_installation_has() -> None:
    (server,) = read(".mcp.json")["mcpServers"].values()
    assert (server["command"], server["args"]) == ("learning-memory-server", ["--hooks"])
    commands = {(each["command"], *each["args"]) for each in hooks_in(kind="command")}
    assert commands == {("learning-memory-server", "hook")}


def test_each_hook_gives_the_tool_an_event_with_parts_that_it_knows_and_is_soon_given_up() -> None:
    (tool,) = toolset.tools
    calls = hooks_in(kind="mcp_tool")
    assert {(each["tool"], each["server"]) for each in calls} == {(hook.__name__, f"plugin:{plugin.NAME}:memory")}
    # Claude Code says whether a command failed; a command has the source.
    assert {name for each in calls for name in each["input"]} == set(tool.input_schema["properties"]) == {"event"}
    given = {name for each in calls for name in each["input"]["event"]}
    described = set(re.findall(r"`(\w+)`", tool.input_schema["properties"]["event"]["description"]))
    assert given == described - {"unknown", "source", "alone", "loads", "true"}
    assert all(each["timeout"] <= 2 for each in hooks_in())
    assert all("session" in each["input"]["event"] for each in calls)


def test_a_hook_says_that_a_tool_edits_a_file_unless_it_reads_it() -> None:
    said = {
        tool: hooked["input"]["event"].get("edit")
        for group in read("hooks/hooks.json")["hooks"]["PostToolUse"]
        for hooked in group["hooks"]
        for tool in group["matcher"].split("|")
        if "file" in hooked["input"]["event"]
    }
    assert said == {**dict.fromkeys(("Edit", "MultiEdit", "Write", "NotebookEdit"), "true"), "Read": None}


def test_its_icon_is_a_small_square_png() -> None:
    icon = (PLUGIN / "icon.png").read_bytes()
    assert icon.startswith(b"\x89PNG")
    assert struct.unpack(">II", icon[16:24]) == (512, 512)
    assert len(icon) < 20_000


def test_the_copy_has_absolute_commands_and_is_a_marketplace(tmp_path: Path) -> None:
    wanted = plugin.contents(LAUNCH)
    folder = tmp_path / "data" / "claude-code"
    plugin.write_plugin(folder, wanted)
    assert plugin.is_written(folder, wanted)
    copy = folder / read(".claude-plugin/marketplace.json", folder)["plugins"][0]["source"]
    (server,) = read(".mcp.json", copy)["mcpServers"].values()
    script = "${CLAUDE_PLUGIN_ROOT}/start.sh"
    assert server["command"] == "/bin/sh"
    assert server["args"] == [script, sys.executable, LAUNCH.command, "--hooks"]
    commands = hooks_in(copy, "command")
    assert {each["command"] for each in commands} == {sys.executable}
    assert all(Path(each["args"][-1]).is_file() for each in commands)
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()} == {0o600}


def test_a_copy_of_an_earlier_version_is_replaced_as_a_whole(tmp_path: Path) -> None:
    wanted = plugin.contents(LAUNCH)
    plugin.write_plugin(tmp_path, {**wanted, Path("learning-memory/hooks/old.json"): b"{}"})
    assert not plugin.is_written(tmp_path, wanted)
    plugin.write_plugin(tmp_path, wanted)
    assert plugin.is_written(tmp_path, wanted)


def listed(machine: Machine, **files: object) -> None:
    """Write what Claude Code says of its plugins."""
    folder = machine.home / ".claude" / "plugins"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder.parent if name == "settings" else folder).joinpath(f"{name}.json").write_text(text, "utf-8")


def with_copy(machine: Machine, folder: Path | None = None, **files: object) -> plugin.Installed:
    """Install the plugin's copy as Claude Code does."""
    folder = folder or plugin.copy_folder(machine)
    plugin.write_plugin(folder, plugin.contents(LAUNCH))
    listed(
        machine,
        installed_plugins={"plugins": {plugin.IDENTITY: [{"installPath": "/cache/1"}]}},
        known_marketplaces={plugin.MARKETPLACE: {"installLocation": str(folder)}},
        **files,
    )
    found = plugin.find_installed(machine)
    assert found
    return found


def test_an_installed_plugin_is_found_whatever_its_marketplace(machine: Machine) -> None:
    assert plugin.find_installed(machine) is None
    installed = {"other@x": [{}], "learning-memory@acme": [{"installPath": "/cache/1"}]}
    listed(machine, installed_plugins={"plugins": installed})
    found = plugin.find_installed(machine)
    assert found == plugin.Installed("learning-memory@acme", Path("/cache/1"))
    assert plugin.removing(machine) == [["claude", "plugin", "uninstall", "-s", "user", "learning-memory@acme"]]
    assert [each[2] for each in plugin.adding(machine)] == ["uninstall", "marketplace", "install"]
    assert plugin.entry_of(found) == {}


def test_its_server_is_read_from_the_copy(machine: Machine) -> None:
    found = with_copy(machine)
    assert found.folder == plugin.copy_folder(machine) / plugin.NAME
    assert plugin.entry_of(found) == {"command": LAUNCH.command, "args": ["--hooks"]}
    assert plugin.flaw_of(found, machine, LAUNCH) == ""
    assert plugin.adding(machine) == []


def test_a_checkout_that_is_a_marketplace_is_no_copy(machine: Machine) -> None:
    with_copy(machine)
    checkout = packaged("")
    listed(machine, known_marketplaces={plugin.MARKETPLACE: {"installLocation": str(checkout.parent)}})
    found = plugin.find_installed(machine)
    assert found
    assert found.folder == checkout / "claude-code"
    assert plugin.flaw_of(found, machine, LAUNCH) == ""
    assert plugin.entry_of(found) == {"command": "learning-memory-server", "args": ["--hooks"]}


def test_each_flaw_of_the_plugin_is_named_and_mended(machine: Machine, tmp_path: Path) -> None:
    disabled = with_copy(machine, settings={"enabledPlugins": {plugin.IDENTITY: False}})
    assert plugin.flaw_of(disabled, machine, LAUNCH) == "it is disabled"
    assert plugin.adding(machine) == [["claude", "plugin", "enable", "-s", "user", plugin.IDENTITY]]
    elsewhere = with_copy(machine, tmp_path / "data" / "claude-code", settings={})
    assert "another version or installation" in plugin.flaw_of(elsewhere, machine, LAUNCH)
    folder = str(plugin.copy_folder(machine))
    assert plugin.adding(machine) == [["claude", "plugin", "marketplace", "add", folder]]
    found = with_copy(machine)
    assert "another version" in plugin.flaw_of(found, machine, Launch("/other/learning-memory-server"))
    shutil.rmtree(plugin.copy_folder(machine))
    assert plugin.flaw_of(found, machine, LAUNCH) == f"its folder {found.folder} is gone"


def test_what_the_clients_own_uninstall_leaves_is_removed(machine: Machine) -> None:
    with_copy(machine)
    listed(machine, installed_plugins={"plugins": {}})
    assert plugin.removing(machine) == [["claude", "plugin", "marketplace", "remove", plugin.MARKETPLACE]]


@pytest.mark.parametrize("content", ["{", "[]", '{"plugins": {"learning-memory@x": 1}}'])
def test_a_list_that_cannot_be_read_is_a_sentence(machine: Machine, content: str) -> None:
    listed(machine, installed_plugins=content)
    with pytest.raises(ClientSetupError, match="list of plugins"):
        plugin.find_installed(machine)


REQUESTS = (
    {"jsonrpc": "2.0", "id": "probe-1", "method": "server/discover", "params": {"_meta": {}}},
    {"method": "initialize", "params": {"clientInfo": {"name": "c"}}, "jsonrpc": "2.0", "id": 0},
    {"method": "notifications/initialized", "jsonrpc": "2.0"},
    {"method": "tools/call", "params": {"arguments": {"prompt": '"id":7'}}, "jsonrpc": "2.0", "id": 12},
)


@pytest.mark.skipif(sys.platform == "win32", reason="the copy has it where there is a shell")
def test_where_the_program_is_gone_hooks_are_answered_with_nothing() -> None:
    script = PLUGIN / "start.sh"
    lines = "".join(f"{json.dumps(each, separators=(',', ':'))}\n" for each in REQUESTS)

    def started(*command: str) -> str:
        done = subprocess.run(["/bin/sh", script, *command], input=lines, capture_output=True, text=True, check=True)
        return done.stdout

    probe, opened, called = map(json.loads, started(sys.executable, "/nowhere/x", "--hooks").splitlines())
    assert (probe["id"], probe["error"]["code"]) == ("probe-1", -32601)
    assert (opened["id"], opened["result"]["protocolVersion"]) == (0, "2025-11-25")
    assert (called["id"], called["result"]["content"]) == (12, [{"type": "text", "text": "{}"}])
    assert started("/nowhere/python", sys.executable) == started(sys.executable, "/nowhere/x")
    assert started(sys.executable, sys.executable, "-c", "print('runs')") == "runs\n"


OTHERS = (
    "claude-code/hooks/codex.json",
    "claude-code/.codex-plugin/plugin.json",
    "gemini-cli/settings.json",
    "copilot/learning-memory.json",
    "cursor/hooks.json",
)


@pytest.mark.parametrize("name", OTHERS)
def test_the_files_for_other_clients_name_what_exists(name: str) -> None:
    folder = ROOT / "plugins"
    content = read(name, folder)
    if name.endswith("plugin.json"):
        assert content["version"] == VERSION
        root = folder / "claude-code"
        assert all((root / content[key]).exists() for key in ("skills", "hooks"))
        # `setup codex` adds the server; without this, Codex takes the one in .mcp.json, too.
        assert content["mcpServers"] == {}
        (listed,) = read(".agents/plugins/marketplace.json", folder)["plugins"]
        assert (folder / listed["source"]["path"]) == root
    else:
        (command,) = set(re.findall(r'"command": "(.+)"', (folder / name).read_text("utf-8")))
        assert command.rpartition(" ")[0] == "learning-memory-server hook"
        assert command.rpartition(" ")[2] in event._DIALECTS
        triggers = [event.trigger_of({"event": named}, "") for named in content["hooks"]]
        assert {each.kind for each in triggers if each} <= KINDS
        assert None not in triggers


def test_a_checkout_is_a_marketplace_of_claude_code() -> None:
    catalog = read(".claude-plugin/marketplace.json", ROOT)
    (listed,) = catalog["plugins"]
    manifest = read(".claude-plugin/plugin.json", ROOT / listed["source"])
    assert (catalog["name"], listed["name"]) == (plugin.MARKETPLACE, manifest["name"])
