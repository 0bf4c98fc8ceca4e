"""Memories in a journal."""

from pathlib import Path

from learning_memory_server.capture.memories.store import MemoryLog
from learning_memory_server.embedding.tokens import EstimatedTokens
from learning_memory_server.index.memory_chunks import Chunker
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.memory import Memory
from tests.support import NOON

TEXT = "We chose Postgres.\n\nIt has partial indexes."


def reloaded(path: Path) -> list[Memory]:
    """Return what a new process reads from the journal."""
    journal = Journal(path / "journal")
    journal.recover(NOON)
    return MemoryLog(journal.memories, lambda: Chunker(EstimatedTokens())).all()
