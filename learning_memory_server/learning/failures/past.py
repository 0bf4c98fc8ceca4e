"""What failed in past sessions, for a person: which commands, how often, and what each went away with.

More is said here than agents are told: a person can judge it.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePath
from typing import Final

from learning_memory_server.learning.failures.changes import Edit, applied
from learning_memory_server.learning.failures.outcomes import counts_in, is_check
from learning_memory_server.learning.failures.parse import parse
from learning_memory_server.learning.failures.pending import Ran
from learning_memory_server.learning.failures.remedies import mended
from learning_memory_server.learning.failures.sanitize import error_line, kept, tidied, whole_words
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
    r".*\bcd:(?:\d+:)? (?:no such file or directory: (?P<zsh>.+)|can't cd to (?P<dash>.+)|(?P<bash>.+): No such file)",
    re.IGNORECASE,
)
_OF_PLACE: Final = re.compile(
    r"command not found|: not found$|no such (?:file|command|option)|no module named|cannot import|unrecogni[sz]ed|un(?:known|expected) (?:option|"
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
    def folder(self) -> str:
        """The folder that it could not change to."""
        found = _NO_FOLDER.match(self.line)
        return next(filter(None, found.groups())).strip() if found else ""

    @property
    def error(self) -> str:
        """Its line without numbers."""
        return _NUMBER.sub("#", self.line)

    @property
    def key(self) -> object:
        """The common property of cases that are one mistake: the folder, the change that fixed them, else the error."""
        parts = PurePath(tidied(self.folder, self.ran.project, self.ran.folder)).parts
        return parts[: None if parts[:1] == ("/",) else 1] or self.edits or self.error

    @property
    def fix(self) -> str:
        """What its error went away with: the command in place of it, or the last one before it worked again."""
        return self.worked if self.edits else (self.since or [""])[-1] if self.worked else ""


@dataclass(frozen=True, slots=True)
class Loss:
    """Commands that failed alike."""

    failed: int  # how many
    sessions: int  # in how many sessions
    command: str  # the shortest of them, the program in whose place another one worked, or the change of folder
    line: str  # the line that names the error
    fix: str = ""  # what the error went away with most often; empty if that was not seen
    fixed: int = 0  # in how many sessions it did
    is_instead: bool = False  # whether the fix was run in place of the command, not before it

    @property
    def sentence(self) -> str:
        """What a person reads after the number of commands."""
        where = f"in {self.sessions} sessions"
        if self.command.startswith("cd ") and not self.fix:
            return f"failed at `{self.command}` {where}: there is no such folder from where they were run"
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
            for each in cases:
                made = mended(each.ran.command, ran.command)
                # Another folder has fixed nothing.
                edits = frozenset(edit for edit in made.edits if edit.kind != "leave") if made else _NONE
                before, same, _ = each.ran.command.rpartition(ran.command)
                if same and before.split()[-1:] not in ([], ["&&"]):
                    edits = frozenset({Edit("program", (before.split()[-1],))})
                if any(each.kind == "option" for each in edits) and command.only_looks:
                    edits = _NONE  # Another view of the same is another question
                again = ran.command.endswith(f"&& {each.ran.command}") and (repairs or _INSTALLS.search(ran.command))
                if again or (is_doing and not (same or edits)):
                    each.since.append(ran.command)
                if same or edits or again:
                    each.worked, each.edits = ran.command, edits
        elif ran.has_failed and (line := _line_of(ran)):
            case = _Case(replace(ran, output=""), line)
            self._cases.append(case)
            cases.append(case)
        if cases := [each for each in cases if not each.worked and each.age < _WITHIN]:
            self._open[about] = cases

    async def losses(self, gate: RedactionGate, most: int) -> list[Loss]:
        """Return what failed in several sessions, most commands first, redacted."""
        groups, changed = (
            defaultdict[object, list[_Case]](list),
            [each for each in self._cases if each.edits and not each.folder],
        )
        changes = dict.fromkeys(each.edits for each in changed)
        by_error = {each.error: each.edits for each in changed}
        for case in self._cases:
            alike = (each for each in changes if not (case.edits or case.folder) and _would_change(case, each))
            known = None if case.edits or case.folder else by_error.get(case.error)
            groups[next(alike, None) or known or case.key].append(case)
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
    def sessions(self) -> set[str]:
        return {each.ran.session for each in self.cases}

    @cached_property
    def fixes(self) -> dict[str, set[str]]:
        """The sessions in which the error disappeared, by its cure."""
        found = defaultdict[str, set[str]](set)
        for each in self.cases:
            if fix := each.fix:
                found[fix].add(each.ran.session)
        return found

    @cached_property
    def fix(self) -> tuple[str, int]:
        """What it went away with in at least half of the sessions, and in how many; nothing if nothing did."""
        first = next((each for each in self.cases if each.edits), None)
        best = max(self.fixes, key=lambda text: (len(self.fixes[text]), -len(text)), default="")
        times = len(set[str]().union(*self.fixes.values())) if first else len(self.fixes.get(best, ()))
        is_usual = 2 * times >= len(self.sessions)
        if first:
            is_enough = times > 1 or is_usual
        else:
            is_enough = bool(
                _INSTALLS.search(best) if is_usual and times == 1 else times > 1 and (is_usual or _REPAIRS.search(best))
            )
        return (best, times) if is_enough else ("", 0)

    @property
    def is_telling(self) -> bool:
        """Whether a person learns something of it: not of tests that failed while something was written."""
        first = self.cases[0]
        if len(self.sessions) < _SESSIONS:
            return False
        return bool(self.fix[0] or _OF_PLACE.search(first.line))

    async def loss(self, gate: RedactionGate) -> Loss:
        """Return what a person reads of it."""
        fix, fixed = self.fix
        shown = min(self.cases, key=lambda each: (each.fix != fix, len(each.folder or each.ran.command)))
        fix, fixed = ("", 0) if shown.folder else (fix, fixed)
        project, folder = shown.ran.project, shown.ran.folder
        program = next((each for each in shown.edits if each.kind == "program" and each.new), None)
        line = (await gate.pass_data({"text": [whole_words(shown.line, 2 * _LINE_MAX)]})).data["text"][0]
        command = f"cd {shown.folder}" if shown.folder else _OUTPUT.sub("", shown.ran.command)
        if program and len(shown.edits) == 1:
            command, fix = " ".join(program.old), " ".join(program.new)
        return Loss(
            len(self.cases),
            len(self.sessions),
            shortened((await kept(gate, command, project, folder)).command, _SHOWN),
            shortened(tidied(line, project, folder), _LINE_MAX),
            shortened((await kept(gate, _OUTPUT.sub("", fix), project, folder)).command, _SHOWN) if fix else "",
            fixed,
            any(each.edits and each.worked == self.fix[0] for each in self.cases),
        )


def _line_of(ran: Ran) -> str:
    """Return the line that names a command's error; empty without one, or if it is about the user's code."""
    line = one_line(error_line(ran.output) or "")
    if not line or (is_check(ran.command) and (_OF_TESTS.match(line) or counts_in(ran.output).get("failed"))):
        return ""
    return line
