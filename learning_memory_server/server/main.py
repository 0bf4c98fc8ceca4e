"""The process behind `--direct`, and faster imports at the start of a server, while its client waits."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from learning_memory_server.system.ending import run_and_exit
from learning_memory_server.system.ram import without_collections


def main(*, has_hooks: bool = False) -> NoReturn:
    """Serve until the client leaves, then exit the process."""
    with fast_imports():
        import asyncio

        from learning_memory_server.server.session import serve_stdio

    run_and_exit(lambda: asyncio.run(serve_stdio(has_hooks=has_hooks)))


@contextmanager
def fast_imports() -> Iterator[None]:
    """Pause garbage collection and hide rich while the block imports: that saves a fifth of the time."""
    missing = "rich" not in sys.modules
    if missing:
        # None makes `import rich` raise ImportError.
        sys.modules["rich"] = None  # type: ignore[assignment]
    try:
        with without_collections():
            yield
    finally:
        if missing:
            del sys.modules["rich"]
