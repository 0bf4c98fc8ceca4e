"""Logs go to stderr, always: stdout is the protocol."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Final

import structlog

if TYPE_CHECKING:
    from pathlib import Path


_LOG_BYTES: Final = 2_000_000
"""The size at which a log file is set aside; two older ones are kept."""


def configure_logging(level: str) -> None:
    """Send the program's and its libraries' logs to stderr, as one JSON object a line.

    Args:
        level: debug, info, warning or error.
    """
    _configure(level, logging.StreamHandler(sys.stderr))


def configure_file_logging(level: str, path: Path) -> None:
    """Send the logs to a file that is set aside when it is large.

    Args:
        level: debug, info, warning or error.
        path: The file.
    """
    from logging.handlers import RotatingFileHandler  # noqa: PLC0415 - of the hub only

    _configure(level, RotatingFileHandler(path, maxBytes=_LOG_BYTES, backupCount=2, encoding="utf-8"))


def _configure(level: str, handler: logging.Handler) -> None:
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    # Libraries say much; of them only warnings are wanted.
    logging.basicConfig(level=logging.WARNING, handlers=[handler], format="%(message)s", force=True)
    logging.getLogger("learning_memory_server").setLevel(threshold)
