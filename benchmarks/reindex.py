"""Compare a reindex with the model alone: what the journal, the engine and the swap cost on top.

Every round embeds the same texts with the model alone and then through `reindex`; medians are compared.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import time
from typing import Any

from benchmarks.measuring import options_of
from benchmarks.population import completed, make_entry
from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.index.document import Collection, documents_of

GOAL = 0.8
"""The minimum ratio of a reindex's throughput to the model's."""


async def measure(count: int, rounds: int) -> dict[str, Any]:
    """Return the seconds of every round, for the texts of `count` entries."""
    embedder = load_packaged()
    generator = random.Random(1)
    entries = [make_entry(number, generator) for number in range(count)]
    documents = [document for entry in entries for document in documents_of(entry)]
    texts = [text for document in documents for text in (document.text, *document.parts)]
    alone, reindexed = [], []
    async with completed(entries, load=lambda: embedder) as services:
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
    options = options_of(__doc__, entries=500, rounds=3)
    figures = asyncio.run(measure(options.entries, options.rounds))
    alone, reindexed = (statistics.median(figures[name]) for name in ("alone", "reindexed"))
    ratio = alone / reindexed
    for name, seconds in (("the model alone", alone), ("reindex", reindexed)):
        print(f"{name:16} {figures['texts'] / seconds:8.0f} texts/s {options.entries / seconds:8.0f} entries/s")
    print(f"reindex / the model alone: {ratio:.2f}, at least {GOAL}: {'yes' if ratio >= GOAL else 'NO'}")
    if options.json:
        print(json.dumps({"entries": options.entries, "ratio": round(ratio, 3), **figures}))


if __name__ == "__main__":
    main()
