"""Faster imports at the start of a process that somebody waits for."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from learning_memory_server.system.ram import without_collections


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
