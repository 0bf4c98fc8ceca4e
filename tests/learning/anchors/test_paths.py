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
    assert [project_root(each) for each in ("", "shop", "/a\0b", "/\ud800")] == [None] * 4


def test_a_home_without_a_repository_is_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    assert project_root(str(tmp_path)) is None
    assert project_root(str(tmp_path.parent)) is None
    (tmp_path / ".git").mkdir()
    assert project_root(str(tmp_path)) == tmp_path


def test_a_name_is_relative_and_does_not_follow_a_link_out(root: Path) -> None:
    for name, place in (("out", root.parent), ("in", root / "src"), ("circle", root / "circle")):
        (root / name).symlink_to(place)

    assert name_in(root, str(root / "src" / "cart.py")) == "src/cart.py"
    assert name_in(root, "src/../src/gone.py") == "src/gone.py"
    assert name_in(root, "in/cart.py") == "src/cart.py"
    for outside in ("..", "../other/a.py", "/etc/passwd", "out/other.py", ".", "", "a\0b", "a\nb", "\udcff"):
        assert name_in(root, outside) is None


def test_credentials_and_gits_own_files_have_no_name_and_code_about_them_has_one(root: Path) -> None:
    private = (
        ".git/config .env app/.env.local deploy/prod.env keys/id_rsa id_ed25519.pub tls/server.key ca.pem .npmrc "
        ".aws/credentials config/secrets.yml credentials.json db-password.txt terraform.tfstate"
    )
    public = "src/credentials.py docs/secrets.md tests/test_password.py environment.py"
    assert [name for name in (*private.split(), "a" * 301) if name_in(root, name)] == []
    assert [name_in(root, name) for name in public.split()] == public.split()


@given(st.text(st.sampled_from("a./\\~\0\n é"), max_size=30))
def test_no_name_leaves_the_project(name: str) -> None:
    found = name_in(Path("/nowhere/shop"), name)

    assert found is None or (not found.startswith("/") and ".." not in found.split("/"))
