"""Faster imports at the start of a process that somebody waits for, and late imports that fail."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import learning_memory_server
from learning_memory_server.system.ram import without_collections

_PLUGINS: Final = "PYDANTIC_DISABLE_PLUGINS"  # Otherwise pydantic reads the metadata of every installed package


@contextmanager
def fast_imports() -> Iterator[None]:
    """Import without garbage collection, rich and a search for plugins of pydantic: that saves a fifth of the time."""
    missing = "rich" not in sys.modules
    if missing:
        # None makes `import rich` raise ImportError.
        sys.modules["rich"] = None  # type: ignore[assignment]
    plugins = os.environ.get(_PLUGINS)
    os.environ[_PLUGINS] = "1"
    try:
        with without_collections():
            yield
    finally:
        if plugins is None:
            del os.environ[_PLUGINS]
        else:
            os.environ[_PLUGINS] = plugins
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
