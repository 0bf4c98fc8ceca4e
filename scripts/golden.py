"""Write what agents are shown in the situations of `tests/advice/golden.toml` anew: `make golden`."""

import asyncio
import tempfile
from pathlib import Path

from learning_memory_server.server.composition.logging import configure_logging
from tests.advice.situations import GOLDEN, read_golden, rewritten, staged


def main() -> None:
    """Write the file."""
    configure_logging("error")
    shown = asyncio.run(_shown())
    GOLDEN.write_text(rewritten(GOLDEN.read_text("utf-8"), shown), "utf-8")


async def _shown() -> list[list[str]]:
    found = []
    for golden in read_golden():
        with tempfile.TemporaryDirectory() as folder:
            async with staged(golden, Path(folder)) as stage:
                found.append(await stage.shown())
    return found


if __name__ == "__main__":
    main()
