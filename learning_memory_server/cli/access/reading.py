"""What a command reads without taking a lock: the settings, entries, memories, and who has locked the data."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.cli.terminal import show_notice
from learning_memory_server.journal.codec import MEMORY
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import Records
from learning_memory_server.model.moment import utc_now
from learning_memory_server.server.composition.logging import configure_logging
from learning_memory_server.server.settings import load_settings, unknown_variables
from learning_memory_server.system.locking import holder

if TYPE_CHECKING:
    from learning_memory_server.model.memory import Memory
    from learning_memory_server.server.settings import Settings


def open_settings() -> Settings:
    """Load the settings, set up logging, and warn about environment variables that name no setting.

    Raises:
        InvalidSettingsError: If a setting is malformed.
    """
    settings = load_settings()
    for sentence in unknown_variables(os.environ):
        show_notice(sentence)
    # Commands report in sentences, not in log lines.
    configure_logging("debug" if settings.log_level == "debug" else "critical")
    return settings


def read_entries(settings: Settings) -> ObservationCollector:
    """Return the entries for reading only, which is safe while another process writes them."""
    return ObservationCollector(Journal(settings.journal_directory), utc_now)


def read_memories(settings: Settings) -> list[Memory]:
    """Return the memories, oldest first."""
    return Records(Journal(settings.journal_directory).memories, MEMORY).all()


def holder_of(settings: Settings) -> dict[str, object] | None:
    """Return how the process that has locked the journal or the storage folder describes itself, or None.

    Raises:
        LockUnavailableError: If a lock file cannot be opened.
    """
    return holder(settings.journal_directory) or holder(settings.storage_path)
