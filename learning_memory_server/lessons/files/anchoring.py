"""Finds the files that an entry is about, and keeps them with it once it is resolved."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import structlog

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.embedding.work_queue import in_daemon_thread
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.index.document import full_parts
from learning_memory_server.lessons.files.freshness import (
    blob_ids,
    digests,
    known_to_git,
    name_in,
    project_root,
    split_digests,
    tracked_by_git,
)
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
_NAME: Final = re.compile(r"`(\w{3,})`|\b(\w{3,})\(|\b(\w*[a-z0-9](?:_|[A-Z])\w*)\b")
"""What looks like the name of something in code: in backticks, before a parenthesis, or of several words."""
_DEFINITION: Final = re.compile(
    rb"\s*(?:(?:export|public|private|protected|static|async|pub|default|final|abstract)\s+)*"
    rb"(?:def|class|func|function|fn|interface|struct|enum|trait|module)\s+(\w+)"
)

log = structlog.get_logger()


@dataclass(eq=False)
class Anchoring:
    """Remembers the files of open entries in RAM, and anchors those that are resolved, in the background.

    A file is not anchored to if git ignores it, it may hold credentials, or redaction finds a secret in it.
    """

    collector: ObservationCollector
    redaction: RedactionGate
    _touched: Recent[str, dict[str, Anchor]] = field(default_factory=Recent, init=False)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set, init=False)

    def touch(self, caller: Caller, name: str, new: str | None) -> None:
        """Note that the caller's open entry is about a file: it was read, or lines were put in; None for a read."""
        entry = self.collector.still_open.current(caller)
        if entry is None or self.collector.still_open.is_ambiguous(caller):
            return
        files = self._touched.of(entry.id, dict)
        before = files.pop(name, Anchor(name, is_read=True))
        lines = [*split_digests(before.lines), *digests((new or "").encode("utf-8", "replace").splitlines())]
        files[name] = before._replace(lines=_kept(lines), is_read=before.is_read and new is None)
        if len(files) > _LOOKED_AT:
            del files[next((each for each in files if files[each].is_read), next(iter(files)))]

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

    async def _anchor(self, entry: Ghap, folder: str, touched: Mapping[str, Anchor]) -> None:
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


def found_files(entry: Ghap, folder: str, touched: Mapping[str, Anchor]) -> list[tuple[Anchor, bytes]]:
    """Return the files of the project that an entry may be anchored to, with their content."""
    root = project_root(folder)
    if root is None:
        return []
    texts = "\n".join((*full_parts(entry), *entry.notes))
    is_repository = (root / ".git").exists()
    files = {name: each for name, each in touched.items() if name_in(root, name) == name}
    for path in _paths(texts, tracked_by_git(root) if is_repository else ()):
        if (name := name_in(root, path)) and (name in files or (root / name).is_file()):
            files[name] = files.pop(name, Anchor(name))._replace(is_read=False)
    names = list(files)[-_LOOKED_AT:]
    allowed = set(known_to_git(root, names) if is_repository else names)
    identifiers = {next(filter(None, each)).encode() for each in _NAME.findall(texts)}
    contents = ((name, read(root / name)) for name in names if name in allowed)
    return [
        (_anchored(files[name], content, identifiers), content) for name, content in contents if content is not None
    ]


def _anchored(anchor: Anchor, content: bytes, identifiers: set[bytes]) -> Anchor:
    """Return an anchor with the id of the content and its present lines."""
    lines = content.splitlines()
    there = set(digests(lines))
    touched = [each for each in split_digests(anchor.lines) if each in there]
    lines_kept = _kept([*digests(_defined(lines, identifiers)), *touched])
    return anchor._replace(blob=blob_ids(content)[0], lines=lines_kept)


def _kept(lines: Iterable[str]) -> str:
    return "".join(list(dict.fromkeys(lines))[-limits.ANCHOR_LINES_MAX :])


def _paths(texts: str, tracked: Iterable[str]) -> Iterator[str]:
    """Yield what looks like a path in texts; of a file's name alone, the only tracked file of that name."""
    for path in dict.fromkeys(_PATH.findall(texts)):
        yield path
        ends = [name for name in tracked if name.endswith(f"/{path}")]
        if len(ends) == 1:
            yield ends[0]


def _defined(lines: list[bytes], identifiers: set[bytes]) -> Iterator[bytes]:
    """Yield the lines that define one of these names, with the lines that are indented deeper."""
    for number, line in enumerate(lines):
        if (found := _DEFINITION.match(line)) and found[1] in identifiers:
            indent = len(line) - len(line.lstrip())
            yield line
            for inner in lines[number + 1 : number + limits.ANCHOR_LINES_MAX]:
                if inner.strip() and len(inner) - len(inner.lstrip()) <= indent:
                    break
                yield inner
