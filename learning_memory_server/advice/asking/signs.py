"""Signs that a belief was wrong, found without a model in the session's events and its transcript."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from learning_memory_server.advice import constants
from learning_memory_server.advice.asking.transcript import Turn
from learning_memory_server.advice.asking.words import concedes, dissents, own_words
from learning_memory_server.model import limits
from learning_memory_server.model.lines import one_line, shortened


class SignKind(StrEnum):
    """The kinds of signs that a belief was wrong."""

    REFUSED = "refused"  # The person refused a call, and gave a reason
    INTERRUPTED = "interrupted"  # The person stopped the agent, and wrote why
    CONCEDED = "conceded"  # The person objected, and the agent agreed
    WORKED = "worked"  # A program failed several times, then worked

    @property
    def is_of_person(self) -> bool:
        """Whether the sign comes from a person's words."""
        return self in {SignKind.REFUSED, SignKind.INTERRUPTED, SignKind.CONCEDED}


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign of a wrong belief. `quote` is one line: the person's words, or the program."""

    kind: SignKind
    quote: str


@dataclass(slots=True)
class Signs:
    """The signs in one session so far."""

    is_asked: bool = False  # whether the session has had its question
    waiting: Sign | None = None  # for the next quiet moment
    message: str = ""  # the person's last one
    objection: str = ""  # the person's words, redacted, that the agent was asked about in this turn
    may_object: bool = False  # whether the transcript may have an objection that was not looked for yet
    unanswered: set[str] = field(default_factory=set)  # ids of calls without a result, which a person may have refused
    failures: Counter[str] = field(default_factory=Counter)  # by program, since its last success

    def ran(self, programs: frozenset[str], *, has_failed: bool) -> None:
        """Record the end of a command."""
        for each in programs:
            if has_failed:
                self.failures[each] += 1
            elif self.failures.pop(each, 0) >= constants.FAILED_BEFORE:
                self.see(Sign(SignKind.WORKED, each))

    def see(self, sign: Sign) -> None:
        """Keep a sign for the next question, unless a person's words are waiting already."""
        if not (self.waiting and self.waiting.kind.is_of_person):
            self.waiting = sign


def objection_in(turn: Turn) -> Sign | None:
    """Return the person's objection in a turn, None if there is none."""
    if words := own_words(turn.refusal):
        return Sign(SignKind.REFUSED, _line(words))
    words = own_words(turn.message)
    if turn.is_interruption and dissents(words):
        return Sign(SignKind.INTERRUPTED, _line(words))
    if words and concedes(turn.answer):
        return Sign(SignKind.CONCEDED, _line(words))
    return None


def _line(words: str) -> str:
    """Return words as a quotation of one line, without URLs."""
    plain = " ".join(word for word in words.split() if "://" not in word and not word.startswith("www."))
    return shortened(one_line(plain), limits.REFUSAL_WORDS_MAX)
