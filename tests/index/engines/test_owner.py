"""Who somebody is on a server that several people share."""

import json
import stat
from pathlib import Path
from uuid import UUID

import pytest

from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.index.engines.owner import new_owner, open_owner, settle_owner


def test_an_owner_is_drawn_once_and_kept_for_its_user_alone(tmp_path: Path) -> None:
    file = tmp_path / "storage" / "owner.json"
    owner = open_owner(file)
    assert open_owner(file).id == owner.id
    assert owner.is_settled
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert open_owner(tmp_path / "other.json").id != owner.id


def test_ids_outside_are_turned_back_and_differ_between_owners(tmp_path: Path) -> None:
    one, two = open_owner(tmp_path / "one.json"), open_owner(tmp_path / "two.json")
    inside = str(UUID(int=7))
    assert one.outside(one.outside(inside)) == inside
    assert len({inside, one.outside(inside), two.outside(inside)}) == 3
    with pytest.raises(ValueError, match="badly formed"):
        one.outside("seven")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        "[]",
        "null",
        '{"owner": "x", "place": {}}',
        '{"owner": 7}',
        *(f'{{"owner": "{UUID(int=7)}", "place": {{}}, "rebuilds": {each}}}' for each in ("[]", '{"a": 1}', "7")),
    ],
)
def test_a_damaged_file_is_never_replaced_silently(tmp_path: Path, content: str) -> None:
    file = tmp_path / "owner.json"
    file.write_text(content)
    with pytest.raises(StorageUnavailableError, match="is damaged") as caught:
        open_owner(file)
    assert "doctor --fix" in str(caught.value.hint)
    assert file.read_text() == content


def test_a_folder_that_was_moved_or_copied_is_noticed_until_somebody_says_which(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    before = open_owner(tmp_path / "here" / "owner.json")
    (tmp_path / "here").rename(tmp_path / "there")
    file = tmp_path / "there" / "owner.json"
    assert not open_owner(file).is_settled
    assert settle_owner(file).id == before.id
    assert open_owner(file).is_settled

    kept = json.loads(file.read_text())
    file.write_text(json.dumps({**kept, "place": {**kept["place"], "machine": "another"}}))
    assert not open_owner(file).is_settled
    assert new_owner(file).id != before.id
    assert open_owner(file).is_settled


def test_the_number_of_a_rebuild_is_kept_until_it_ends(tmp_path: Path) -> None:
    file = tmp_path / "owner.json"
    number = open_owner(file).begin_rebuild("notes-m-1")
    assert open_owner(file).rebuild_of("notes-m-1") == number
    assert open_owner(file).rebuild_of("others-m-1") is None
    open_owner(file).end_rebuild("notes-m-1")
    assert open_owner(file).rebuild_of("notes-m-1") is None


def test_a_file_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageUnavailableError, match="cannot be"):
        open_owner(tmp_path / "file" / "owner.json")
