"""What failed in past sessions, for a person: which commands, how often, and what each went away with.

More is said here than agents are told: a person can judge it.
"""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import PurePath
from typing import Final

from learning_memory_server.lessons.errors.changes import Change, Edit, applied
from learning_memory_server.lessons.errors.outcomes import counts_in, is_check
from learning_memory_server.lessons.errors.parse import parse
from learning_memory_server.lessons.errors.pending import Ran
from learning_memory_server.lessons.errors.remedies import mended
from learning_memory_server.lessons.errors.sanitize import error_line, sanitized, tidied, whole_words
from learning_memory_server.model.lines import one_line, shortened
from learning_memory_server.redaction.gate import RedactionGate

_WITHIN: Final = 20  # Commands of a session after a failure in which its fix is looked for
_SESSIONS: Final = 2  # In how many sessions something failed that is shown: in one, it may be work in progress
_NONE: Final = frozenset[Edit]()
_LINE_MAX: Final = 200
_SHOWN: Final = 80  # Characters of a command that are shown
_NUMBER: Final = re.compile(r"0x[0-9a-f]+|\d+", re.IGNORECASE)
_OF_TESTS: Final = re.compile(
    r"(?:E\s+)?assert|(?:\w+\.)*Assertion|FAIL|.*\btests?\b.*\bfailed\b|.*\bfailed\b.*\btests?\b", re.IGNORECASE
)
"""Lines about the end of a test: they are about the user's code."""
_NO_FOLDER: Final = re.compile(
    r".*\bcd:(?:\d+:)? (?:no such file or directory: (?P<zsh>.+)|can't cd to (?P<dash>.+)|(?P<bash>.+): No such file)"
    r"|.*\bcannot change to '(?P<git>.+)'",
    re.IGNORECASE,
)
_OF_PLACE: Final = re.compile(
    r"command not found|: not found$|no such (?:command|option)|no module named|cannot import|unrecogni[sz]ed|un(?:known|expected) (?:option|"
    r"command|argument)|usage:|permission denied|could not connect|connection refused",
    re.IGNORECASE,
)
"""Lines about the machine or the call, not about the user's code."""


_OUTPUT: Final = re.compile(r"(?:\s{1,3}2>&1)?(?:\s{0,3}\|\s{0,3}(?:head|tail)\b[^|;&]{0,20})?$")
"""The end of a command that only shortens what it shows."""
_OF_PROGRAM: Final = re.compile(r"no module named|SyntaxError|cannot import|not found", re.IGNORECASE)
"""What a line says that another version of the program would not say."""
_INSTALLS: Final = re.compile(
    r"\b(?:pip3?|npm|pnpm|yarn|bun|uv|poetry|gem|bundle|cargo|go|brew|apt|apt-get) (?:install|add|sync|get|i|ci)\b"
)
_OF_VIEW: Final = re.compile(r"-[qvsx]+|--(?:quiet|silent|verbose)")
_TESTS: Final = re.compile(r"test|spec", re.IGNORECASE)
_REPAIRS: Final = re.compile(r"fix|fmt|format|write", re.IGNORECASE)


@dataclass(eq=False, slots=True)
class _Case:
    """A command that failed, what ran since in its session, and what worked in the end."""

    ran: Ran
    line: str
    since: list[str] = field(default_factory=list)  # commands that worked and may change something
    age: int = 0
    worked: str = ""
    edits: frozenset[Edit] = _NONE  # what was changed in the command that worked

    @property
    def error(self) -> str:
        """Its line without numbers."""
        return _NUMBER.sub("#", self.line)

    @property
    def change(self) -> frozenset[Edit]:
        """What was changed in the command that worked: the program, if it was another one, whatever else was."""
        return frozenset(edit for edit in self.edits if edit.kind == "program") or self.edits

    @property
    def key(self) -> object:
        """The common property of cases that are one mistake: the folder, the program that worked, else the error."""
        parts = PurePath(tidied(_missing_folder(self.line), self.ran.project, self.ran.folder)).parts
        return parts[: None if parts[:1] == ("/",) else 1] or (self.change if _has_program(self.change) else self.error)

    @property
    def fix(self) -> str:
        """What its error went away with: the command in place of it, or the last one before it worked again."""
        return _OUTPUT.sub("", self.worked if self.edits else (self.since or [""])[-1] if self.worked else "")


@dataclass(frozen=True, slots=True)
class Loss:
    """Commands that failed alike."""

    failed: int  # how many
    sessions: int  # in how many sessions
    command: str  # the shortest of them, or the program in whose place another one worked
    line: str  # the line that names the error
    fix: str = ""  # what the error went away with most often; empty if that was not seen
    fixed: int = 0  # in how many sessions it did
    is_instead: bool = False  # whether the fix was run in place of the command, not before it

    @property
    def sentence(self) -> str:
        """What a person reads after the number of commands."""
        where = f"in {self.sessions} sessions"
        if missing := _missing_folder(self.line):
            return f"failed {where}, because there is no folder `{missing}` from where they were run (`{self.command}`)"
        if not self.fix:
            return f"failed {where} with {self.line} (`{self.command}`)"
        if self.is_instead:
            return f"ran `{self.command}` {where} ({self.line}); `{self.fix}` worked in {self.fixed}"
        return f"failed {where} with {self.line} (`{self.command}`); it went away after `{self.fix}` in {self.fixed}"


class Past:
    """Takes the commands of past sessions, each session's in order.

    RAM grows with the number of commands that failed, not with their output.
    """

    def __init__(self) -> None:
        self._cases: list[_Case] = []
        self._open: dict[tuple[str, str], list[_Case]] = {}

    def saw(self, ran: Ran) -> None:
        """Take a command."""
        about = ran.session, ran.agent
        cases = self._open.pop(about, [])
        for each in cases:
            each.age += 1
        if ran.has_failed is False:
            command, repairs = parse(ran.command), _REPAIRS.search(ran.command)
            is_doing = not (command.only_looks or (is_check(ran.command) and not repairs))
            shown = _OUTPUT.sub("", ran.command)
            for each in cases:
                edits = _edits(each.ran.command, ran.command)
                same = f" && {_OUTPUT.sub('', each.ran.command)}"
                before = _OUTPUT.sub("", shown.removesuffix(same)) if shown.endswith(same) else ""
                again = _REPAIRS.search(before) or _INSTALLS.search(before)
                if again:
                    each.since.append(before)
                if edits or again or ran.command in each.ran.command:
                    each.worked, each.edits = ran.command, edits
                elif is_doing:
                    each.since.append(ran.command)
        elif ran.has_failed and (line := _line_of(ran)):
            case = _Case(replace(ran, output=""), line)
            self._cases.append(case)
            if not _missing_folder(line):  # What worked elsewhere says nothing of a folder that is not there
                cases.append(case)
        if cases := [each for each in cases if not each.worked and each.age < _WITHIN]:
            self._open[about] = cases

    async def losses(self, gate: RedactionGate, most: int) -> list[Loss]:
        """Return what failed in several sessions, most commands first, redacted."""
        groups, by_error = defaultdict[object, list[_Case]](list), defaultdict[str, Counter[frozenset[Edit]]](Counter)
        for case in self._cases:
            if case.edits:
                by_error[case.error][case.change] += 1
        changes = [each for each in dict.fromkeys(chain.from_iterable(by_error.values())) if _has_program(each)]
        for case in self._cases:
            key = case.key
            if not (case.edits or _missing_folder(case.line)):
                (usual, _), *_ = by_error[case.error].most_common(1) or [(_NONE, 0)]
                known = usual if _has_program(usual) else key
                key = next((each for each in changes if _would_change(case, each)), known)
            groups[key].append(case)
        found = [_Group(cases) for cases in groups.values()]
        found = sorted((each for each in found if each.is_telling), key=lambda each: -len(each.cases))
        return [await each.loss(gate) for each in found[:most]]


def _would_change(case: _Case, edits: frozenset[Edit]) -> bool:
    """Return whether a case ran the program in whose place another one worked elsewhere."""
    command = parse(case.ran.command)
    return bool(_OF_PROGRAM.search(case.line)) and all(
        each.kind == "program" and applied(command, each) is not None for each in edits
    )


@dataclass(frozen=True)
class _Group:
    """Cases that are one mistake."""

    cases: list[_Case]

    @cached_property
    def fixed(self) -> list[_Case]:
        """The cases that went away in the most usual way that was seen often enough to be told; none if none was."""
        alike = defaultdict[object, list[_Case]](list)
        for each in self.cases:
            if each.fix:
                alike[each.change or each.fix].append(each)
        return max(filter(self._is_enough, alike.values()), key=_sessions, default=[])

    def _is_enough(self, cases: list[_Case]) -> bool:
        times, fix = _sessions(cases), cases[0].fix
        is_usual = 2 * times >= _sessions(self.cases)
        if cases[0].edits:
            return times > 1 or is_usual
        repairs = _REPAIRS.search(fix) and not _TESTS.search(cases[0].ran.command)
        return bool(_INSTALLS.search(fix) if is_usual and times == 1 else times > 1 and (is_usual or repairs))

    @property
    def is_telling(self) -> bool:
        """Whether a person learns something of it: not of tests that failed while something was written."""
        first = self.cases[0]
        is_named = _OF_PLACE.search(first.line) and not first.line.endswith(":")
        return _sessions(self.cases) >= _SESSIONS and bool(self.fixed or _missing_folder(first.line) or is_named)

    async def loss(self, gate: RedactionGate) -> Loss:
        """Return what a person reads of it."""
        shown = min(self.fixed or self.cases, key=lambda each: (len(each.fix), len(each.ran.command)))
        project, folder = shown.ran.project, shown.ran.folder
        line = (await gate.pass_data({"text": [whole_words(shown.line, 2 * _LINE_MAX)]})).data["text"][0]
        command, fix = _OUTPUT.sub("", shown.ran.command), shown.fix if self.fixed else ""
        program = next((each for each in shown.change if each.kind == "program" and each.new), None)
        if program and self.fixed:
            command, fix = " ".join(program.old), " ".join(program.new)
        return Loss(
            len(self.cases),
            _sessions(self.cases),
            shortened((await sanitized(gate, command, project, folder)).command, _SHOWN),
            shortened(tidied(line, project, folder), _LINE_MAX),
            shortened((await sanitized(gate, fix, project, folder)).command, _SHOWN) if fix else "",
            _sessions(self.fixed),
            bool(self.fixed and shown.edits),
        )


def _sessions(cases: list[_Case]) -> int:
    return len({each.ran.session for each in cases})


def _has_program(edits: frozenset[Edit]) -> bool:
    return any(each.kind == "program" for each in edits)


def _missing_folder(line: str) -> str:
    """Return the folder that a line says is not there, empty if it says something else."""
    found = _NO_FOLDER.match(line)
    return next(filter(None, found.groups())).strip() if found else ""


def _edits(failed: str, worked: str) -> frozenset[Edit]:
    """Return the changes of a command by which it can have worked; none if it is the same, or another one."""
    before, is_in_it, _ = failed.rpartition(worked)
    if is_in_it and (wrapper := before.split()[-1:]) not in ([], ["&&"]):
        return frozenset({Edit("program", (wrapper[0],))})
    made = mended(failed, worked) or Change()
    # Another folder has fixed nothing, and a quieter run neither.
    of_use = [edit for edit in made.edits if edit.kind != "leave" and not _OF_VIEW.fullmatch(" ".join(edit.new))]
    edits = frozenset(of_use)
    # Another view of the same is another question, and where operands differ, they can have been the fault.
    is_other = not made.is_exact and not _has_program(edits)
    return _NONE if is_other or (parse(worked).only_looks and any(each.kind == "option" for each in edits)) else edits


def _line_of(ran: Ran) -> str:
    """Return the line that names a command's error; empty without one, or if it is about the user's code."""
    line = one_line(error_line(ran.output) or "")
    if not line or (is_check(ran.command) and (_OF_TESTS.match(line) or counts_in(ran.output).get("failed"))):
        return ""
    return line
