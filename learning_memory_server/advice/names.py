"""Names: files, identifiers and codes that few texts of a project mention. Lessons with the same name are relevant."""

import os
import re
from collections import Counter, deque
from collections.abc import Container, Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final

from learning_memory_server.advice import constants
from learning_memory_server.advice.lessons import Lessons
from learning_memory_server.advice.matters import distinct
from learning_memory_server.index.document import axis_text
from learning_memory_server.index.ranking.terms import terms
from learning_memory_server.lessons.files.freshness import project_root, tracked_by_git
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.shell.naming import head, looks
from learning_memory_server.shell.steps import read_steps
from learning_memory_server.system import recent
from learning_memory_server.system.recent import Recent

_WORD: Final = re.compile(r"(?<![\w@.~+/-])[\w@.~+-]{0,80}(?:/[\w@.~+-]{1,80}){0,16}")
_CODE: Final = re.compile(r"[^\W\d]\w*[\d_]|_\w*[^\W\d_]|[a-z]\w*[A-Z]")
_ADDRESS: Final = re.compile(r"\b\w{1,20}://\S+")


@cache
def _programs() -> frozenset[str]:
    """Return the names of the programs of PATH. For a thread: a folder of it may be on a disk that does not answer."""
    found = set[str]()
    for folder in os.get_exec_path():
        try:
            found.update(each.name for each in Path(folder).iterdir())
        except OSError:
            continue
    return frozenset(found)


def names_in(text: str, once: Container[str] = (), programs: Container[str] = frozenset()) -> frozenset[str]:
    """Return the names in a text: paths, identifiers and codes, and files of which the project has one: `once`.

    A word that one of the `programs` has for its name says nothing.
    """
    found = set[str]()
    for word in _WORD.findall(_ADDRESS.sub(" ", text)):
        path = word.removeprefix("./").rstrip(".")
        name = path.rpartition("/")[2]
        if len(name) < constants.NAME_LEAST or word.startswith("-") or name in programs:
            continue
        if name in once or _CODE.match(name.partition(".")[0]):
            found.add(name)
        if "/" in path.strip("/"):
            found.add(path)
    return frozenset(found)


@dataclass(eq=False)
class Names:
    """Finds the lessons that share names with a text, in each project."""

    lessons: Lessons
    _programs: frozenset[str] = field(default=frozenset(), init=False)
    _once: Recent[str, frozenset[str]] = field(default_factory=lambda: Recent(recent.LARGE_MOST), init=False)
    _texts: Recent[str, deque[tuple[str, frozenset[str]]]] = field(default_factory=Recent, init=False)
    # By entry and folder: a worktree of the same project may have other files
    _entries: dict[tuple[str, str], tuple[Ghap, frozenset[str], frozenset[str]]] = field(
        default_factory=dict, init=False
    )

    def look(self, folder: str) -> None:
        """Read which programs there are, and which files git tracks in a project; takes as long as a disk."""
        if not self._programs:
            self._programs = _programs()
            self._entries.clear()
        root = project_root(folder)
        counts = Counter(name.rpartition("/")[2] for name in (tracked_by_git(root) if root else ()))
        once = frozenset(name for name, count in counts.items() if count == 1)
        if self._once.get(folder, frozenset()) != once:
            self._entries.clear()
        self._once[folder] = once

    def note(self, text: str, caller: Caller) -> None:
        """Record the names in a prompt or a command: names that many sessions use are not distinctive."""
        if found := self._in(text, caller):
            texts = self._texts.of(caller.project, lambda: deque(maxlen=constants.NAME_TEXTS))
            texts.append((caller.session, found))

    def about(self, text: str, caller: Caller) -> list[Ghap]:
        """Return the lessons that share a name with a prompt or a command."""
        found = self._in(text, caller)
        return self._lessons(found, caller) if found else []

    def besides(self, text: str, caller: Caller) -> str:
        """Return a text without its names."""
        once = self._once.get(caller.folder, ())
        return _WORD.sub(lambda word: "" if names_in(word[0], once, self._programs) else word[0], text)

    def runs(self, command: str, entry: Ghap, caller: Caller) -> bool:
        """Whether a command runs a program or a script that an entry names, other than to read something."""
        run = " ".join(head(step.call)[1] for step in read_steps(command).steps if not looks(step.call))
        return not self._of(entry, caller)[0].isdisjoint(names_in(run, programs=self._programs))

    def at(self, place: str, caller: Caller) -> list[Ghap]:
        """Return the lessons that name where a caller works: a branch, and files and folders, a line each."""
        return self._lessons(
            names_in(place, self._once.get(caller.folder, ()), self._programs), caller, place.partition("\n")[0]
        )

    def _in(self, text: str, caller: Caller) -> frozenset[str]:
        text = text.replace(f"{caller.folder}/", "") if caller.folder else text
        return names_in(text, self._once.get(caller.folder, ()), self._programs)

    def _lessons(self, names: AbstractSet[str], caller: Caller, branch: str = "") -> list[Ghap]:
        """Return the lessons with any of `names`, or the words of a branch, if the names are rare among lessons.

        Sorted by the number of names that match, then newest first.
        """
        # All at once: of a part that is one stop word, it would be kept.
        words = frozenset(terms(re.sub(r"[\W_]", " ", branch.rpartition("/")[2])))
        newest = [*islice(self.lessons.collector.timeline.newest(caller.project), constants.NAME_LESSONS)]
        shared = [*self.lessons.shared_by(caller.project)]
        # Usually no lesson shares a name with the text: then stop before 200 more checks.
        if len(words) < 2 and all(names.isdisjoint(self._of(each, caller)[0]) for each in (*newest, *shared)):
            return []
        lessons = [*(each for each in newest if self.lessons.is_in_force(each)), *shared]
        groups = {name: [each for each in lessons if name in self._of(each, caller)[0]] for name in names}
        if len(words) > 1:
            groups[""] = [each for each in lessons if words <= self._of(each, caller)[1]]
        few = max(constants.NAME_FEW, int(constants.NAME_SHARE * len(lessons)))
        many = constants.NAME_LESSONS * constants.NAME_SHARE * constants.NAME_FEW  # Comparing more would take too long
        rare = Counter(
            each.id
            for name, group in groups.items()
            if len(group) <= many and len(distinct(group)) <= few
            for each in group
            if self._is_rare(name, caller, each)
        )
        return sorted((each for each in lessons if each.id in rare), key=lambda each: -rare[each.id])

    def _is_rare(self, name: str, caller: Caller, entry: Ghap) -> bool:
        involved = {caller.session, entry.agent_session}
        used = (name in found for session, found in self._texts.get(caller.project, ()) if session not in involved)
        return sum(used) <= constants.NAME_USED

    def _of(self, entry: Ghap, caller: Caller) -> tuple[frozenset[str], frozenset[str]]:
        """Return an entry's names, including the files edited for it, and its terms."""
        known = self._entries.get((entry.id, caller.folder))
        if known is None or known[0] is not entry:
            text = axis_text(entry, Axis.FULL)
            once = self._once.get(caller.folder, ())
            files = "\n".join(each.file for each in entry.anchors if not each.is_read)
            known = entry, names_in(f"{text}\n{files}", once, self._programs), frozenset(terms(text))
            if len(self._entries) >= recent.SMALL_MOST:
                self._entries.clear()
            self._entries[entry.id, caller.folder] = known
        return known[1:]
