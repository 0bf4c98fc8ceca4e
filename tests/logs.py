"""Logging to a file, as the hub does, for as long as a test looks at it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from learning_memory_server.server.composition.logging import configure_logging


def log_plainly() -> None:
    """Log as structlog does by default, without its pictures of exceptions: each takes a seventh of a second."""
    structlog.reset_defaults()
    *processors, _ = structlog.get_config()["processors"]
    plain = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*processors, plain])


@contextmanager
def log_to(path: Path, level: str) -> Iterator[Path]:
    """Configure logging while the block runs."""
    root, ours = logging.getLogger(), logging.getLogger("learning_memory_server")
    before = structlog.get_config(), root.handlers[:], root.level, ours.level
    # Handlers removed from the root logger are closed.
    root.handlers.clear()
    configure_logging(level, path)
    try:
        yield path
    finally:
        for handler in root.handlers:
            handler.close()
        config, root.handlers[:], root_level, our_level = before
        structlog.configure(**config)
        root.setLevel(root_level)
        ours.setLevel(our_level)
