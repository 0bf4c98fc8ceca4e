"""The shared lessons of joined repositories, stored in the data folder so that no repository can join itself."""

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple, TypeVar

import msgspec
import structlog

from learning_memory_server.embedding.work_queue import in_daemon_thread
from learning_memory_server.errors import DeadlineExceededError, InvalidInputError, NotFoundError
from learning_memory_server.index.document import IS_SHARED, Document, documents_of
from learning_memory_server.index.engines.base import Payload
from learning_memory_server.index.queries import EntryQuery
from learning_memory_server.journal.answers import Answers
from learning_memory_server.model.entry import Ghap
from learning_memory_server.redaction.base import Redactor
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.sharing import tree
from learning_memory_server.sharing.check import named, objections, told_name
from learning_memory_server.sharing.files import TEACHING, VERDICTS, FileKind, SharedEntry, SharedFile, entry_of, parse
from learning_memory_server.system import files, timeouts
from learning_memory_server.version import VERSION


class SharedLesson(NamedTuple):
    """A present lesson. `names` are its files, the first one counts; `verdicts` are the files of verdicts, by kind."""

    file: SharedFile
    names: list[str]
    verdicts: dict[FileKind, list[str]]


def state_of(files: Mapping[str, SharedFile]) -> dict[str, SharedLesson]:
    """Return the present lessons by content, sorted by name, independent of the order of `files`.

    A lesson is present if at least one of its copies exists, and no file withdraws or corrects it. A withdrawn lesson
    corrects nothing. Verdicts of the same kind with the same evidence count once.
    """
    withdrawn = {file.about for file in files.values() if file.kind is FileKind.WITHDRAWS}
    lessons: dict[str, SharedLesson] = {}
    verdicts: dict[tuple[str, FileKind, str], str] = {}
    for name, file in sorted(files.items()):
        if file.kind in VERDICTS:
            verdicts.setdefault((file.about, file.kind, file.fields.get("evidence", name)), name)
        elif file.kind in TEACHING and file.content not in withdrawn:
            lessons.setdefault(file.content, SharedLesson(file, [], {kind: [] for kind in VERDICTS})).names.append(name)
    for (content, kind, _), name in verdicts.items():
        if content in lessons:
            lessons[content].verdicts[kind].append(name)
    corrected = {lesson.file.about for lesson in lessons.values()}
    return {content: lesson for content, lesson in lessons.items() if content not in corrected}


T = TypeVar("T")

SHARED: Final = "shared.json"  # The file name in the data folder
_PREFIX: Final = "shared_"
_DISCOUNT: Final = 0.05  # Subtracted from the score of an unsettled lesson without an own confirmation

_MALFORMED: Final = (ValueError, TypeError, AttributeError, AssertionError, RecursionError)
"""The errors that decoding damaged data raises."""

log = structlog.get_logger()


class Joined(msgspec.Struct, frozen=True):
    """A joined repository, and its state when last read.

    Attributes:
        folder: One of its worktrees.
        roots: The root commits of its history.
        branch: The branch of HEAD when it was joined.
        version: The program version that read it.
        remote: The remote of the default branch at the first read; None if unknown.
        seen: A digest of the default branch's commit and of the trees.
        checked: The reason to refuse each content, by blob; empty if it is accepted.
        left_out: The refused files of the default branch, with reasons; an empty name means all files.
        entries: Its lessons.
    """

    folder: str
    project: str
    roots: list[str]
    branch: str
    version: str = VERSION
    remote: str | None = None
    seen: str = ""
    checked: dict[str, str] = {}
    left_out: dict[str, str] = {}
    entries: list[SharedEntry] = []


@dataclass(eq=False)
class SharedLessons:
    """The shared lessons, and their source for the index.

    Args:
        file: Stores the state; None to disable shared lessons.
        gate: Finds secrets.
        changed: Called when the index needs an update.
        effects: Returns how often each item misled and helped in own entries, by id.
    """

    file: Path | None = None
    gate: RedactionGate = field(default_factory=RedactionGate)
    changed: Callable[[], None] = lambda: None
    effects: Callable[[], Mapping[str, tuple[int, int]]] = dict
    joined: Mapping[str, Joined] = field(default_factory=dict, init=False)  # by git folder
    entries: Mapping[str, SharedEntry] = field(default_factory=dict, init=False)  # by id
    _one: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _task: asyncio.Task[None] | None = field(default=None, init=False)
    _looked: float = field(default=-timeouts.SHARED_AGAIN, init=False)

    def __post_init__(self) -> None:
        """Take what was read before."""
        if self.file:
            self._arrange(
                {
                    place: each if each.version == VERSION else _forgotten(each)
                    for place, each in _kept_in(self.file).items()
                }
            )

    def documents(self) -> Iterator[Document]:
        """Yield the documents of all shared lessons."""
        for entry in self.entries.values():
            marked = {"outcome_status": [entry.outcome.status.value, IS_SHARED]}
            yield from (replace(each, payload={**each.payload, **marked}) for each in documents_of(entry))

    def forgotten(self) -> Iterator[str]:
        """Yield nothing: lessons that are no longer shared are recognized by their payload."""
        return iter(())

    def knows(self, payload: Payload) -> bool:
        """Whether a point belongs to a present or former shared lesson."""
        return str(payload.get("ghap_id")).startswith(_PREFIX)

    def matching(self, query: EntryQuery) -> list[Ghap]:
        """Return the lessons that match a filter."""
        return [entry for entry in self.entries.values() if query.matches(entry)]

    def newest(self, project: str | None) -> list[SharedEntry]:
        """Return the lessons on default branches, latest first."""
        found = [each for each in self.entries.values() if not each.branch and project in {None, each.project}]
        return sorted(found, key=lambda entry: entry.outcome.resolved_at, reverse=True)

    def allowed(self, project: str | None, answers: Answers | None) -> list[SharedEntry]:
        """Return the lessons for agents, latest first: approved by a person, or confirmed by an own entry."""
        return [
            each
            for each in self.newest(project)
            if (self.is_confirmed(each) or (answers and answers.is_yes(each.id)))
            and not (answers and answers.is_never(each.id))
        ]

    def discount(self, entry: Ghap) -> float:
        """Return the amount to subtract from an entry's score, which is 0 except for unsettled shared lessons."""
        is_settled = not isinstance(entry, SharedEntry) or entry.is_settled
        return 0.0 if is_settled or self.is_confirmed(entry) else _DISCOUNT

    def is_confirmed(self, entry: Ghap) -> bool:
        """Whether an own entry cites a shared lesson as helpful."""
        return bool(self.effects().get(entry.id, (0, 0))[1])

    def look(self) -> None:
        """Start a refresh in the background, unless there was one recently."""
        if self.joined and monotonic() - self._looked >= timeouts.SHARED_AGAIN:
            self._looked = monotonic()
            self._task = asyncio.create_task(self.refresh())

    async def refresh(self) -> None:
        """Read new files from the joined repositories."""
        async with self._one:
            for place, before in list(self.joined.items()):
                try:
                    after = await _in_thread(partial(_read, place, before, self.gate.redactor))
                except DeadlineExceededError as error:
                    log.info("shared.skipped", reason=error.message)
                    continue
                except Exception:
                    # One repository cannot take the others along.
                    log.exception("shared.failed")
                    continue
                # It may have been left meanwhile.
                if after != before and self.joined.get(place) == before:
                    self._set({**self.joined, place: after})

    async def join(self, folder: Path, project: str) -> Joined:
        """Join a repository, read its shared lessons, and return them. Raises `InvalidInputError` without a commit."""
        place, joined = await _in_thread(partial(_found, folder, project))
        # Before it is kept: what cannot be read would be tried, and fail, again and again.
        joined = await _in_thread(partial(_read, place, joined, self.gate.redactor))
        self._set({**self.joined, place: joined})
        return joined

    async def leave(self, folder: Path) -> Joined:
        """Leave a repository and drop its shared lessons. Raises `NotFoundError` if it is not joined."""
        # The repository may no longer exist.
        names = {await _in_thread(partial(tree.place_of, folder)), str(folder / ".git")}
        place = next((place for place in self.joined if place in names), None)
        if place is None:
            raise NotFoundError(f"{folder}: the shared lessons of this repository are not read.")
        left = self.joined[place]
        self._set({other: each for other, each in self.joined.items() if other != place})
        return left

    def _set(self, joined: Mapping[str, Joined]) -> None:
        before = self.entries.keys()
        if self.file and joined:
            files.replace(self.file, msgspec.json.encode(joined))
        elif self.file:
            files.remove(self.file)
        self._arrange(joined)
        if self.entries.keys() != before:
            self.changed()

    def _arrange(self, joined: Mapping[str, Joined]) -> None:
        self.joined = joined
        self.entries = {entry.id: entry for each in joined.values() for entry in each.entries}


def _kept_in(file: Path) -> dict[str, Joined]:
    """Return the joined repositories in a file, without those that are not as they were written."""
    found = dict[str, Joined]()
    with suppress(OSError, *_MALFORMED):
        for place, data in msgspec.json.decode(files.content(file), type=dict[str, msgspec.Raw]).items():
            try:
                joined = msgspec.json.decode(data, type=Joined)
                # It has what the index needs.
                for entry in joined.entries:
                    documents_of(entry)
            except _MALFORMED:
                log.warning("shared.unreadable")
            else:
                found[place] = joined
    return found


async def _in_thread(work: Callable[[], T]) -> T:
    return await asyncio.wrap_future(in_daemon_thread(work))


def _found(folder: Path, project: str) -> tuple[str, Joined]:
    place, branch = tree.place_of(folder), tree.line(folder, "symbolic-ref", "--quiet", "HEAD")
    if not (place and tree.line(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")):
        raise InvalidInputError(f"{folder}: there is no git repository here, or it has no commit yet.")
    return place, Joined(str(tree.top_of(folder)), project, tree.roots_of(Path(place), "HEAD"), branch)


def _forgotten(joined: Joined) -> Joined:
    """Return a repository in the unread state: another version of this program may refuse more files."""
    return Joined(joined.folder, joined.project, joined.roots, joined.branch, remote=joined.remote)


def identity_of(project: str, content: str) -> str:
    """Return the id of a shared lesson, which is the same for everyone in the same project."""
    return f"{_PREFIX}{hashlib.sha256(f'{project} {content}'.encode()).hexdigest()[:16]}"


def _read(place: str, before: Joined, redactor: Redactor) -> Joined:
    """Return the present state of a repository."""
    # Not the folder of the worktree, which may no longer exist.
    folder = Path(place)
    if before.remote is None:
        before = msgspec.structs.replace(before, remote=tree.remote_of(folder))
    default, commits = tree.branches(folder, before.remote, before.branch)
    trees = tree.trees_of(folder, commits)
    seen = hashlib.sha256(repr((commits.get(default), trees)).encode()).hexdigest()
    if seen == before.seen:
        return before
    nothing = msgspec.structs.replace(_forgotten(before), seen=seen)
    try:
        roots = tree.roots_of(folder, commits.get(default, "HEAD"))
        if tree.place_of(folder) != place or (before.roots and roots != before.roots):
            return msgspec.structs.replace(
                nothing, left_out={"": "this is another repository than the one that was joined"}
            )
        if not default:
            return msgspec.structs.replace(nothing, left_out={"": "it is not known which branch is the default branch"})
        found = tree.files_of(folder, trees)
        data = tree.contents(folder, {blob for _, blob in found.values() if blob})
        checked: dict[str, str] = {}
        said: dict[str, SharedFile | str] = {}
        for name, (_, blob) in found.items():
            file = parse(name, data.get(blob))
            if isinstance(file, SharedFile):
                known = before.checked.get(blob)
                checked[blob] = (
                    next((reason for reason, _ in objections(file, redactor)), "") if known is None else known
                )
                file = checked[blob] or file
            said[name] = file
        where = {name: "" if branch == default else branch for name, (branch, _) in found.items()}
        sound = {name: file for name, file in said.items() if isinstance(file, SharedFile)}
        return msgspec.structs.replace(
            nothing,
            checked=checked,
            left_out={name: file for name, file in said.items() if isinstance(file, str) and not where[name]},
            entries=list(_entries(before.project, sound, where, tree.merges(folder, commits[default]))),
        )
    except DeadlineExceededError:
        # Git would time out each time. The earlier state is kept.
        return msgspec.structs.replace(before, seen=seen, left_out={"": "git took too long to say what it has"})


def _entries(
    project: str, sound: Mapping[str, SharedFile], where: Mapping[str, str], merges: Mapping[str, tree.Merge]
) -> Iterator[SharedEntry]:
    """Yield the lessons of the default branch, and those that other branches add."""
    main = state_of({name: file for name, file in sound.items() if not where[name]})
    for content, lesson in {**state_of(sound), **main}.items():
        author, at = merges.get(lesson.names[0], ("", None))
        # Evidence can be invented, so verdicts count by the number of other authors.
        confirming, contradicting = (
            len({merges[name][0] for name in names if name in merges} - {"", author})
            for names in lesson.verdicts.values()
        )
        branch = where[lesson.names[0]].split("/", 2)[-1]
        yield entry_of(
            lesson.file,
            identity_of(project, content),
            project,
            at,
            author=named(author),
            branch="" if content in main else told_name(branch) or "another",
            confirmations=confirming,
            contradictions=contradicting,
        )
