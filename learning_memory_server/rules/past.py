"""How often rules were broken and followed in past sessions, as if they had been there."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final

from learning_memory_server.lessons.errors.transcripts import SHELLS, Beginning
from learning_memory_server.model import limits
from learning_memory_server.model.moment import as_seen
from learning_memory_server.model.rule import CallForm, Pattern, When
from learning_memory_server.rules.matching import Act, Verdict, Work, judge, judge_end
from learning_memory_server.rules.replay import EDITS, Asked, Event, Over, Prompt
from learning_memory_server.rules.shell import read

_WORKTREE: Final = re.compile(r"^(?:\.claude/)?\.?worktrees/[^/]+/")
_BASH: Final = "Bash"  # The grammar that is read is that of bash
_ENDS: Final = "end of work"
_CALLS: Final = "call"
_EDITS: Final = "edit"
_UNITS: Final = {
    ("git", "commit"): ("commit", "commits"),
    ("git", "push"): ("push", "pushes"),
    ("gh", "pr", "create"): ("pull request", "pull requests"),
    ("gh", "pr", "merge"): ("merge", "merges"),
}
"""What a person calls calls of which only those count that worked."""


@dataclass(frozen=True, slots=True)
class Past:
    """How a rule would have fared: acts that broke it and that followed it, in past sessions."""

    broken: int = 0
    followed: int = 0
    days: tuple[tuple[date, int, int], ...] = ()  # a day, and how many broke and followed it; oldest first
    sessions: int = 0  # with a breach
    last: datetime | None = None  # when it was broken last
    call: str = ""  # the last call or file that broke it
    refused: int = 0  # calls that would have broken it, but were refused by a person
    worked: int = 0  # calls that broke it and were no errors
    latest: int = 0  # of the last `limits.RULE_CALLS_LAST` calls, how many broke it
    unit: str = _CALLS

    @property
    def matched(self) -> int:
        """How many acts it is about."""
        return self.broken + self.followed

    @property
    def mostly_works(self) -> bool:
        """Whether what breaks it worked in most cases: it is no call that fails."""
        return self.worked * 2 > self.broken

    @property
    def is_frequent(self) -> bool:
        """Whether a rule would stop so many calls that it must not."""
        return self.latest * limits.RULE_CALLS_SHARE > limits.RULE_CALLS_LAST

    @property
    def in_words(self) -> str:
        """How often it was broken, as a person reads it."""
        if self.followed:
            return f"broken in {self.broken:,} of {self.matched:,} {plural(self.unit)}"
        if self.unit == _CALLS:
            return f"broken by {self.broken:,} {self.unit if self.broken == 1 else plural(self.unit)}"
        return f"broken in {self.broken:,} of {self.broken:,} {self.unit if self.broken == 1 else plural(self.unit)}"


def plural(unit: str) -> str:
    """Return the plural of a unit."""
    return dict(_UNITS.values()).get(unit, "ends of work" if unit == _ENDS else f"{unit}s")


def unit_of(when: When, pattern: Pattern) -> str:
    """Return what a person calls the acts that a pattern is about."""
    if when is When.DONE:
        return _ENDS
    words = {each.words for each in (*pattern.broken, *pattern.about)}
    for head, (unit, _) in _UNITS.items():
        if words and all(each[: len(head)] == head for each in words):
            return unit
    return _EDITS if not words and (pattern.files or pattern.contents) else _CALLS


@dataclass(slots=True)
class _Tally:
    when: When
    pattern: Pattern
    unit: str
    mark: re.Pattern[str] | None  # what is in each command that it may be about; None: it may be any
    days: dict[date, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    sessions: set[str] = field(default_factory=set)
    breaches: list[datetime] = field(default_factory=list)
    last: tuple[datetime, Asked | None] | None = None
    refused: int = 0
    worked: int = 0

    def count(self, verdict: Verdict, session: str, at: datetime, asked: Asked | None, *, is_error: bool) -> None:
        """Count an act."""
        is_broken = verdict is Verdict.BROKEN
        self.days[at.date()][not is_broken] += 1
        if is_broken:
            self.sessions.add(session)
            self.breaches.append(at)
            self.worked += not is_error
            if self.last is None or at >= self.last[0]:
                self.last = at, asked

    def past(self, since: datetime | None, shown: Callable[[Asked], str]) -> Past:
        """Return the counts; `since` is when the last calls began."""
        days = tuple((day, *counts) for day, counts in sorted(self.days.items()))
        asked = self.last[1] if self.last else None
        return Past(
            sum(broken for _, broken, _ in days),
            sum(followed for _, _, followed in days),
            days=tuple((day, broken, followed) for day, broken, followed in days),
            sessions=len(self.sessions),
            last=self.last[0] if self.last else None,
            call=shown(asked) if asked else "",
            refused=self.refused,
            worked=self.worked,
            latest=sum(since is None or at >= since for at in self.breaches) if self.when is not When.DONE else 0,
            unit=self.unit,
        )


@dataclass(slots=True)
class _Agent:
    """An agent of a session."""

    work: Work
    has_edited: bool = False  # in this turn
    is_interrupted: bool = False


@dataclass(slots=True)
class _Judged:
    """A call that has not ended."""

    verdicts: list[tuple[str, Verdict]]
    act: Act | None = None


_NOTHING: Final = _Judged([])


class Replay:
    """Takes the events of past sessions, each file's in order, and counts for each pattern, by its name."""

    def __init__(self, patterns: Mapping[str, tuple[When, Pattern]]) -> None:
        self._tallies = {
            name: _Tally(when, pattern, unit_of(when, pattern), _mark(pattern))
            for name, (when, pattern) in patterns.items()
        }
        marks = [each.mark for each in self._tallies.values()]
        is_any = None in marks or not marks
        self._may_matter = re.compile("" if is_any else "|".join(sorted({each.pattern for each in marks if each})))
        self._edits = {name: each for name, each in self._tallies.items() if each.pattern.files or each.pattern.contents}
        self._begin = Beginning()
        self._agents: dict[tuple[str, str], _Agent] = {}
        self._prompts: dict[str, str] = {}
        self._waiting: dict[str, _Judged] = {}
        self._seen: set[str] = set()
        self._at: list[datetime] = []

    def begin(self, began: Beginning) -> None:
        """Begin a file."""
        self._begin, self._agents, self._prompts, self._waiting = began, {}, {}, {}

    def see(self, event: Event) -> None:
        """Take what happened next."""
        if isinstance(event, Prompt):
            self._prompted(event)
        elif isinstance(event, Asked):
            self._waiting[event.id] = self._judged(event)
        elif judged := self._waiting.pop(event.asked.id, None):
            self._ended(event, judged)

    def end(self) -> None:
        """End a file."""
        for (session, agent), each in self._agents.items():
            if not agent:
                self._turn_ends(session, each, each.work, None)

    @property
    def calls(self) -> int:
        """How many calls ran."""
        return len(self._at)

    @property
    def days(self) -> tuple[date, date] | None:
        """The days of the first and the last call."""
        return (min(self._at).date(), max(self._at).date()) if self._at else None

    @property
    def since(self) -> datetime | None:
        """When the last calls began, None if there were not more."""
        return sorted(self._at)[-limits.RULE_CALLS_LAST] if len(self._at) > limits.RULE_CALLS_LAST else None

    def past(self, shown: Callable[[Asked], str], since: datetime | None) -> dict[str, Past]:
        """Return the counts of each pattern by its name; `shown` says how a call is shown."""
        return {name: tally.past(since, shown) for name, tally in self._tallies.items()}

    def _agent(self, session: str, agent: str) -> _Agent:
        found = self._agents.get((session, agent))
        if found is None:
            found = self._agents[session, agent] = _Agent(Work())
            found.work.prompted(self._prompts.get(session, ""))
        return found

    def _prompted(self, prompt: Prompt) -> None:
        main = self._agent(prompt.session, "")
        if prompt.is_interruption:
            main.is_interrupted = True
        elif not prompt.is_summary:
            before = self._prompts.get(prompt.session, "") if prompt.is_more else ""
            self._prompts[prompt.session] = text = f"{before}\n{prompt.text}".strip()
            if not prompt.is_more:
                self._turn_ends(prompt.session, main, main.work, prompt.at)
            for (session, _), each in self._agents.items():
                if session == prompt.session:
                    each.work.prompted(text)

    def _turn_ends(self, session: str, agent: _Agent, work: Work, at: datetime | None) -> None:
        """Judge what the agent left when it ended its turn; an interrupted turn was ended by the person."""
        at = at or (self._at[-1] if self._at else None)
        if agent.has_edited and not agent.is_interrupted and at:
            for tally in self._tallies.values():
                if tally.when is When.DONE and (verdict := judge_end(tally.pattern, work)):
                    tally.count(verdict, session, as_seen(at), None, is_error=False)
        agent.has_edited = agent.is_interrupted = False

    def _judged(self, asked: Asked) -> _Judged:
        command = asked.call if asked.tool in SHELLS else ""
        if command and not self._may_matter.search(command):
            return _NOTHING
        if not (act := act_of(asked, self._begin.folder)):
            return _NOTHING
        wanted = [name for name, each in self._tallies.items() if _concerns(each, command)] if command else self._edits
        work = self._agent(asked.session, asked.agent).work
        return _Judged(_verdicts(self._tallies, wanted, act, work), act)

    def _ended(self, over: Over, judged: _Judged) -> None:
        asked, agent = over.asked, self._agent(over.asked.session, over.asked.agent)
        at, is_new = over.at or asked.at, asked.id not in self._seen
        # A session that was continued in another file begins with a copy of what happened in the first.
        self._seen.add(asked.id)
        if at is None:
            return
        if over.has_run and is_new:
            self._at.append(as_seen(at))
        for name, verdict in judged.verdicts if is_new else ():
            tally = self._tallies[name]
            if over.refused:
                tally.refused += verdict is Verdict.BROKEN
            elif over.has_run and not (over.is_error and tally.unit != _CALLS):
                tally.count(verdict, asked.session, as_seen(at), asked, is_error=over.is_error)
        act = judged.act
        if act and over.has_run and not over.is_error:
            if act.script:
                agent.work.ran(act.script)
            else:
                agent.work.edited(act.file)
                agent.has_edited = agent.has_edited or is_new


def act_of(asked: Asked, top: str) -> Act | None:
    """Return a call as what rules judge; None if it is neither a command of bash nor an edit in the project.

    Files are relative to the project's root, the folder `top`, or to that of a worktree in it.
    """
    if asked.tool == _BASH:
        return Act(read(asked.call), root=top) if asked.call else None
    if asked.tool not in EDITS or not (file := _file(asked, top)):
        return None
    return Act(None, file, *_change(asked), root=top)


def _file(asked: Asked, top: str) -> str:
    path, root = asked.call.replace("\\", "/"), (top or asked.folder).replace("\\", "/")
    if path.startswith(f"{root}/"):
        return _WORKTREE.sub("", path[len(root) + 1 :])
    return "" if path.startswith("/") or path[1:2] == ":" else path


def _change(asked: Asked) -> tuple[str, str]:
    """Return what an edit writes, and what was there before."""
    edits = asked.given.get("edits")
    given = [each for each in edits if isinstance(each, dict)] if isinstance(edits, list) else [asked.given]
    keys = ("content" if "content" in asked.given else "new_source" if "new_source" in asked.given else "new_string")
    text = ["\n".join(str(each.get(key) or "") for each in given) for key in (keys, "old_string")]
    return text[0], text[1]


def _verdicts(
    tallies: Mapping[str, _Tally], names: Iterable[str], act: Act, work: Work
) -> list[tuple[str, Verdict]]:
    found = ((name, judge(tallies[name].pattern, act, work)) for name in names if tallies[name].when is not When.DONE)
    return [(name, verdict) for name, verdict in found if verdict]


def _concerns(tally: _Tally, command: str) -> bool:
    return tally.mark is None or tally.mark.search(command) is not None


def _mark(pattern: Pattern) -> re.Pattern[str] | None:
    """Return what is in each command that a pattern may be about; None if it may be any."""
    named = [_named(form) for form in (*pattern.broken, *pattern.about, *pattern.first)]
    globs = {*pattern.files, *(word for words in named for word in words)}
    spelt = {_spelt(glob) for glob in globs}
    if not all(named) or "" in spelt:
        return None
    return re.compile("|".join(sorted(spelt)) or r"(?!)")


def _spelt(glob: str) -> str:
    """Return an expression for the longest part of a word without wildcards; a word without any is whole."""
    literal = max(re.split(r"[*?\[\]{},!]+", glob), key=len).strip("/")
    is_word = literal == glob and literal.isalnum()
    return rf"\b{re.escape(literal)}\b" if is_word else re.escape(literal)


def _named(form: CallForm) -> tuple[str, ...]:
    """Return the words, or globs of words, of which a call has one: its program, else what it has to have."""
    return (form.words[0].rpartition("/")[2],) if form.words else form.having
