"""Edits of TOML keep everything else: parsed, it is the same, and every other line stays as it was."""

import tomllib
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from learning_memory_server.cli.clients import toml_text

ENTRY = {"command": "/opt/bin/server", "args": ["a b"], "env": {"X": 'quote " and \\ \x7f é'}}
PATH = ("mcp_servers", "ours")

ROOT = [
    'model = "x" # a note with [brackets] and "quotes\n',
    "# only a note\n",
    "\n",
    'text = """\n[mcp_servers.ours]\ncommand = "no"\n"""\n',
    "literal = '''\n[not.a.header]\n'''\n",
    'lists = [\n  [1, 2],\n  # [3]\n  ["]"],\n]\n',
    'inline = { a = 1, "b.c" = [2] }\n',
    "dotted.key = 1\n",
    '"quoted = key" = 2\n',
    "when = 2026-11-22T10:00:00Z\n",
]
TABLES = [
    "[tui]\nnotifications = true\n",
    "[mcp_servers.other]\ncommand = 'o'\n\n[mcp_servers.other.env]\nA = \"1\"\n",
    '[mcp_servers."ours too"]\ncommand = "o" # ours\n',
    "# about the next\n  [ projects . '/a/b' ] # here\n  trust = \"trusted\"\n",
    "[[list]]\na = 1\n[[list]]\na = [\n2]\n",
    "\n\n",
]


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A file of Codex as people and Codex write it."""
    parts = [*draw(st.lists(st.sampled_from(ROOT), unique=True)), *draw(st.lists(st.sampled_from(TABLES), unique=True))]
    text = "".join(parts)
    if draw(st.booleans()):
        text = text.removesuffix("\n")
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    tomllib.loads(text)
    return draw(st.sampled_from(["", "\ufeff"])) + text


def merged(before: dict[str, Any]) -> dict[str, Any]:
    return {**before, "mcp_servers": {**before.get("mcp_servers", {}), "ours": ENTRY}}


@pytest.mark.slow
@given(documents())
def test_an_entry_is_added_at_the_end_and_nothing_else_changes(text: str) -> None:
    after = toml_text.put(text, PATH, ENTRY)
    assert after.startswith(text)
    assert toml_text.parse(after) == merged(toml_text.parse(text))
    assert toml_text.put(after, PATH, ENTRY) == after


@pytest.mark.slow
@example("\ufeff", "")
@given(documents(), st.sampled_from(["", "\n[after]\nx = 1 # kept\n", "\n# a note\n\n[after]\nx = 1\n"]))
def test_what_was_added_can_be_taken_out(text: str, later: str) -> None:
    after = toml_text.drop(toml_text.put(text, PATH, ENTRY) + later, PATH)
    assert toml_text.parse(after) == toml_text.parse(text) | tomllib.loads(later)
    ended = text if not text.removeprefix("\ufeff") or text.endswith("\n") else text + "\n"
    assert after.replace("\r\n", "\n") == ended.replace("\r\n", "\n") + later


@pytest.mark.slow
@given(documents())
def test_a_value_before_the_first_table_is_added_there(text: str) -> None:
    after = toml_text.put(text, (), {"storage_path": "/data", "redaction": False, "hub_idle_minutes": 2.5})
    assert toml_text.parse(after) == {
        **toml_text.parse(text),
        "storage_path": "/data",
        "redaction": False,
        "hub_idle_minutes": 2.5,
    }


@pytest.mark.parametrize(
    "text",
    [
        '[mcp_servers.ours]\ncommand = "old" # was\nenabled = true\nenv = { Y = "1" }\n[next]\na = 1\n',
        '[mcp_servers.ours]\ncommand = "old"\nenabled = true\n\n[mcp_servers.ours.env]\nY = "1"\n\n[next]\na = 1\n',
        '[mcp_servers."ours"]\nenabled = true\nargs = [\n "x",\n]\nenv.Y = "1"\n[next]\na = 1\n',
    ],
)
def test_an_update_keeps_the_fields_it_does_not_name(text: str) -> None:
    after = toml_text.put(text, PATH, ENTRY)
    assert toml_text.parse(after) == {
        "mcp_servers": {"ours": {**ENTRY, "enabled": True, "env": {"Y": "1", **ENTRY["env"]}}},  # type: ignore[dict-item]
        "next": {"a": 1},
    }


def test_the_tables_inside_the_entry_go_with_it() -> None:
    text = 'a = 1\n\n[mcp_servers.ours]\ncommand = "x"\n\n[mcp_servers.ours.tools.y]\nb = 2\n\n[z]\nc = 3\n'
    assert toml_text.drop(text, PATH) == "a = 1\n\n[z]\nc = 3\n"


def test_a_table_without_a_header_is_not_found() -> None:
    with pytest.raises(ValueError, match="no table"):
        toml_text.drop('mcp_servers = { ours = { command = "x" } }\n', PATH)


@pytest.mark.parametrize("text", ["[", "a = ", "a = 1\na = 2\n", "mcp_servers = 3\n"])
def test_what_is_not_a_table_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        toml_text.put(text, PATH, ENTRY)
