"""Importing what a server needs while somebody waits for it."""

from __future__ import annotations

import gc
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def hurried() -> Iterator[None]:
    """Import without what would only take time; a fifth of all of it, together.

    Imports make many objects and no garbage, so it is not looked for, now or at any later look. structlog imports rich
    where it is installed, to colour tracebacks; a server's go to a log, and with rich they would hold the values of
    all variables.
    """
    gc.disable()
    missing = "rich" not in sys.modules
    if missing:
        # To the import system, this is a module that does not exist.
        sys.modules["rich"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if missing:
            del sys.modules["rich"]
        gc.freeze()
        gc.enable()
