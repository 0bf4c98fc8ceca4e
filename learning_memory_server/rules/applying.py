"""Apply the accepted rules to the events of sessions: judge calls, learn how the work goes, and count."""

import asyncio
import os
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import structlog

from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.index.ranking.terms import terms
from learning_memory_server.lessons.errors.sanitize import tidied, whole_words
from learning_memory_server.model import limits
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.caller import MAIN_AGENT, Caller
from learning_memory_server.model.lines import one_line, shortened
from learning_memory_server.model.moment import Clock
from learning_memory_server.model.rule import CallForm, OriginKind, Pattern, Rule, RuleCount, When
from learning_memory_server.model.trigger import RESUMED, Trigger
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.rules.folders import below, folders_of
from learning_memory_server.rules.log import RuleCounts, RuleLog
from learning_memory_server.rules.patterns.globs import relative
from learning_memory_server.rules.patterns.matching import Act, Verdict, judge, judge_end, matches
from learning_memory_server.rules.session import Judged, RuleSession
from learning_memory_server.rules.shell.script import Script, read
from learning_memory_server.system.files import read as read_file
from learning_memory_server.system.recent import Recent

log = structlog.get_logger()

_ENDS: Final = frozenset({TriggerKind.STOP, TriggerKind.SUBAGENT_STOP})
_NOTICE: Final = "<task-notification"  # How a prompt begins that the client writes when a task in the background ends
_IMPORTED: Final = "@AGENTS.md"  # In a file of rules: the client loads this, too


@dataclass(eq=False)
class Rules:
    """The accepted rules, and how they fare in all sessions."""

    log: RuleLog
    counts: RuleCounts
    redaction: RedactionGate
    clock: Clock
    _roots: Recent[str, tuple[str, ...]] = field(default_factory=Recent, init=False)  # by a session's folder

    def of(self, caller: Caller, state: RuleSession | None = None) -> list[Rule]:
        """Return the rules that apply to a session, the newest first."""
        if state and state.off_until and self.clock() < state.off_until:
            return []
        # A rule for everywhere is the person's own words, wherever the folder really belongs.
        return [each for each in self.log.accepted(caller.project) if caller.is_told or each.is_everywhere]

    def at_start(self, caller: Caller, state: RuleSession | None = None) -> list[Rule]:
        """Return the rules that are shown at a start: the most broken first, then the newest."""
        found = [each for each in self.of(caller, state) if each.when is When.SESSION]
        fared = self.counts.fared(found) if found else {}
        return sorted(found, key=lambda each: -(each.broken_before + fared[each.id].broken + fared[each.id].reminded))

    def on_topic(self, text: str, caller: Caller, state: RuleSession | None = None) -> list[Rule]:
        """Return the rules whose topic a text names."""
        found = [each for each in self.of(caller, state) if each.topic]
        named = set(terms(text)) if found else set[str]()
        return [each for each in found if not named.isdisjoint(term for word in each.topic for term in terms(word))]

    async def observe(self, trigger: Trigger, caller: Caller, state: RuleSession) -> Judged | None:
        """Learn from an event, and return the rules that it breaks; None if no rule is about it."""
        agent = caller.agent or MAIN_AGENT
        if trigger.kind is TriggerKind.PROMPT and agent == MAIN_AGENT and not trigger.text.startswith(_NOTICE):
            state.prompt = trigger.text
            state.agent(agent).work.prompted(trigger.text)
        elif trigger.kind is TriggerKind.SESSION_START and trigger.source != RESUMED:
            state.forget_context(MAIN_AGENT)
        rules = self.of(caller, state)
        if not rules:
            return None
        if trigger.kind in {TriggerKind.SESSION_START, TriggerKind.LOADED}:
            state.loaded |= await self._loaded(rules, trigger, caller)
        elif trigger.kind is TriggerKind.CALL:
            return await self.judged(rules, trigger, caller, state)
        elif trigger.kind is TriggerKind.COMMAND or (trigger.kind is TriggerKind.FILE and trigger.is_edit):
            return await self._ended(rules, trigger, caller, state)
        elif trigger.kind in _ENDS:
            return self._at_end(rules, trigger, caller, state)
        return None

    async def judged(self, rules: Sequence[Rule], trigger: Trigger, caller: Caller, state: RuleSession) -> Judged:
        """Return what a command or an edit breaks and follows."""
        folders = await self._folders(caller.folder)
        file = trigger.file and posixpath.join(trigger.folder or caller.folder, trigger.file)
        name, place = below(file, folders), below(trigger.folder or caller.folder, folders)
        needs = trigger.command and any(each.pattern and each.when is not When.DONE for each in rules)
        script = _from_root(read(trigger.command), place) if needs else None
        act = Act(script, name, trigger.content, trigger.before, folders[0] if folders else "")
        act = replace(act, folder=trigger.folder or caller.folder, others=folders[1:])
        if script and any(map(act.is_elsewhere, script.commands)):
            # A worktree may be new
            act = replace(act, others=(await self._folders(caller.folder, again=True))[1:])
        work = state.agent(caller.agent or MAIN_AGENT).work
        verdicts = [
            (each, judge(pattern, act, work, is_everywhere=each.is_everywhere))
            for each, pattern in _at_calls(rules, act, name or place)
        ]
        found = Judged(
            act,
            tuple(each for each, verdict in verdicts if verdict is Verdict.BROKEN),
            tuple(each for each, verdict in verdicts if verdict is Verdict.FOLLOWED),
        )
        state.begin((*found.broken, *found.followed), caller.project, self.clock(), self.counts.find)
        return found

    def save(self, counts: Sequence[RuleCount]) -> None:
        """Write how rules fared. Counts that cannot be written are lost: the work goes on."""
        if not counts:
            return
        try:
            self.counts.add(*counts, at=self.clock())
        except LearningMemoryError as problem:
            log.warning("rules.not_counted", reason=type(problem).__name__)

    async def _ended(
        self, rules: Sequence[Rule], trigger: Trigger, caller: Caller, state: RuleSession
    ) -> Judged | None:
        """Count a call that ran; return the rules that it breaks if it was not judged before."""
        agent = caller.agent or MAIN_AGENT
        work = state.agent(agent).work
        judged = await self.judged(rules, trigger, caller, state) if trigger.key not in state.waiting else None
        ended, was_known = state.ran(agent, trigger.key, self.clock(), lambda: judged or Judged(Act(None)))
        if ended.broken:
            state.note_call(ended.broken, await self._kept(trigger, ended.act, caller))
        first = [form for each in rules if each.pattern for form in each.pattern.first]
        if first or any(each.when is When.DONE for each in rules):
            if trigger.file:
                # An edit outside of the project says nothing of its tests
                if not ended.act.root or relative(ended.act.file, ""):
                    work.edited(ended.act.file)
            elif not (trigger.error or trigger.is_background):
                work.ran(_needed(ended.act.script or read(trigger.command), first))
        return None if was_known else ended

    def _at_end(self, rules: Sequence[Rule], trigger: Trigger, caller: Caller, state: RuleSession) -> Judged | None:
        work = state.agent(caller.agent or MAIN_AGENT).work
        found = []
        for rule in rules:
            if rule.when is not When.DONE:
                continue
            verdict = judge_end(rule.pattern, work) if rule.pattern else None
            # No machine sees whether a rule without a pattern is followed: it is shown once, after an edit.
            is_plain = rule.pattern is None and work.is_edited
            if verdict or is_plain:
                state.begin([rule], caller.project, self.clock(), self.counts.find)
            if verdict:
                state.ends[rule.id] = rule, verdict
            if (is_plain or verdict is Verdict.BROKEN) and rule.id not in state.reminded_at_end:
                found.append(rule)
        return Judged(Act(None), tuple(found)) if found and not trigger.is_again else None

    async def _folders(self, folder: str, *, again: bool = False) -> tuple[str, ...]:
        """Return the folders of the project of a session's folder; see `folders_of`."""
        if again or folder not in self._roots:
            self._roots[folder] = await asyncio.to_thread(folders_of, folder)
        return self._roots[folder]

    async def _kept(self, trigger: Trigger, act: Act, caller: Caller) -> str:
        """Return a call as it may be kept: without secrets, and without folders of this machine."""
        call = trigger.command or f"edit {act.file}"
        redacted = await self.redaction.pass_data({"command": whole_words(call, limits.RULE_CALL_EXAMINED)})
        return shortened(tidied(one_line(redacted.data["command"]), caller.project, caller.folder), limits.COMMAND_MAX)

    async def _loaded(self, rules: Sequence[Rule], trigger: Trigger, caller: Caller) -> set[str]:
        """Return the rules whose sentences are in files that the client loads."""
        mine = [each for each in rules if each.origin.kind is OriginKind.FILE]
        if not mine:
            return set()
        if trigger.kind is TriggerKind.LOADED:
            texts = await asyncio.to_thread(_texts_of, [Path(trigger.file)])
        else:
            folders = _folders(trigger.folder or caller.folder)
            files = [folder / name for folder in folders for name in trigger.loads]
            texts = await asyncio.to_thread(_texts_of, files)
        return {each.id for each in mine if any(_plain(each.words or each.text) in text for text in texts)}


def _from_root(script: Script, place: str) -> Script:
    """Return a script whose files are relative to the project's root: it runs in a folder there."""
    if not place or not any(each.writes for each in script.commands):
        return script
    commands = (
        replace(each, writes=tuple(posixpath.normpath(posixpath.join(place, name)) for name in each.writes))
        for each in script.commands
    )
    return replace(script, commands=tuple(commands))


def _needed(script: Script, first: Iterable[CallForm]) -> Script:
    """Return what rules need to remember of a script that has succeeded."""
    commands = (each for each in script.commands if each.writes or any(matches(form, each) for form in first))
    return replace(script, commands=tuple(commands))


def _at_calls(rules: Iterable[Rule], act: Act, place: str) -> Iterable[tuple[Rule, Pattern]]:
    """Return the rules with a pattern for calls that apply to this place."""
    commands = act.script.commands if act.script else ()
    written = [path for each in commands for path in (posixpath.join(place, each.folder), *each.writes)]
    for rule in rules:
        if rule.pattern and rule.when is not When.DONE:
            folder = rule.folder.strip("/")
            if not folder or any(path == folder or path.startswith(f"{folder}/") for path in (place, *written)):
                yield rule, rule.pattern


def _folders(folder: str) -> list[Path]:
    """Return where a client looks for files of rules: in the folder, in those above it, and in the person's own."""
    here = Path(folder) if folder else None
    return [*((here, *here.parents) if here else ()), Path.home() / ".claude"]


def _texts_of(files: Iterable[Path]) -> list[str]:
    """Return the texts of files, on one line each."""
    found = []
    for file in files:
        text = (_read(file) or b"").decode("utf-8", "replace")
        if _IMPORTED in text:
            text += (_read(file.parent / "AGENTS.md") or b"").decode("utf-8", "replace")
        found.append(_plain(text))
    return list(filter(None, found))


def _read(file: Path) -> bytes | None:
    try:
        return read_file(Path(os.path.realpath(file)))
    except ValueError:
        return None  # No name of a file


def _plain(text: str) -> str:
    """Return a text without marks of Markdown, case and line ends, so that a sentence is found in it."""
    return " ".join(text.casefold().translate({ord(mark): " " for mark in "*_`#>-\"'"}).split()).strip(" .")
