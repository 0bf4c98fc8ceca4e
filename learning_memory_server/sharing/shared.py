"""The shared lessons of the repositories that a person has joined: which those are, what they say, how they are found.

What was read is kept in a file of the data folder, so that a start asks git for nothing, and so that each content is
checked once. Whether a repository is joined is in that file alone: nothing in a repository can say it.
"""

from __future__ import annotations

import asyncio
import hashlib
import heapq
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

import msgspec
import structlog

from learning_memory_server.embedding.threads import in_daemon_thread
from learning_memory_server.errors import DeadlineExceededError, InvalidInputError, NotFoundError
from learning_memory_server.index.document import documents_of
from learning_memory_server.journal.log import Log
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.sharing import tree
from learning_memory_server.sharing.check import named, objections
from learning_memory_server.sharing.files import RefusedError, SharedEntry, SharedFile, entry_of, parse
from learning_memory_server.sharing.state import SharedLesson, state_of
from learning_memory_server.system import files, timeouts
from learning_memory_server.version import VERSION

if TYPE_CHECKING:
    from learning_memory_server.index.document import Document
    from learning_memory_server.index.engines.base import Payload
    from learning_memory_server.index.queries import EntryQuery
    from learning_memory_server.model.entry import Ghap
    from learning_memory_server.redaction.base import Redactor

SHARED: Final = "shared.json"
"""The file, in the data folder."""
_PREFIX: Final = "shared_"
_DISCOUNT: Final = 0.05
"""What the score of a shared lesson loses until somebody else, or one's own work, has confirmed it."""
_READ_MAX: Final = 1 << 26
"""Bytes of new files that are read at a time."""

log = structlog.get_logger()


class Joined(msgspec.Struct, frozen=True):
    """A repository whose shared lessons a person wants, and what it had when it was last looked at.

    Args:
        folder: One of its worktrees.
        roots: The commits that its history begins with.
        branch: What HEAD named when it was joined.
        seen: A digest of the branches that were looked at.
        files: The key and the author of each file of the default branch, by name; see `Blob.key`.
        elsewhere: The keys of the files that only other branches have, by branch and name.
        parsed: What each file says, or why it is left out, by key.
        flaw: Why nothing is read, if so.
    """

    folder: str
    project: str
    roots: list[str]
    branch: str
    seen: str = ""
    files: dict[str, tuple[str, str]] = {}
    elsewhere: dict[str, dict[str, str]] = {}
    parsed: dict[str, SharedFile | str] = {}
    flaw: str = ""

    def left_out(self) -> dict[str, str]:
        """Return the files of the default branch that are left out, and why; without a name, all of them."""
        said = {name: self.parsed.get(key, "it was not read") for name, (key, _) in self.files.items()}
        flaws = {name: reason for name, reason in said.items() if isinstance(reason, str)}
        return {**({"": self.flaw} if self.flaw else {}), **flaws}

    def sound(self, keys: Mapping[str, str]) -> dict[str, SharedFile]:
        """Return what files say, by name, without those that are left out."""
        return {name: said for name, key in keys.items() if isinstance(said := self.parsed.get(key), SharedFile)}


class Kept(msgspec.Struct, frozen=True):
    """The file: what is joined, by git's folder, and the version that has checked it."""

    joined: dict[str, Joined] = {}
    version: str = VERSION


@dataclass(eq=False)
class SharedLessons:
    """Finds the shared lessons, and is their source for the index.

    Args:
        file: Where what was read is kept; None for nothing at all.
        gate: Finds secrets.
        changed: Called when what belongs in the index has changed.
        effects: Returns how often each thing misled and helped in one's own work.
    """

    file: Path | None = None
    gate: RedactionGate = field(default_factory=RedactionGate)
    changed: Callable[[], None] = lambda: None
    effects: Callable[[], Mapping[str, tuple[int, int]]] = dict
    _kept: Kept | None = field(default=None, init=False)
    _by_id: dict[str, SharedEntry] = field(default_factory=dict, init=False)
    _told: list[SharedEntry] = field(default_factory=list, init=False)
    _counts: Counter[str] = field(default_factory=Counter, init=False)
    _one: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _task: asyncio.Task[None] | None = field(default=None, init=False)
    _looked: float = field(default=-timeouts.SHARED_AGAIN, init=False)

    def __post_init__(self) -> None:
        """Of the journal it needs nothing: a log without a file."""
        self.log = Log(self.file.with_suffix("") if self.file else Path("shared"))

    @property
    def joined(self) -> Mapping[str, Joined]:
        """The repositories that are joined, by git's folder."""
        if self._kept is None:
            self._arrange(Kept())
            with suppress(OSError, msgspec.MsgspecError):
                if self.file:
                    self._arrange(msgspec.json.decode(self.file.read_bytes(), type=Kept))
        return self._kept.joined if self._kept else {}

    @property
    def entries(self) -> Mapping[str, SharedEntry]:
        """All shared lessons by id, those of other branches included, which are not told unasked."""
        return self._by_id if self.joined else {}

    @property
    def form(self) -> str:
        """A digest of what belongs in the index, which is compared again whenever it is another."""
        return hashlib.sha256("\n".join(sorted(self.entries)).encode()).hexdigest() if self.entries else ""

    def documents(self, only: Container[str] | None = None) -> Iterator[Document]:
        """Yield the documents of all shared lessons."""
        for entry in self.entries.values():
            if only is None or entry.id in only:
                yield from documents_of(entry)

    def forgotten(self, _only: Container[str] | None = None) -> Iterator[str]:
        """Yield nothing: what is no longer shared is known by its payload."""
        return iter(())

    def knows(self, payload: Payload) -> bool:
        """Return whether a point is of a shared lesson, of now or of earlier."""
        return str(payload.get("ghap_id")).startswith(_PREFIX)

    def find(self, identity: str) -> SharedEntry | None:
        """Return a shared lesson, wherever it is."""
        return self.entries.get(identity)

    def told(self, ids: Iterable[str]) -> list[Ghap]:
        """Return those of the lessons that may be told unasked."""
        found = map(self.find, ids)
        return [entry for entry in found if entry and not entry.branch]

    def matching(self, query: EntryQuery) -> list[Ghap]:
        """Return the lessons that pass a filter."""
        return [entry for entry in self.entries.values() if query.matches(entry)]

    def newest(self, own: Iterable[Ghap], project: str | None) -> Iterator[Ghap]:
        """Merge what may be told unasked into one's own entries, which come the latest first."""
        told = (entry for entry in (self._told if self.joined else ()) if project in (None, entry.project))
        return heapq.merge(own, told, key=lambda entry: entry.outcome.resolved_at, reverse=True)

    def count(self, project: str | None) -> int:
        """Return how many lessons may be told unasked."""
        counts = self._counts if self.joined else Counter[str]()
        return counts.total() if project is None else counts[project]

    def discount(self, entry: Ghap) -> float:
        """Return what the score of an entry loses: that of a shared lesson which nobody else has confirmed."""
        is_settled = not isinstance(entry, SharedEntry) or entry.is_settled
        return 0.0 if is_settled or self.effects().get(entry.id, (0, 0))[1] else _DISCOUNT

    def look(self) -> None:
        """Begin to look whether git has something else by now, unless that was done a moment ago."""
        if self.joined and monotonic() - self._looked >= timeouts.SHARED_AGAIN:
            self._looked = monotonic()
            self._task = asyncio.create_task(self.refresh())

    async def refresh(self) -> None:
        """Read what is new in the repositories that are joined."""
        async with self._one:
            for place, before in list(self.joined.items()):
                try:
                    after = await asyncio.wrap_future(
                        in_daemon_thread(partial(_read, place, before, self.gate.redactor))
                    )
                except DeadlineExceededError as error:
                    log.info("shared.skipped", reason=error.message)
                    continue
                # It may have been left meanwhile.
                if after != before and self.joined.get(place) == before:
                    self._set({**self.joined, place: after})

    async def join(self, folder: Path, project: str) -> Joined:
        """Read a repository's shared lessons from now on, and return what it has.

        Raises:
            InvalidInputError: If there is no repository, or it has no commit.
        """
        place, joined = await asyncio.wrap_future(in_daemon_thread(partial(_found, folder, project)))
        self._set({**self.joined, place: joined})
        await self.refresh()
        return self.joined[place]

    async def leave(self, folder: Path) -> Joined:
        """Forget a repository's shared lessons.

        Raises:
            NotFoundError: If it is not joined.
        """
        # The repository may be gone.
        names = {await asyncio.wrap_future(in_daemon_thread(partial(tree.place_of, folder))), str(folder / ".git")}
        place = next((place for place in self.joined if place in names), None)
        if place is None:
            raise NotFoundError(f"{folder}: the shared lessons of this repository are not read.")
        left = self.joined[place]
        self._set({other: each for other, each in self.joined.items() if other != place})
        return left

    def _set(self, joined: dict[str, Joined]) -> None:
        before = self.form
        if self.file and joined:
            files.replace(self.file, msgspec.json.encode(Kept(joined)))
        elif self.file:
            files.remove(self.file)
        self._arrange(Kept(joined))
        if self.form != before:
            self.changed()

    def _arrange(self, kept: Kept) -> None:
        # Another version may refuse more: it reads everything again.
        is_checked = kept.version == VERSION
        joined = (
            kept.joined
            if is_checked
            else {
                place: Joined(each.folder, each.project, each.roots, each.branch) for place, each in kept.joined.items()
            }
        )
        self._kept = Kept(joined)
        self._by_id = {entry.id: entry for each in joined.values() for entry in _entries(each)}
        told = (entry for entry in self._by_id.values() if not entry.branch)
        self._told = sorted(told, key=lambda entry: (entry.outcome.resolved_at, entry.id), reverse=True)
        self._counts = Counter(entry.project for entry in self._told)


def _found(folder: Path, project: str) -> tuple[str, Joined]:
    place, branch = tree.place_of(folder), tree.line(folder, "symbolic-ref", "--quiet", "HEAD")
    if not (place and tree.commit_of(folder, "HEAD")):
        raise InvalidInputError(f"{folder}: there is no git repository here, or it has no commit yet.")
    return place, Joined(str(tree.top_of(folder)), project, tree.roots_of(folder, "HEAD"), branch)


def identity_of(project: str, content: str) -> str:
    """Return the id of a shared lesson: the same for everybody who has it in the same project."""
    return f"{_PREFIX}{hashlib.sha256(f'{project} {content}'.encode()).hexdigest()[:16]}"


def _entries(joined: Joined) -> Iterator[SharedEntry]:
    main = joined.sound({name: key for name, (key, _) in joined.files.items()})
    lessons = state_of(main)

    def entry(content: str, lesson: SharedLesson, branch: str = "") -> SharedEntry:
        names = (lesson.name, *lesson.copies, *lesson.confirming)
        author, *others = (joined.files.get(name, ("", ""))[1] for name in names)
        return entry_of(
            lesson.file,
            identity_of(joined.project, content),
            joined.project,
            author=named(author),
            branch=named(branch.split("/", 2)[-1]) or "another" if branch else "",
            confirmations=len(lesson.confirming),
            is_settled=any(other not in {"", author} for other in others),
        )

    for branch, keys in joined.elsewhere.items():
        there = state_of({**main, **joined.sound(keys)})
        yield from (entry(*each, branch) for each in there.items() if each[0] not in lessons)
    yield from (entry(*each) for each in lessons.items())


def _read(place: str, before: Joined, redactor: Redactor) -> Joined:
    """Return what a repository has by now."""
    # Not the worktree of the join, which may be gone.
    folder = Path(place)
    default, tips = tree.default_branch(folder, before.branch), tree.tips(folder)
    commit = tree.commit_of(folder, default) if default else ""
    seen = hashlib.sha256(repr((default, commit, tips)).encode()).hexdigest()
    if seen == before.seen:
        return before
    nothing = Joined(before.folder, before.project, before.roots, before.branch, seen)
    if tree.place_of(folder) != place or (before.roots and tree.roots_of(folder, commit or "HEAD") != before.roots):
        return msgspec.structs.replace(nothing, flaw="this is another repository than the one that was joined")
    if not commit:
        return msgspec.structs.replace(nothing, flaw="it is not known which branch is the default branch")
    main = {blob.name: blob for blob in tree.blobs(folder, commit)}
    others = {name: tree.blobs(folder, tip) for name, tip in tips.items() if tip != commit}
    elsewhere = {
        branch: {blob.name: blob for blob in found if blob.name not in main} for branch, found in others.items()
    }
    every = {blob.key: blob for found in (main, *elsewhere.values()) for blob in found.values()}
    parsed = {key: before.parsed.get(key) or blob.flaw for key, blob in every.items()}
    new = [blob for key, blob in every.items() if not parsed[key]]
    sizes = accumulate(blob.size for blob in new)
    data = tree.contents(folder, {blob.id for blob, size in zip(new, sizes, strict=True) if size <= _READ_MAX})
    parsed |= {blob.key: _checked(blob.name, data[blob.id], redactor) for blob in new if blob.id in data}
    authors = tree.authors(folder, commit)
    return msgspec.structs.replace(
        nothing,
        files={name: (blob.key, authors.get(name, "")) for name, blob in main.items()},
        elsewhere={
            branch: {name: blob.key for name, blob in found.items()} for branch, found in elsewhere.items() if found
        },
        parsed={key: said for key, said in parsed.items() if said},
    )


def _checked(name: str, data: bytes, redactor: Redactor) -> SharedFile | str:
    """Return what a file says, or why it is left out."""
    try:
        file = parse(name, data)
    except RefusedError as error:
        return str(error)
    return next((reason for reason, _ in objections(file, redactor)), file)
