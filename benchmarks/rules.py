"""Thirty rules in people's past sessions: `python -m benchmarks.rules --data FOLDER [--list NAME] [--json]`.

FOLDER has `people/REPO/*.jsonl.gz`, whole transcripts, and `agent-sessions-people.jsonl.gz`, sessions with their calls
(`benchmarks.recorded`). The rules are sentences of the commonest forms, as if the person had had them all; their
patterns are made by `form_of`. No agent is there that would mend a call: it goes on as it was recorded.

- rules, with_pattern: the sentences, and those of which a machine sees breaches; silent: the others.
- sessions, calls: of the transcripts; matching: calls that a rule is about; broken: calls that break one, or several.
- denied: calls that would not have run. A call is denied with all rules that it breaks, of which the agent has not met
  at least one: each is met once for each agent and context, again after a compaction, or ten calls later, and a session
  has at most three denials.
- met: the broken calls that were denied, or whose rules the agent had met all within ten calls; passed: the others, by
  the limit of the session. An agent that mends its call has no such others; first_met: of the broken calls with a rule
  that the agent had not met in this context, how many were denied.
- unseen: calls that have a rule's program and words somewhere in their text, and break it for no reader of shell text
  (`--list unseen`): some are breaches that were missed, to be judged by a person. What works elsewhere is not in it.
- turns_a_session: denials for each session, each one more turn of the agent; turns_alone (`--alone`): the same for each
  rule, if it was the only one.
- touched: denied calls that break no rule, or that follow a rule which the denial names. By construction there is none:
  a denial names only what `judge` calls broken, and this counts, for each one, that it does.
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
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.measuring import Option, options_of, percentile
from benchmarks.recorded import lines_of
from learning_memory_server.lessons.errors.transcripts import SHELLS, Passed, beginning_of
from learning_memory_server.model.rule import Pattern, When
from learning_memory_server.rules.forms.table import form_of
from learning_memory_server.rules.past.acts import act_of
from learning_memory_server.rules.past.replay import Asked, Over, Prompt, events_in
from learning_memory_server.rules.patterns.globs import is_document
from learning_memory_server.rules.patterns.matching import Act, Verdict, Work, judge, judge_end
from learning_memory_server.rules.shell.script import read

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
_AGAIN: Final = 10  # Calls after which a rule is met again
_DENIALS: Final = 3  # in a session
_DRAWN: Final = 100


class Known(NamedTuple):
    """A rule with a pattern."""

    text: str
    when: When
    pattern: Pattern


@dataclass(slots=True)
class _Agent:
    """What an agent has met: how many calls it has made, and at which of them it met each rule in this context."""

    work: Work = field(default_factory=Work)
    calls: int = 0
    met: dict[str, int] = field(default_factory=dict)
    has_edited: bool = False

    def has_met(self, rule: str) -> bool:
        return rule in self.met and self.calls - self.met[rule] < _AGAIN


@dataclass(slots=True)
class Replayed:
    """What all transcripts show for some rules."""

    rules: list[Known]
    sessions: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    by_rule: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    denials: Counter[str] = field(default_factory=Counter)
    unseen: list[tuple[str, str]] = field(default_factory=list)
    broken: list[tuple[str, str]] = field(default_factory=list)
    took: list[float] = field(default_factory=list)

    def see(self, path: Path, passed: Passed) -> None:
        """Take a transcript."""
        agents: dict[tuple[str, str], _Agent] = defaultdict(_Agent)
        waiting: dict[str, Act] = {}
        top = beginning_of(path, passed).folder
        for event in events_in(path, passed):
            if isinstance(event, Prompt):
                self._prompted(event, agents)
            elif isinstance(event, Asked):
                self.sessions.add(event.session)
                agent = agents[event.session, event.agent]
                agent.calls += 1
                self.counts["calls"] += 1
                if act := act_of(event, top):
                    waiting[event.id] = act
                    self._judge(event, act, agent)
            elif act := waiting.pop(event.asked.id, None):
                _done(event, act, agents[event.asked.session, event.asked.agent])
        for (_, name), agent in agents.items():
            if not name:
                self._end(agent)

    def _prompted(self, prompt: Prompt, agents: dict[tuple[str, str], _Agent]) -> None:
        for (session, name), agent in agents.items():
            if session == prompt.session and prompt.is_summary:
                agent.met.clear()
            elif session == prompt.session and not prompt.is_interruption:
                if not name:
                    self._end(agent)
                agent.work.prompted(prompt.text)
        agents[prompt.session, ""].work.prompted(prompt.text)

    def _end(self, agent: _Agent) -> None:
        if agent.has_edited:
            self.counts["ends"] += 1
            ends = [judge_end(each.pattern, agent.work) for each in self.rules if each.when is When.DONE]
            self.counts["ends_broken"] += Verdict.BROKEN in ends
        agent.has_edited = False

    def _judge(self, asked: Asked, act: Act, agent: _Agent) -> None:
        began = time.perf_counter()
        verdicts = {
            each.text: verdict
            for each in self.rules
            if each.when is not When.DONE and (verdict := judge(each.pattern, act, agent.work))
        }
        self.took.append(time.perf_counter() - began)
        for name, verdict in verdicts.items():
            self.by_rule[name][verdict] += 1
        is_here = not (act.script and any(map(act.is_elsewhere, act.script.commands)))
        self.unseen += ((name, asked.call) for name in self._named(asked) if is_here and name not in verdicts)
        broken = [name for name, verdict in verdicts.items() if verdict is Verdict.BROKEN]
        self.counts["matching"] += bool(verdicts)
        if not broken:
            return
        self.counts["broken"] += 1
        self.broken += ((name, asked.call) for name in broken)
        unmet = [name for name in broken if not agent.has_met(name)]
        is_first = any(name not in agent.met for name in broken)
        self.counts["first"] += is_first
        if unmet and self.denials[asked.session] < _DENIALS:
            self.denials[asked.session] += 1
            self.counts["denied"] += 1
            self.counts["first_denied"] += is_first
            self.counts["touched"] += any(verdicts[name] is not Verdict.BROKEN for name in broken)
            for name in broken:
                agent.met[name] = agent.calls
                self.by_rule[name]["denied"] += 1
        else:
            self.counts["met_before" if not unmet else "passed"] += 1

    def _named(self, asked: Asked) -> Iterator[str]:
        """Yield the rules of which a command has all words of a call that breaks them, in whatever place."""
        if asked.tool not in SHELLS:
            return
        said = set(_WORD.findall(asked.call))
        for each in self.rules:
            forms = (({*form.words}, {*form.having}) for form in each.pattern.broken)
            if any(words and words <= said and (not having or having & said) for words, having in forms):
                yield each.text


def _done(over: Over, act: Act, agent: _Agent) -> None:
    if over.has_run and not over.is_error:
        if act.script:
            agent.work.ran(act.script)
        else:
            agent.work.edited(act.file)
            agent.has_edited = agent.has_edited or not is_document(act.file)


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
    met = counts["denied"] + counts["met_before"]
    return {
        "sessions": len(replayed.sessions),
        **{name: counts[name] for name in ("calls", "matching", "broken", "denied", "met_before", "passed")},
        "met": f"{met} of {counts['broken']}",
        "first_met": f"{counts['first_denied']} of {counts['first']}",
        "unseen": len(set(replayed.unseen)),
        "touched": counts["touched"],
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
