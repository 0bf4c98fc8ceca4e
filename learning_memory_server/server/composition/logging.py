"""Logs: one JSON object per line, on stderr or in a file, without texts of users, places of files or messages."""

import json
import logging
import os
import re
import sys
from collections.abc import MutableMapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import structlog

from learning_memory_server.redaction.gate import redact_data
from learning_memory_server.redaction.redactor import build_redactor
from learning_memory_server.system import files
from learning_memory_server.system.ending import describe_exception

Event = MutableMapping[str, Any]

_PACKAGE: Final = "learning_memory_server"
_REDACTOR: Final = build_redactor()
_LOG_BYTES: Final = 2_000_000  # The size at which a log file is rotated; two older files are kept
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s'\"]+")
_PATH: Final = re.compile(r"(?<![\w.])(~|[A-Za-z]:)?[/\\][^\s'\":,;)]+")


def configure_logging(level: str, file: Path | None = None) -> None:
    """Log to stderr, or to a file that is rotated when it is large; to stderr where it cannot be written."""
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if file:
        from logging.handlers import RotatingFileHandler

        with suppress(OSError):
            os.close(files.open_file(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
            handler = RotatingFileHandler(file, maxBytes=_LOG_BYTES, backupCount=2, encoding="utf-8")
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _with_exception,
            _without_places,
            _without_secrets,
            _in_order,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
    handler.setFormatter(_Lines())
    # Libraries log a lot; only their warnings matter here.
    logging.basicConfig(level=max(threshold, logging.WARNING), handlers=[handler], force=True)
    logging.getLogger(_PACKAGE).setLevel(threshold)


def _with_exception(_logger: object, _method: str, event: Event) -> Event:
    given = event.pop("exc_info", None)
    # `log.exception` gives True.
    error = sys.exc_info()[1] if given is True else given
    if error:
        event["error"] = describe_exception(error)
    return event


def _without_places(_logger: object, _method: str, event: Event) -> Event:
    """Replace URLs and paths, which a setting may have put into an error of this program."""
    for name, value in event.items():
        if isinstance(value, str) and ("/" in value or "\\" in value):
            event[name] = _PATH.sub("<path>", _URL.sub("<URL>", value))
    return event


def _without_secrets(_logger: object, _method: str, event: Event) -> Event:
    # No line should hold one. What the settings call a secret is not known here.
    redacted: Event = redact_data(_REDACTOR, event).data
    return redacted


def _in_order(_logger: object, _method: str, event: Event) -> Event:
    return {**{name: event.pop(name) for name in ("timestamp", "level", "event")}, **event}


class _Lines(logging.Formatter):
    """Returns the program's own lines as they are, and where a library logged something in the same form."""

    def format(self, record: logging.LogRecord) -> str:
        if record.name.partition(".")[0] == _PACKAGE:
            return record.getMessage()
        error = record.exc_info[1] if record.exc_info else None
        package = record.name.partition(".")[0]
        line = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "event": "library.logged",
            # A logger can have any name; most have a module's.
            "library": package if package in sys.modules else "?",
            "place": f"{record.module}.{record.funcName}:{record.lineno}",
            **({"error": describe_exception(error)} if error else {}),
        }
        return json.dumps(line)
