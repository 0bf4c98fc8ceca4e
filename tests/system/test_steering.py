"""What a project's files may not decide: tables of files and variables."""

import json
import os
from pathlib import Path

import pytest

from learning_memory_server.system import locations, steering
from learning_memory_server.system.steering import find_steering
from tests.sharing.repositories import git

PROJECT = "LEARNING_MEMORY_PROJECT"
CLAUDE, LOCAL = ".claude/settings.json", ".claude/settings.local.json"
JSON_FILES = {
    CLAUDE: "env",
    LOCAL: "env",
    ".mcp.json": "mcpServers/memory/env",
    ".vscode/mcp.json": "servers/memory/env",
    ".vscode/settings.json": "terminal.integrated.env.linux",
    ".cursor/mcp.json": "mcpServers/memory/env",
    ".gemini/settings.json": "mcpServers/memory/env",
    ".github/mcp.json": "mcpServers/memory/env",
    ".opencode/opencode.json": "mcp/memory/environment",
    ".opencode/opencode.jsonc": "mcp/memory/environment",
    "opencode.json": "mcp/memory/environment",
    "opencode.jsonc": "mcp/memory/environment",
}
"""Where each file has variables."""


def put(folder: Path, file: str, text: str | bytes) -> Path:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def content(file: str, name: str, value: object) -> str:
    """Return a file of a client that gives a variable a value."""
    if file in JSON_FILES:
        found: object = {name: value}
        for key in reversed(JSON_FILES[file].split("/")):
            found = {key: found}
        return json.dumps(found)
    if file.endswith(".toml"):
        return f"[mcp_servers.memory.env]\n{name} = {json.dumps(value)}\n"
    return f"OTHER=1\nexport {name}={value}\n"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project, which is the working directory, with a repository that tracks what is there at the time."""
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "--quiet")
    monkeypatch.chdir(folder)
    return folder


def kept(**variables: str) -> dict[str, str]:
    """Return what is left of a process's variables."""
    steering.ignore_project(variables)
    return variables


def is_ignored(name: str = PROJECT, seen: str = "victim", **others: str) -> bool:
    return kept(**{name: seen, **others}).get(name) != seen


@pytest.mark.parametrize("file", locations.PROJECT_FILES)
def test_a_variable_that_a_file_of_the_project_sets_is_ignored(shop: Path, file: str) -> None:
    put(shop, file, content(file, PROJECT, "victim"))
    git(shop, "add", "--force", ".")

    assert is_ignored()
    assert is_ignored(seen="mine")


@pytest.mark.parametrize("file", locations.PROJECT_FILES)
def test_files_of_the_folders_above_count_and_from_wherever_the_client_starts(
    shop: Path, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(shop, file, content(file, PROJECT, "victim"))
    git(shop, "add", "--force", ".")
    (shop / "deep" / "inside").mkdir(parents=True)
    monkeypatch.chdir(shop / "deep" / "inside")
    assert is_ignored()

    monkeypatch.chdir("/")
    assert not is_ignored()
    assert is_ignored(CLAUDE_PROJECT_DIR=str(shop))
    assert is_ignored(PWD=str(shop / "deep"))
    assert is_ignored(WORKSPACE_FOLDER_PATHS=f"/other,{shop}")


@pytest.mark.parametrize(
    ("file", "value"),
    [
        (CLAUDE, "${HOME}/x"),
        (CLAUDE, 5),
        (".mcp.json", "${GIVEN:-victim}"),
        (".vscode/mcp.json", "${input:project}"),
        (".vscode/mcp.json", "${workspaceFolder}/data"),
        ("opencode.json", "{file:name.txt}"),
        (".gemini/settings.json", "$NOWHERE"),
        (".env", "victim # really"),
        (".env", ""),
        (".env", '"victim\nsecond"'),
    ],
)
def test_a_variable_that_a_file_sets_is_ignored_whatever_the_value(shop: Path, file: str, value: object) -> None:
    put(shop, file, content(file, PROJECT, value))

    assert is_ignored(seen="mine", GIVEN="given")


@pytest.mark.parametrize(
    "text",
    [
        '{"env": {"LEARNING\\u005fMEMORY_PROJECT": "victim"}}',
        '{"env": {"LEARNING_MEMORY_PROJECT": "vic\\u0074im"}}',
        '{"env": {"LEARNING_MEMORY_PROJECT": "victim", "LEARNING_MEMORY_PROJECT": "other"}}',
        '{"env": {"LEARNING_MEMORY_PROJECT": "other", "LEARNING_MEMORY_PROJECT": "victim"}}',
        '// note\n{"env": {"LEARNING_MEMORY_PROJECT": /* here */ "victim",},}',
        '{"env": {"LEARNING_MEMORY_PROJECT": "other"',
        "{'env': {'LEARNING_MEMORY_PROJECT': 'other'}}",
        "{'env': {'LEARNING\\u005fMEMORY_PROJECT': 'other'}}",
        '\ufeff{"env": {"LEARNING_MEMORY_PROJECT": "victim"}}',
        '{"env": {"LEARNING_MEMORY_PROJECT": "victim"}}'.encode("utf-16"),
        '{"env": {"LEARNING_MEMORY_PROJECT": "victim"}}'.encode("utf-16-le"),
        "[" * 200_000 + '"LEARNING_MEMORY_PROJECT"',
        b'{"a": "' + b"a" * (1 << 20) + b'", "env": {"LEARNING_MEMORY_PROJECT": "victim"}}',
        b'{"a": "\xff", "env": {"LEARNING_MEMORY_PROJECT": "victim"}}',
    ],
)
def test_no_spelling_hides_a_variable(shop: Path, text: str | bytes) -> None:
    put(shop, CLAUDE, text)

    assert is_ignored()


@pytest.mark.parametrize("text", ['"LEARNING\\u005fMEMORY_PROJECT" = "victim"', '"LEARNING\\u005fMEMORY_'])
def test_no_spelling_hides_a_variable_in_toml(shop: Path, text: str) -> None:
    put(shop, ".codex/config.toml", text)

    assert is_ignored()


@pytest.mark.parametrize(
    "text",
    [
        '// LEARNING_MEMORY_PROJECT\n{"env": {"OTHER": "victim"},}',
        '{"permissions": ["LEARNING_MEMORY_PROJECT"], "env": {}}',
        '{"env": {"LEARNING_MEMORY_PROJECT_": "victim"}}',
        "",
    ],
)
def test_what_only_mentions_a_variable_sets_nothing(shop: Path, text: str) -> None:
    put(shop, CLAUDE, text)

    assert not is_ignored()


@pytest.mark.parametrize("file", [".vscode/mcp.json", ".cursor/mcp.json", ".mcp.json"])
@pytest.mark.parametrize(
    ("named", "is_expected"),
    [
        ("${workspaceFolder}/conf/vars", True),
        ("conf/vars", True),
        ("${workspaceFolder}/none", False),
        ("${workspaceFolder}/conf/others", False),
        ("${input:file}", True),
        (7, True),
    ],
)
def test_variables_of_a_file_that_a_client_is_told_to_read_count(
    shop: Path, file: str, named: object, *, is_expected: bool
) -> None:
    put(shop, "conf/vars", f"A=1\n{PROJECT}=victim\n")
    put(shop, "conf/others", "A=1\n")
    put(shop, file, json.dumps({"servers": {"other": {"envFile": named}}}))

    assert is_ignored() is is_expected


def test_a_file_of_variables_that_cannot_be_found_out_may_set_any(shop: Path) -> None:
    put(shop, ".vscode/mcp.json", '{"servers": {"other": {"envFile": ')

    assert is_ignored()


@pytest.mark.parametrize(
    "name",
    [
        "LEARNING_MEMORY_STORAGE_PATH",
        "LEARNING_MEMORY_CONFIG",
        "LEARNING_MEMORY_QDRANT_URL",
        "LEARNING_MEMORY_OF_A_LATER_VERSION",
        "HOME",
        "XDG_DATA_HOME",
        "XDG_CONFIG_HOME",
        "XDG_RUNTIME_DIR",
        "CLAUDE_PROJECT_DIR",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CONFIG_DIR",
        "HTTPS_PROXY",
        "https_proxy",
        "SSL_CERT_FILE",
        "REQUESTS_CA_BUNDLE",
        "HF_ENDPOINT",
        "OLLAMA_HOST",
        "TMPDIR",
    ],
)
def test_these_are_not_a_projects_to_set(shop: Path, name: str) -> None:
    put(shop, CLAUDE, content(CLAUDE, name, "/victim"))

    assert is_ignored(name, "/victim")
    assert [(each, file) for each, file in find_steering({}) if each == name] == [(name, str(shop / CLAUDE))]


@pytest.mark.parametrize(
    "name", ["LEARNING_MEMORY_LOG_LEVEL", "PATH", "PYTHONPATH", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "NODE_ENV"]
)
def test_the_rest_is(shop: Path, name: str) -> None:
    put(shop, CLAUDE, content(CLAUDE, name, "given"))

    assert not is_ignored(name, "given")
    assert find_steering({}) == []


def test_the_home_is_the_user_databases(shop: Path) -> None:
    put(shop, CLAUDE, content(CLAUDE, "HOME", str(shop)))

    assert kept(HOME=str(shop)) == {"HOME": locations.home()}


def test_the_users_own_files_steer(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The home has what the user gives to every project.
    monkeypatch.setattr(locations, "home", lambda: str(tmp_path))
    for file in locations.PROJECT_FILES:
        put(tmp_path, file, content(file, PROJECT, "victim"))
    assert not is_ignored()

    put(shop, LOCAL, content(LOCAL, PROJECT, "victim"))
    assert not is_ignored()
    assert find_steering({}) == []


def test_local_settings_are_the_users_unless_git_tracks_them(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(shop, LOCAL, content(LOCAL, PROJECT, "victim"))
    assert not is_ignored()

    git(shop, "add", "--force", LOCAL)
    assert is_ignored()
    (shop / ".git" / "index").write_bytes(b"damaged")
    assert is_ignored()

    monkeypatch.chdir("/")
    outside = tmp_path / "outside"
    put(outside, LOCAL, content(LOCAL, PROJECT, "victim"))
    (outside / "linked").mkdir()
    (outside / "linked" / ".claude").symlink_to(outside / ".claude")
    assert not is_ignored(CLAUDE_PROJECT_DIR=str(outside))
    assert is_ignored(CLAUDE_PROJECT_DIR=str(outside / "linked"))


def test_a_front_that_was_to_be_steered_decides_nothing_for_all_projects(shop: Path) -> None:
    mine = {
        "LEARNING_MEMORY_QDRANT_URL": "http://127.0.0.1:6333",
        "LEARNING_MEMORY_QDRANT_API_KEY": "k",
        "LEARNING_MEMORY_EMBEDDING_BACKEND": "hashing",
        "LEARNING_MEMORY_OLLAMA_URL": "http://127.0.0.1:1",
        "LEARNING_MEMORY_RERANKER_MODEL": "/m",
        "LEARNING_MEMORY_REDACTION": "false",
        "LEARNING_MEMORY_REDACTION_ALLOW": "[]",
    }
    of_it = {"LEARNING_MEMORY_MIN_EXPERIENCES": "5", "PATH": "/bin"}
    assert kept(**mine, **of_it) == mine | of_it

    put(shop, CLAUDE, content(CLAUDE, PROJECT, "victim"))

    assert kept(**mine, **of_it, **{PROJECT: "victim"}) == of_it
    said = steering.ignore_project({PROJECT: "victim", "LEARNING_MEMORY_REDACTION": "false"})
    assert said == [
        f"{PROJECT} is ignored: {shop / CLAUDE} names it.",
        "LEARNING_MEMORY_REDACTION is ignored as well, because it would hold for all projects.",
    ]


SDK = {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}


@pytest.mark.parametrize(
    ("set_by_file", "variables", "is_attended"),
    [
        # A checked-in file says that nobody reads along: an enforced rule would no longer be asked about.
        ({"CI": "true"}, {"CI": "true", "CLAUDE_CODE_ENTRYPOINT": "cli"}, True),
        (SDK, SDK, True),
        ({**SDK, "CI": "1"}, {**SDK, "CI": "1"}, True),
        # What is so counts, whatever else the file sets.
        ({"CI": "true"}, {"CI": "true", **SDK}, False),
        (SDK, {"CI": "true", "CLAUDE_CODE_ENTRYPOINT": "cli"}, False),
        ({"SPECIFIC": "CI"}, {"CI": "true"}, False),
        ({}, SDK, False),
    ],
)
def test_no_file_of_the_project_says_that_nobody_reads_along(
    shop: Path, set_by_file: dict[str, str], variables: dict[str, str], is_attended: bool
) -> None:
    put(shop, CLAUDE, json.dumps({"env": set_by_file}))
    git(shop, "add", "--force", ".")
    left = kept(**variables, PATH="/bin")
    assert locations.is_attended(left) is is_attended
    # Commands of agents are still told from those of a person.
    assert bool(left.get("CLAUDE_CODE_ENTRYPOINT")) is ("CLAUDE_CODE_ENTRYPOINT" in variables)


def test_a_file_that_sets_only_what_builds_set_takes_no_setting_away(shop: Path) -> None:
    put(shop, ".env", "CI=true\n")
    mine = {"LEARNING_MEMORY_QDRANT_URL": "https://mine", "CI": "true"}
    assert steering.ignore_project(mine) == []
    assert mine == {"LEARNING_MEMORY_QDRANT_URL": "https://mine"}


def test_a_hub_gets_named_variables_only() -> None:
    passed = {
        "PATH": "/bin",
        "HOME": "/h",
        "LANG": "C.UTF-8",
        "XDG_RUNTIME_DIR": "/run/user/1",
        "LEARNING_MEMORY_STORAGE_PATH": "/d",
        "LEARNING_MEMORY_LOG_LEVEL": "debug",
        "HTTPS_PROXY": "http://p",
        "HF_HOME": "/hf",
    }
    other = {
        "CLAUDE_PROJECT_DIR": "/p",
        "CLAUDE_CODE_SESSION_ID": "s",
        "ANTHROPIC_API_KEY": "k",
        "AWS_SECRET_ACCESS_KEY": "k",
        "LD_PRELOAD": "/x.so",
    }

    assert steering.for_hub(passed | other) == passed


@pytest.mark.parametrize("file", [".env", CLAUDE])
def test_what_is_no_file_is_passed_over(shop: Path, file: str) -> None:
    put(shop, file, "")
    (shop / file).unlink()
    os.mkfifo(shop / file)
    assert not is_ignored()

    (shop / file).unlink()
    (shop / file).mkdir()
    assert not is_ignored()
