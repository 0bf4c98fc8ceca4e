"""Measure what is shown at prompts: `python -m benchmarks.prompts [--json]`.

`benchmarks/data/prompts.json` has what users write to a coding agent: prompts that experiences of
`benchmarks/data/value-texts.json` bear on, and prompts of the same kind of work that none does. For each, what the
packaged model finds is compared with three baselines: with every prompt, the experience with the highest score; the
threshold of `start_ghap`; and an experience drawn at random.

- silent: the share of the prompts that nothing bears on at which nothing is shown.
- reach: the share of the others at which an experience is shown that does.
- precision: the share of what is shown at those that bears on them.

Prompts at even places are for tuning, those at odd places check.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.values import groups
from learning_memory_server.advice.finder import AdviceFinder
from learning_memory_server.advice.ranking import best
from learning_memory_server.composition.logging import configure_logging
from learning_memory_server.composition.services import open_services
from learning_memory_server.embedding.packaged import load_packaged
from learning_memory_server.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from learning_memory_server.advice.finder import Ranked
    from learning_memory_server.composition.services import Services
    from learning_memory_server.domain.ghap import Ghap

DATA = Path(__file__).parent / "data" / "prompts.json"
PROJECT = "shop"
HALVES = ("tuning", "check")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt, what bears on it, and what each method shows."""

    text: str
    answers: frozenset[str]
    shown: dict[str, str | None]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    configure_logging("error")
    with tempfile.TemporaryDirectory() as folder:
        related, unrelated = asyncio.run(measure(Path(folder)))
    report = {half: figures(related[at::2], unrelated[at::2]) for at, half in enumerate(HALVES)}
    report["all"] = figures(related, unrelated)
    for half, methods in report.items():
        print(f"{half}:")
        for method, (silent, reach, precision) in methods.items():
            print(f"  {method:12} silent {silent:.3f}   reach {reach:.2f}   precision {precision:.2f}")
    if options.json:
        print(json.dumps(report))


async def measure(storage: Path) -> tuple[list[Prompt], list[Prompt]]:
    """Return the prompts that something bears on, and the others, with what is shown at each."""
    data = json.loads(DATA.read_text("utf-8"))
    stored = {
        f"{group.name}/{place}": replace(member, project=PROJECT)
        for group in groups()
        for place, member in enumerate(group.members)
    }
    async with open_services(
        Settings(storage_path=storage), purpose="a benchmark", load=load_packaged
    ) as services:
        services.collector.add_resolved(list(stored.values()))
        await services.writer.complete()
        related = [
            await shown_at(
                each["text"],
                frozenset(stored[f"{each['group']}/{place}"].id for place in each["answers"]),
                services,
            )
            for each in data["related"]
        ]
        return related, [await shown_at(text, frozenset(), services) for text in data["unrelated"]]


async def shown_at(text: str, answers: frozenset[str], services: Services) -> Prompt:
    """Return what each method shows at a prompt."""
    finder = AdviceFinder(
        services.collector, services.index, services.value_log, services.verdicts, is_everywhere=False
    )
    ranked = await finder.rank_text(text, PROJECT, {})
    if ranked is None:
        raise RuntimeError("the index is not open, or the model was not measured")
    every = sorted(services.collector.list_resolved(), key=lambda entry: entry.id)
    choose: dict[str, Callable[[Ranked], Sequence[Ghap]]] = {
        "ours": lambda found: [entry for entry, _ in filter(None, [found.for_prompt()])],
        "as at start": lambda found: [each.entry for each in best(found.experiences, found.least)],
        "always": lambda found: [max(found.experiences, key=lambda each: each.score).entry],
        "random": lambda _: [random.Random(text).choice(every)],
    }
    shown = {name: next((entry.id for entry in method(ranked)), None) for name, method in choose.items()}
    return Prompt(text, answers, shown)


def figures(related: Sequence[Prompt], unrelated: Sequence[Prompt]) -> dict[str, Any]:
    """Return silent, reach and precision of each method."""
    found: dict[str, Any] = {}
    for method in related[0].shown:
        shown = [prompt for prompt in related if prompt.shown[method]]
        right = sum(prompt.shown[method] in prompt.answers for prompt in shown)
        silent = sum(prompt.shown[method] is None for prompt in unrelated) / len(unrelated)
        found[method] = (silent, right / len(related), right / len(shown) if shown else 1.0)
    return found


if __name__ == "__main__":
    main()
