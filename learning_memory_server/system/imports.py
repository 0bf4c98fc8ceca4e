"""Faster imports at the start of a process that somebody waits for, and late imports that fail."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import learning_memory_server
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


def is_of_replaced_files(error: BaseException) -> bool:
    """Return whether a failure, or one behind it, is of an import or of a file that comes with this package.

    In a process that has started, that is because an upgrade replaced the files: each module is imported when it is
    first needed.
    """
    package = os.path.dirname(learning_memory_server.__file__) + os.sep
    seen: set[int] = set()
    behind = [error]
    while behind:
        each = behind.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, ImportError | SyntaxError):
            return True
        if isinstance(each, OSError) and str(each.filename).startswith(package):
            return True
        inner = each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        behind += filter(None, (each.__cause__, each.__context__, *inner))
    return False
