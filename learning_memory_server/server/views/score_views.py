"""The parts of a score as replies show them: the score can be computed from what is shown."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Field
from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

from learning_memory_server.index.document import axis_text
from learning_memory_server.index.queries import ExperienceQuery, FoundExperience, LeftOut
from learning_memory_server.index.ranking.fusion import LEXICAL_WEIGHT, RERANKED_WEIGHT, Explanation
from learning_memory_server.index.ranking.terms import shared_terms
from learning_memory_server.journal.codec import lean
from learning_memory_server.model.vocabulary import SearchMode
from learning_memory_server.server.views import entry_views

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


class ScoredExperience(entry_views.Experience, total=False):
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


def left_out_note(left_out: LeftOut | None) -> str | None:
    """Return a sentence about the results that were left out for their scores, None if none were."""
    if left_out is None:
        return None
    count = "1 weak match was" if left_out.count == 1 else f"{left_out.count} weak matches were"
    return f"{count} left out, with scores up to {left_out.best:.3f}: min_score 0 shows them."


def scored_experience(
    found: FoundExperience, query: ExperienceQuery, *, explain: bool, is_short: bool = False
) -> dict[str, Any]:
    """Return a result of a query as a `ScoredExperience`, shortened if wanted."""
    view = entry_views.short_experience if is_short else entry_views.experience
    shown = view(found.entry, found.score)
    if explain:
        terms = shared_terms(query.text, axis_text(found.entry, query.axis))
        shown["explanation"] = score_parts(found.explanation) | lean({"axis": found.axis, "terms": terms or None})
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
