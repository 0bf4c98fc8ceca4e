"""What became of the files of an experience, as it is judged when that is shown."""

import asyncio
import os
import shutil
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from learning_memory_server.lessons.files.freshness import Freshness, Judged, State
from learning_memory_server.model.entry import Anchor, Ghap
from learning_memory_server.system.files import READ_MAX
from tests.lessons.files.conftest import CART, anchored, resolved
from tests.sharing.repositories import git

FILE = "src/cart.py"


def about(shop: Path, text: str = "total() of src/cart.py") -> Ghap:
    entry = resolved(text)
    return replace(entry, anchors=anchored(shop, entry))


def judge(shop: Path, entry: Ghap, freshness: Freshness | None = None) -> Judged | None:
    freshness = freshness or Freshness()
    freshness.look([entry], entry.project, str(shop))
    return freshness.find(entry, str(shop))


SAME = Judged(State.SAME)
CART_ALONE, BOTH = "total() of src/cart.py", "see src/cart.py and README.md"


@pytest.mark.parametrize(
    ("about_what", "changes", "expected"),
    [
        (CART_ALONE, {FILE: CART.replace("\n", "\r\n")}, SAME),
        (CART_ALONE, {FILE: CART.replace("0.19", "0.2")}, Judged(State.CHANGED, "its file changed since 2026-03-01")),
        (BOTH, {"README.md": "Closed.\n"}, Judged(State.CHANGED, "1 of 2 files changed since 2026-03-01")),
        (BOTH, {"README.md": ""}, Judged(State.CHANGED, "1 of 2 files changed since 2026-03-01")),
        (BOTH, {"README.md": "", FILE: ""}, Judged(State.GONE, "its 2 files are gone")),
    ],
)
def test_files_are_the_same_have_changed_or_are_gone(
    shop: Path, about_what: str, changes: dict[str, str], expected: Judged
) -> None:
    entry, freshness = about(shop, about_what), Freshness()
    assert judge(shop, entry, freshness) == SAME

    for name, text in changes.items():
        (shop / name).write_bytes(text.encode())
        if not text:
            (shop / name).unlink()

    assert judge(shop, entry, freshness) == expected


def test_what_was_only_read_counts_if_there_is_nothing_else(shop: Path) -> None:
    entry = about(shop)
    entry = replace(entry, anchors=(*entry.anchors, Anchor("README.md", "0" * 40, is_read=True)))

    assert judge(shop, entry) == SAME
    read = judge(shop, replace(entry, anchors=entry.anchors[1:]))
    assert read == Judged(State.CHANGED, "its file changed since 2026-03-01")


def test_a_file_that_is_gone_is_gone_until_it_is_back(shop: Path) -> None:
    entry, freshness = about(shop), Freshness()

    (shop / FILE).unlink()
    assert judge(shop, entry, freshness) == Judged(State.GONE, "its file is gone")
    git(shop, "checkout", "-q", FILE)
    assert judge(shop, entry, freshness) == SAME


def _lead_out(shop: Path) -> None:
    shutil.move(shop / "src", shop.parent / "src")
    (shop / "src").symlink_to(shop.parent / "src")


def _replace_by_a_pipe(shop: Path) -> None:
    (shop / FILE).unlink()
    os.mkfifo(shop / FILE)


@pytest.mark.parametrize(
    "change", [shutil.rmtree, _lead_out, lambda shop: os.truncate(shop / FILE, READ_MAX + 1), _replace_by_a_pipe]
)
def test_what_cannot_be_told_is_not_judged(shop: Path, change: Callable[[Path], None]) -> None:
    entry = about(shop)
    change(shop)

    assert judge(shop, entry) is None


async def test_entries_of_other_projects_and_folders_that_are_not_known_are_not_judged(shop: Path) -> None:
    entry, freshness = about(shop), Freshness()

    await freshness.judge([entry], "another", str(shop))
    await freshness.judge([entry], entry.project, "")
    assert freshness.find(entry, str(shop)) is None

    await freshness.judge([entry, resolved("nothing", id="ghap_20260301_120000_000001")], entry.project, str(shop))
    assert freshness.find(entry, str(shop))


NAMES = st.text(st.sampled_from("ab./\0\n"), max_size=12) | st.sampled_from(["a", "a/b", "out/c", "..", "/etc/passwd"])


@given(anchors=st.lists(st.builds(Anchor, NAMES, st.text("0a", max_size=40), st.booleans()), max_size=5))
def test_any_anchors_are_judged_and_none_is_looked_for_outside(
    anchors: list[Anchor], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("any")
    (root / "shop" / "a").mkdir(parents=True)
    (root / "shop" / "a" / "b").write_text("x")
    (root / "c").write_text("\n".join("0a"))
    (root / "shop" / "out").symlink_to(root)
    entry = replace(resolved(), anchors=tuple(anchors))

    judged = judge(root / "shop", entry)

    # What is outside is neither there nor gone.
    inside = [
        each for each in anchors if each.file in {"a/b", "a/./b"} or not f"{each.file}/".startswith(("/", "../", "out"))
    ]
    assert judged is None or inside


async def test_a_disk_that_hangs_is_waited_for_by_its_own_folder_alone(shop: Path) -> None:
    released = threading.Event()

    class OnDisks(Freshness):
        def look(self, entries: Iterable[Ghap], project: str, folder: str) -> None:
            if folder.startswith("/gone"):
                released.wait()
            super().look(entries, project, folder)

    entry, freshness = about(shop), OnDisks()
    try:
        for folder in ("/gone/a", "/gone/b", "/gone/a"):
            await freshness.judge([entry], entry.project, folder)
        await freshness.judge([entry], entry.project, str(shop))
        assert await seen(freshness, entry, str(shop))
    finally:
        released.set()


async def seen(freshness: Freshness, entry: Ghap, folder: str) -> Judged | None:
    """Wait until it is judged, at most as long as a busy machine needs."""
    async with asyncio.timeout(60):
        while (found := freshness.find(entry, folder)) is None:
            await asyncio.sleep(0)
    return found
