"""Ties of lessons to errors: an agent is shown a lesson if the error that its author met comes again.

An entry is tied to an error if two conditions hold. A command failed with the error while the agent had the entry open,
and the entry's texts quote the line: four consecutive words, or a code. A failure that was recorded without names
counts if the entry has the names.

Entries older than the project's first recorded failure count if they quote the line and contain its names.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from learning_memory_server.advice import constants
from learning_memory_server.advice.matters import age
from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.index.document import full_parts
from learning_memory_server.journal.records import FailureLog
from learning_memory_server.lessons.errors.sanitize import comparable, normalized
from learning_memory_server.model import limits
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Ghap, Met
from learning_memory_server.model.failure import Failure, line_digest
from learning_memory_server.model.moment import as_seen
from learning_memory_server.shell.naming import head, looks
from learning_memory_server.shell.steps import read_steps

_CODE: Final = re.compile(r"\b(?:[A-Z]{1,8}[-_]?\d{2,6}|[A-Z]{2,}(?:_[A-Z\d]+)+)\b")
_MARK: Final = re.compile(r"<\w+>")
_PATH: Final = re.compile(r"<\w+>|(?<!\S)[^\s/\\]{0,200}[/\\]\S*")
_RAISED: Final = re.compile(r"(?<!\w)(?:\w{1,60}(?:\.|::)){0,8}\w{0,60}(?:Error|Exception)\b")
_NAME: Final = re.compile(
    r"['\"`\u2018\u201c][^'\"`]{0,80}[^\W\d][^'\"`]{0,80}['\"`\u2019\u201d]|\w/|/\w|\w\.[a-z]{1,5}\b|[a-z][A-Z]|\w_\w|[^\W\d]\d|\d[^\W\d]"
)
"""Signs that a line names something."""
_WORD: Final = re.compile(r"[\w./~@+][\w./~@+-]*")


@dataclass(slots=True)
class _OfProject:
    """The ties of a project."""

    earlier: list[tuple[str, Met]]  # the errors of entries that have none themselves, with the ids of these entries
    unseen: dict[str, str]  # the words of entries that predate the recording of failures, by entry id
    state: object = None
    by_line: dict[str, list[tuple[str, Met]]] = field(default_factory=dict)


@dataclass(eq=False)
class Ties:
    """Finds the lessons that are tied to an error."""

    failures: FailureLog
    collector: ObservationCollector
    _projects: dict[str, _OfProject] = field(default_factory=dict, init=False)

    def met(self, entry: Ghap, resolver: Caller) -> tuple[Met, ...]:
        """Return the errors to store with a resolved entry.

        An adopted entry may have errors of an earlier agent: they are tied only if the resolver met at least one, too.
        """
        of_project = self.failures.of_project(entry.project)
        found = [each for each in of_project if each.during and each.during.entry == entry.id]
        if not found:
            return ()
        is_here = resolver.project == entry.project
        mine = {_line_of(each) for each in of_project if _is_by(each, resolver)} if is_here else set[str]()
        has_met_others = any(_line_of(each) in mine for each in found if not _is_by(each, resolver))
        errors = dict[str, Met]()
        for each in sorted(found, key=lambda failure: failure.created_at):
            line, programs = _line_of(each), " ".join(sorted(programs_of(each.command)))
            is_tied = (has_met_others or _is_by(each, resolver)) and _quotes(entry, line)
            before = errors.pop(line, Met(""))
            errors[line] = Met(line, programs, is_tied=is_tied or before.is_tied)
        # Tied errors come last, so that the limit drops others first.
        return tuple(sorted(errors.values(), key=lambda each: each.is_tied)[-limits.ERRORS_MAX :])

    def tied(self, line: str, command: str, project: str) -> list[Ghap]:
        """Return the entries that are tied to an error, newest first."""
        programs = programs_of(command)
        ties, wanted, names_something = self._of(project), words_in(line), _names(line, programs)
        errors: dict[str, Met] = {}
        for key in {line, normalized(line) or line}:
            met = ties.by_line.get(key, ())
            errors |= {name: each for name, each in met if names_something or programs & {*each.programs.split()}}
        quoting = [
            name
            for name, text in ties.unseen.items()
            if _has(text, wanted)
            and _has_run(text, words_in(line, _PATH))
            and (names_something or any(_has(text, words_in(each)) for each in programs))
        ]
        entries = [
            entry
            for entry in self.collector.look_up((*errors, *quoting)).found
            if entry.resolution
            and (entry.id not in errors or errors[entry.id].line == line or _has(_words_of(entry), wanted))
        ]
        return sorted(entries, key=age, reverse=True)

    def is_silent(self, entry: Ghap, line: str, command: str, caller: Caller) -> bool:
        """Whether a lesson is tied to an error, but no longer useful for it; see `is_spent`."""
        is_spent = self.is_spent(entry, line, caller)
        return is_spent and any(each.id == entry.id for each in self.tied(line, command, caller.project))

    def is_spent(self, entry: Ghap, line: str, caller: Caller) -> bool:
        """Whether an error is routine, or came again although its lesson was shown."""
        return self.is_routine(line, caller) or self.is_in_vain(entry, line)

    def is_routine(self, line: str, caller: Caller) -> bool:
        """Whether an error came in so many earlier sessions that it is part of the work."""
        same = (each for each in self._failures(line, caller.project) if not each.imported and _had(each, line))
        earlier = {each.session for each in same}
        return len(earlier - {caller.session}) > constants.ROUTINE

    def is_in_vain(self, entry: Ghap, line: str) -> bool:
        """Whether an error came again in several sessions after agents were shown a lesson about it."""
        same = self._failures(line, entry.project)
        shown = {each.session for each in same if each.advice and each.advice.id == entry.id}
        return len({each.session for each in same if each.again and each.session in shown}) >= constants.VAIN

    def _failures(self, line: str, project: str) -> list[Failure]:
        return self.failures.of(project, normalized(line) or line)

    def _of(self, project: str) -> _OfProject:
        """Return the current ties of a project."""
        timeline = self.collector.timeline
        if project not in self._projects:
            failures = self.failures.of_project(project)
            first = min((as_seen(each.created_at) for each in failures), default=None)
            newest = islice(timeline.newest(project), constants.OLD)
            unseen = [each for each in newest if not first or as_seen(each.outcome.resolved_at) < first]
            words = {each.id: _words_of(each) for each in unseen if each.learned}
            self._projects[project] = _OfProject([*self._earlier(project, failures)], words)
        ties, state = self._projects[project], (timeline, timeline.changes)
        if ties.state != state:
            ties.state, ties.by_line = state, defaultdict(list)
            own = ((entry.id, each) for entry in timeline.newest(project) for each in entry.errors)
            for name, error in (*own, *ties.earlier):
                if error.is_tied:
                    ties.by_line[error.line].append((name, error))
        return ties

    def _earlier(self, project: str, failures: list[Failure]) -> Iterator[tuple[str, Met]]:
        """Yield the ids of entries that predate stored errors, each with an error."""
        failures = [each for each in failures if not (each.during or each.imported)]
        entries: dict[str, list[Ghap]] = defaultdict(list)
        for entry in self.collector.timeline.newest(project) if failures else ():
            if not entry.imported:
                entries[entry.agent_session].append(entry)
        for each in failures:
            at, theirs = as_seen(each.created_at), entries.get(each.session, ())
            still_open = [one for one in theirs if as_seen(one.created_at) <= at <= as_seen(one.outcome.resolved_at)]
            # With several open entries, the one of the command is unknown.
            if len(still_open) == 1 and not still_open[0].errors:
                programs = " ".join(sorted(programs_of(each.command)))
                yield still_open[0].id, Met(_line_of(each), programs, _quotes(still_open[0], _line_of(each)))


def programs_of(command: str) -> frozenset[str]:
    """Return the program names of a command, without folders. For a common program, its first argument is used."""
    found = ([word.rpartition("/")[2].casefold() for word in call if _WORD.fullmatch(word)] for call in _calls(command))
    common = constants.COMMON_PROGRAMS
    return frozenset(next((name for name in names if name not in common), names[0]) for names in found if names)


def words_in(text: str, without: re.Pattern[str] = _MARK) -> list[str]:
    """Return the words of a text, without marks and words that begin with a digit."""
    return [word for word in re.findall(r"\w+", without.sub(" ", text).casefold()) if not word[0].isdigit()]


def _calls(command: str) -> Iterator[tuple[str, ...]]:
    """Yield the calls of a command, without wrappers."""
    for step in read_steps(command).steps:
        if not looks(step.call):
            length, name = head(step.call)
            yield name, *step.call[length:]


def _is_by(failure: Failure, caller: Caller) -> bool:
    """Whether the failure was a caller's own command, if known."""
    agent = failure.agent or (failure.during.agent if failure.during else "")
    return failure.session == caller.session and (not (agent and caller.agent) or agent == caller.agent)


def _line_of(failure: Failure) -> str:
    """Return the line of a failure in the form used for comparison."""
    return comparable(failure.named_line)


def _had(failure: Failure, line: str) -> bool:
    """Whether this was the line of a failure, including its names."""
    if failure.has_digest:
        return line_digest(line) == failure.line
    return line == _line_of(failure)


def _quotes(entry: Ghap, line: str) -> bool:
    """Whether an entry's texts quote the line of an error: several consecutive words, or a code."""
    text = "\n".join(_texts(entry))
    # A path does not count as a quotation.
    if _has_run(f" {' '.join(words_in(text, _PATH))} ", words_in(line, _PATH)):
        return True
    return any(re.search(rf"(?<![\w-]){code}(?![\w-])", text) for code in _CODE.findall(line))


def _texts(entry: Ghap) -> tuple[str, ...]:
    before = (text for each in entry.history for text in (each.hypothesis, each.action, each.prediction))
    return (*full_parts(entry), *entry.notes, *before)


def _words_of(entry: Ghap) -> str:
    words = words_in("\n".join(_texts(entry)))
    return f" {' '.join(words)} "


def _has_run(text: str, wanted: list[str]) -> bool:
    """Whether a text, as a string of words, has enough consecutive words of a line."""
    quoted = constants.QUOTED
    runs = (" ".join(wanted[start : start + quoted]) for start in range(len(wanted) - quoted + 1))
    return any(f" {run} " in text for run in runs)


def _has(text: str, words: Iterable[str]) -> bool:
    """Whether a text, as a string of words, has all given words."""
    return all(f" {word} " in text for word in words)


def _names(line: str, programs: frozenset[str]) -> bool:
    """Whether a line names something: an object, or the program that wrote it."""
    rest = _RAISED.sub("", _MARK.sub("", line))
    return line.partition(":")[0].casefold() in programs or _NAME.search(rest) is not None
