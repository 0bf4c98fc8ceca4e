"""Entries as replies show them: only the fields named here, absent ones left out; and the parts of their scores."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from learning_memory_server.index.document import axis_text
from learning_memory_server.index.queries import ExperienceQuery, FoundExperience, LeftOut
from learning_memory_server.index.ranking.fusion import LEXICAL_WEIGHT, RERANKED_WEIGHT, Explanation
from learning_memory_server.journal.kinds import without_empty
from learning_memory_server.model import limits
from learning_memory_server.model.entry import Ghap, Revision
from learning_memory_server.model.lines import preview
from learning_memory_server.model.vocabulary import SearchMode
from learning_memory_server.server.views import fields

_IN_SHORT: Final = (
    *("id", "score", "goal", "outcome_status", "learned", "confidence_tier"),
    *("domain", "strategy", "project", "created_at", "shared", "imported", "afterwards", "same_as"),
)


class RootCauseView(TypedDict):
    """Why a hypothesis was wrong."""

    category: str
    description: str


class LessonView(TypedDict):
    """The part worth doing again."""

    what_worked: NotRequired[str]
    takeaway: NotRequired[str]


class EntryKey(TypedDict):
    """Enough of an open entry to recognise it."""

    id: str
    goal: str
    created_at: str
    owner: NotRequired[str]


class OpenEntry(TypedDict, total=False):
    """A whole open entry."""

    id: str
    project: str
    created_at: str
    domain: str
    strategy: str
    goal: str
    hypothesis: str
    action: str
    prediction: str
    confidence: float
    first_confidence: float
    history: list[dict[str, Any]]
    notes: list[str]
    runs: list[str]
    iteration_count: int


class Summary(TypedDict):
    """A resolved entry in a list."""

    id: str
    goal: str
    domain: NotRequired[str]
    strategy: NotRequired[str]
    outcome_status: str
    confidence_tier: str
    iteration_count: int
    created_at: str
    resolved_at: str
    project: str
    afterwards: NotRequired[bool]
    same_as: NotRequired[str]
    freshness: NotRequired[str]
    superseded_by: NotRequired[str]


class Experience(TypedDict, total=False):
    """A whole resolved entry; only search results have a `score`.

    `freshness`: what became of the files that it is about, if they are not as they were. `superseded_by`: the later
    entry that it misled. `afterwards`: it was written when the outcome was known. `same_as`: the entry with the same
    belief, as its agent says.
    """

    id: str
    score: float
    goal: str
    hypothesis: str
    action: str
    prediction: str
    outcome_status: str
    outcome_result: str
    surprise: str
    root_cause: RootCauseView
    lesson: LessonView
    confidence_tier: str
    domain: str
    strategy: str
    project: str
    created_at: str
    shared: str
    imported: bool
    freshness: str
    superseded_by: str
    afterwards: bool
    same_as: str
    left_out: dict[str, str]


class WholeEntry(Experience, OpenEntry, total=False):
    """Everything about an entry; an open one has no outcome. `files`: what it is about. `errors`: what commands met.

    `words`: of the person who contradicted its agent.
    """

    resolved_at: str
    words: str
    files: list[str]
    errors: list[str]
    cited: list[dict[str, str]]


class Member(Experience, total=False):
    """An experience of a cluster. `ghap_id` is its `id`, under the name that other tools take it by."""

    ghap_id: str


class Paged(TypedDict):
    """The counts of every listing: `total` and `offset` if more items follow, `truncated` if the reply was cut short.

    `stored_text` says what the texts of the items are.
    """

    count: int
    total: NotRequired[int]
    offset: NotRequired[int]
    truncated: NotRequired[bool]
    stored_text: NotRequired[str]


def open_entry(entry: Ghap) -> dict[str, Any]:
    """Return an `OpenEntry`: nothing that only the journal needs, such as the session it belongs to."""
    history = [without_empty(fields(Revision, revision)) for revision in entry.history]
    return without_empty(fields(OpenEntry, entry, history=history, runs=[str(run) for run in entry.runs]))


def summary(entry: Ghap) -> dict[str, Any]:
    """Return a resolved entry as a list shows it."""
    outcome = entry.outcome
    return without_empty(
        fields(
            Summary,
            entry,
            outcome,
            outcome_status=outcome.status,
            confidence_tier=entry.tier,
            afterwards=entry.afterwards or None,
            same_as=entry.repeats,
        )
    )


def experience(entry: Ghap, score: float | None = None) -> dict[str, Any]:
    """Return a whole resolved entry."""
    outcome, cause, lesson = entry.outcome, entry.outcome.root_cause, entry.outcome.lesson
    return without_empty(
        fields(
            Experience,
            entry,
            outcome,
            score=None if score is None else round(score, 4),
            outcome_status=outcome.status,
            outcome_result=outcome.result,
            root_cause=cause and fields(RootCauseView, cause),
            lesson=lesson and without_empty(fields(LessonView, lesson)),
            confidence_tier=entry.tier,
            imported=entry.imported or None,
            afterwards=entry.afterwards or None,
            same_as=entry.repeats,
        )
    )


def short_experience(entry: Ghap, score: float) -> dict[str, Any]:
    """Return what tells whether a resolved entry is worth reading, with shortened texts."""
    shown = experience(entry, score) | {
        "goal": preview(entry.goal, limits.SHORT_ENTRY_MAX),
        "learned": preview(entry.learned, limits.SHORT_ENTRY_MAX) or None,
    }
    return without_empty({name: shown.get(name) for name in _IN_SHORT})


def whole_entry(entry: Ghap) -> dict[str, Any]:
    """Return a `WholeEntry`, open or resolved."""
    shown = open_entry(entry)
    if entry.resolution is None:
        return shown
    cited = [{"id": each.id, "effect": each.effect.value} for each in entry.resolution.cited]
    files, errors = [anchor.file for anchor in entry.anchors], [each.line for each in entry.errors]
    return (
        shown
        | experience(entry)
        | without_empty(
            {
                "resolved_at": entry.resolution.resolved_at.isoformat(),
                "words": entry.resolution.words,
                "cited": cited,
                "files": files,
                "errors": errors,
            }
        )
    )


def member(entry: Ghap) -> dict[str, Any]:
    """Return a resolved entry as a `Member`."""
    shown = experience(entry)
    return {"id": shown.pop("id"), "ghap_id": entry.id, **shown}


_DIGITS: Final = 4


class ScoreParts(TypedDict, total=False):
    """Where a score comes from; what the search did not use is left out."""

    cosine: Annotated[float, Field(description="Of the nearest vector, as the default model would have it.")]
    weight: Annotated[float, Field(description="Of the cosine in this search, at most 0.45.")]
    axis: Annotated[str, Field(description="Whose vector that is.")]
    lexical: Annotated[float, Field(description="contrast * b^2/(b^2+20^2) for b = bm25; b/(b+10) in mode lexical.")]
    bm25: float
    contrast: Annotated[float, Field(description="How far the best bm25 stands out: 1 - 25th best / best.")]
    reranked: Annotated[float, Field(description="What the re-ranking model gave; absent if it read others.")]
    terms: Annotated[list[str], Field(description="Stems and names that query and text share.")]


class ScoredExperience(Experience, total=False):
    """An experience that was found, with the parts of its score if they were requested.

    `learned` is in shortened results only.
    """

    learned: str
    explanation: Annotated[
        ScoreParts,
        Field(
            description="score = weight * cosine + 0.55 lexical; in mode lexical, lexical; in mode reranked, "
            "0.99 reranked + 0.01 of the first."
        ),
    ]


def score_parts(explanation: Explanation) -> dict[str, Any]:
    """Return the parts that every search has, rounded."""
    has_terms = explanation.mode is not SearchMode.SEMANTIC
    parts = {
        "cosine": explanation.similarity,
        "weight": None if explanation.closeness is None else explanation.basis.weight,
        "lexical": explanation.lexical if has_terms else None,
        "bm25": explanation.bm25 if has_terms else None,
        "contrast": explanation.basis.contrast if has_terms and explanation.closeness is not None else None,
        "reranked": explanation.reranked,
    }
    return {name: round(value, _DIGITS) for name, value in parts.items() if value is not None}


def left_out_note(left_out: LeftOut | None, argument: str = "min_score") -> str | None:
    """Return a sentence about the results that were left out for their scores, None if none were.

    With 0, the `argument` shows them.
    """
    if left_out is None:
        return None
    count = "1 weak match was" if left_out.count == 1 else f"{left_out.count} weak matches were"
    return f"{count} left out, with scores up to {left_out.best:.3f}: {argument} 0 shows them."


def scored_experience(
    found: FoundExperience, query: ExperienceQuery, *, explain: bool, is_short: bool = False
) -> dict[str, Any]:
    """Return a result of a query as a `ScoredExperience`, shortened if wanted."""
    view = short_experience if is_short else experience
    shown = view(found.entry, found.score)
    if explain:
        from learning_memory_server.index.ranking.terms import shared_terms  # Compiles what a listing does not need

        terms = shared_terms(query.text, axis_text(found.entry, query.axis))
        shown["explanation"] = score_parts(found.explanation) | without_empty(
            {"axis": found.axis, "terms": terms or None}
        )
    return shown


def formula(parts: Mapping[str, Any], mode: str) -> str:
    """Return how a score is computed from its parts.

    Such as `0.41 x cosine 0.8123 + 0.55 x lexical 0.3194 (bm25 13.7, contrast 1.0)`.
    """
    contrast = f", contrast {parts['contrast']}" if "contrast" in parts else ""
    lexical = f"lexical {parts['lexical']} (bm25 {parts['bm25']}{contrast})" if "lexical" in parts else ""
    if "cosine" not in parts:
        return lexical
    fused = f"{parts['weight']:g} x cosine {parts['cosine']}"
    if lexical:
        fused += f" + {LEXICAL_WEIGHT:g} x {lexical}"
    if mode != SearchMode.RERANKED:
        return fused
    rest = f"{1 - RERANKED_WEIGHT:g} x ({fused})"
    return f"{RERANKED_WEIGHT:g} x re-ranked {parts['reranked']} + {rest}" if "reranked" in parts else rest
