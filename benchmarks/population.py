"""Build a store of any size in seconds: real texts and entries, with vectors scattered around real embeddings.

Embedding 10,000 entries on four axes takes a quarter of an hour, and these benchmarks do not depend on the exact
vectors. So each theme's text is embedded once, and its entries get that vector plus noise.
"""

import random
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.ranking import Wrapped
from learning_memory_server.embedding.base import PROBE, Embedder
from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.index.document import in_batches
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Ghap, Lesson, Resolution, RootCause
from learning_memory_server.model.vocabulary import Domain, OutcomeStatus, RootCauseCategory, Strategy
from learning_memory_server.server.composition.services import Services, open_services
from learning_memory_server.server.settings import Settings, load_settings

ENTRY = {
    "domain": "debugging",
    "strategy": "check-assumptions",
    "goal": "Know what a call costs",
    "hypothesis": "The time of a call hardly depends on how much is stored, or on who else calls",
    "action": "Measure every call at several sizes",
    "prediction": "The columns are close to each other",
}
"""The arguments of a start_ghap call."""
_COMPONENTS = (
    "login test",
    "payment webhook",
    "search index",
    "nightly import",
    "image upload",
    "session cache",
    "mobile layout",
    "report export",
)
_FAULTS = (
    "fails now and then because two workers share a file",
    "is slow because it runs one query for each row",
    "shows old data because the cache key lacks the user's language",
    "crashes on dates because the server's time zone is not UTC",
    "works on a laptop and not in CI because a variable is missing",
)
_NOISE = 0.6
"""The length of the noise added to a theme's unit vector."""
_BATCH = 2_000
_START = datetime(2026, 1, 1, tzinfo=UTC)


def themes() -> list[str]:
    """Return the sentences that entries are about."""
    return [f"The {component} {fault}" for component in _COMPONENTS for fault in _FAULTS]


def make_entry(number: int, generator: random.Random) -> Ghap:
    """Return a resolved entry about one of the themes."""
    theme = themes()[number % len(themes())]
    falsified = generator.random() < 0.5
    created = _START + timedelta(minutes=7 * number)
    return Ghap(
        id=f"ghap_{created:%Y%m%d_%H%M%S}_{number:06x}",
        project=f"project-{number % 5}",
        agent_session="0123456789abcdef",
        created_at=created,
        domain=generator.choice(list(Domain)),
        strategy=generator.choice(list(Strategy)),
        goal=f"Find out why it happens, case {number}",
        hypothesis=theme,
        action=f"Change one thing at a time and watch, attempt {generator.randint(1, 9)}",
        prediction="After the change it does not happen in a hundred runs",
        resolution=Resolution(
            status=OutcomeStatus.FALSIFIED if falsified else OutcomeStatus.CONFIRMED,
            result="It still happened, as often as before" if falsified else "It did not happen again",
            resolved_at=created + timedelta(minutes=5),
            surprise=f"{theme}, and also without any load" if falsified else None,
            root_cause=RootCause(generator.choice(list(RootCauseCategory)), theme) if falsified else None,
            lesson=Lesson("Reading the log from the first error on", f"When {theme}, look at its inputs"),
        ),
    )


class ScatteringEmbedder(Wrapped):
    """A fast embedder: a theme's texts get vectors around the model's vector for one of them.

    Args:
        inner: The model, which also embeds queries and provides the identity.
    """

    def __init__(self, inner: Embedder) -> None:
        super().__init__(inner)
        self._centres: dict[str, NDArray[np.float32]] = {}
        self._noise = np.random.default_rng(7)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), dimension)."""
        if list(texts) == [PROBE]:
            return self._inner.embed_documents(texts)
        return np.array([self._scattered(text) for text in texts], dtype=np.float32)

    def _scattered(self, text: str) -> NDArray[np.float32]:
        about = next((theme for theme in themes() if theme in text), text.partition("\n")[0])
        if about not in self._centres:
            self._centres[about] = self._inner.embed_documents([text])[0]
        scatter = self._noise.standard_normal(self.identity.dimension)
        vector = self._centres[about] + _NOISE * scatter / np.linalg.norm(scatter)
        unit: NDArray[np.float32] = vector / np.linalg.norm(vector)
        return unit


@asynccontextmanager
async def completed(entries: Sequence[Ghap], load: Callable[[], Embedder] = load_packaged) -> AsyncIterator[Services]:
    """Open services in a temporary folder, with resolved entries that the index has."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(storage_path=Path(folder))
        async with open_services(settings, purpose="a benchmark", load=load) as services:
            services.collector.add_resolved(list(entries))
            await services.writer.complete()
            yield services


async def populate(
    storage: Path,
    count: int,
    embedder: Embedder,
    change: Callable[[Ghap], Ghap] = lambda entry: entry,
    texts: Sequence[str] = (),
) -> None:
    """Fill an empty storage folder with `count` resolved entries, each changed as wanted, and memories; index them."""
    generator = random.Random(count)
    settings = load_settings({"LEARNING_MEMORY_STORAGE_PATH": str(storage)})
    scattering = ScatteringEmbedder(embedder)
    async with open_services(settings, purpose="a benchmark", load=lambda: scattering) as services:
        services.collector.add_resolved([change(make_entry(number, generator)) for number in range(count)])
        await services.index.open()
        # In large batches: the writer's are small, for the sake of others.
        async for batch in in_batches(services.collector.documents(), _BATCH):
            await services.index.write(batch)
        await services.writer.complete()
        for text in texts:
            await services.memories.add(Caller("benchmark", "0123456789abcdef"), text, {})
