"""The scale of a model's cosines, so that one table of thresholds holds for every model.

A *closeness* is a cosine on the scale of the default model, with .088 for unrelated texts and 1 for equal ones. The
scale of another model is measured once, with 66 packed texts. The hashing backend has none.
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
_MOST: Final = 0.99  # A model that finds unrelated texts this close tells none apart
_UNRELATED: Final = 0.088

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Scale:
    """What a model's cosines mean."""

    unrelated: float  # its mean cosine of a question and a text about something else
    spread: float  # the usual standard deviation of one off-topic question's closeness to texts

    @property
    def stretch(self) -> float:
        """How much farther apart texts are than their closeness says."""
        return (1.0 - self.unrelated) / (1.0 - _UNRELATED)

    def closeness(self, cosine: float) -> float:
        """Return a cosine as it would be with the default model."""
        return 1.0 - (1.0 - cosine) / self.stretch


DEFAULT_SCALE: Final = Scale(_UNRELATED, spread=0.065)
_KNOWN: Final = {("all-MiniLM-L6-v2", 384): DEFAULT_SCALE}  # By the last part of a model's name and the vectors' length


class ModelScale:
    """The scale of the model in use, which a file keeps by the digest of the model's identity.

    Attributes:
        known: The scale; None until it is known.
        failure: The reason why the last attempt to measure it failed; empty if none did.
    """

    def __init__(self, embeddings: EmbeddingService, file: Path | None) -> None:
        self.known: Scale | None = None
        self.failure = ""
        self._embeddings = embeddings
        self._file = file

    @property
    def scale(self) -> Scale:
        """The scale, or the default model's until it is known."""
        return self.known or DEFAULT_SCALE

    def look_up(self, identity: EmbeddingIdentity) -> None:
        """Find what is known of a model without running it."""
        self.known = known_scale(identity, self._file)

    async def ensure(self) -> None:
        """Measure the scale if it is not known. Best effort: a failure is named, and the next call tries again."""
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
            # It holds for this process, and the next one measures it again.
            log.warning("scale.not_kept", type=type(error).__name__)


def known_scale(identity: EmbeddingIdentity, file: Path | None) -> Scale | None:
    """Return the scale of a model: the default one's, or what the file has of it."""
    if known := _KNOWN.get((identity.model.rsplit("/", 1)[-1], identity.dimension)):
        return known
    try:
        kept = read_object(file)[identity.digest] if file else {}
        return Scale(float(kept["unrelated"]), float(kept["spread"]))
    except (KeyError, TypeError, ValueError):
        return None


async def measured(embeddings: EmbeddingService) -> Scale:
    """Measure a model's scale, or raise `EmbeddingUnavailableError` if it does not tell texts apart."""
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
