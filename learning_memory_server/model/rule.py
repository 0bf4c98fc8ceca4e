"""Rules: a person's sentence, and the pattern by which calls of agents are judged."""

import hashlib
import re
import secrets
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from learning_memory_server.model.stored import Recorded, Stored


class When(StrEnum):
    """The time at which agents are shown a rule."""

    SESSION = "session"  # At each start
    CALL = "call"  # Before a command that breaks it
    FILE = "file"  # Before an edit that breaks it
    TOPIC = "topic"  # At a prompt that names the topic
    DONE = "done"  # When the agent is about to end its work


class RuleState(StrEnum):
    """A person's answer to a sentence."""

    ACCEPTED = "accepted"
    DECLINED = "declined"
    POSTPONED = "postponed"
    RETIRED = "retired"


class OriginKind(StrEnum):
    """The sources of a rule's sentence."""

    ADDED = "added"  # A person has typed it as a rule, in place of the sentence from `Origin.name` if that is set
    FILE = "file"  # An instruction file, such as CLAUDE.md
    MEMORY = "memory"  # A feedback memory of Claude Code
    REFUSAL = "refusal"  # The words with which a person refused a call
    REPORT = "report"  # The command that worked after one that failed repeatedly
    PREFERENCE = "preference"  # A preference stored by an earlier version
    IMPORTED = "imported"  # Another store
    PAST = "past"  # An agent, from what a person said in past sessions
    VALUE = "value"  # A value that an agent drew from a cluster
    LESSON = "lesson"  # The lesson of an entry that came again although it had been shown


class Unattended(StrEnum):
    """The ruling on a call that breaks an enforced rule if no person can be asked."""

    RUN = "run"  # The call runs with a reminder, like for a rule that is not enforced
    STOP = "stop"  # The call does not run


class MessageForm(StrEnum):
    """The required form of a commit message, or of the body of a pull request."""

    CONVENTIONAL = "conventional"  # "feat(parser): ..."
    ONE_LINE = "one line"
    LATIN = "latin"  # In Latin letters, such as English
    NO_EMOJI = "no emoji"


@dataclass(frozen=True, slots=True)
class CallForm(Stored):
    """Calls of one kind: a program with sub-commands, and words that the rest must or must not contain."""

    words: tuple[str, ...]  # such as ("git", "push"); empty for any program
    having: tuple[str, ...] = ()  # contains at least one of these options or operands
    lacking: tuple[str, ...] = ()  # contains none of these
    on: tuple[str, ...] = ()  # commits to or pushes one of these branches, after its script has switched to it


@dataclass(frozen=True, slots=True)
class Pattern(Stored):
    """The machine-readable part of a rule. A call in `broken` breaks the rule if all other conditions hold, too."""

    broken: tuple[CallForm, ...] = ()
    about: tuple[CallForm, ...] = ()  # calls that follow the rule, unless they break it
    texts: tuple[str, ...] = ()  # only if the message or body contains one of these, ignoring case
    form: MessageForm | None = None  # only if the message does not have this form
    files: tuple[str, ...] = ()  # globs of project files: an edit of one breaks the rule
    contents: tuple[str, ...] = ()  # an edit that adds one of these breaks the rule; with `files`, only in those files
    first: tuple[CallForm, ...] = ()  # only if one of these has not succeeded since the last edit
    asked: tuple[str, ...] = ()  # not if this turn's prompt contains one of these words: the person asked for it


_OF_CALLS: Final = {OriginKind.REFUSAL, OriginKind.REPORT, OriginKind.PREFERENCE}
"""Origins whose name is a call."""


@dataclass(frozen=True, slots=True)
class Origin(Stored):
    """The source of a sentence, and its date if known."""

    kind: OriginKind
    name: str = ""  # a file, "memory" and its name, the refused or failed call, the times it was said, or an id
    at: datetime | None = None

    @property
    def without_call(self) -> "Origin":
        """The same without the call that was refused or failed; other names stay."""
        return replace(self, name="") if self.kind in _OF_CALLS else self


@dataclass(frozen=True, slots=True)
class Rule(Recorded):
    """A sentence with a person's answer to it. A later line with the same id replaces an earlier one."""

    id: str
    text: str  # one line of at most `limits.RULE_MAX` characters
    project: str  # the project where it was answered, and where it applies unless `is_everywhere`
    state: RuleState
    origin: Origin
    created_at: datetime  # the time of the first answer
    changed_at: datetime  # the time of the last answer
    when: When = When.SESSION
    pattern: Pattern | None = None
    is_everywhere: bool = False  # whether it applies in all of the person's projects
    folder: str = ""  # the folder to which it is limited, relative to the project's root
    topic: tuple[str, ...] = ()  # words, one of which a prompt on the topic contains
    words: str = ""  # the person's own words, if different from the text
    is_enforced: bool = False
    unattended: Unattended = Unattended.RUN
    broken_before: int = 0  # how many past calls broke it when it was accepted
    matched_before: int = 0  # of how many that it is about
    replaces: str = ""  # the id of the rule that it takes the place of
    suggestion: str = ""  # the id of the suggestion that it answers, from which no words can be read
    evidence: tuple[str, ...] = ()  # ids of the entries, or of the moments of past sessions, that support it

    def applies_in(self, project: str) -> bool:
        """Whether it is about a project, regardless of its state."""
        return self.is_everywhere or self.project == project

    @property
    def is_accepted(self) -> bool:
        """Whether a person on this machine accepts it at present."""
        return self.state is RuleState.ACCEPTED and not self.imported


@dataclass(frozen=True, slots=True)
class RuleCount(Recorded):
    """The counts of one rule in one session. A later line with the same id replaces an earlier one."""

    id: str
    rule: str  # the rule's id
    project: str
    session: str  # a hash of the client's name for the session
    created_at: datetime
    followed: int = 0
    reminded: int = 0  # calls that did not run, with the rule as the reason
    broken: int = 0  # calls that ran
    stopped: int = 0  # calls that did not run because a person refused, or could not be asked
    call: str = ""  # the last call that broke it, redacted and without folders of this machine


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A sentence without an answer from a person. It is computed on demand, and never stored."""

    id: str  # derived from its text and scope, so that it is stable
    text: str
    origin: Origin
    project: str
    when: When = When.SESSION
    pattern: Pattern | None = None
    is_everywhere: bool = False
    folder: str = ""  # the only folder of the project that it is about
    words: str = ""  # what the person said, where the text is shorter
    others: tuple[Origin, ...] = field(default=())  # where the same is said, too
    evidence: tuple[str, ...] = ()  # ids of the entries, or of the moments of past sessions, that support it

    def answered(self, state: RuleState, at: datetime) -> Rule:
        """Return the rule that results from a person's answer."""
        return Rule(
            id=new_rule_id(),
            text=self.text,
            project=self.project,
            state=state,
            origin=self.origin,
            created_at=at,
            changed_at=at,
            when=self.when,
            pattern=self.pattern,
            is_everywhere=self.is_everywhere,
            folder=self.folder,
            words=self.words,
            suggestion=self.id,
            evidence=self.evidence,
        )


PREFIX: Final = "rule_"
_SHORT: Final = 6  # Characters of an id that distinguish a person's rules
RULE_ID: Final = re.compile(r"rule_[0-9a-f]{32}").fullmatch


def count_id(rule: str, session: str) -> str:
    """Return the id of a rule's count record for a session."""
    return f"count_{hashlib.sha256(f'{rule} {session}'.encode()).hexdigest()[:24]}"


def short_id(name: str) -> str:
    """Return the beginning of an id, as used by people for a rule."""
    return name.removeprefix(PREFIX)[:_SHORT]


def new_rule_id() -> str:
    """Return a random id of 128 bits, unique across stores. It is not a secret: the terminal check protects rules."""
    return f"{PREFIX}{secrets.token_hex(16)}"
