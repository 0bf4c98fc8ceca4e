"""Logging to a file, as the hub does, for as long as a test looks at it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import structlog

from learning_memory_server.server.composition.logging import configure_logging
from tests.left_behind import restored

_LINE: Final = structlog.processors.KeyValueRenderer(key_order=["level", "event"])
_TRACEBACK: Final = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)


def _rendered(logger: Any, name: str, event: structlog.typing.EventDict) -> str:
    return (_TRACEBACK if event.get("exc_info") else _LINE)(logger, name, event)


def log_plainly() -> None:
    """Log one plain line per event, without debug events. structlog's own rendering took a fifth of the tests' time."""
    structlog.reset_defaults()
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, structlog.processors.add_log_level, _rendered],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    )


@contextmanager
def everything_logged() -> Iterator[list[Any]]:
    """Capture what is logged while the block runs, also what is for debugging."""
    before = structlog.get_config()["wrapper_class"]
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.NOTSET))
    try:
        with structlog.testing.capture_logs(processors=[structlog.contextvars.merge_contextvars]) as logs:
            yield logs
    finally:
        structlog.configure(wrapper_class=before)


@contextmanager
def log_to(path: Path, level: str) -> Iterator[Path]:
    """Configure logging while the block runs."""
    with restored():
        # Handlers removed from the root logger are closed.
        logging.getLogger().handlers.clear()
        configure_logging(level, path)
        yield path
