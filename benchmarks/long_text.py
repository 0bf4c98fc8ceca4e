"""What it takes to add one long text: the hub's memory, the time, and how often the client hears how far it is.

Texts of several sizes go through a front to a hub of their own, which has embedded a text before; so what is counted is
what the long one adds. The processor time is compared with that of embedding the same chunks in one process and nothing
else, in the same run. Linux only: the memory of processes is read from /proc.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from itertools import count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.embedding import export_model
from benchmarks.hub import FRONT, memory, processor_seconds, resident
from learning_memory_server.domain.memory import Memory
from learning_memory_server.domain.moment import utc_now
from learning_memory_server.embedding.base import DEFAULT_MODEL
from learning_memory_server.embedding.exports import remember_failure
from learning_memory_server.embedding.loading import load_embedder
from learning_memory_server.embedding.tokens import ModelTokens, model_folder
from learning_memory_server.memories.cutting import Cutter
from learning_memory_server.memories.documents import documents_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.hub import Memory as HubMemory
    from benchmarks.stdio import StdioSession

RUNTIMES: Final = ("onnx", "sentence-transformers")
EVERY: Final = 0.05
"""Seconds between two looks at the hub's memory."""
SAMPLE: Final = 1_000
"""Chunks that are embedded directly; of a longer text, these are spread over it."""
AT_ONCE: Final = 8
"""Chunks that are given to the model at once, as the hub does."""
CHANGED: Final = 0.08
"""The share of words that are others when a source comes again."""
GOALS: Final = {"peak_extra_mib": 200, "cpu_ratio": 1.25, "longest_silence_seconds": 2}
"""The most that each figure may be. The last one is for a machine that has nothing else to do."""


class Watch:
    """Looks at a process again and again, in a thread of its own.

    Attributes:
        resident: The most MiB that it had in memory.
        own: The most MiB of that which were no pages of files.
    """

    def __init__(self, process: int) -> None:
        self._process = process
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.resident = self.own = 0.0

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Look, as long as this lasts."""
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, nargs="+", default=[0.1, 1.0], help="up to 10")
    parser.add_argument("--runtime", choices=RUNTIMES, default=RUNTIMES[0])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    report: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as directory:
        models = Path(directory)
        if options.runtime == "onnx":
            export_model(models)
        else:
            remember_failure(models, DEFAULT_MODEL, "ValueError: the original is measured")
        for megabytes in sorted(options.megabytes):
            text = long_text(int(1e6 * megabytes))
            figures = measure(text, models, options.runtime)
            report[f"{megabytes:g}"] = figures
            show(megabytes, figures)
    if options.json:
        rounded = {
            size: {name: round(figure, 3) for name, figure in figures.items()}
            for size, figures in report.items()
        }
        print(json.dumps({"runtime": options.runtime, "megabytes": rounded}))


def measure(text: str, models: Path, runtime: str) -> dict[str, float]:
    """Return what adding the text takes."""
    with served(models, runtime) as (made, session):
        hub = made.hub()
        assert hub is not None  # noqa: S101 - it has just answered
        before = {
            "resident": resident(hub),
            "own": resident(hub, "RssAnon"),
            "cpu": sum(processor_seconds(hub)),
        }
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
    direct = directly(text, models, runtime)
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
def served(models: Path, runtime: str) -> Iterator[tuple[HubMemory, StdioSession]]:
    """Use an empty memory whose hub has embedded a text of long chunks, through a front."""
    with memory() as made:
        shutil.copytree(models, made.storage / "models")
        session = made.session(FRONT)
        try:
            session.initialize()
            warm = "\n\n".join(long_text(20_000).split("\n\n")[::-1])
            session.request(
                "tools/call",
                {"name": "add_memory", "arguments": {"text": warm}, "_meta": {"progressToken": "0"}},
            )
            while not (stats := session.call("get_stats"))["index"]["complete"]:
                time.sleep(0.2)
            found = stats["model"]["runtime"]
            if not found.startswith(runtime):
                raise RuntimeError(f"the hub runs on {found}")
            yield made, session
        finally:
            session.close()


def directly(text: str, models: Path, runtime: str) -> float:
    """Return the seconds of processor time that it takes to embed a chunk of the text in this process."""
    cutter = Cutter(ModelTokens(model_folder(DEFAULT_MODEL)))
    now = utc_now()
    whole = Memory("1", text, {}, date=now, project="benchmark", created_at=now, cuts=cutter.cut(text))
    texts = [document.text for document in documents_of(whole, cutter)]
    chunks = sorted(texts[:: -(-len(texts) // SAMPLE)], key=len)
    embedder = load_embedder(DEFAULT_MODEL, None, models)
    if not embedder.runtime.startswith(runtime):
        raise RuntimeError(f"the model runs on {embedder.runtime}")
    embedder.embed_documents(chunks[:AT_ONCE])
    began = time.process_time()
    for start in range(0, len(chunks), AT_ONCE):
        embedder.embed_documents(chunks[start : start + AT_ONCE])
    return (time.process_time() - began) / len(chunks)


def long_text(size: int) -> str:
    """Return prose and code of so many characters: this project's own, each time with other words changed."""
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
    for path in sorted(
        [*top.glob("*.md"), *top.glob("docs/**/*.md"), *top.glob("learning_memory_server/**/*.py")]
    ):
        content = path.read_text("utf-8").strip()
        found.append(content if path.suffix == ".md" else f"## {path.name}\n\n```python\n{content}\n```")
    return found


def show(megabytes: float, figures: dict[str, float]) -> None:
    """Print the figures of one size for people."""
    print(f"{megabytes:g} MB")
    for name, figure in figures.items():
        goal = GOALS.get(name)
        verdict = "" if goal is None else f"   at most {goal}: {'yes' if figure <= goal else 'NO'}"
        print(f"  {name:26} {figure:10.2f}{verdict}", flush=True)


if __name__ == "__main__":
    main()
