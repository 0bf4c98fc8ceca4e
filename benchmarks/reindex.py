"""Compare a reindex with the model alone: what the journal, the engine and the swap cost on top.

Every round embeds the same texts with the model alone and then through `reindex`; medians are compared.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.population import make_entry
from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.index.document import Collection, documents_of
from learning_memory_server.server.composition.services import open_services
from learning_memory_server.server.settings import load_settings

GOAL = 0.8
"""The minimum ratio of a reindex's throughput to the model's."""


async def measure(storage: Path, count: int, rounds: int) -> dict[str, Any]:
    """Return the seconds of every round, for the texts of `count` entries."""
    embedder = load_packaged()
    generator = random.Random(1)
    entries = [make_entry(number, generator) for number in range(count)]
    documents = [document for entry in entries for document in documents_of(entry)]
    texts = [text for document in documents for text in (document.text, *document.parts)]
    settings = load_settings({"LEARNING_MEMORY_STORAGE_PATH": str(storage)})
    alone, reindexed = [], []
    async with open_services(settings, purpose="a benchmark", load=lambda: embedder) as services:
        services.collector.add_resolved(entries)
        await services.writer.complete()
        for _ in range(rounds):
            began = time.perf_counter()
            await asyncio.to_thread(embedder.embed_documents, texts)
            alone.append(time.perf_counter() - began)
            began = time.perf_counter()
            await services.writer.rebuild(list(Collection), lambda _done, _total: None)
            reindexed.append(time.perf_counter() - began)
    return {"texts": len(texts), "alone": alone, "reindexed": reindexed}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as storage:
        figures = asyncio.run(measure(Path(storage), options.entries, options.rounds))
    alone, reindexed = (statistics.median(figures[name]) for name in ("alone", "reindexed"))
    ratio = alone / reindexed
    for name, seconds in (("the model alone", alone), ("reindex", reindexed)):
        print(f"{name:16} {figures['texts'] / seconds:8.0f} texts/s {options.entries / seconds:8.0f} entries/s")
    print(f"reindex / the model alone: {ratio:.2f}, at least {GOAL}: {'yes' if ratio >= GOAL else 'NO'}")
    if options.json:
        print(json.dumps({"entries": options.entries, "ratio": round(ratio, 3), **figures}))


if __name__ == "__main__":
    main()
