"""A storage folder that is copied, or put back by a program that synchronizes folders, while its hub runs."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.hubs import IN_PROC, Memory, entries_in, learn

pytestmark = IN_PROC


def learned(front: Any) -> set[str]:
    return {entry["id"] for entry in front.call("list_ghap_entries")["results"]}


@pytest.mark.parametrize("journal", [None, "apart"], ids=["journal inside", "journal apart"])
@pytest.mark.parametrize("runtime", [0o700, 0o755], ids=["", "socket in the storage folder"])
def test_a_copy_has_a_hub_of_its_own(memory: Memory, tmp_path: Path, journal: str | None, runtime: int) -> None:
    first_place = memory.place()
    first_place.socket.parent.mkdir(mode=0o700)
    first_place.socket.parent.chmod(runtime)
    apart: list[dict[str, Any]] = [
        {"journal_path": str(tmp_path / f"{journal}-{name}")} if journal else {} for name in ("first", "copy")
    ]
    first = memory.greeted("first", **apart[0])
    ghap_id = learn(first)
    copy = tmp_path / "copy"
    # The folder is in use: a temporary file of the index may go away meanwhile, and the copy is as good without it.
    subprocess.run(["cp", "-a", memory.storage, copy], check=False)
    if journal:
        subprocess.run(["cp", "-a", *(each["journal_path"] for each in apart)], check=True)

    there = Memory(copy, memory.runtime)
    try:
        second = there.greeted("second", forks=False, **apart[1])
        assert learned(second) == {ghap_id}
        ids = learn(first, "in the first"), learn(second, "in the copy")
        assert learned(first) == {ghap_id, ids[0]}
        assert learned(second) == {ghap_id, ids[1]}
    finally:
        there.end()


def test_what_a_program_that_synchronizes_folders_took_away_is_written_again_and_said(memory: Memory) -> None:
    front = memory.greeted()
    kept = [learn(front)]
    earlier = memory.storage.with_name("earlier")
    shutil.copytree(memory.storage / "journal" / "entries", earlier)
    kept += [learn(front, f"result {number}") for number in range(5)]
    assert "notice" not in front.call("get_stats")
    (segment,) = (memory.storage / "journal" / "entries").iterdir()
    shutil.copyfile(earlier / segment.name, segment)
    assert len(entries_in(memory.storage)) == 1
    kept.append(learn(front, "the last one"))

    assert [entry["id"] for entry in entries_in(memory.storage)] == kept
    told = [
        front.call("get_stats")["notice"],
        json.loads(memory.command("status", "--json").stdout)["hub"]["notice"],
        memory.command("doctor", "--quick", check=False).stdout,
        memory.greeted("another").call("get_stats")["notice"],
    ]
    for text in told:
        assert f"changed the journal while this one was using it ({segment.name})" in " ".join(text.split())
        assert "Exclude the data folder from programs that synchronize folders" in " ".join(text.split())
    memory.end_hub()
    assert learned(memory.greeted("later")) == set(kept)
