"""What an entry is anchored to once it is resolved."""

from dataclasses import replace
from pathlib import Path
from time import process_time

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.journal import Journal
from learning_memory_server.lessons.files.anchoring import Anchoring, _paths
from learning_memory_server.lessons.files.freshness import blob_ids
from learning_memory_server.model.entry import Anchor, Ghap
from learning_memory_server.model.vocabulary import OutcomeStatus
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.redaction.redactor import build_redactor
from learning_memory_server.system.files import READ_MAX
from tests.lessons.files.conftest import anchored, resolved
from tests.sharing.repositories import git
from tests.support import ALICE, TickingClock, start

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def anchoring(collector: ObservationCollector) -> Anchoring:
    return Anchoring(collector, RedactionGate(build_redactor()))


async def resolve(anchoring: Anchoring, shop: Path, result: str = "It did.") -> Ghap:
    """Resolve the open entry, and return it as it is kept once it is anchored."""
    collector = anchoring.collector
    entry = collector.resolve(ALICE, status=OutcomeStatus.CONFIRMED, result=result)
    anchoring.anchor(entry, replace(ALICE, folder=str(shop)))
    await anchoring.close()
    kept = collector.find(entry.id)
    assert kept is not None
    assert list(collector.timeline) == [kept]
    return kept


async def test_an_entry_keeps_what_was_edited_and_read_while_it_was_open(
    journal: Journal, anchoring: Anchoring, shop: Path
) -> None:
    anchoring.touch(ALICE, "README.md", is_read=True)
    start(anchoring.collector)
    anchoring.touch(ALICE, "src/cart.py", is_read=False)
    anchoring.touch(ALICE, "README.md", is_read=True)
    anchoring.touch(ALICE, "src/cart.py", is_read=True)
    anchoring.touch(ALICE, "src/gone.py", is_read=False)

    kept = await resolve(anchoring, shop)

    assert kept.anchors == (
        Anchor("README.md", git(shop, "rev-parse", "HEAD:README.md").strip(), is_read=True),
        Anchor("src/cart.py", git(shop, "rev-parse", "HEAD:src/cart.py").strip()),
    )
    assert ObservationCollector(Journal(journal.path), TickingClock()).list_resolved() == [kept]


async def test_what_its_texts_name_counts_if_it_exists(anchoring: Anchoring, shop: Path) -> None:
    start(anchoring.collector, goal="Round once in total() of cart.py, not in src/none.py or ../x/other.py")

    kept = await resolve(anchoring, shop, "See README.md.")

    assert {each.file for each in kept.anchors} == {"README.md", "src/cart.py"}
    assert not any(each.is_read for each in kept.anchors)


async def test_what_git_ignores_what_holds_secrets_and_what_is_outside_is_not_kept(
    journal: Journal, anchoring: Anchoring, shop: Path
) -> None:
    start(anchoring.collector)
    (shop / ".gitignore").write_text("out/\n")
    (shop / "out").mkdir()
    (shop.parent / "other.py").write_text("x")
    (shop / "link.py").symlink_to(shop.parent / "other.py")
    (shop / "config.py").write_text(f"token = '{TOKEN}'\n")
    (shop / f"{TOKEN}.py").write_text("x")
    (shop / "out" / "log.py").write_text("x")
    (shop / ".env").write_text("x")
    with (shop / "huge.py").open("wb") as file:
        file.truncate(READ_MAX + 1)
    for name in ("config.py", f"{TOKEN}.py", "out/log.py", ".env", "link.py", "../other.py", "huge.py", "src"):
        anchoring.touch(ALICE, name, is_read=False)

    kept = await resolve(anchoring, shop, "config.py, out/log.py, .env, link.py, /etc/passwd and huge.py were read")

    assert kept.anchors == ()
    written = b"".join(path.read_bytes() for path in journal.path.rglob("*.jsonl"))
    assert b"anchors" not in written


async def test_at_most_twenty_files_are_kept(anchoring: Anchoring, shop: Path) -> None:
    start(anchoring.collector)
    for number in range(30):
        (shop / f"f{number}.py").write_text("x")
        anchoring.touch(ALICE, f"f{number}.py", is_read=number > 25)

    kept = await resolve(anchoring, shop)

    # What was edited stays, what was only read goes first.
    assert [each.file for each in kept.anchors] == [f"f{number}.py" for number in range(6, 26)]


async def test_what_is_forgotten_meanwhile_stays_forgotten(anchoring: Anchoring, shop: Path) -> None:
    entry = start(anchoring.collector)
    anchoring.touch(ALICE, "README.md", is_read=False)
    end = anchoring.collector.resolve(ALICE, status=OutcomeStatus.CONFIRMED, result="It did.")

    anchoring.anchor(end, replace(ALICE, folder=str(shop)))
    anchoring.collector.forget([entry.id], entry.created_at)
    await anchoring.close()

    assert anchoring.collector.list_resolved() == []


@pytest.mark.parametrize("folder", ["", "shop", "/", "/nowhere/at/all"])
async def test_a_folder_that_is_no_project_costs_nothing(anchoring: Anchoring, folder: str) -> None:
    start(anchoring.collector, goal="Read README.md")
    anchoring.touch(ALICE, "README.md", is_read=False)

    assert (await resolve(anchoring, Path(folder))).anchors == ()


def test_a_project_without_a_repository_has_anchors_too(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x")

    assert anchored(tmp_path, resolved("see a.py")) == (Anchor("a.py", blob_ids(b"x")[0]),)


def test_a_long_word_is_no_path_and_takes_no_time() -> None:
    before = process_time()

    assert list(_paths("a" * 100_000, ())) == []
    assert process_time() - before < 1


async def test_a_word_that_is_too_long_for_a_file_costs_no_anchor(anchoring: Anchoring, shop: Path) -> None:
    start(anchoring.collector)
    kept = await resolve(anchoring, shop, f"See src/{'x' * 260}.py and src/cart.py.")
    assert [each.file for each in kept.anchors] == ["src/cart.py"]
