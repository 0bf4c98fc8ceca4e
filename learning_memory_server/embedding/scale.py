"""The scale of a model's cosines, so that the same thresholds apply to every model.

A *closeness* is a cosine on the scale of the default model: .088 for unrelated texts and 1 for equal texts. The scale
of another model is measured once, with 66 packed texts. The hashing backend has none.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.embedding.graph import read_object
from learning_memory_server.errors import EmbeddingUnavailableError
from learning_memory_server.system import files, timeouts

if TYPE_CHECKING:
    from learning_memory_server.embedding.base import EmbeddingIdentity
    from learning_memory_server.embedding.service import EmbeddingService

_PACKED: Final = Path(__file__).with_name("scale-texts.json")
_MOST: Final = 0.99  # A model with such a cosine for unrelated texts cannot distinguish texts
_UNRELATED: Final = 0.088

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Scale:
    """The meaning of a model's cosines."""

    unrelated: float  # the mean cosine of a question and an unrelated text
    spread: float  # the usual standard deviation of an off-topic question's closeness to texts

    @property
    def stretch(self) -> float:
        """The ratio of the model's own distances, 1 - cosine, to distances on the default model's scale."""
        return (1.0 - self.unrelated) / (1.0 - _UNRELATED)

    def closeness(self, cosine: float) -> float:
        """Convert a cosine to the default model's scale."""
        return 1.0 - (1.0 - cosine) / self.stretch


DEFAULT_SCALE: Final = Scale(_UNRELATED, spread=0.065)
_KNOWN: Final = {("all-MiniLM-L6-v2", 384): DEFAULT_SCALE}  # By the last part of a model's name and the vector length


class ModelScale:
    """The scale of the current model, cached in a file by the digest of the model's identity.

    Attributes:
        known: The scale, None if unknown.
        failure: The reason why the last measurement failed; empty otherwise.
    """

    def __init__(self, embeddings: EmbeddingService, file: Path | None) -> None:
        self.known: Scale | None = None
        self.failure = ""
        self._embeddings = embeddings
        self._file = file

    @property
    def scale(self) -> Scale:
        """The scale, or the default model's if unknown."""
        return self.known or DEFAULT_SCALE

    def look_up(self, identity: EmbeddingIdentity) -> None:
        """Look up a model's scale without running the model."""
        self.known = known_scale(identity, self._file)

    async def ensure(self) -> None:
        """Measure the scale if unknown. A failure is recorded, and the next call tries again."""
        if self.known or self._embeddings.runtime == "hashing":
            return
        try:
            identity = await self._embeddings.identity()
            async with asyncio.timeout(timeouts.SCALE):
                self.known = await measured(self._embeddings)
            self.failure = ""
            if self._file:
                kept = read_object(self._file) | {identity.digest: {"model": identity.model, **asdict(self.known)}}
                files.replace(self._file, json.dumps(kept, indent=1).encode())
        except (EmbeddingUnavailableError, TimeoutError) as error:
            self.failure = str(error) or f"It took longer than {timeouts.SCALE:g} seconds."
            log.warning("scale.not_measured", reason=self.failure)
        except OSError as error:
            # This process has the scale, and the next one measures it again.
            log.warning("scale.not_kept", type=type(error).__name__)


def known_scale(identity: EmbeddingIdentity, file: Path | None) -> Scale | None:
    """Return the scale of a model if it is the default model or in the file, otherwise None."""
    if known := _KNOWN.get((identity.model.rsplit("/", 1)[-1], identity.dimension)):
        return known
    try:
        kept = read_object(file)[identity.digest] if file else {}
        return Scale(float(kept["unrelated"]), float(kept["spread"]))
    except (KeyError, TypeError, ValueError):
        return None


async def measured(embeddings: EmbeddingService) -> Scale:
    """Measure a model's scale. Raises `EmbeddingUnavailableError` if the model cannot distinguish texts."""
    import numpy as np

    packed = json.loads(_PACKED.read_bytes())
    texts = await embeddings.embed_documents([text for _, text in packed["texts"]])
    asked = [*(text for _, text in packed["questions"]), *packed["off_topic"]]
    cosines = np.array([await embeddings.embed_query(text) for text in asked]) @ texts.T
    count = len(packed["questions"])
    others = np.array([[topic != other for other, _ in packed["texts"]] for topic, _ in packed["questions"]])
    unrelated, spread = float(cosines[:count][others].mean()), float(cosines[count:].std(axis=1).mean())
    # NaN compares as false.
    if not (unrelated < _MOST and spread > 0):
        raise EmbeddingUnavailableError("The embedding model does not tell texts apart.")
    return Scale(unrelated, spread / Scale(unrelated, spread).stretch)
