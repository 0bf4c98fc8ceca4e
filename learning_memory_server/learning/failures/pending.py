"""The commands and edits of sessions: what failed, and what mended it soon after."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from learning_memory_server.learning.anchors.freshness import name_in, project_root
from learning_memory_server.learning.failures.episodes import Edited, ErrorLine, episode_of
from learning_memory_server.learning.failures.outcomes import is_test_or_build
from learning_memory_server.learning.failures.parse import Command, do_the_same, parse
from learning_memory_server.learning.failures.remedies import lock_of, mended
from learning_memory_server.learning.failures.sanitize import files_in, kept, shows_error, tidied
from learning_memory_server.model import limits
from learning_memory_server.model.caller import session_hash
from learning_memory_server.model.failure import Episode, Failure, failure_id
from learning_memory_server.redaction.gate import RedactionGate

WITHIN: Final = 5
"""How many commands after one that failed can mend it, and after each that fails with the same error."""
_EDITED_WITHIN: Final = 15
"""How many commands after one that failed an edit is known to have mended it: that is only known once it runs again."""
EDITS_MAX: Final = 12
"""The most edits that may have mended a failure. Of more, nobody knows which did."""
_WRITTEN_MAX: Final = 50
"""How many of the files that a session edited are remembered: the last ones."""
_SESSIONS: Final = 200
"""How many sessions are followed at once: those that ran a command last."""
_SESSION: Final = re.compile(r"[0-9a-f]{16}")
"""What the hash of a session looks like."""
_NOWHERE: Final = Path("/-")
"""Stands for a project whose folder is not known."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ended."""

    project: str
    session: str  # the session: its hash, or an id that will be hashed
    command: str
    output: str  # what it wrote. Nothing is kept of it but the error's signature and what the error names.
    has_failed: bool | None  # whether it failed; None if the client does not say
    at: datetime
    folder: str | None = None  # the working directory, to which paths are made relative
    agent: str = ""  # which of the session's agents ran it: each has its own next five commands
    edits: tuple[Edited, ...] = ()  # what this agent edited since its command before
    entry: str = ""  # the id of the agent's open entry

    @property
    def is_in_doubt(self) -> bool:
        """Whether a program that it ran may have failed although its own status says nothing of that."""
        command = parse(self.command)
        unsaid = command.unsaid if self.has_failed is False else 1
        return not self.has_failed and not command.only_reads and unsaid > len(self._printed())

    def with_known_end(self) -> Ran:
        """Return it with what can be known of its end where its status is that of another program, or is not said.

        Printed statuses are believed, and so is the error of a program that does not only read. What a client does not
        say, and nothing else tells, remains unknown.
        """
        command, printed = parse(self.command), self._printed()
        is_failure = not set(printed) <= {"0"}
        if self.has_failed or not (is_failure or command.is_hidden or self.has_failed is None):
            return self
        if printed:
            return replace(self, has_failed=is_failure)
        if not command.only_reads and shows_error(self.output):
            return replace(self, has_failed=True)
        return self

    def _printed(self) -> list[str]:
        """Return the exit statuses that its output says.

        A status that stands alone looks like any line of numbers, so it is only known where nothing follows.
        """
        command, found = parse(self.command), list[str]()
        for text in command.printed:
            statuses = re.findall(rf"^{re.escape(text)}(\d{{1,3}})\b", self.output, re.MULTILINE)
            found += statuses if text.strip() else statuses[-1:] if command.is_hidden else []
        return found


class Mended(NamedTuple):
    """What has mended a failure that may not have been recorded: a command, as it may be kept, or edits, or both."""

    id: str
    remedy: str | None = None
    episode: Episode | None = None

    def applied(self, failure: Failure) -> Failure:
        """Return the failure with what mended it."""
        remedy, episode = self.remedy or failure.remedy, self.episode or failure.episode
        return replace(failure, remedy=remedy, episode=episode)


class Seen(NamedTuple):
    """What a command has shown."""

    failure: Failure | None = None  # that it failed
    error: ErrorLine | None = None  # with this error
    mended: tuple[Mended, ...] = ()  # what it has mended, oldest first
    in_vain: frozenset[str] = frozenset()  # the files that were edited since it failed with the same error


@dataclass(eq=False, slots=True)
class _Pending:
    """A failure, and what was run, installed and edited since."""

    failure: Failure
    error: ErrorLine
    written: frozenset[str]  # the files that the session had edited before it first met the error
    age: int = 0  # how many commands ended since
    installed: str = ""
    edits: list[Edited] = field(default_factory=list)
    is_sure: bool = True  # whether nothing but these edits can have mended it
    is_mended: bool = False  # whether a command has mended it

    @property
    def waits(self) -> bool:
        """Whether a command can mend it."""
        return self.age <= WITHIN and not self.is_mended


@dataclass(slots=True)
class _Session:
    """What one agent of a session did last: what failed, and the names of the files that it edited."""

    pending: list[_Pending] = field(default_factory=list)
    written: list[str] = field(default_factory=list)

    def edited(self, edits: tuple[Edited, ...], project: str, folder: str | None) -> None:
        """Take edits, whose paths are as the client gives them."""
        root = project_root(folder or "")
        for edit in edits:
            path = str(Path(folder or "", edit.file)) if root else tidied(edit.file, project)
            name = name_in(root or _NOWHERE, path)
            for each in self.pending:
                each.edits += [replace(edit, file=name)] if name else []
                # What is outside of the project, or must not be known, may have mended it, too.
                each.is_sure &= name is not None and len(each.edits) <= EDITS_MAX
            self.written = [*self.written, name][-_WRITTEN_MAX:] if name else self.written


class PendingFailures:
    """Takes the commands of sessions, each session's in order, and keeps the failures that can still be mended.

    It records nothing.
    """

    def __init__(self, redaction: RedactionGate) -> None:
        self._redaction = redaction
        self._sessions: OrderedDict[tuple[str, str, str], _Session] = OrderedDict()

    async def saw(self, ran: Ran) -> Seen:
        """Take a command, and the edits before it, and return what they have shown."""
        ran = ran.with_known_end()
        session = ran.session if _SESSION.fullmatch(ran.session) else session_hash(ran.session)
        about = (ran.project, session, ran.agent)
        if ran.edits:
            self._keep(about, state := self._sessions.pop(about, _Session()))
            state.edited(ran.edits, ran.project, ran.folder)
        if not (ran.has_failed or (about in self._sessions and self._sessions[about].pending)):
            return Seen()
        output = ran.output if ran.has_failed else ""
        text = await kept(self._redaction, ran.command, ran.project, ran.folder, output)
        # Nothing awaits while the session is taken out, so that no other command finds it without this one.
        state = self._sessions.pop(about, _Session())
        failure = error = None
        if ran.has_failed and text.signature and text.command and len(ran.project) <= limits.PROJECT_MAX:
            name = failure_id(ran.project, text.signature, session, text.command)
            error = ErrorLine.of(text.line, text.signature, files_in(ran.output) | files_in(ran.command))
            failure = Failure(name, ran.project, session, text.signature, text.command, ran.at, named=text.named)
        again = [each for each in state.pending if error and each.error.digest == error.digest]
        in_vain = frozenset(edit.file for each in again for edit in each.edits)
        gone = [each for each in state.pending if _is_gone(each, text.command, error, ran)]
        edited = [(each, each.edits) for each in gone if each.is_sure and each.edits]
        for each in state.pending:
            each.age += 1
            each.is_sure &= each not in gone and not _may_mend(parse(text.command), each.failure.command)
        for each in again:
            each.edits, each.is_sure = [], True
        if failure and error:
            written = again[0].written if again else frozenset(state.written)
            state.pending = _with_failure(state.pending, _Pending(failure, error, written))
        remedies = _remedies(state.pending, text.command) if ran.has_failed is False else {}
        state.pending = [each for each in state.pending if each.age < _EDITED_WITHIN]
        self._keep(about, state)
        episodes = {
            each.failure.id: episode and replace(episode, entry=ran.entry)
            for each, edits in edited
            for episode in [await episode_of(each.error, edits, each.written, self._redaction)]
        }
        ids = dict.fromkeys([*remedies, *episodes])
        found = tuple(Mended(name, remedies.get(name), episodes.get(name)) for name in ids)
        return Seen(failure, error, found, in_vain)

    def _keep(self, about: tuple[str, str, str], state: _Session) -> None:
        self._sessions[about] = state
        if len(self._sessions) > _SESSIONS:
            self._sessions.popitem(last=False)


def _with_failure(pending: list[_Pending], new: _Pending) -> list[_Pending]:
    """Add a failure. Others wait on while the same program fails in the same way: that is one search for a remedy."""
    programs = parse(new.failure.command).programs
    for each in pending:
        is_same = each.failure.signature == new.failure.signature
        if is_same and each.waits and programs & parse(each.failure.command).programs:
            each.age = 0
    return [*(each for each in pending if each.failure.id != new.failure.id), new]


def _remedies(pending: list[_Pending], command: str) -> dict[str, str]:
    """Return the ids of the failures that a command has mended, with their remedy: with an install that was before."""
    waiting, is_install = [each for each in pending if each.waits], lock_of(command) != ""
    found = [each for each in waiting if mended(each.failure.command, command) is not None]
    for each in waiting:
        each.is_mended = each in found
        each.installed = command if is_install else each.installed
    installed = next((each.installed for each in found if each.failure.command == command), "")
    remedy = f"{installed} && {command}" if installed and installed != command else command
    return dict.fromkeys((each.failure.id for each in found), remedy[: limits.COMMAND_MAX])


def _is_gone(pending: _Pending, command: str, error: ErrorLine | None, ran: Ran) -> bool:
    """Return whether a failure's command has just run without its error."""
    is_said = error and (pending.error.digest == error.digest or pending.error.line in ran.output)
    is_known = error is not None or ran.has_failed is False
    return is_known and not is_said and do_the_same(pending.failure.command, command)


def _may_mend(command: Command, failed: str) -> bool:
    """Return whether a command may change what another one does; tests, builds and its own program are taken not to."""
    writes = any(step.redirections or "-i" in step.words for step in command.steps)
    is_known = command.only_looks or is_test_or_build(command.text) or command.programs <= parse(failed).programs
    return writes or not is_known
