import os
import random
from pathlib import Path

import pytest

from benchmarks.secrets_made import ALNUM, drawn
from learning_memory_server.model.caller import normalised_remote, place_in, readable_name, session_of
from tests.processes import python
from tests.sharing.repositories import git

SHOP = "github.com/acme/shop"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://github.com/acme/shop.git", SHOP),
        ("https://github.com/Acme/Shop", SHOP),
        ("https://github.com/acme/shop/", SHOP),
        ("https://github.com/acme/shop.git/", SHOP),
        ("http://github.com/acme/shop", SHOP),
        ("git@github.com:acme/shop.git", SHOP),
        ("git@github.com:/acme/shop.git", SHOP),
        ("github.com:acme/shop.git", SHOP),
        ("ssh://git@github.com/acme/shop.git", SHOP),
        ("ssh://git@github.com:2222/acme/shop.git", SHOP),
        ("git+ssh://git@github.com/acme/shop.git", SHOP),
        ("https://github.com:8443/acme/shop.git", SHOP),
        ("https://user@github.com/acme/shop.git", SHOP),
        ("https://user:secret@github.com/acme/shop.git", SHOP),
        ("https://x-access-token:secret@github.com:443/acme/shop", SHOP),
        ("  https://github.com/acme/shop.git\n", SHOP),
        ("git@gitlab.example.org:group/sub/project.git", "gitlab.example.org/group/sub/project"),
        ("https://localhost:3000/acme/shop.git", "localhost/acme/shop"),
        ("ssh://git@gitea:22/acme/shop.git", "gitea/acme/shop"),
        ("git@gitea:acme/shop.git", "gitea/acme/shop"),
        ("https://github.com/acme/shop.github.io", "github.com/acme/shop.github.io"),
        ("https://github.com/acme/legit", "github.com/acme/legit"),
        ("http://gitea:3000/acme/shop.git", "gitea/acme/shop"),
    ],
)
def test_a_remote_has_one_name_however_it_is_spelled(url: str, name: str) -> None:
    assert normalised_remote(url) == name


@pytest.mark.parametrize(
    "url",
    [
        "/srv/git/shop.git",
        "../shop.git",
        "./shop",
        "file:///srv/git/shop.git",
        "C:\\repos\\shop",
        "C:/repos/shop",
        "shop",
        "",
        "https://",
    ],
)
def test_a_local_path_has_no_name(url: str) -> None:
    assert normalised_remote(url) is None


@pytest.mark.parametrize("url", ["https://user:sec@ret@github.com/acme/shop", "https://user:secret@/acme"])
def test_a_malformed_url_never_reveals_its_credentials(url: str) -> None:
    assert "sec" not in (normalised_remote(url) or "")


def test_a_place_is_a_branch_and_the_changed_files_also_in_a_folder_of_the_repository(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "-b", "fix/rounding")
    (repository / "billing").mkdir()
    (repository / "billing" / "totals.py").write_text("x")
    git(repository, "add", "billing/totals.py")
    (repository / "new.py").write_text("x")
    # No program that a repository's settings name is run.
    git(repository, "config", "core.fsmonitor", "touch ran; false")
    git(repository, "config", "filter.mine.clean", "touch ran; cat")
    git(repository, "config", "filter.mine.required", "true")
    (repository / ".git" / "info" / "attributes").write_text("*.py filter=mine")
    (repository / "billing" / "totals.py").write_text("y")

    for folder in (repository, repository / "billing"):
        assert place_in(folder) == "fix/rounding\nbilling/totals.py\nnew.py"
    assert not list(repository.rglob("ran"))
    assert place_in(repository.parent / "nowhere") == ""


def test_what_git_says_in_place_of_a_branch_is_no_branch(repository: Path, tmp_path: Path) -> None:
    git(repository, "checkout", "--quiet", "--detach")
    assert place_in(repository) == ""
    (repository / "new.py").write_text("x")
    assert place_in(repository) == "\nnew.py"

    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q", "-b", "first")
    assert place_in(empty) == "first"


@pytest.mark.parametrize("name", ["prüfung.py", "支付.py", "отчёт.md", "แคช.ts", "café list.txt"])
def test_a_changed_file_is_told_by_its_name_in_any_script(repository: Path, name: str) -> None:
    (repository / name).write_text("x")
    assert name in place_in(repository)


def test_a_name_that_is_no_text_can_be_searched_for_too(repository: Path) -> None:
    Path(os.fsdecode(os.fsencode(repository) + b"/caf\xe9.py")).write_text("x")
    assert "caf\ufffd.py" in place_in(repository).encode().decode()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    directory = tmp_path / "Shop"
    directory.mkdir()
    git(directory, "init", "--quiet")
    git(directory, "commit", "--quiet", "--allow-empty", "--message", "first")
    return directory


def test_a_session_is_a_hash_that_never_shows_its_id() -> None:
    raw = "0f9d3c2e-session"
    session = session_of({"CLAUDE_CODE_SESSION_ID": raw})

    assert session != raw
    assert raw not in session
    assert len(session) == 16
    assert set(session) <= set("0123456789abcdef")
    assert session == session_of({"CLAUDE_CODE_SESSION_ID": raw})
    assert session != session_of({"CLAUDE_CODE_SESSION_ID": raw + "2"})


def test_without_a_session_id_each_process_has_its_own() -> None:
    here = session_of({})
    code = "from learning_memory_server.model.caller import session_of; print(session_of({}))"

    assert here == session_of({"CLAUDE_CODE_SESSION_ID": ""})
    assert python(code).strip() != here


def test_a_token_in_a_name_is_no_part_of_the_projects_name() -> None:
    token = "gh" + "p_" + drawn(random.Random(4), ALNUM, 36)
    assert readable_name(f"build_{token}-app") == "build_[redacted: github token]-app"
    assert normalised_remote(f"https://git.test/Acme/{token}.git") == "git.test/acme/[redacted: github token]"
    assert normalised_remote("https://git.test/acme/token-password-vault") == "git.test/acme/token-password-vault"
