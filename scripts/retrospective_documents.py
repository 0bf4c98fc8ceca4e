"""The JSON documents of `retrospective`."""

from typing import NotRequired

from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12


class CameAgain(TypedDict):
    """An entry whose lesson had been shown before its agent said that a later entry is the same."""

    id: str
    goal: str
    lesson: str
    again_in: list[str]


class Correction(TypedDict):
    """An entry with the words of the person who contradicted its agent."""

    id: str
    at: str
    words: str
    goal: str


class Breach(TypedDict):
    """A rule that was broken, or of which an agent was reminded, in one session."""

    rule: str
    text: str
    at: str
    session: str
    reminded: int
    broken: int
    call: str


class RecentDocument(TypedDict):
    """Corrections, breaches and repetitions since the last retrospective; `since` is null if there was none."""

    since: str | None
    came_again: list[CameAgain]
    corrections: list[Correction]
    breaches: list[Breach]


class MomentFacts(TypedDict):
    """A moment at which a person contradicted an agent: how it was seen, and the beginning of the agent's answer."""

    id: str
    day: str
    session: str
    sign: str
    words: str
    answer: NotRequired[str]


class MomentsDocument(TypedDict):
    """One of so many `pages` of the moments of past sessions; `total` counts all."""

    moments: list[MomentFacts]
    page: int
    pages: int
    total: int


class KeptDocument(TypedDict):
    """The ids of the sentences that were kept, of `total` in the file; the others were known."""

    kept: list[str]
    total: int
