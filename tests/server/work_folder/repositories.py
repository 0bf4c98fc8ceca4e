"""Repositories as people have them, and a store that sees their folders."""

from dataclasses import dataclass, field
from pathlib import Path

from learning_memory_server.server.claims import Belonging, Claims
from tests.sharing.repositories import git


def repository(folder: Path, message: str = "first", remote: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", message)
    if remote:
        git(folder, "remote", "add", "origin", f"https://{remote}.git")
    return folder


def cloned(source: Path, target: Path, *options: str, remote: str = "") -> Path:
    git(source.parent, "clone", "--quiet", *options, f"file://{source}", str(target))
    if remote:
        git(target, "remote", "set-url", "origin", f"https://{remote}.git")
    else:
        git(target, "remote", "remove", "origin")
    return target


@dataclass
class World:
    """What is kept of folders, and the projects of which something is stored."""

    base: Path
    stored: set[str] = field(default_factory=set)

    def session(self, folder: Path) -> Belonging:
        """Let a session in a folder keep something, and return its project, and whether it was told unasked.

        Each is of a process of its own.
        """
        claims = Claims(self.base / "data" / "claims")
        found = claims.find(folder, self.stored.__contains__)
        self.stored.add(found.project)
        if found.is_told:
            claims.record_roots(folder, found.project)
        return found

    def asks(self, folder: Path) -> str | None:
        return Claims(self.base / "data" / "claims").claimed(folder, self.stored.__contains__)


def worktree(shop: Path) -> Path:
    git(shop, "worktree", "add", "--quiet", str(shop.with_name("feature")))
    return shop.with_name("feature")


def moved_away(shop: Path) -> Path:
    (shop.parent / "elsewhere").mkdir()
    return shop.rename(shop.parent / "elsewhere" / "shop")
