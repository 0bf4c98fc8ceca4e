"""Eight people, random merges, rebases, squashes, cherry-picks and reverts: no conflict, and one state."""

import itertools
import random
from pathlib import Path

import pytest

from learning_memory_server.sharing.files import FOLDER
from learning_memory_server.sharing.shared import SharedLesson, state_of
from learning_memory_server.sharing.tree import sound_files as files_of
from tests.sharing.repositories import Team, git

PEOPLE, STEPS = 8, 250


def tree_of(clone: Path) -> str:
    return git(clone, "ls-tree", "-r", "HEAD", "--", FOLDER)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_branches_never_conflict_and_the_same_tree_is_the_same_state(tmp_path: Path) -> None:
    team = Team(tmp_path, PEOPLE, seed=20260301)
    states: dict[str, dict[str, SharedLesson]] = {}
    for _ in range(STEPS):
        clone = team.work()
        names = list(files := files_of(clone))
        assert state_of(files) == states.setdefault(tree_of(clone), state_of(files))
        random.Random(len(names)).shuffle(names)
        assert state_of({name: files[name] for name in names}) == states[tree_of(clone)]

    first, *others = team.clones
    for clone in others:
        git(first, "fetch", "-q", clone.name)
        git(first, "merge", "-q", "--no-edit", f"{clone.name}/main")
    for clone in others:
        git(clone, "fetch", "-q", first.name)
        git(clone, "merge", "-q", "--no-edit", f"{first.name}/main")

    assert team.conflicts == []
    assert len({tree_of(clone) for clone in team.clones}) == 1
    assert all(files_of(left) == files_of(right) for left, right in itertools.pairwise(team.clones))
    files = files_of(first)
    assert team.shared - team.reverted <= files.keys()
    assert len(state_of(files)) > STEPS / 20
