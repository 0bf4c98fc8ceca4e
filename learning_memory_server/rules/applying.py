"""Apply the accepted rules to the events of sessions: judge calls, track the state of the work, and count breaches."""

import os
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.index.ranking.terms import terms
from learning_memory_server.lessons.errors.outcomes import shows_failure
from learning_memory_server.lessons.errors.sanitize import tidied, whole_words
from learning_memory_server.model import limits
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.caller import MAIN_AGENT, Caller
from learning_memory_server.model.lines import one_line, shortened
from learning_memory_server.model.moment import Clock
from learning_memory_server.model.rule import CallForm, Pattern, Rule, RuleCount, When
from learning_memory_server.model.trigger import RESUMED, Trigger
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.rules.folders import below
from learning_memory_server.rules.log import RuleCounts, RuleLog
from learning_memory_server.rules.patterns.globs import relative
from learning_memory_server.rules.patterns.matching import Act, Verdict, Work, judge, judge_end, matches
from learning_memory_server.rules.session import Judged, Meeting, RuleSession
from learning_memory_server.shell.script import Command, Script, read

log = structlog.get_logger()

_COMMANDS: Final = frozenset({TriggerKind.COMMAND, TriggerKind.ERROR})
_ENDS: Final = frozenset({TriggerKind.STOP, TriggerKind.SUBAGENT_STOP})
_NOTICE: Final = "<task-notification"  # The beginning of a prompt that the client writes when a background task ends


@dataclass(eq=False)
class Rules:
    """The accepted rules and their counts over all sessions."""

    log: RuleLog
    counts: RuleCounts
    redaction: RedactionGate
    clock: Clock

    def at_start(self, caller: Caller) -> list[Rule]:
        """Return the rules to show at a start: the most broken first, then the newest."""
        found = [each for each in self.log.accepted(caller.project) if each.when is When.SESSION]
        fared = self.counts.fared(found) if found else {}
        return sorted(found, key=lambda each: -(each.broken_before + fared[each.id].broken + fared[each.id].reminded))

    def on_topic(self, text: str, caller: Caller) -> list[Rule]:
        """Return the rules with a topic that a text mentions."""
        found = [each for each in self.log.accepted(caller.project) if each.topic]
        named = set(terms(text)) if found else set[str]()
        return [each for each in found if not named.isdisjoint(term for word in each.topic for term in terms(word))]

    def observe(self, trigger: Trigger, caller: Caller, state: RuleSession) -> None:
        """Update the state of the work from an event."""
        agent = caller.agent or MAIN_AGENT
        state.folders = trigger.folders or state.folders
        if trigger.kind is TriggerKind.PROMPT and agent == MAIN_AGENT and not trigger.text.startswith(_NOTICE):
            state.prompt = trigger.text
            state.agent(agent).work.prompted(trigger.text)
        elif trigger.kind is TriggerKind.SESSION_START and trigger.source != RESUMED:
            state.forget_context(MAIN_AGENT)

    async def meet(self, rules: Sequence[Rule], trigger: Trigger, caller: Caller, state: RuleSession) -> Meeting:
        """Return the rules that apply to an act and the ruling on it, and count them."""
        agent = caller.agent or MAIN_AGENT
        if not rules:
            return Meeting()
        if trigger.kind is TriggerKind.CALL:
            judged = self._judged(rules, trigger, caller, state)
            return state.meet(agent, trigger.key, judged, self.clock(), is_attended=caller.is_attended)
        if trigger.kind in _COMMANDS or (trigger.kind is TriggerKind.FILE and trigger.is_edit):
            return await self._ended(rules, trigger, caller, state)
        return self._at_end(rules, trigger, caller, state) if trigger.kind in _ENDS else Meeting()

    def save(self, counts: Sequence[RuleCount]) -> None:
        """Write rule counts. Counts that cannot be written are lost, so that the work goes on."""
        if not counts:
            return
        try:
            self.counts.add(*counts, at=self.clock())
        except LearningMemoryError as problem:
            log.warning("rules.not_counted", reason=type(problem).__name__)

    def _judged(self, rules: Sequence[Rule], trigger: Trigger, caller: Caller, state: RuleSession) -> Judged:
        """Return the rules that a command or an edit breaks and follows."""
        # A call never waits for a disk: until the folders are known, the session's folder stands for the project.
        folders = state.folders or tuple(filter(None, [caller.folder]))
        folder = trigger.folder or caller.folder
        name, place = below(trigger.file and posixpath.join(folder, trigger.file), folders), below(folder, folders)
        needs = trigger.command and any(each.pattern and each.when is not When.DONE for each in rules)
        script = _from_root(read(trigger.command), place) if needs else None
        root = folders[0] if folders else ""
        act = Act(script, name, trigger.content, trigger.before, root, folder, folders[1:])
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

    async def _ended(self, rules: Sequence[Rule], trigger: Trigger, caller: Caller, state: RuleSession) -> Meeting:
        """Count a call that ran. If it was not judged before, return the broken rules to show."""
        agent = caller.agent or MAIN_AGENT
        was_known = trigger.key in state.waiting
        judged = None if was_known else self._judged(rules, trigger, caller, state)
        ended = state.ran(agent, trigger.key, self.clock(), judged)
        self._learn(rules, trigger, ended.act, state.agent(agent).work)
        # At an error, the agent gets other advice.
        is_told = not was_known and trigger.kind is not TriggerKind.ERROR
        meeting = state.tell(agent, ended.broken) if is_told else Meeting()
        if ended.broken:
            state.note_call(ended.broken, await self._kept(trigger, ended.act, caller))
        return meeting

    def _learn(self, rules: Sequence[Rule], trigger: Trigger, act: Act, work: Work) -> None:
        """Record a successful edit or command, as far as rules require an earlier step."""
        first = [form for each in rules if each.pattern for form in each.pattern.first]
        if not first and all(each.when is not When.DONE for each in rules):
            return
        if trigger.file:
            # An edit outside the project does not make the project's tests outdated
            if not act.root or relative(act.file, ""):
                work.edited(act.file)
        elif not (trigger.error or trigger.is_background or shows_failure(trigger.command, trigger.output)):
            work.ran(_needed(act.script or read(trigger.command), first))

    def _at_end(self, rules: Sequence[Rule], trigger: Trigger, caller: Caller, state: RuleSession) -> Meeting:
        work = state.agent(caller.agent or MAIN_AGENT).work
        found = []
        for rule in rules:
            if rule.when is not When.DONE:
                continue
            verdict = judge_end(rule.pattern, work) if rule.pattern else None
            # Whether a rule without a pattern is followed cannot be checked: it is shown once, after an edit.
            is_plain = rule.pattern is None and work.is_edited
            if verdict or is_plain:
                state.begin([rule], caller.project, self.clock(), self.counts.find)
            if verdict:
                state.ends[rule.id] = rule, verdict
            if (is_plain or verdict is Verdict.BROKEN) and rule.id not in state.reminded_at_end:
                found.append(rule)
        # In an unattended session, the answer to a reminder would replace the result.
        is_asked = caller.is_attended and not trigger.is_again
        return state.remind_at_end(found[: limits.CONTEXT_RULES]) if is_asked else Meeting()

    async def _kept(self, trigger: Trigger, act: Act, caller: Caller) -> str:
        """Return a call in the form to store: redacted, and without folders of this machine."""
        call = trigger.command or f"edit {act.file}"
        (call,) = await self.redaction.pass_texts(whole_words(call, limits.RULE_CALL_EXAMINED))
        return shortened(tidied(one_line(call), caller.project, caller.folder), limits.COMMAND_MAX)


def _from_root(script: Script, place: str) -> Script:
    """Return a script with file paths relative to the project's root, for a script that runs in the folder `place`."""
    if not place or not any(each.writes for each in script.commands):
        return script
    commands = (
        replace(each, writes=tuple(posixpath.normpath(posixpath.join(place, name)) for name in each.writes))
        for each in script.commands
    )
    return replace(script, commands=tuple(commands))


def _needed(script: Script, first: Iterable[CallForm]) -> Script:
    """Return the parts of a successful script that rules need later, without the texts of messages and input."""
    commands = (
        replace(each, texts=(), input=each.input[:1])
        for each in script.commands
        if each.writes or any(matches(form, each) for form in first)
    )
    return replace(script, commands=tuple(commands))


def _at_calls(rules: Iterable[Rule], act: Act, place: str) -> Iterable[tuple[Rule, Pattern]]:
    """Return the rules with a pattern for calls that apply in this folder."""
    commands = act.script.commands if act.script else ()
    written = [path for each in commands for path in (_in_project(each, act, place), *each.writes)]
    for rule in rules:
        if rule.pattern and rule.when is not When.DONE:
            folder = rule.folder.strip("/")
            if not folder or any(path == folder or path.startswith(f"{folder}/") for path in (place, *written)):
                yield rule, rule.pattern


def _below(path: str, roots: Iterable[str]) -> str:
    """Return a path relative to the first of the folders that contains it, otherwise the path itself."""
    path = posixpath.normpath(path.replace(os.sep, "/")) if path else ""
    for root in roots:
        if path == root:
            return ""
        if path.startswith(f"{root}/"):
            return path[len(root) + 1 :]
    return path


def _in_project(command: Command, act: Act, place: str) -> str:
    """Return the folder of a command relative to the project's root, empty if it is outside."""
    return relative(posixpath.join(place, command.folder), act.root)
