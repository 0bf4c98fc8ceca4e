"""Ties of lessons to errors: agents get a lesson where the very error comes again that its author met.

An entry is tied to an error if two signs agree. A command failed with it while the entry was open for the agent; and
the entry's texts quote the line (four words in a row, or a code), or name the program, script or file, which worked
later. A failure that was kept without names counts if the entry has them. Entries from before the first failure that
the project keeps count if they quote the line, and have its names.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, dropwhile, islice
from typing import Final, NamedTuple

from learning_memory_server.advice.advisor import Advisor
from learning_memory_server.index.document import full_parts
from learning_memory_server.journal.records import FailureLog
from learning_memory_server.lessons.errors.outcomes import is_check
from learning_memory_server.lessons.errors.parse import head, looks, parse
from learning_memory_server.lessons.errors.sanitize import normalized
from learning_memory_server.lessons.finder import are_one
from learning_memory_server.model import limits
from learning_memory_server.model.advice import AdviceKind, Channel, Item, Reason
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Ghap, Met
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.moment import as_seen
from learning_memory_server.model.vocabulary import OutcomeStatus

_ROUTINE: Final = 3  # In more earlier sessions than this an error is a part of the work
_VAIN: Final = 2  # In so many sessions the error may come after the lesson; then agents do not get that lesson any more
_QUOTED: Final = 4  # Words in a row that are a quotation
_OLD: Final = 200  # How many of the newest entries are looked at that may be from before failures were kept
_COMMON: Final = frozenset(
    """
    python py pip pipenv poetry uv pdm hatch node npm npx pnpm yarn bun deno ruby gem bundle rake rails php composer java
    javac gradle mvn go cargo rustc gcc g++ clang make gmake cmake ninja just sh bash zsh git gh docker docker-compose
    kubectl helm terraform aws gcloud az psql mysql sqlite3 redis-cli curl wget ssh scp rsync apt apt-get brew pytest
    py.test unittest tox nox jest vitest mocha rspec playwright tsc tsx ts-node eslint prettier biome ruff black mypy
    pyright golangci-lint mise task turbo nx pre-commit cp mv mkdir ln rm touch chmod kill sleep test run exec
    """.split()
)
"""Programs whose names say nothing of an entry's subject."""
_VERSIONING: Final = frozenset({"git", "gh", "hg", "svn"})
_SHELL: Final = frozenset({"do", "then", "else", "if", "while", "until"})
_CODE: Final = re.compile(r"\b(?:[A-Z]{1,8}[-_]?\d{2,6}|[A-Z]{2,}(?:_[A-Z\d]+)+)\b")
_MARK: Final = re.compile(r"<\w+>")
_PATH: Final = re.compile(r"<\w+>|(?<!\S)[^\s/\\]{0,200}[/\\]\S*")
_RAISED: Final = re.compile(r"(?<!\w)(?:\w{1,60}(?:\.|::)){0,8}\w{0,60}(?:Error|Exception)\b")
_NAME: Final = re.compile(
    r"['\"`\u2018\u201c][^'\"`]{0,80}[^\W\d][^'\"`]{0,80}['\"`\u2019\u201d]|\w/|/\w|\w\.[a-z]{1,5}\b|[a-z][A-Z]|\w_\w|[^\W\d]\d|\d[^\W\d]"
)
"""What tells that a line names something."""
_WORD: Final = re.compile(r"[\w./~@+][\w./~@+-]*")
_FILE: Final = re.compile(r"[\w.@~-]*/[\w./@-]+|[\w-]+\.[A-Za-z]\w{0,4}")


class Tied(NamedTuple):
    """The lesson about an error."""

    entry: Ghap
    others: tuple[str, ...] = ()  # the ids of more lessons about it, the last first
    is_known: bool = False  # whether the agent has been told it, so that it is silent now
    is_again: bool = False  # whether its session was told it at this error


@dataclass(slots=True)
class _Known:
    """The ties of a project."""

    earlier: list[tuple[str, Met]]  # the errors of entries that keep none, with their ids, as far as failures tell
    unseen: dict[str, str]  # the words of entries from before failures were kept
    state: object = None
    by_line: dict[str, list[tuple[str, Met]]] = field(default_factory=dict)


@dataclass(eq=False)
class Ties:
    """Knows which lessons are tied to which errors."""

    failures: FailureLog
    advisor: Advisor
    _known: dict[str, "_Known"] = field(default_factory=dict, init=False)

    def met(self, entry: Ghap, resolver: Caller) -> tuple[Met, ...]:
        """Return the errors that an entry keeps once it is resolved.

        Errors of another agent, before the entry was adopted, are tied only if the resolver met one of them, too.
        """
        of_project = self.failures.of_project(entry.project)
        found = [each for each in of_project if each.during and each.during.entry == entry.id]
        if not found:
            return ()
        mine = {each.said for each in of_project if _is_by(each, resolver)} if resolver.project == entry.project else ()
        keeps_all = any(each.said in mine for each in found if not _is_by(each, resolver))
        errors, said = dict[str, Met](), _said_by(entry)
        for each in sorted(found, key=lambda failure: failure.created_at):
            is_tied = (keeps_all or _is_by(each, resolver)) and _is_about(*said, each)
            is_tied |= errors.pop(each.said, Met("")).is_tied
            errors[each.said] = Met(each.said, " ".join(sorted(programs_of(each.command))), is_tied)
        return tuple(sorted(errors.values(), key=lambda each: each.is_tied)[-limits.ERRORS_MAX :])

    def find(self, line: str, command: str, caller: Caller) -> Tied | None:
        """Return the lesson to tell where a command fails with a line, and record that it is shown.

        Of several it is the last that was confirmed, else the last.
        """
        if not caller.is_told or not (entries := self._tied(line, programs_of(command), caller)):
            return None
        met = self.failures.of(caller.project, normalized(line) or line)
        earlier = {each.session for each in met if not each.imported and each.had(line)} - {caller.session}
        if len(earlier) > _ROUTINE:
            return None
        confirmed = [each for each in entries if each.outcome.status is OutcomeStatus.CONFIRMED]
        if not confirmed and not all(are_one(one, other) for one, other in combinations(entries, 2)):
            return None
        best, *rest = sorted(
            entries, key=lambda each: (each in confirmed, as_seen(each.outcome.resolved_at), each.id), reverse=True
        )
        told = [each for each in met if each.lesson == best.id]
        if self.advisor.knows(caller, best.id):
            return Tied(best, is_known=True, is_again=any(each.session == caller.session for each in told))
        if len({each.session for each in told if each.again}) >= _VAIN:
            return None
        item = Item(best.id, AdviceKind.EXPERIENCE, reason=Reason.ERROR)
        self.advisor.record_shown(caller, Channel.HOOK, [item])
        return Tied(best, tuple(each.id for each in rest))

    def _tied(self, line: str, programs: frozenset[str], caller: Caller) -> list[Ghap]:
        """Return the lessons of other sessions about an error that may be told."""
        known, wanted, names_something = self._of(caller.project), words_in(line), _names(line, programs)
        errors: dict[str, Met] = {}
        for key in {line, normalized(line) or line}:
            met = known.by_line.get(key, ())
            errors |= {name: each for name, each in met if names_something or programs & {*each.programs.split()}}
        quoting = [
            name
            for name, text in known.unseen.items()
            if _has(text, wanted)
            and _quotes(text, words_in(line, _PATH))
            and (names_something or any(_has(text, words_in(each)) for each in programs))
        ]
        return [
            entry
            for entry in self.advisor.collector.look_up((*errors, *quoting)).found
            if (entry.id not in errors or errors[entry.id].line == line or _has(_words_of(entry), wanted))
            and self.advisor.is_current(entry, caller)
        ]

    def _of(self, project: str) -> _Known:
        """Return what is known of a project's ties, as its entries are now."""
        timeline = self.advisor.collector.timeline
        if project not in self._known:
            failures = self.failures.of_project(project)
            first = min((as_seen(each.created_at) for each in failures), default=None)
            newest = islice(timeline.newest(project), _OLD)
            unseen = [each for each in newest if not first or as_seen(each.outcome.resolved_at) < first]
            words = {each.id: _words_of(each) for each in unseen if each.learned}
            self._known[project] = _Known([*self._earlier(project, failures)], words)
        known, state = self._known[project], (timeline, timeline.changes)
        if known.state != state:
            known.state, known.by_line = state, defaultdict(list)
            kept = ((entry.id, each) for entry in timeline.newest(project) for each in entry.errors)
            for name, error in (*kept, *known.earlier):
                if error.is_tied:
                    known.by_line[error.line].append((name, error))
        return known

    def _earlier(self, project: str, failures: list[Failure]) -> Iterator[tuple[str, Met]]:
        """Yield the ids of entries that were resolved before entries kept errors, each with an error."""
        failures = [each for each in failures if not (each.during or each.imported)]
        entries: dict[str, list[Ghap]] = defaultdict(list)
        for entry in self.advisor.collector.timeline.newest(project) if failures else ():
            if not entry.imported:
                entries[entry.agent_session].append(entry)
        for each in failures:
            at, theirs = as_seen(each.created_at), entries.get(each.session, ())
            still_open = [one for one in theirs if as_seen(one.created_at) <= at <= as_seen(one.outcome.resolved_at)]
            # Of several it is not known whose command it was.
            if len(still_open) == 1 and not still_open[0].errors:
                programs = " ".join(sorted(programs_of(each.command)))
                yield still_open[0].id, Met(each.said, programs, _is_about(*_said_by(still_open[0]), each))


def programs_of(command: str) -> frozenset[str]:
    """Return the names of a command's programs, without folders; in place of a common one, its first other word."""
    found = ([word.rpartition("/")[2].casefold() for word in call if _WORD.fullmatch(word)] for call in _calls(command))
    return frozenset(next((name for name in names if name not in _COMMON), names[0]) for names in found if names)


def words_in(text: str, without: re.Pattern[str] = _MARK) -> list[str]:
    """Return the words of a text, without marks and words that begin with a digit."""
    return [word for word in re.findall(r"\w+", without.sub(" ", text).casefold()) if not word[0].isdigit()]


def _calls(command: str) -> Iterator[tuple[str, ...]]:
    """Yield what a command calls, without what runs it."""
    for step in parse(command).steps:
        call = tuple(dropwhile(lambda word: word in _SHELL, step.call))
        if call and call[0] not in {"cd", "for"} and not looks(step):
            length, name = head(call)
            yield name, *call[length:]


def _is_by(failure: Failure, caller: Caller) -> bool:
    """Return whether it was a caller's command, as far as that is known."""
    agent = failure.during.agent if failure.during else ""
    return failure.session == caller.session and (not (agent and caller.agent) or agent == caller.agent)


def _said_by(entry: Ghap) -> tuple[str, str]:
    """Return the text of an entry, and its words: a path is no quotation."""
    text = "\n".join(_texts(entry))
    return text, f" {' '.join(words_in(text, _PATH))} "


def _is_about(text: str, words: str, failure: Failure) -> bool:
    """Return whether an entry, by what it says, quotes the line of a failure, or names what failed and worked later."""
    said = failure.said
    if _quotes(words, words_in(said, _PATH)) or any(
        re.search(rf"(?<![\w-]){code}(?![\w-])", text) for code in _CODE.findall(said)
    ):
        return True
    if failure.remedy is None or not parse(failure.command).is_certain:
        return False
    calls = [*_calls(failure.command)]
    named = {call[0].rpartition("/")[2] for call in calls} - _COMMON
    if not is_check(failure.command):
        running = (call for call in calls if _VERSIONING.isdisjoint(call[:2]))
        named |= {word for call in running for word in call[1:] if _FILE.fullmatch(word)}
    return any(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text) for name in named)


def _texts(entry: Ghap) -> tuple[str, ...]:
    before = (text for each in entry.history for text in (each.hypothesis, each.action, each.prediction))
    return (*full_parts(entry), *entry.notes, *before)


def _words_of(entry: Ghap) -> str:
    return f" {' '.join(words_in(chr(10).join(_texts(entry))))} "


def _quotes(text: str, wanted: list[str]) -> bool:
    """Return whether a text of words has enough of a line's words in a row."""
    runs = (" ".join(wanted[start : start + _QUOTED]) for start in range(len(wanted) - _QUOTED + 1))
    return any(f" {run} " in text for run in runs)


def _has(text: str, words: Iterable[str]) -> bool:
    """Return whether a text of words has all given words."""
    return all(f" {word} " in text for word in words)


def _names(line: str, programs: frozenset[str]) -> bool:
    """Return whether a line names something: a thing, or the program that says it."""
    said = _RAISED.sub("", _MARK.sub("", line))
    return line.partition(":")[0].casefold() in programs or _NAME.search(said) is not None
