"""Rules: what a person wants, in a sentence, and what a machine sees of it in the calls of agents."""

import hashlib
import re
import secrets
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from learning_memory_server.model.stored import Recorded, Stored


class When(StrEnum):
    """When an agent is shown a rule."""

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
    """Where the sentence of a rule comes from."""

    ADDED = (
        "added"  # A person has typed it for this purpose, in place of the sentence from `Origin.name` if that is set
    )
    FILE = "file"  # A file of rules, such as CLAUDE.md
    MEMORY = "memory"  # A feedback memory of Claude Code
    REFUSAL = "refusal"  # The words with which a person refused a call
    REPORT = "report"  # What followed a command that failed again and again
    PREFERENCE = "preference"  # A preference that an earlier version kept
    IMPORTED = "imported"  # Another store
    PAST = "past"  # An agent, from what a person said in past sessions
    VALUE = "value"  # A value that an agent drew from a cluster
    LESSON = "lesson"  # The lesson of an entry that came again although it had been shown


class Unattended(StrEnum):
    """The end of a call that breaks an enforced rule where no person can be asked."""

    RUN = "run"  # Its agent is reminded, as of a rule that is not enforced
    STOP = "stop"  # It is not run


class MessageForm(StrEnum):
    """The form of the message of a commit, or of the body of a pull request."""

    CONVENTIONAL = "conventional"  # "feat(parser): ..."
    ONE_LINE = "one line"
    LATIN = "latin"  # In Latin letters, as English is
    NO_EMOJI = "no emoji"


@dataclass(frozen=True, slots=True)
class CallForm(Stored):
    """Calls of one kind: a program with its sub-commands, and words that must or must not be among the others."""

    words: tuple[str, ...]  # such as ("git", "push"); empty for any program
    having: tuple[str, ...] = ()  # one of these is there: an option, or an operand
    lacking: tuple[str, ...] = ()  # none of these is there
    on: tuple[str, ...] = ()  # it commits or pushes one of these branches, to which its own text has switched before


@dataclass(frozen=True, slots=True)
class Pattern(Stored):
    """What a machine sees of a rule. A call in `broken` breaks it if all other conditions hold, too."""

    broken: tuple[CallForm, ...] = ()
    about: tuple[CallForm, ...] = ()  # calls that follow the rule, unless they break it
    texts: tuple[str, ...] = ()  # only with one of these in its message or body, whatever the case
    form: MessageForm | None = None  # only with a message that is not so
    files: tuple[str, ...] = ()  # globs of files in the project: an edit of one breaks it
    contents: tuple[str, ...] = ()  # an edit that adds one of these breaks it; with `files`, only in those
    first: tuple[CallForm, ...] = ()  # only if one of these has not succeeded since the last edit
    asked: tuple[str, ...] = ()  # not if this turn's prompt has one of these words: the person asked for it


_OF_CALLS: Final = {OriginKind.REFUSAL, OriginKind.REPORT, OriginKind.PREFERENCE}
"""Origins whose name is a call."""


@dataclass(frozen=True, slots=True)
class Origin(Stored):
    """Where a sentence comes from, and its day if that is known."""

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
    project: str  # where it was answered, and where it applies unless `is_everywhere`
    state: RuleState
    origin: Origin
    created_at: datetime  # when it was answered first
    changed_at: datetime  # when it was answered last
    when: When = When.SESSION
    pattern: Pattern | None = None
    is_everywhere: bool = False  # whether it applies in all of the person's projects
    folder: str = ""  # the only folder of the project where it applies, relative to its root
    topic: tuple[str, ...] = ()  # words of which a prompt on the topic has one
    words: str = ""  # the person's own words, where the text is another
    is_enforced: bool = False
    unattended: Unattended = Unattended.RUN
    broken_before: int = 0  # how many past calls broke it when it was accepted
    matched_before: int = 0  # of how many that it is about
    replaces: str = ""  # the id of the rule that it takes the place of
    suggestion: str = ""  # the id of the suggestion that it answers, from which no words can be read
    evidence: tuple[str, ...] = ()  # ids of the entries, or of the moments of past sessions, that support it

    def applies_in(self, project: str) -> bool:
        """Return whether it is about a project, whatever a person has said of it."""
        return self.is_everywhere or self.project == project

    @property
    def is_accepted(self) -> bool:
        """Whether a person here has said yes to it, and has not taken that back."""
        return self.state is RuleState.ACCEPTED and not self.imported


@dataclass(frozen=True, slots=True)
class RuleCount(Recorded):
    """How one rule fared in one session. A later line with the same id replaces an earlier one."""

    id: str
    rule: str  # its id
    project: str
    session: str  # a hash of the client's name of the session
    created_at: datetime
    followed: int = 0
    reminded: int = 0  # how many calls were not run, with the rule as the reason
    broken: int = 0  # how many ran nevertheless
    stopped: int = 0  # how many were not run because a person was asked and said no, or could not be asked
    call: str = ""  # the last one that broke it, without secrets and folders of this machine


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A sentence that no person has answered yet. It is computed, and never stored."""

    id: str  # from its text and where it applies, so that it is the same each time
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
        """Return the rule that a person's answer makes of it."""
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
_SHORT: Final = 6  # Characters of an id that tell a person's rules apart
RULE_ID: Final = re.compile(r"rule_[0-9a-f]{32}").fullmatch


def count_id(rule: str, session: str) -> str:
    """Return the id of the record of how a rule fared in a session."""
    return f"count_{hashlib.sha256(f'{rule} {session}'.encode()).hexdigest()[:24]}"


def short_id(name: str) -> str:
    """Return the beginning of an id, by which a person names a rule."""
    return name.removeprefix(PREFIX)[:_SHORT]


def new_rule_id() -> str:
    """Return a random id of 128 bits, so that no two stores have the same; what protects a rule is the terminal."""
    return f"{PREFIX}{secrets.token_hex(16)}"
