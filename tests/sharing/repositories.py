"""Repositories with shared files, and what random work of several people does to them."""

import os
import random
import subprocess
from pathlib import Path

from learning_memory_server.sharing.files import FOLDER, FileKind, SharedFile, shared_file
from learning_memory_server.sharing.shared import state_of
from learning_memory_server.sharing.tree import sound_files as files_of

TITLES = ("Make the checkout load", "Keep the totals right", "Let the deploy finish", "Find the slow query")
BELIEFS = ("the cache returns stale totals", "the pool runs dry under load", "the proxy drops the header")
LESSONS = ("look at the proxy first", "clear the cache after a deploy", "measure at every hop", "read the plan")


def lesson(number: int, date: str = "2026-03-01", about: str = "", **texts: str) -> SharedFile:
    """A short lesson; the same number gives the same content."""
    pick = random.Random(number)
    said = {
        "": f"{pick.choice(TITLES)} ({number})",
        "What was believed": f"{pick.choice(BELIEFS)} in case {number}.",
        "What happened": f"{pick.choice(BELIEFS)}, and {pick.choice(LESSONS)}.",
        "Lesson": f"{pick.choice(LESSONS).capitalize()} when it is case {number}.",
    }
    words = {"outcome": "falsified", "domain": "debugging", "strategy": "read-the-error", "about": about}
    return shared_file(FileKind.LESSON, date, {**said, **texts}, words)


def git(folder: Path, *arguments: str, fails: bool = False, who: str = "Ann", at: str | None = None) -> str:
    """Run git as somebody, and return what it says."""
    names = {"AUTHOR": ("NAME", who), "COMMITTER": ("NAME", who)}
    identity = {f"GIT_{role}_{what}": text for role, (what, text) in names.items()}
    dates = {"GIT_COMMITTER_DATE": at} if at else {}
    mail = {f"GIT_{role}_EMAIL": f"{who.lower()}@example.org" for role in names}
    done = subprocess.run(
        ["git", "-c", "advice.detachedHead=false", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_EDITOR": "true", **identity, **mail, **dates},
        capture_output=True,
        text=True,
        check=False,
    )
    assert fails or done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout + (done.stderr if done.returncode else "")


def write(folder: Path, *files: SharedFile) -> None:
    place = folder / FOLDER
    place.mkdir(parents=True, exist_ok=True)
    for file in files:
        (place / file.name).write_bytes(file.render().encode())


def commit(folder: Path, message: str, who: str = "Ann") -> str:
    """Commit everything, and return the commit."""
    git(folder, "add", "--all")
    git(folder, "commit", "-q", "--allow-empty", "-m", message, who=who)
    return git(folder, "rev-parse", "HEAD").strip()


class Team:
    """People with a clone each, who do random things.

    `conflicts` has what git said of each conflict, `shared` the names of all lessons that were ever shared, and
    `reverted` those that a commit had which was reverted.
    """

    def __init__(self, folder: Path, people: int, seed: int) -> None:
        self.pick = random.Random(seed)
        self.conflicts: list[str] = []
        self.shared: set[str] = set()
        self.reverted: set[str] = set()
        hub = folder / "hub"
        git(folder, "init", "-q", "-b", "main", str(hub))
        (hub / "README").write_text("A team.\n")
        commit(hub, "begin")
        self.clones = [folder / f"clone{number}" for number in range(people)]
        for clone in self.clones:
            git(folder, "clone", "-q", str(hub), clone.name)
        for clone in self.clones:
            for other in self.clones:
                if other != clone:
                    git(clone, "remote", "add", other.name, str(other))

    def work(self) -> Path:
        """Do one thing in one clone, and return it."""
        clone = self.pick.choice(self.clones)
        acts = [self.share, self.correct, self.judge, self.withdraw]
        acts += [self.merge, self.rebase, self.squash, self.cherry_pick, self.revert]
        (act,) = self.pick.choices(acts, (22, 8, 8, 6, 20, 8, 8, 10, 7))
        act(clone)
        assert not git(clone, "status", "--porcelain").strip()
        return clone

    def _add(self, clone: Path, file: SharedFile) -> None:
        write(clone, file)
        self.shared.update([file.name] if file.kind is FileKind.LESSON else [])
        commit(clone, file.kind, clone.name)

    def share(self, clone: Path) -> None:
        self._add(clone, lesson(self.pick.randint(1, 400), f"2026-03-{self.pick.randint(1, 28):02}"))

    def correct(self, clone: Path) -> None:
        if there := state_of(files_of(clone)):
            said = there[self.pick.choice(list(there))].file
            text = f"{said.texts['Lesson']} {self.pick.choice(LESSONS).capitalize()}."
            date = f"2026-04-{self.pick.randint(1, 28):02}"
            fields = {**said.fields, "about": said.content}
            self._add(clone, shared_file(FileKind.LESSON, date, {**said.texts, "Lesson": text[:900]}, fields))

    def judge(self, clone: Path) -> None:
        self._about(
            clone, self.pick.choice((FileKind.CONFIRMS, FileKind.CONTRADICTS)), f"{self.pick.randint(1, 50):032x}"
        )

    def withdraw(self, clone: Path) -> None:
        self._about(clone, FileKind.WITHDRAWS, "")

    def _about(self, clone: Path, kind: FileKind, evidence: str) -> None:
        if there := list(state_of(files_of(clone))):
            fields = {"about": self.pick.choice(there), "evidence": evidence}
            self._add(clone, shared_file(kind, "2026-05-01", {}, fields))

    def _fetched(self, clone: Path) -> str:
        other = self.pick.choice([each for each in self.clones if each != clone])
        git(clone, "fetch", "-q", other.name)
        return f"{other.name}/main"

    def _try(self, clone: Path, undo: str, *arguments: str) -> None:
        """Run git, and undo what has stopped: at a conflict, or because there was nothing to do."""
        said = git(clone, *arguments, fails=True, who=clone.name)
        if "CONFLICT" in said or git(clone, "ls-files", "--unmerged"):
            self.conflicts.append(f"{arguments}: {said}")
        states = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
        if any((clone / ".git" / each).exists() for each in states):
            git(clone, undo, "--abort", fails=True)
            git(clone, "reset", "-q", "--hard")

    def merge(self, clone: Path) -> None:
        self._try(clone, "merge", "merge", "-q", "--no-edit", self._fetched(clone))

    def rebase(self, clone: Path) -> None:
        self._try(clone, "rebase", "rebase", "-q", "--empty=drop", self._fetched(clone))

    def squash(self, clone: Path) -> None:
        self._try(clone, "merge", "merge", "-q", "--squash", self._fetched(clone))
        if git(clone, "ls-files", "--unmerged"):
            git(clone, "reset", "-q", "--hard")
        commit(clone, "squash", clone.name)

    def _commits(self, clone: Path, where: str) -> list[str]:
        return git(clone, "log", "--no-merges", "--format=%H", "--max-count=40", where).split()[:-1]

    def cherry_pick(self, clone: Path) -> None:
        if commits := self._commits(clone, self._fetched(clone)):
            self._try(clone, "cherry-pick", "cherry-pick", self.pick.choice(commits))

    def revert(self, clone: Path) -> None:
        if commits := self._commits(clone, "HEAD"):
            chosen = self.pick.choice(commits)
            touched = git(clone, "show", "--name-only", "--format=", chosen).split()
            self.reverted.update(Path(path).name for path in touched)
            self._try(clone, "revert", "revert", "--no-edit", chosen)
