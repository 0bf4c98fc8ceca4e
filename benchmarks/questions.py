"""Ask the command `search` people's questions to the demo's store: `python -m benchmarks.questions --data PATH`.

PATH has `questions`: each a `query` and `first`, how the goals of acceptable first answers begin; none if nothing
answers it. What is counted is what is shown without `--all`.

- first: questions whose first answer is acceptable; three: those with one among the first three.
- unsure: those with an answer of which the command says that nothing matches well.
- sure: those without an answer of which it does not say so.
"""

import asyncio
import json
import tempfile
from pathlib import Path

from benchmarks.measuring import Option, options_of
from learning_memory_server.cli import access
from learning_memory_server.cli.command import Offline
from learning_memory_server.cli.demo import examples, open_example, replay
from learning_memory_server.cli.searching import HitKind, Wanted, find, shown_of
from learning_memory_server.index.queries import ExperienceQuery, MemoryQuery
from learning_memory_server.server.composition.logging import configure_logging
from learning_memory_server.server.settings import Settings


def main() -> None:
    """Run the benchmark."""
    options = options_of(__doc__, data=Option(Path, "the questions", is_needed=True))
    configure_logging("critical")
    access.STARTS_HUB = False
    asked = json.loads(options.data.read_text("utf-8"))["questions"]
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(measure(Path(folder), [(each["query"], tuple(each["first"])) for each in asked]))
    print(json.dumps(report) if options.json else "  ".join(f"{name} {count}" for name, count in report.items()))


async def measure(folder: Path, asked: list[tuple[str, tuple[str, ...]]]) -> dict[str, int]:
    """Fill a store with the demo's examples, ask the questions, and count."""
    settings = Settings(storage_path=folder, project="demo")
    async with open_example(folder) as server:
        for entry in examples():
            await replay(server, entry)
        await server.run("complete")
    report = {"answerable": 0, "first": 0, "three": 0, "unsure": 0, "unanswerable": 0, "sure": 0}
    for text, first in asked:
        query = ExperienceQuery(text, min_score=0.0), MemoryQuery(text, min_score=0.0)
        found = await find(Wanted(*query, set(HitKind), explain=False), Offline(settings))
        goals = [str(hit.view.get("goal", "")) for hit in shown_of(found, 10)]
        if not first:
            report["unanswerable"] += 1
            report["sure"] += bool(found.strong())
            continue
        report["answerable"] += 1
        report["unsure"] += not found.strong()
        report["first"] += any(goal.startswith(first) for goal in goals[:1])
        report["three"] += any(goal.startswith(first) for goal in goals[:3])
    return report


if __name__ == "__main__":
    main()
