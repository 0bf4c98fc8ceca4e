"""Thirty rules in people's past sessions: `python -m benchmarks.rules --data FOLDER [--list NAME] [--json]`.

FOLDER has `people/REPO/*.jsonl.gz`, whole transcripts, and `agent-sessions-people.jsonl.gz`, sessions with their calls
(`benchmarks.recorded`). The rules are sentences of the commonest forms, as if the person had had them all; their
patterns are made by `form_of`. No agent is there that would mend a call: it goes on as it was recorded.

- rules, with_pattern: the sentences, and those of which a machine sees breaches; silent: the others.
- sessions, calls: of the transcripts; matching: calls that a rule is about; broken: calls that break one, or several.
- denied: calls that would not have run, as `RuleSession.meet` decides: a call is denied with all rules that it breaks,
  of which the agent has not met at least one. Each is met once for each agent and context, again after a compaction, or
  ten calls later, and denies at most three times in a session. Each call counts as a message of its own: the times in
  a transcript are not those at which a hook hears of calls.
- met_before: the broken calls whose rules the agent had met all within ten calls; passed: the others, which a rule's
  limit in the session let run. An agent that mends its call has no such others.
- unseen: calls that have a rule's program and words somewhere in their text, and break it for no reader of shell text
  (`--list unseen`): some are breaches that were missed, to be judged by a person. What works elsewhere is not in it.
- turns_a_session: denials for each session, each one more turn of the agent; turns_alone (`--alone`): the same for each
  rule, if it was the only one.
- ends, ends_broken: turns of an agent that edited, and how many of them end against a rule about the end of work.
- alarms: of the commands of the other file, how many break a rule, distinct ones by rule (`--list alarms` shows each
  once, to be read); they are judged each alone, as after no edit, so that rules about sequences are not in it.
- seconds: for all transcripts; judge_ms: for one call and all rules, p50 and p95.
"""

import json
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.measuring import Option, options_of, percentile
from benchmarks.recorded import lines_of
from learning_memory_server.lessons.errors.transcripts import SHELLS, Passed, beginning_of
from learning_memory_server.model.rule import Origin, OriginKind, Pattern, Rule, RuleState, When
from learning_memory_server.rules.forms.table import form_of
from learning_memory_server.rules.past.acts import act_of
from learning_memory_server.rules.past.events import Asked, Over, Prompt, events_in
from learning_memory_server.rules.patterns.globs import is_document
from learning_memory_server.rules.patterns.matching import Act, Verdict, Work, judge, judge_end
from learning_memory_server.rules.session import Judged, RuleSession
from learning_memory_server.shell.script import read

SENTENCES: Final = (
    "Never add a Co-Authored-By trailer for Claude to commits.",
    "Never mention AI in commit messages or pull requests.",
    "Use pnpm, not npm.",
    "Use bun instead of npm and npx.",
    "Use uv, not pip.",
    "Use `rg`, not `grep`.",
    "Use `trash` instead of `rm`.",
    "Use `docker compose`, not `docker-compose`.",
    "Use `mise run test` instead of `go test`.",
    "Never run `npx tsc` directly, use `bun run typecheck`.",
    "Only commit when I ask for it.",
    "Never push without asking me first.",
    "Never force push.",
    "Never push to main.",
    "Never use `git add -A` or `git add .`.",
    "Never use --no-verify.",
    "Never amend commits.",
    "Never run `git reset --hard`.",
    "Do not use git stash.",
    "Always use squash merge when merging pull requests.",
    "Run the tests before each commit.",
    "Run the linter before every commit.",
    "Run the tests before you say that you are done.",
    "Never edit files in `dist/`.",
    "Never edit lock files by hand.",
    "Never touch `.env` files.",
    "Use Conventional Commits for commit messages.",
    "Commit messages are one line.",
    "Commit messages must be in English.",
    "No emojis in commit messages.",
)
_WORD: Final = re.compile(r"[\w./:-]*\w")
_BEGAN: Final = datetime(2026, 1, 1, tzinfo=UTC)
_DRAWN: Final = 100


class Known(NamedTuple):
    """A rule with a pattern."""

    text: str
    when: When
    pattern: Pattern

    @property
    def rule(self) -> Rule:
        """The rule as if a person had accepted it."""
        origin = Origin(OriginKind.ADDED)
        return Rule(self.text, self.text, "", RuleState.ACCEPTED, origin, _BEGAN, _BEGAN, self.when, self.pattern)


@dataclass(slots=True)
class _Session:
    """A session with its rules, and which of its agents have edited in their turn."""

    rules: RuleSession = field(default_factory=RuleSession)
    edited: set[str] = field(default_factory=set)

    def work(self, agent: str) -> Work:
        return self.rules.agent(agent).work


@dataclass(slots=True)
class Replayed:
    """What all transcripts show for some rules."""

    rules: list[Known]
    known: dict[str, Rule] = field(init=False)
    sessions: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    by_rule: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    denials: Counter[str] = field(default_factory=Counter)
    unseen: list[tuple[str, str]] = field(default_factory=list)
    broken: list[tuple[str, str]] = field(default_factory=list)
    took: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.known = {each.text: each.rule for each in self.rules}

    def see(self, path: Path, passed: Passed) -> None:
        """Take a transcript."""
        sessions: dict[str, _Session] = defaultdict(_Session)
        waiting: dict[str, Act] = {}
        top = beginning_of(path, passed).folder
        for event in events_in(path, passed):
            if isinstance(event, Prompt):
                self._prompted(event, sessions[event.session])
            elif isinstance(event, Asked):
                self.sessions.add(event.session)
                self.counts["calls"] += 1
                if act := act_of(event, top):
                    waiting[event.id] = act
                    self._judge(event, act, sessions[event.session].rules)
            elif act := waiting.pop(event.asked.id, None):
                _done(event, act, sessions[event.asked.session])
        for each in sessions.values():
            self._end(each)

    def _prompted(self, prompt: Prompt, session: _Session) -> None:
        if prompt.is_summary:
            session.rules.forget_context("")
        elif not prompt.is_interruption:
            self._end(session)
            session.rules.prompt = prompt.text
            session.work("").prompted(prompt.text)

    def _end(self, session: _Session) -> None:
        if "" in session.edited:
            self.counts["ends"] += 1
            ends = [judge_end(each.pattern, session.work("")) for each in self.rules if each.when is When.DONE]
            self.counts["ends_broken"] += Verdict.BROKEN in ends
            session.edited.remove("")

    def _judge(self, asked: Asked, act: Act, session: RuleSession) -> None:
        began = time.perf_counter()
        work = session.agent(asked.agent).work
        verdicts = {
            each.text: verdict
            for each in self.rules
            if each.when is not When.DONE and (verdict := judge(each.pattern, act, work))
        }
        self.took.append(time.perf_counter() - began)
        for name, verdict in verdicts.items():
            self.by_rule[name][verdict] += 1
        is_here = not (act.script and any(map(act.is_elsewhere, act.script.commands)))
        self.unseen += ((name, asked.call) for name in self._named(asked) if is_here and name not in verdicts)
        broken = tuple(self.known[name] for name, verdict in verdicts.items() if verdict is Verdict.BROKEN)
        self.counts["matching"] += bool(verdicts)
        session.begin(broken, "", _BEGAN, lambda _: None)
        agent = session.agent(asked.agent)
        at = _BEGAN + timedelta(minutes=agent.calls)
        meeting = session.meet(asked.agent, "", Judged(act, broken), at, is_attended=True)
        if broken:
            self.counts["broken"] += 1
            self.broken += ((each.text, asked.call) for each in broken)
            self.counts[
                "denied" if meeting.rules else "passed" if any(map(agent.is_new, broken)) else "met_before"
            ] += 1
            self.denials.update([asked.session] if meeting.rules else [])
            for each in meeting.rules:
                self.by_rule[each.text]["denied"] += 1

    def _named(self, asked: Asked) -> Iterator[str]:
        """Yield the rules of which a command has all words of a call that breaks them, in whatever place."""
        if asked.tool not in SHELLS:
            return
        said = set(_WORD.findall(asked.call))
        for each in self.rules:
            forms = (({*form.words}, {*form.having}) for form in each.pattern.broken)
            if any(words and words <= said and (not having or having & said) for words, having in forms):
                yield each.text


def _done(over: Over, act: Act, session: _Session) -> None:
    if over.has_run and not over.is_error:
        agent = over.asked.agent
        if act.script:
            session.work(agent).ran(act.script)
        else:
            session.work(agent).edited(act.file)
            if not is_document(act.file):
                session.edited.add(agent)


def main() -> None:
    """Run the benchmark."""
    options = options_of(
        __doc__,
        data=Option(Path, is_needed=True),
        alone=Option(False, "also replay each rule alone, which takes a second each"),
        list=Option(str, "print these, to be read: alarms, broken or unseen"),
    )
    formed = {text: form_of(text) for text in SENTENCES}
    rules = [Known(text, each.when, each.pattern) for text, each in formed.items() if each]
    began = time.perf_counter()
    replayed = replay(rules, options.data / "people")
    seconds = time.perf_counter() - began
    alarms = commands_that_break(rules, options.data / "agent-sessions-people.jsonl.gz")
    report = {
        "rules": len(SENTENCES),
        "with_pattern": len(rules),
        "silent": [text for text, each in formed.items() if not each],
        **figures(replayed),
        "turns_alone": {each.text: alone(each, options.data / "people") for each in rules} if options.alone else {},
        **alarms_of(alarms),
        "seconds": round(seconds, 2),
    }
    for name, call in listed(options.list, replayed, alarms):
        print(f"{name}\t{' '.join(call.split())[:400]}")
    if options.json:
        print(json.dumps(report))
        return
    for name, value in report.items():
        if isinstance(value, dict):
            print(f"{name}:")
            for key, each in value.items():
                print(f"  {key}: {each}")
        else:
            print(f"{name}: {value}")


def replay(rules: list[Known], folder: Path) -> Replayed:
    """Return what the transcripts show for rules."""
    replayed, passed = Replayed(rules), Passed()
    for path in sorted(folder.rglob("*.jsonl*")):
        replayed.see(path, passed)
    return replayed


def figures(replayed: Replayed) -> dict[str, Any]:
    """Return the figures of a replay."""
    counts, sessions = replayed.counts, max(len(replayed.sessions), 1)
    return {
        "sessions": len(replayed.sessions),
        **{name: counts[name] for name in ("calls", "matching", "broken", "denied", "met_before", "passed")},
        "unseen": len(set(replayed.unseen)),
        "turns_a_session": round(counts["denied"] / sessions, 3),
        "sessions_with_denials": len(replayed.denials),
        "ends": counts["ends"],
        "ends_broken": counts["ends_broken"],
        "judge_ms": [round(percentile(replayed.took or [0], share) * 1_000, 3) for share in (0.5, 0.95)],
        "by_rule": {name: dict(found) for name, found in sorted(replayed.by_rule.items())},
    }


def alone(rule: Known, folder: Path) -> float:
    """Return the denials for each session, if a rule was the only one."""
    return float(figures(replay([rule], folder))["turns_a_session"])


def commands_that_break(rules: list[Known], path: Path) -> tuple[int, list[tuple[str, str]]]:
    """Return how many commands there are, and those that break a rule, each judged alone."""
    commands = [
        call["input"]
        for line in lines_of(path)
        for call in json.loads(line)["calls"]
        if call["tool"] in SHELLS and isinstance(call["input"], str)
    ]
    alone = [each for each in rules if each.when is not When.DONE and not each.pattern.first]
    found = [
        (each.text, command)
        for command in commands
        for act in [Act(read(command))]
        for each in alone
        if judge(each.pattern, act, Work()) is Verdict.BROKEN
    ]
    return len(commands), found


def alarms_of(found: tuple[int, list[tuple[str, str]]]) -> dict[str, Any]:
    """Return how many commands break a rule, and how many distinct ones each."""
    number, broken = found
    distinct = Counter(name for name, _ in set(broken))
    return {"commands": number, "alarms": len({call for _, call in broken}), "alarms_by_rule": dict(distinct)}


def listed(
    wanted: str | None, replayed: Replayed, alarms: tuple[int, list[tuple[str, str]]]
) -> Iterable[tuple[str, str]]:
    """Return calls to be read, distinct ones, each with its rule; of those that are unseen, a hundred at random."""
    if wanted == "alarms":
        return sorted(set(alarms[1]))
    if wanted == "broken":
        return sorted(set(replayed.broken))
    unseen = sorted(set(replayed.unseen))
    return random.Random(0).sample(unseen, min(_DRAWN, len(unseen))) if wanted == "unseen" else []


if __name__ == "__main__":
    main()
