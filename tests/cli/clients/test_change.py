"""A client's file: what is added is taken out byte for byte, and nothing of the user's is lost."""

import json
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.cli.clients import toml_text
from learning_memory_server.cli.clients.catalog import CLIENTS, Client, Machine
from learning_memory_server.cli.clients.change import addition, by_hand, find_entry, removal, settings_addition, snippet
from learning_memory_server.errors import ClientSetupError

ENTRY = {"command": "/opt/bin/server", "args": [], "env": {"X": "1"}}
CURSOR, CODEX, VSCODE = CLIENTS["cursor"], CLIENTS["codex"], CLIENTS["vscode"]
EDITED = [client for client in CLIENTS.values() if not client.own_command]

every_client = pytest.mark.parametrize("client", EDITED, ids=lambda client: str(client.name))

FILES = {
    "json": [
        b"",
        b"{}",
        b"{ }\n",
        b'{"SECTION":{}}',
        b'{"SECTION": {}, "a": 1}',
        b'{\r\n\t"SECTION": {\r\n\t}\r\n}',
        b'{"theme":"dark"}',
        b'\xef\xbb\xbf{\n    // note\n    "SECTION": {\n        "o": {"command": "x",},\n    },\n}',
        '{"schlüssel": ["ü", "\\u00fc"], "SECTION": { /* keep */ "o": {} } }\n\n'.encode(),
    ],
    "toml": [
        b"",
        b"\n",
        b'model = "x"',
        b'model = "x"\r\n\r\n[SECTION.o]\r\ncommand = "o"\r\n',
        b"# only a note",
        b'[SECTION]\n\n[SECTION.o]\ncommand = "o"\n\n\n\n',
        '\ufeffname = """\n[x]\n"""\n[a]\nb = "ü" # ü\n'.encode(),
    ],
}
CONTENTS = [
    pytest.param(client, content, id=f"{client.name}-{number}")
    for client in EDITED
    for number, content in enumerate(
        each.replace(b"SECTION", client.section.encode())
        for each in FILES["toml" if client.syntax is toml_text else "json"]
    )
]


def write(client: Client, machine: Machine, content: bytes) -> Path:
    path = client.locate(machine)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def add(client: Client, machine: Machine, entry: dict[str, Any] = ENTRY) -> Path:
    change = addition(client, machine, entry)
    change.apply()
    return change.path


def remove(client: Client, machine: Machine) -> None:
    removal(client, machine).apply()


@pytest.mark.parametrize(("client", "content"), CONTENTS)
def test_removing_what_was_added_leaves_the_same_bytes_and_no_other_file(
    client: Client, content: bytes, machine: Machine
) -> None:
    path = write(client, machine, content)
    add(client, machine)
    assert find_entry(client, machine) == ENTRY
    assert path.with_name(path.name + ".before-learning-memory").read_bytes() == content
    assert not addition(client, machine, ENTRY).is_needed
    remove(client, machine)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(("client", "content"), CONTENTS)
def test_removing_twice_or_before_adding_is_safe(client: Client, content: bytes, machine: Machine) -> None:
    path = write(client, machine, content)
    assert not removal(client, machine).is_needed
    remove(client, machine)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


@every_client
def test_a_file_made_for_the_server_is_private_and_goes_with_it(client: Client, machine: Machine) -> None:
    path = add(client, machine)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert client.syntax.parse(path.read_text("utf-8")) == {client.section: {"learning-memory": ENTRY}}
    assert path.read_text("utf-8").rstrip("\n") == snippet(client, ENTRY)
    remove(client, machine)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("with_copy", [True, False])
@pytest.mark.parametrize(("client", "content"), CONTENTS)
def test_what_the_user_adds_later_stays_when_the_server_goes(
    client: Client, content: bytes, with_copy: bool, machine: Machine
) -> None:
    path = write(client, machine, content)
    before = client.syntax.parse(content.decode())
    add(client, machine)
    path.write_text(client.syntax.put(path.read_text("utf-8"), ("later",), {"a": 1}), "utf-8")
    copy = path.with_name(path.name + ".before-learning-memory")
    if not with_copy:
        copy.unlink()
    changed = path.read_bytes()
    remove(client, machine)
    after = client.syntax.parse(path.read_text("utf-8"))
    assert {**after, client.section: None} == {**before, "later": {"a": 1}, client.section: None}
    assert after.get(client.section, {}) == before.get(client.section, {})
    assert copy.read_bytes() == changed


@every_client
def test_an_update_keeps_the_fields_of_others_and_the_first_copy(client: Client, machine: Machine) -> None:
    path = write(client, machine, b"")
    add(client, machine)
    add(client, machine, {"command": "/new/bin/server", "args": ["--direct"], "env": {"Y": "2"}})
    assert find_entry(client, machine) == {
        "command": "/new/bin/server",
        "args": ["--direct"],
        "env": {"X": "1", "Y": "2"},
    }
    assert path.with_name(path.name + ".before-learning-memory").read_bytes() == b""


def test_an_entry_that_the_user_extended_keeps_the_extension(machine: Machine) -> None:
    path = add(CURSOR, machine)
    content = json.loads(path.read_text("utf-8"))
    content["mcpServers"]["learning-memory"] |= {"disabled": True, "command": "/gone"}
    path.write_text(json.dumps(content), "utf-8")
    add(CURSOR, machine)
    assert find_entry(CURSOR, machine) == {**ENTRY, "disabled": True}


def test_an_entry_whose_empty_arguments_the_client_left_out_is_complete(machine: Machine) -> None:
    write(CODEX, machine, b'[mcp_servers.learning-memory]\ncommand = "x"\n')
    assert not addition(CODEX, machine, {"command": "x", "args": []}).is_needed
    assert addition(CODEX, machine, {"command": "x", "args": ["--direct"]}).is_needed


def test_a_file_keeps_its_mode_and_so_does_its_copy(machine: Machine) -> None:
    path = write(CURSOR, machine, b"{}")
    path.chmod(0o644)
    add(CURSOR, machine)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert stat.S_IMODE(path.with_name("mcp.json.before-learning-memory").stat().st_mode) == 0o644


def test_a_link_into_a_folder_of_dotfiles_stays_a_link(machine: Machine, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "cursor.json"
    target.parent.mkdir()
    target.write_bytes(b"{}")
    path = CURSOR.locate(machine)
    path.parent.mkdir()
    path.symlink_to(target)
    add(CURSOR, machine)
    assert path.is_symlink()
    assert "learning-memory" in target.read_text("utf-8")
    assert list(target.parent.iterdir()) == [target]
    remove(CURSOR, machine)
    assert target.read_bytes() == b"{}"


@pytest.mark.parametrize(
    ("client", "content", "reason"),
    [
        (CURSOR, b'{\n "a": \n}', "as JSON, line 3 is not valid"),
        (CURSOR, b'{"mcpServers": []}', "as JSON, mcpServers is not an object"),
        (CURSOR, b"\xff", "as JSON, it is not UTF-8"),
        (CODEX, b"a = \n", "as TOML, Invalid value"),
        (CODEX, b"mcp_servers = { o = {} }\n", "as TOML, "),
    ],
)
def test_a_file_that_cannot_be_edited_is_refused_with_what_to_paste(
    client: Client, content: bytes, reason: str, machine: Machine
) -> None:
    path = write(client, machine, content)
    with pytest.raises(ClientSetupError, match=reason) as refusal:
        addition(client, machine, ENTRY)
    assert path.read_bytes() == content
    assert str(path) in refusal.value.message
    assert refusal.value.hint is not None
    assert "learning-memory" in refusal.value.hint.partition(":\n")[2]


BY_HAND = [
    (CURSOR, "", "", "TEXT"),
    (CURSOR, "{}", "", "TEXT"),
    (CURSOR, '{"a": 1}', "after the opening brace of the file", '{TEXT"a": 1}'),
    (CURSOR, '{"mcpServers": {}}', "after the opening brace of mcpServers", '{"mcpServers": {TEXT}}'),
    (CURSOR, '{"mcpServers": {"o": {}}}', "after the opening brace of mcpServers", '{"mcpServers": {TEXT"o": {}}}'),
    (CURSOR, '{"mcpServers": []}', "in place of mcpServers", "{TEXT}"),
    (CURSOR, '{"mcpServers": {"learning-memory": 1}}', "in place of learning-memory in", '{"mcpServers": {TEXT}}'),
    (VSCODE, '{"a": 1, /* mine */ "servers": {"o": {}}}', "brace of servers", '{"a": 1, "servers": {TEXT"o": {}}}'),
    (CODEX, "", "", "TEXT"),
    (CODEX, "a = 1\n", "to the end of", "a = 1\nTEXT"),
    (CODEX, "[mcp_servers.o]\na = 1\n", "to the end of", "[mcp_servers.o]\na = 1\nTEXT"),
    (CODEX, "mcp_servers.o.a = 1\n", "to the end of", "mcp_servers.o.a = 1\nTEXT"),
    (CODEX, "mcp_servers = { o = {} }\n", "after the opening brace of mcp_servers", "mcp_servers = { TEXT o = {} }\n"),
    (CODEX, "mcp_servers = {}\n", "after the opening brace of mcp_servers", "mcp_servers = { TEXT }\n"),
    (CODEX, "[mcp_servers.learning-memory]\na = 1\n", "in place of the table", "TEXT"),
    (CODEX, "mcp_servers = { learning-memory = {} }\n", "in place of learning-memory in", "mcp_servers = { TEXT }\n"),
    (CODEX, "mcp_servers = 1\n", "in place of mcp_servers", "TEXT"),
]
"""Clients, contents of their files, where the text goes, and the content with it."""


@pytest.mark.parametrize(("client", "content", "where", "edited"), BY_HAND)
def test_the_text_to_add_by_hand_is_valid_where_it_goes(
    client: Client, content: str, where: str, edited: str, machine: Machine
) -> None:
    path = write(client, machine, content.encode())
    place, text = by_hand(client, machine, ENTRY)
    assert str(path) in place
    assert where in place
    found = client.syntax.parse(edited.replace("TEXT", text))
    assert found[client.section]["learning-memory"] == ENTRY
    assert set(client.syntax.parse(content)) <= set(found)
    assert ("o" in found[client.section]) == ("o = " in content or '"o"' in content or ".o" in content)


def test_settings_to_add_by_hand_are_lines_of_the_settings_file(tmp_path: Path) -> None:
    values = {"redaction": True, "storage_path": '/a "b"', "qdrant_api_key": "k3y", "redaction_allow": ["x"]}
    (tmp_path / "config.toml").write_text("a = \n")
    with pytest.raises(ClientSetupError) as refusal:
        settings_addition(tmp_path / "config.toml", values)
    assert refusal.value.hint is not None
    place, _, lines = refusal.value.hint.partition(":\n")
    assert "at the beginning of" in place
    assert tomllib.loads(f"{lines}\n[table]\n") == {**values, "qdrant_api_key": "...", "table": {}}


def test_an_entry_in_a_form_that_is_not_edited_is_left_to_the_user(machine: Machine) -> None:
    content = b"mcp_servers = { learning-memory = { command = 'x' } }\n"
    path = write(CODEX, machine, content)
    with pytest.raises(ClientSetupError) as refusal:
        removal(CODEX, machine)
    assert refusal.value.hint == f"Remove mcp_servers.learning-memory from {path} yourself."
    assert path.read_bytes() == content


def test_a_file_that_changed_after_the_question_is_not_overwritten(machine: Machine) -> None:
    path = write(CURSOR, machine, b"{}")
    change = addition(CURSOR, machine, ENTRY)
    path.write_bytes(b'{"a": 1}')
    with pytest.raises(ClientSetupError, match="has changed since it was read"):
        change.apply()
    assert path.read_bytes() == b'{"a": 1}'


def test_a_folder_that_cannot_be_made_is_a_sentence_with_what_to_paste(machine: Machine) -> None:
    CURSOR.locate(machine).parent.write_text("a file where the folder should be")
    change = addition(CURSOR, machine, ENTRY)
    with pytest.raises(ClientSetupError, match="cannot be written") as refusal:
        change.apply()
    assert refusal.value.hint is not None
    assert snippet(CURSOR, ENTRY) in refusal.value.hint


def test_a_folder_in_place_of_the_file_is_a_sentence(machine: Machine) -> None:
    CURSOR.locate(machine).mkdir(parents=True)
    with pytest.raises(ClientSetupError, match="cannot be read"):
        find_entry(CURSOR, machine)


def test_the_change_is_shown_as_a_diff(machine: Machine) -> None:
    path = write(VSCODE, machine, b'{\n  "servers": {}\n}\n')
    assert addition(VSCODE, machine, {"command": "x"}).diff() == [
        f"--- {path}",
        f"+++ {path}",
        "@@ -1,3 +1,7 @@",
        " {",
        '-  "servers": {}',
        '+  "servers": {',
        '+    "learning-memory": {',
        '+      "command": "x"',
        "+    }",
        "+  }",
        " }",
    ]


def test_settings_go_before_the_tables_of_the_settings_file(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "config.toml"
    change = settings_addition(path, {"redaction": True, "storage_path": "/data"})
    change.apply()
    again = settings_addition(path, {"redaction": False})
    again.apply()
    assert tomllib.loads(path.read_text("utf-8")) == {"redaction": False, "storage_path": "/data"}
    assert not settings_addition(path, {"redaction": False}).is_needed
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
