"""Measure adding one long text: the hub's memory, the time, and how often the client gets progress.

Each size gets a fresh hub that has already embedded a text, so only the cost of the long text is counted. CPU time is
compared with embedding the same chunks, and nothing else, in one process in the same run. Linux only: process memory is
read from /proc.
"""

import json
import random
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count, pairwise
from pathlib import Path
from typing import Final

from benchmarks.hub import FRONT, Memory as HubMemory, memory
from benchmarks.measuring import Option, options_of, processor_seconds, resident, show
from benchmarks.stdio import StdioSession
from learning_memory_server.embedding.base import DEFAULT_MODEL
from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.embedding.source import model_folder
from learning_memory_server.embedding.tokens import ModelTokens
from learning_memory_server.index.memory_chunks import Chunker, documents_of
from learning_memory_server.model.memory import Memory
from learning_memory_server.model.moment import utc_now

EVERY: Final = 0.05
"""Seconds between two samples of the hub's memory."""
SAMPLE: Final = 1_000
"""Chunks embedded directly; for a longer text, they are spread over it."""
AT_ONCE: Final = 8
"""Chunks per batch, as in the hub."""
CHANGED: Final = 0.08
"""The share of words that are replaced each time a source is repeated."""
GOALS: Final = {"peak_extra_mib": 200, "cpu_ratio": 1.25, "longest_silence_seconds": 2}
"""The maximum of each metric; the last one assumes an idle machine."""


class Watch:
    """Samples a process's memory repeatedly, in a thread.

    Attributes:
        resident: Peak resident memory, in MiB.
        own: Peak resident memory without file pages, in MiB.
    """

    def __init__(self, process: int) -> None:
        self._process = process
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.resident = self.own = 0.0

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Sample while this context is open."""
        self._thread.start()
        try:
            yield
        finally:
            self._ended.set()
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(EVERY):
            with suppress(OSError):
                self.resident = max(self.resident, resident(self._process))
                self.own = max(self.own, resident(self._process, "RssAnon"))


def main() -> None:
    """Run the benchmark."""
    options = options_of(__doc__, megabytes=Option((0.1, 1.0), "up to 10"))
    report: dict[str, dict[str, float]] = {}
    for megabytes in sorted(options.megabytes):
        figures = measure(long_text(int(1e6 * megabytes)))
        report[f"{megabytes:g}"] = figures
        print(f"{megabytes:g} MB")
        show(figures, GOALS)
    if options.json:
        rounded = {
            size: {name: round(figure, 3) for name, figure in figures.items()} for size, figures in report.items()
        }
        print(json.dumps({"megabytes": rounded}))


def measure(text: str) -> dict[str, float]:
    """Return the cost of adding the text."""
    with served() as (made, session):
        hub = made.hub()
        assert hub is not None
        before = {"resident": resident(hub), "own": resident(hub, "RssAnon"), "cpu": sum(processor_seconds(hub))}
        heard = [time.monotonic()]
        watch = Watch(hub)
        with watch.looking():
            result = session.request(
                "tools/call",
                {"name": "add_memory", "arguments": {"text": text}, "_meta": {"progressToken": "1"}},
                lambda _: heard.append(time.monotonic()),
            )
        heard.append(time.monotonic())
        spent = sum(processor_seconds(hub)) - before["cpu"]
        said = result["content"][0]["text"]
        if result.get("isError") or "in the background" in said:
            raise RuntimeError(said)
        chunks = int(re.findall(r"Chunks created: (\d+)", said)[0])
    seconds = heard[-1] - heard[0]
    direct = directly(text)
    return {
        "chunks": chunks,
        "peak_extra_mib": watch.resident - before["resident"],
        "peak_extra_own_mib": watch.own - before["own"],
        "warm_hub_mib": before["resident"],
        "seconds": seconds,
        "chunks_per_second": chunks / seconds,
        "cpu_seconds": spent,
        "cpu_ratio": spent / (direct * chunks),
        "notifications": len(heard) - 2,
        "longest_silence_seconds": max(later - earlier for earlier, later in pairwise(heard)),
    }


@contextmanager
def served() -> Iterator[tuple[HubMemory, StdioSession]]:
    """Use an empty store, through a front whose hub has already embedded a text of long chunks."""
    with memory() as made:
        session = made.session(FRONT)
        try:
            session.initialize()
            warm = "\n\n".join(long_text(20_000).split("\n\n")[::-1])
            session.request(
                "tools/call", {"name": "add_memory", "arguments": {"text": warm}, "_meta": {"progressToken": "0"}}
            )
            while not session.call("get_stats")["index"]["complete"]:
                time.sleep(0.2)
            yield made, session
        finally:
            session.close()


def directly(text: str) -> float:
    """Return the CPU seconds per chunk for embedding the text in this process."""
    chunker = Chunker(ModelTokens(model_folder(DEFAULT_MODEL)))
    now = utc_now()
    whole = Memory("1", text, {}, date=now, project="benchmark", created_at=now, chunking=chunker.chunk(text))
    texts = [document.text for document in documents_of(whole, chunker)]
    chunks = sorted(texts[:: -(-len(texts) // SAMPLE)], key=len)
    embedder = load_packaged()
    embedder.embed_documents(chunks[:AT_ONCE])
    began = time.process_time()
    for start in range(0, len(chunks), AT_ONCE):
        embedder.embed_documents(chunks[start : start + AT_ONCE])
    return (time.process_time() - began) / len(chunks)


def long_text(size: int) -> str:
    """Return this many characters of this project's prose and code, with other words replaced in each repetition."""
    generator = random.Random(size)
    sources = _sources()
    words = sorted({word for source in sources for word in re.findall(r"[a-z]{4,10}", source)})

    def changed(match: re.Match[str]) -> str:
        return generator.choice(words) if generator.random() < CHANGED else match[0]

    parts: list[str] = []
    length = 0
    for again in count():
        generator.shuffle(sources)
        for source in sources:
            parts.append(re.sub(r"[a-z]{4,10}", changed, source) if again else source)
            length += len(parts[-1]) + 2
            if length > size:
                return "\n\n".join(parts)[:size].strip()
    raise AssertionError


def _sources() -> list[str]:
    top = Path(__file__).parents[1]
    found = []
    for path in sorted([*top.glob("*.md"), *top.glob("docs/**/*.md"), *top.glob("learning_memory_server/**/*.py")]):
        content = path.read_text("utf-8").strip()
        found.append(content if path.suffix == ".md" else f"## {path.name}\n\n```python\n{content}\n```")
    return found


if __name__ == "__main__":
    main()
