"""Finds the files that an entry is about, and keeps them with it once it is resolved."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.embedding.work_queue import in_daemon_thread
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.index.document import full_parts
from learning_memory_server.lessons.files.freshness import blob_ids, known_to_git, name_in, project_root, tracked_by_git
from learning_memory_server.model import limits
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Anchor, Ghap
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.system import timeouts
from learning_memory_server.system.files import read
from learning_memory_server.system.recent import Recent

_LOOKED_AT: Final = 3 * limits.ANCHORS_MAX  # Files that are looked at for an entry: some are ignored, or not to be kept
# Without what stands in front, each letter of a long word would be tried as a beginning.
_PATH: Final = re.compile(r"(?<![\w@+~-])[\w@+~-]*(?:[./][\w@+~-]+)+")

log = structlog.get_logger()


@dataclass(eq=False)
class Anchoring:
    """Remembers the files of open entries in RAM, and anchors those that are resolved, in the background.

    A file is not anchored to if git ignores it, it may hold credentials, or redaction finds a secret in it.
    """

    collector: ObservationCollector
    redaction: RedactionGate
    # The files of each open entry, the last one last, each with whether it was read only.
    _touched: Recent[str, dict[str, bool]] = field(default_factory=Recent, init=False)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set, init=False)

    def touch(self, caller: Caller, name: str, *, is_read: bool) -> None:
        """Note that the caller's open entry is about a file, which was read or edited."""
        entry = self.collector.still_open.current(caller)
        if entry is None or self.collector.still_open.is_ambiguous(caller):
            return
        files = self._touched.of(entry.id, dict)
        files[name] = files.pop(name, True) and is_read
        if len(files) > _LOOKED_AT:
            only_read = (each for each in files if files[each])
            del files[next(only_read, next(iter(files)))]

    def anchor(self, entry: Ghap, caller: Caller) -> None:
        """Anchor a resolved entry soon, to touched files and those that its texts name."""
        touched = self._touched.pop(entry.id, {})
        if entry.anchors or not caller.folder:
            return
        task = asyncio.create_task(self._anchor(entry, caller.folder, touched))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Wait until what is resolved is anchored."""
        await asyncio.gather(*self._tasks)

    async def _anchor(self, entry: Ghap, folder: str, touched: Mapping[str, bool]) -> None:
        try:
            # The disk may be one of a network that is gone.
            finding = in_daemon_thread(partial(found_files, entry, folder, touched))
            found = await asyncio.wait_for(asyncio.wrap_future(finding), timeouts.SHARED_GIT)
            if found and (anchors := await self._without_secrets(found)):
                self.collector.anchor(entry.id, anchors)
        except (LearningMemoryError, OSError) as error:
            log.info("anchors.skipped", reason=type(error).__name__)

    async def _without_secrets(self, found: list[tuple[Anchor, bytes]]) -> tuple[Anchor, ...]:
        texts = [f"{anchor.file}\n{content.decode('utf-8', 'replace')}" for anchor, content in found]
        places = (await self.redaction.pass_data({"text": texts})).places
        clean = [anchor for number, (anchor, _) in enumerate(found) if f"text[{number}]" not in places]
        # What was worked on last comes last, and is kept.
        return tuple(sorted(clean, key=lambda each: not each.is_read)[-limits.ANCHORS_MAX :])


def found_files(entry: Ghap, folder: str, touched: Mapping[str, bool]) -> list[tuple[Anchor, bytes]]:
    """Return the files of the project that an entry may be anchored to, with their content.

    `touched` says of each file that tools have used whether it was only read. Files that the entry's texts name count
    like edited ones.
    """
    root = project_root(folder)
    if root is None:
        return []
    texts = "\n".join((*full_parts(entry), *entry.notes))
    is_repository = (root / ".git").exists()
    is_read = {name: each for name, each in touched.items() if name_in(root, name) == name}
    for path in _paths(texts, tracked_by_git(root) if is_repository else ()):
        if (name := name_in(root, path)) and (name in is_read or _is_file(root / name)):
            is_read.pop(name, None)  # What is named last comes last
            is_read[name] = False
    names = list(is_read)[-_LOOKED_AT:]
    allowed = set(known_to_git(root, names) if is_repository else names)
    contents = ((name, read(root / name)) for name in names if name in allowed)
    return [
        (Anchor(name, blob_ids(content)[0], is_read[name]), content)
        for name, content in contents
        if content is not None
    ]


def _is_file(path: Path) -> bool:
    """Return whether there is a file. Before Python 3.14, the library raises an error for a name that is too long."""
    try:
        return path.is_file()
    except OSError:
        return False


def _paths(texts: str, tracked: Iterable[str]) -> Iterator[str]:
    """Yield what looks like a path in texts; of a file's name alone, the only tracked file of that name."""
    paths = dict.fromkeys(_PATH.findall(texts))
    alike: dict[str, list[str]] = {path.rpartition("/")[2]: [] for path in paths}
    # Once, however many paths there are: a repository may track 100,000 files.
    for name in tracked:
        base = name.rpartition("/")[2]
        if base in alike:
            alike[base].append(name)
    for path in paths:
        yield path
        ends = [name for name in alike[path.rpartition("/")[2]] if name.endswith(f"/{path}")]
        if len(ends) == 1:
            yield ends[0]
