"""Signs that a belief was wrong, which need no model: what a session's events and its transcript show."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from learning_memory_server.advice import constants
from learning_memory_server.advice.asking.transcript import Turn
from learning_memory_server.advice.asking.words import concedes, dissents, own_words
from learning_memory_server.model import limits
from learning_memory_server.model.lines import one_line, shortened


class SignKind(StrEnum):
    """How a belief showed that it was wrong."""

    REFUSED = "refused"  # The person refused a call, with words
    INTERRUPTED = "interrupted"  # The person stopped the agent, and wrote why
    CONCEDED = "conceded"  # The person objected, and the agent agreed
    WORKED = "worked"  # A program failed several times, and then worked

    @property
    def is_of_person(self) -> bool:
        """Whether a person said it."""
        return self in {SignKind.REFUSED, SignKind.INTERRUPTED, SignKind.CONCEDED}


@dataclass(frozen=True, slots=True)
class Sign:
    """One sign. `quote` is one line: the person's words, or the program."""

    kind: SignKind
    quote: str


@dataclass(slots=True)
class Signs:
    """What was seen in one session so far."""

    is_asked: bool = False  # whether the session had its question
    waiting: Sign | None = None  # to be asked about at the next quiet moment
    objection: str = ""  # the person's words that the agent was asked about in this turn, without secrets
    may_object: bool = False  # whether the transcript may show an objection that nobody has looked for
    unanswered: set[str] = field(default_factory=set)  # ids of calls without a result: a person may have refused them
    failures: Counter[str] = field(default_factory=Counter)  # by program, since it last worked

    def ran(self, programs: frozenset[str], *, has_failed: bool) -> None:
        """Note the end of a command."""
        for each in programs:
            if has_failed:
                self.failures[each] += 1
            elif self.failures.pop(each, 0) >= constants.FAILED_BEFORE:
                self.see(Sign(SignKind.WORKED, each))

    def see(self, sign: Sign) -> None:
        """Remember a sign, unless a person's words wait already."""
        if not (self.waiting and self.waiting.kind.is_of_person):
            self.waiting = sign


def objection_in(turn: Turn) -> Sign | None:
    """Return the objection of a person in a turn, with the person's own words."""
    if words := own_words(turn.refusal):
        return Sign(SignKind.REFUSED, _line(words))
    words = own_words(turn.message)
    if turn.is_interruption and dissents(words):
        return Sign(SignKind.INTERRUPTED, _line(words))
    if words and concedes(turn.answer):
        return Sign(SignKind.CONCEDED, _line(words))
    return None


def _line(words: str) -> str:
    """Return words as they can be quoted: addresses are no words of a person."""
    plain = " ".join(word for word in words.split() if "://" not in word and not word.startswith("www."))
    return shortened(one_line(plain), limits.REFUSAL_WORDS_MAX)
