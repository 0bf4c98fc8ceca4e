"""Parse a person's sentence: bans, their conditions, and alternatives."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from learning_memory_server.rules.forms import phrases

_MARKS: Final = re.compile(r"^(?:[-*+•>]\s+|\d+[.)]\s+|\[[ xX]\]\s+|[^\w`\"'(#|*_~/.\-]+)+")
_EMPHASIS: Final = re.compile(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=[\w.!])[*_](?!\w)")
_HIDDEN: Final = re.compile(r"`[^`]*`|\"[^\"]*\"|\((?:[^()`]|`[^`]*`)*\)")
_FULL_STOPS: Final = re.compile(
    r"(?:(?<=\S)[.!?]{1,3}(?=[\s)]|$)|[;\u3002\uff1b\uff01]| {1,2}[-\u2013\u2014]{1,2} {1,2}|—|(?<![bB][yY]):(?=\s|$)|\uff1a|→) {0,2}"
)
_COMMAS: Final = re.compile(
    rf"[,\uff0c] {{0,2}}(?=(?:{phrases.STARTS})\b)| {{1,2}}(?:and|but) (?=(?:never|always|don't|do not|must not)\b)",
    re.IGNORECASE,
)

_ASIDE: Final = re.compile(r" ?\((?:[^()`]|`[^`]*`)*+\)")
_BANNING_ASIDE: Final = re.compile(r" ?\(((?:never|not|no|do not|don't) (?:[^()`]|`[^`]*`)*+)\)", re.IGNORECASE)

_LEAD: Final = rf"^(?:(?:{phrases.LEADS})[\s,]+)*"
_NEVER: Final = re.compile(rf"{_LEAD}(?:{phrases.NEVER})\s+(?:even |be allowed to )?(?P<what>.+)$", re.IGNORECASE)
_NO: Final = re.compile(rf"{_LEAD}(?:no|not|without)\s+(?!(?:{phrases.NOT_A_NO})\b)(?P<what>.+)$", re.IGNORECASE)
_OUTLAWED: Final = re.compile(
    rf"^(?P<what>.{{1,80}}?)\s+(?:is|are)\s+(?:{phrases.ADVERBS} )*(?:{phrases.OUTLAWED})\b(?P<rest>.*)$", re.IGNORECASE
)
_PASSIVE: Final = re.compile(
    r"^(?P<what>.{1,80}?)\s+(?:must|should|shall|may|can|are to|is to)\s*(?:never|not)\s+(?:ever )?(?P<verb>.+)$",
    re.IGNORECASE,
)
_ONLY: Final = re.compile(
    rf"{_LEAD}(?:only (?P<first>.+?)|(?P<second>.+?) only)\s+(?:if|when|after|on|upon|with|once)\s+(?P<why>.+)$",
    re.IGNORECASE,
)
_ASK_BEFORE: Final = re.compile(
    rf"{_LEAD}(?:always |must |first )*(?P<why>(?:ask|get|wait for|request|obtain|seek)\b.*?)\s(?:before|prior to)\s+(?:you |ever )?(?P<first>.+)$",
    re.IGNORECASE,
)
_BEFORE_ASK: Final = re.compile(
    rf"{_LEAD}before (?:you )?(?P<first>[^,]+),\s*(?:please |always )*(?P<why>(?:ask|get|wait)\b.*)$", re.IGNORECASE
)
_ASKED: Final = (_ONLY, _ASK_BEFORE, _BEFORE_ASK)
_CONDITION: Final = re.compile(rf"(?:^|(?<=[\s,(]))(?P<all>(?:only )?\b(?:{phrases.CONDITIONS})\b.*)$", re.IGNORECASE)
_CONDITIONAL: Final = re.compile(
    rf"^(?:and |but |or )*(?:(?:{phrases.CONDITIONS})|on|in|for|once|as long as)\b", re.IGNORECASE
)
_EXCEPTION: Final = re.compile(phrases.EXCEPTIONS, re.IGNORECASE)
_EVEN: Final = re.compile(r",? ?\b(?:not )?even (?:if|when|for|on|in|a|though)\b.*$", re.IGNORECASE)
_FRAME: Final = re.compile(phrases.FRAME, re.IGNORECASE)
_FRAMED: Final = re.compile(rf"^(?:{phrases.FRAME})$", re.IGNORECASE)
_PERSON: Final = re.compile(phrases.PERSON, re.IGNORECASE)
_SEEN_ELSEWHERE: Final = re.compile(phrases.SEEN_ELSEWHERE, re.IGNORECASE)
_ALONE: Final = re.compile(phrases.ALONE, re.IGNORECASE)
_FILLERS: Final = re.compile(rf"(?<![\w-])(?:{phrases.FILLERS})(?![\w-])", re.IGNORECASE)
_REASON: Final = re.compile(rf"(?<=[\s,(])(?:{phrases.REASONS})\b.*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Ban:
    """A thing that a sentence forbids, either always or unless the person asks."""

    what: str  # in the original words
    core: str  # without reasons and filler words
    is_asked: bool = False

    @property
    def bare(self) -> str:
        """The core without parentheses."""
        return _ASIDE.sub("", self.core).strip()


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence without Markdown marks."""

    text: str
    parts: tuple[tuple[str, ...], ...]  # the parts between full stops, dashes and colons, each as its clauses

    @property
    def clauses(self) -> Iterator[str]:
        """All clauses."""
        for part in self.parts:
            yield from part

    def bans(self, but: str = "") -> Iterator[Ban]:
        """Yield the bans in the sentence; none if it has an exception that does not match the expression `but`."""
        if any(not re.search(but, each, re.IGNORECASE) if but else True for each in self.exceptions()):
            return
        for part in self.parts:
            whole = _EVEN.sub("", ", ".join(part))
            found = next((each for text in (whole, *part) for form in _ASKED if (each := form.match(text))), None)
            if found and is_of_person(found["why"]):
                yield _ban(next(filter(None, (found["first"], found.groupdict().get("second")))), is_asked=True)
            else:
                yield from (
                    ban for at, each in enumerate(part) if not _is_open_at(part, at) and (ban := self._of_clause(each))
                )

    def _of_clause(self, clause: str) -> Ban | None:
        what = banned(_EVEN.sub("", clause))
        if not what:
            return None
        framed = _FRAME.sub(" ", what)
        condition = _CONDITION.search(framed)
        if condition and not is_of_person(condition["all"]):
            return None
        return _ban(what, is_asked=bool(condition) or self._is_asked_elsewhere() or bool(_ALONE.search(what)))

    def _is_asked_elsewhere(self) -> bool:
        return any(_EXCEPTION.match(each) and is_of_person(each) for each in self.clauses)

    def exceptions(self) -> Iterator[str]:
        """Yield the parts with an exception, other than the person's permission."""
        for part in self.parts:
            whole = _EVEN.sub("", ", ".join(part))
            if _EXCEPTION.search(whole) and not is_of_person(whole):
                yield whole


def _ban(what: str, *, is_asked: bool) -> Ban:
    core = _FRAME.sub(" ", _REASON.sub("", f" {what}"))
    core = _CONDITION.sub("", core)
    core = _ALONE.sub(" ", core)
    return Ban(what, _plain(core), is_asked)


def _plain(core: str) -> str:
    """Return a text without parentheses and filler words outside of code."""
    pieces = re.split(r"(`[^`]*`)", core)
    text = "".join(each if each.startswith("`") else re.sub(r"\s+,", ",", _FILLERS.sub(" ", each)) for each in pieces)
    return re.sub(r"(?<=\S)[.!;:]+$", "", " ".join(text.split()).strip(" ,;:("))


def _is_open_at(part: tuple[str, ...], at: int) -> bool:
    """Whether another clause is a condition for this one. An "if" clause makes the following clauses conditional."""
    return any(_is_open(each) for place, each in enumerate(part) if place < at or place == len(part) - 1)


def _is_open(clause: str) -> bool:
    """Whether a clause is a condition that a pattern cannot express."""
    return bool(_CONDITIONAL.match(clause)) and not _FRAMED.match(clause) and not is_of_person(clause)


def is_of_person(condition: str) -> bool:
    """Whether a condition is the person's permission, and only that."""
    return bool(_PERSON.search(condition)) and not _SEEN_ELSEWHERE.search(condition)


def read_sentence(text: str) -> Sentence | None:
    """Parse a sentence. None for a heading, a table row or a question."""
    text = " ".join(text.replace("\u2019", "'").replace("\u00a0", " ").split())
    if not text or text[0] in "#|" or text.rstrip("*_ ").endswith(("?", "\uff1f")):
        return None
    text = _MARKS.sub("", _outside_code(_MARKS.sub("", text)).strip())
    for foreign, english in phrases.TRANSLATED:
        text = re.sub(foreign, english, text, flags=re.IGNORECASE)
    text = _BANNING_ASIDE.sub(r"; \1; ", text)
    parts = (
        tuple(clause for each in _split(part, _COMMAS) if (clause := each.strip(" ,")))
        for part in _split(text, _FULL_STOPS)
    )
    return Sentence(text, tuple(filter(None, parts)))


def _outside_code(text: str) -> str:
    return "".join(each if each.startswith("`") else _EMPHASIS.sub("", each) for each in re.split(r"(`[^`]*`)", text))


def _split(text: str, at: re.Pattern[str]) -> Iterator[str]:
    """Split a text at the matches of a pattern outside code, quotes and parentheses."""
    hidden, start = [each.span() for each in _HIDDEN.finditer(text)], 0
    for found in at.finditer(text):
        if not any(begin < found.end() and found.start() < end for begin, end in hidden):
            yield text[start : found.start()]
            start = found.end()
    yield text[start:]


def banned(clause: str) -> str:
    """Return the text that a clause forbids, empty if there is none."""
    if found := _NEVER.match(clause) or _NO.match(clause):
        return str(found["what"]).strip()
    if found := _OUTLAWED.match(clause):
        return f"{found['what']}{found['rest']}".strip()
    if found := _PASSIVE.match(clause):
        return f"{found['verb']} {found['what']}".strip()
    return ""
