"""How commands come to the data: reading beside anybody, or holding it alone."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import structlog

from learning_memory_server.cli.terminal import show_notice
from learning_memory_server.domain.moment import parse_moment, utc_now
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.identity import caller_of
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.lock import holder
from learning_memory_server.observation.collector import ObservationCollector
from learning_memory_server.server.config import load_settings, unknown_variables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from learning_memory_server.server.config import Settings


def open_settings() -> Settings:
    """Return the settings, and mention variables that mean nothing.

    Raises:
        InvalidSettingsError: If a setting is malformed.
    """
    settings = load_settings()
    for sentence in unknown_variables(os.environ):
        show_notice(sentence)
    configure_logging(verbose=settings.log_level == "debug")
    return settings


def configure_logging(*, verbose: bool) -> None:
    """Leave it to the commands to say what happens, unless everything is asked for."""
    level = logging.DEBUG if verbose else logging.CRITICAL
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
    )


def read_entries(settings: Settings) -> ObservationCollector:
    """Return the entries for reading: safe beside a server that writes, and without a lock."""
    return ObservationCollector(Journal(settings.journal_directory), utc_now)


def holder_of(settings: Settings) -> dict[str, object] | None:
    """Return what the holder of the journal or the store wrote about itself, or None if nobody holds them.

    Raises:
        JournalUnavailableError: If that cannot be seen.
    """
    return holder(settings.journal_directory) or holder(settings.storage_path)


def chosen_project(name: str | None, settings: Settings) -> str | None:
    """Return the project that an option means; `current` is this folder's."""
    return current_project(settings) if name == "current" else name


def current_project(settings: Settings) -> str:
    """Return the project of the settings, else of this folder."""
    return caller_of(os.environ, settings.project).project


def chosen_time(since: str | None) -> datetime | None:
    """Return the moment that an option means.

    Raises:
        InvalidInputError: If it is no ISO 8601 date or datetime.
    """
    return None if since is None else parse_moment("--since", since)


@contextmanager
def unreadable(path: Path) -> Iterator[None]:
    """Say which file cannot be read.

    Raises:
        InvalidInputError: In place of any `OSError`.
    """
    try:
        yield
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror or error}.") from None
