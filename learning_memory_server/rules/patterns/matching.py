"""Whether an agent's call breaks a rule. Pure functions: no disk, no clock."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from learning_memory_server.model.rule import CallForm, MessageForm, Pattern
from learning_memory_server.rules.patterns import globs, messages, places
from learning_memory_server.rules.patterns.asking import is_asked
from learning_memory_server.rules.patterns.looking import is_meant, sends_nothing
from learning_memory_server.shell import calls, options, programs, uses
from learning_memory_server.shell.script import Command, Script

_CLUSTER: Final = re.compile(r"-[A-Za-z]+")
_HEADS: Final = "refs/heads/"


class Verdict(StrEnum):
    """The two outcomes if a rule applies to an act."""

    BROKEN = "broken"
    FOLLOWED = "followed"


@dataclass(frozen=True, slots=True)
class Act:
    """A command or an edit of a file, before it runs."""

    script: Script | None
    file: str = ""  # relative to the project's root
    content: str = ""  # the text that the edit writes
    before: str = ""  # the text that the edit replaces
    root: str = ""  # the project's root: without it, absolute paths in commands are not judged
    folder: str = ""  # the absolute path where the command starts; the root if unknown
    others: tuple[str, ...] = ()  # other folders of the project, such as its worktrees
    has_top: bool = True  # whether the root is certain to be the project's top folder

    def is_elsewhere(self, command: Command) -> bool:
        """Whether a command works outside the project, as far as its text shows."""
        roots = (self.root, *self.others) if self.root else ()
        start = self.folder or self.root
        return places.is_elsewhere(command.folder, command.made, start, roots, has_top=self.has_top)


@dataclass(slots=True)
class Work:
    """The state of an agent's work in its session, for rules."""

    prompt: str = ""  # of this turn
    is_edited: bool = False
    has_texts: bool = False  # whether a document was edited
    commands: dict[Command, None] = field(default_factory=dict)  # successful commands since the last edit, in order

    def edited(self, file: str) -> None:
        """Record an edit of a file. Unless it is a document, the results of earlier commands are then outdated."""
        if globs.is_document(file):
            self.has_texts = True
            return
        self.is_edited = True
        self.commands.clear()

    def ran(self, script: Script) -> None:
        """Record a successful script."""
        for each in script.commands:
            if _edits(each):
                self.edited(each.writes[0])
            self.commands[each] = None

    def prompted(self, text: str) -> None:
        """Record the prompt of a new turn."""
        self.prompt = text


def judge(pattern: Pattern, act: Act, work: Work, *, is_everywhere: bool = False) -> Verdict | None:
    """Whether an act breaks or follows a pattern; None if the pattern does not apply.

    A command outside the project is judged only by rules that apply everywhere.
    """
    found: list[Verdict | None] = []
    done = list(work.commands)  # successful when the next command runs, if known
    joined: list[Command] = []
    for each in act.script.commands if act.script else ():
        joined = [other for other in joined if other.chain == each.chain]
        verdict = _of_command(pattern, each, [*done, *joined], work)
        if verdict and (is_everywhere or not act.is_elsewhere(each)):
            found.append(verdict)
        found.append(_of_writing(pattern, each, act.root, work))
        if _edits(each):
            done, joined = [], []
        joined.append(each)
    if act.file:
        found.append(_of_edit(pattern, globs.relative(act.file, act.root), (act.content, act.before), work))
    return next((each for each in (Verdict.BROKEN, Verdict.FOLLOWED) if each in found), None)


def judge_end(pattern: Pattern, work: Work) -> Verdict | None:
    """Judge the end of work: it breaks a pattern if `first` has not succeeded since the last edit."""
    if not (pattern.first and work.is_edited):
        return None
    return _unless_excused(pattern, work.commands, work)


def matches(form: CallForm, command: Command) -> bool:
    """Whether a command matches a form."""
    if not has_words(form, command) or (form.on and command.branch not in form.on):
        return False
    call = calls.parsed(command.words)
    is_had = not form.having or any(_has(call, each) for each in form.having)
    return is_had and not any(_has(call, each) for each in form.lacking)


def has_words(form: CallForm, command: Command) -> bool:
    """Whether a command has the program and the sub-commands of a form."""
    if not form.words:
        return True
    program = form.words[0].rpartition("/")[2]
    if command.words[0] != program and not (_is_task(form) and {program, command.words[0]} <= uses.TASKS):
        return False
    call = calls.parsed(command.words)
    named = [each for each in form.words[1:] if not each.startswith("-")]
    if not all(_has(call, each) for each in form.words[1:] if each.startswith("-")):
        return False
    if call.program in programs.TARGETS:
        return set(named) <= set(call.operands)
    return _script(call.program, call.operands)[: len(named)] == _script(call.program, named)


def _is_task(form: CallForm) -> bool:
    """Whether a form is a project task with its variants, for any runner: `lint`, `lint:fix`."""
    return len(form.words) == 1 and bool(form.having) and f"{form.having[0]}:*" in form.having


def _script(program: str, operands: list[str]) -> list[str]:
    """Return operands without an optional `run`: `npm run test` is the same as `npm test`."""
    is_run = program in programs.RUNNERS and operands[:1] == ["run"]
    return operands[1:] if is_run and operands[1:] and operands[1] in programs.SCRIPTS else operands


def _has(call: calls.Call, word: str) -> bool:
    """Whether a command has a word after its program; `*part*` matches within any word, including the program."""
    if word.startswith("*"):
        part = word.strip("*")
        return call.program not in programs.IDLE and any(part in each for each in (call.program, *_operands(call)))
    if word.endswith("*"):
        spelt = (f"{name}={value}" for name, value in call.options)
        others = spelt if word.startswith("-") else _operands(call)
        return any(each.startswith(word[:-1]) for each in others)
    return _has_option(call, word) if word.startswith("-") else word in _operands(call)


def _has_option(call: calls.Call, word: str) -> bool:
    given = {name for name, _ in call.options}
    name, is_given, value = word.partition("=")
    if is_given or word in given:
        return not is_given or (name, value) in call.options
    is_cluster = len(word) > 2 and _CLUSTER.fullmatch(word) and call.program not in programs.WHOLE
    if is_cluster:
        return all(_has_option(call, f"-{each}") for each in word[1:])
    same = options.same(call, word)
    if programs.FORCE in same and any(each.startswith("+") for each in _pushed(call)):
        return True
    return any(each in given or (len(each) == 2 and each[1] in call.letters) for each in same)


def _operands(call: calls.Call) -> Sequence[str]:
    """Return operands and option values; for a push, also the names of branches."""
    values = (value for _, value in call.options if value and not value.startswith("-"))
    branches = (each.rpartition(":")[2].removeprefix("+").removeprefix(_HEADS) for each in _pushed(call))
    return [*call.operands, *values, *branches]


def _pushed(call: calls.Call) -> list[str]:
    """Return the operands of `git push`, such as `origin` and `+HEAD:main`."""
    return call.operands[1:] if call.program == "git" and call.operands[:1] == ["push"] else []


def _of_command(pattern: Pattern, command: Command, done: Iterable[Command], work: Work) -> Verdict | None:
    if any(matches(each, command) and is_meant(each, command) for each in pattern.broken):
        if pattern.first and sends_nothing(command):
            return None
        is_said = _is_said(pattern, command)
        if is_said is None:
            return None
        has_nothing = pattern.first and work.has_texts and not work.is_edited  # nothing to check
        return _unless_excused(pattern, done, work) if is_said and not has_nothing else Verdict.FOLLOWED
    is_near = any(each.words and has_words(each, command) for each in pattern.broken)
    return Verdict.FOLLOWED if is_near or any(matches(each, command) for each in pattern.about) else None


def _is_said(pattern: Pattern, command: Command) -> bool | None:
    """Whether a pattern forbids a command's message; None if the message is unknown."""
    found: list[bool | None] = []
    if pattern.texts:
        said = [each for each in (*command.texts, command.input) if each.strip()]
        found.append(any(messages.names(pattern.texts, each) for each in said) if said else None)
    if pattern.form:
        found.append(_is_formless(pattern.form, command))
    return None if None in found else all(found)


def _is_formless(form: MessageForm, command: Command) -> bool | None:
    texts = command.texts
    if form is MessageForm.CONVENTIONAL:
        has_title = command.words[0] != "gh" or any(map(calls.parsed(command.words).has, programs.TITLES))
        texts = texts[:1] if has_title else ()
    return messages.breaks(form, texts)


def _of_writing(pattern: Pattern, command: Command, root: str, work: Work) -> Verdict | None:
    """Judge the files that a command writes, and the input that it writes to them."""
    if not command.writes or not (pattern.files or (pattern.contents and command.input)):
        return None
    content = (command.input, "")
    is_file = command.words[0] not in uses.FOLDERED
    found = [_of_edit(pattern, globs.relative(each, root), content, work, is_file) for each in command.writes]
    return next((each for each in (Verdict.BROKEN, Verdict.FOLLOWED) if each in found), None)


def _of_edit(pattern: Pattern, file: str, content: tuple[str, str], work: Work, is_file: bool = True) -> Verdict | None:
    is_named = bool(file) and any(globs.matches(each, file, is_file=is_file) for each in pattern.files)
    if not file or not (is_named or (pattern.contents and not pattern.files)):
        return None
    after, before = content
    if pattern.contents and not any(each in after and each not in before for each in pattern.contents):
        return Verdict.FOLLOWED if is_named else None
    return _unless_excused(pattern, work.commands, work)


def _unless_excused(pattern: Pattern, done: Iterable[Command], work: Work) -> Verdict:
    """Return FOLLOWED if the person has asked for the act or all required steps have succeeded, else BROKEN."""
    if pattern.asked and is_asked(pattern.asked, work.prompt):
        return Verdict.FOLLOWED
    known = tuple(done) if pattern.first else ()
    has_all = pattern.first and all(any(matches(form, each) for each in known) for form in pattern.first)
    return Verdict.FOLLOWED if has_all else Verdict.BROKEN


def _edits(command: Command) -> bool:
    """Whether a command changes a code file of the project: in place, or by writing its input."""
    has_text = bool(command.input) or command.words[0] in programs.IN_PLACE
    return has_text and any(globs.relative(each, "") and not globs.is_document(each) for each in command.writes)
