"""What is kept of folders and projects: by many processes at once, and where it cannot be read."""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from learning_memory_server.cli.doctor.settings import check_claim
from learning_memory_server.server.claims import Belonging, Claims, caller_of
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.work_folder import WorkFolder
from tests.model.test_identity import SHOP
from tests.server.work_folder.repositories import cloned, repository
from tests.sharing.repositories import git


@pytest.fixture
def claims(tmp_path: Path) -> Claims:
    return Claims(tmp_path / "data" / "claims")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop")


def nothing(_project: str) -> bool:
    return False


def bound(claims: Claims, folder: Path) -> Belonging:
    found = claims.find(folder, nothing)
    if found.is_told:
        claims.record_roots(folder, found.project)
    return found


def test_commands_that_only_look_bind_nothing(tmp_path: Path, claims: Claims, shop: Path) -> None:
    assert claims.find(shop) == bound(Claims(tmp_path / "other" / "claims"), shop)
    assert not claims.facts.folder.exists()
    assert claims.find(repository(tmp_path / "labelled", remote=SHOP)) == (SHOP, False)
    bound(claims, shop)
    assert {file.stat().st_mode & 0o777 for file in claims.facts.folder.iterdir()} == {0o600}


def test_a_setting_names_the_project_whatever_its_folder_is_called(tmp_path: Path) -> None:
    settings = Settings(storage_path=tmp_path / "data", project="named")
    assert caller_of({"CLAUDE_PROJECT_DIR": str(tmp_path)}, settings).project == "named"
    assert not (tmp_path / "data").exists()


def at_once(claims: Claims, ask: Callable[[Claims, Path], object], folders: Sequence[Path]) -> list[object]:
    """Ask about every folder at the same moment, each as a process of its own would."""
    begin = Barrier(len(folders))

    def asked(folder: Path) -> object:
        begin.wait()
        return ask(Claims(claims.facts.folder), folder)

    with ThreadPoolExecutor(len(folders)) as threads:
        return list(threads.map(asked, folders))


def test_twelve_folders_that_start_together_keep_twelve_names(tmp_path: Path, claims: Claims) -> None:
    for number in range(5):
        folders = [repository(tmp_path / str(number) / str(each) / "app") for each in range(12)]

        names = at_once(claims, bound, folders)

        assert len(set(names)) == 12
        for folder in folders:
            git(folder, "checkout", "--quiet", "--orphan", "another")
            git(folder, "commit", "--quiet", "--allow-empty", "--message", "another")
        assert [Claims(claims.facts.folder).find(folder) for folder in folders] == names


def test_of_folders_that_claim_a_project_together_one_is_it(tmp_path: Path, claims: Claims) -> None:
    for number in range(5):
        project = f"{SHOP}-{number}"
        folders = [repository(tmp_path / str(number) / str(each), f"of {each}", project) for each in range(12)]

        at_once(claims, bound, folders)

        found = [Claims(claims.facts.folder).find(folder) for folder in folders]
        assert found.count(Belonging(project, is_told=True)) == 1
        assert len(set(found)) == 12


def test_clones_of_a_project_that_start_together_are_it(tmp_path: Path, claims: Claims) -> None:
    shop = repository(tmp_path / "shop", remote=SHOP)
    folders = [cloned(shop, tmp_path / f"clone {number}", remote=SHOP) for number in range(12)]
    assert set(at_once(claims, bound, folders)) == {Belonging(SHOP, is_told=True)}


def test_no_answer_is_lost_that_is_given_while_others_are(tmp_path: Path, claims: Claims) -> None:
    folders = [repository(tmp_path / str(each)) for each in range(12)]

    at_once(claims, lambda asked, folder: asked.confirm(folder, SHOP), folders)

    assert {Claims(claims.facts.folder).find(each) for each in folders} == {Belonging(SHOP, is_told=True)}
    assert sorted(Claims(claims.facts.folder).folders()[SHOP]) == sorted(folders)


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff\n", b"[1]\n", b'{"of": "folder /somewhere/else"}\n'])
def test_what_cannot_be_read_of_a_folder_is_asked_and_never_taken_for_nothing(
    tmp_path: Path, claims: Claims, shop: Path, damage: bytes
) -> None:
    settings = Settings(storage_path=tmp_path / "data", journal_path=tmp_path / "journal")
    environment = {"CLAUDE_PROJECT_DIR": str(shop)}
    name, is_told = bound(claims, shop)
    assert is_told
    assert list(check_claim(settings, environment)) == []
    (file,) = (each for each in claims.facts.folder.iterdir() if f"folder {shop}".encode() in each.read_bytes())
    file.write_bytes(damage)

    assert bound(claims, shop) == (name, False)
    assert file.read_bytes() == damage
    (finding,) = check_claim(settings, environment)
    assert finding.sentence.startswith(f"{file} cannot be read, and may say that {shop} is not {name}")
    (confirm,) = finding.answers.values()
    confirm()

    assert bound(claims, shop) == (name, True)
    assert list(check_claim(settings, environment)) == []


def test_a_project_whose_roots_cannot_be_read_is_not_a_new_one(tmp_path: Path, claims: Claims) -> None:
    shop = repository(tmp_path / "shop", remote=SHOP)
    bound(claims, shop)
    for file in claims.facts.folder.iterdir():
        if b'"project ' in file.read_bytes():
            file.write_bytes(b"\0" * 40)
    evil = repository(tmp_path / "evil", "another", SHOP)

    assert bound(claims, evil).project != SHOP
    shop.rename(tmp_path / "moved")
    assert bound(claims, tmp_path / "moved").project != SHOP


def test_what_was_kept_in_one_file_is_read_in_once(tmp_path: Path, claims: Claims, shop: Path) -> None:
    def place(folder: Path) -> str:
        return f"{folder}/.git {(folder / '.git').stat().st_ino}"

    labelled = repository(tmp_path / "labelled", "labelled", SHOP)
    shallow = repository(tmp_path / "shallow", "shallow")
    roots = {folder: roots_of(folder) for folder in (shop, labelled)}
    kept = {
        "roots": {SHOP: roots[labelled]},
        "folders": {place(shop): roots[shop], place(labelled): roots[labelled]},
        "names": {place(shop): ["shop", "shop-named"]},
        "confirmed": [[place(shallow), "github.com/acme/more"]],
        "since": 5.0,
    }
    former = tmp_path / "data" / "claims.json"
    former.parent.mkdir()
    former.write_text(json.dumps(kept))

    assert bound(claims, shop) == ("shop-named", True)
    assert not former.exists()
    assert bound(claims, shop.rename(tmp_path / "moved")) == ("shop-named", True)
    assert bound(claims, labelled) == (SHOP, True)
    assert bound(claims, shallow) == ("github.com/acme/more", True)
    assert bound(claims, repository(tmp_path / "evil", "another", SHOP)).project != SHOP


def roots_of(folder: Path) -> list[str]:
    return WorkFolder.of(folder).roots()


def test_one_file_that_cannot_be_read_silences_all_until_a_person_says_yes(
    tmp_path: Path, claims: Claims, shop: Path
) -> None:
    former = tmp_path / "data" / "claims.json"
    former.parent.mkdir()
    former.write_text('{"names": {')
    name, is_told = bound(claims, shop)
    assert not is_told
    assert claims.find_unreadable(shop) == former
    assert former.exists()

    claims.confirm(shop, name)

    assert bound(claims, shop) == (name, True)
    assert not former.exists()
