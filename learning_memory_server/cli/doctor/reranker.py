"""Check of the re-ranking model, if one is set: whether it works, and is fast enough on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic
from typing import TYPE_CHECKING, Final

from learning_memory_server.cli.doctor.finding import green, yellow
from learning_memory_server.embedding.source import find_reranker
from learning_memory_server.errors import LearningMemoryError

if TYPE_CHECKING:
    from learning_memory_server.cli.doctor.finding import Finding

_TOPIC: Final = "re-ranker"
_KEPT: Final = "Searches work, but their results are not re-ranked."
_QUERY: Final = "why do requests wait for a connection while the pool is not full"
_TEXT: Final = (
    "Stop the checkout from timing out. The database pool runs dry under load, so requests wait for a connection. "
    "Raise the size of the pool, and measure at every hop. The requests waited as before, because the load balancer "
    "in front of the service had queued them: look there first, and at the pool only after that. Attempt "
)
"""About as long as the text of an experience."""


def check_reranker(model: str, *, quick: bool) -> Iterator[Finding]:
    """Check the model's files, load it, and time it on as much text as a search gives it.

    Args:
        model: The model.
        quick: Do not load it.
    """
    try:
        folder = find_reranker(model)
    except LearningMemoryError as error:
        yield yellow(_TOPIC, f"{error.sentence} {_KEPT}")
        return
    yield green(_TOPIC, f"{model}, in {folder}.")
    yield green(_TOPIC, "Not loaded (--quick).") if quick else _probe(model)


def _probe(model: str) -> Finding:
    from learning_memory_server.index.ranking.fusion import RERANKED  # noqa: PLC0415
    from learning_memory_server.recall.memories import DEADLINE  # noqa: PLC0415
    from learning_memory_server.recall.reranking import SECONDS  # noqa: PLC0415
    from learning_memory_server.server.composition.backends import load_reranker  # noqa: PLC0415 - half a second

    try:
        reranker = load_reranker(model)
        texts = [f"{_TEXT}{number}." for number in range(RERANKED)]
        # A model's first run is slower than all others.
        reranker.scores(_QUERY, texts[:1])
        began = monotonic()
        reranker.scores(_QUERY, texts)
        seconds = monotonic() - began
    except LearningMemoryError as error:
        cause = f" ({error.__cause__})" if error.__cause__ else ""
        return yellow(_TOPIC, " ".join(filter(None, (error.message + cause, error.hint, _KEPT))))
    except Exception as error:  # noqa: BLE001 - a library may fail in any way on a model that it could load
        return yellow(
            _TOPIC, f"It loads, but fails to score texts ({type(error).__name__}: {error}). {_KEPT}"
        )
    sentence = f"It re-ranks the best {RERANKED} results of a search in {seconds:.2f} s."
    if seconds >= SECONDS:
        return yellow(_TOPIC, f"{sentence} That is too slow. {_KEPT} Choose a smaller model.")
    if seconds >= DEADLINE:
        return yellow(
            _TOPIC,
            f"{sentence} That is too slow for search_memory, which has a second: its results are not re-ranked. "
            "A smaller model may be fast enough.",
        )
    return green(_TOPIC, sentence)
