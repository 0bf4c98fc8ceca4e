"""Which files may be anchored to."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning_memory_server.learning.anchors.paths import name_in, project_root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "src").mkdir()
    return tmp_path / "shop"


def test_a_project_is_the_repository_that_a_folder_is_in(root: Path) -> None:
    assert project_root(str(root / "src")) == root
    assert project_root(str(root.parent)) == root.parent
    assert project_root("") is None
    assert project_root("shop") is None
    assert project_root("/a\0b") is None
    assert project_root("/\ud800") is None


def test_a_home_without_a_repository_is_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home" / "me"
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))

    assert project_root(str(home)) is None
    assert project_root(str(home.parent)) is None
    (home / ".git").mkdir()
    assert project_root(str(home)) == home


def test_a_name_is_relative_and_does_not_follow_a_link_out(root: Path) -> None:
    (root / "out").symlink_to(root.parent)
    (root / "in").symlink_to(root / "src")
    (root / "circle").symlink_to(root / "circle")

    assert name_in(root, str(root / "src" / "cart.py")) == "src/cart.py"
    assert name_in(root, "src/../src/gone.py") == "src/gone.py"
    assert name_in(root, "in/cart.py") == "src/cart.py"
    for outside in ("..", "../other/a.py", "/etc/passwd", "out/other.py", ".", "", "a\0b", "a\nb", "\udcff"):
        assert name_in(root, outside) is None


@pytest.mark.parametrize(
    "name",
    [
        *(
            ".git/config",
            ".env",
            "app/.env.local",
            "deploy/prod.env",
            "keys/id_rsa",
            "id_ed25519.pub",
            "tls/server.key",
        ),
        *("ca.pem", ".npmrc", ".aws/credentials", "config/secrets.yml", "credentials.json", "db-password.txt"),
        *("terraform.tfstate", "a" * 301),
    ],
)
def test_credentials_and_gits_own_files_have_no_name(root: Path, name: str) -> None:
    assert name_in(root, name) is None


@pytest.mark.parametrize("name", ["src/credentials.py", "docs/secrets.md", "tests/test_password.py", "environment.py"])
def test_code_about_credentials_has_one(root: Path, name: str) -> None:
    assert name_in(root, name) == name


@given(st.text(st.sampled_from("a./\\~\0\n é"), max_size=30))
def test_no_name_leaves_the_project(name: str) -> None:
    root = Path("/nowhere/shop")
    found = name_in(root, name)

    assert found is None or not found.startswith("/")
    assert found is None or ".." not in found.split("/")
