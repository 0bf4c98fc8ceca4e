"""Every failure this package raises on purpose.

    LearningMemoryError
    ├── InvalidInputError            validation_error
    ├── NotFoundError                not_found
    ├── NoActiveGhapError            no_active_ghap
    ├── InsufficientDataError        insufficient_data
    ├── StorageUnavailableError      storage_unavailable
    │   ├── MissingCollectionError
    │   ├── DamagedCollectionError
    │   ├── WrongDimensionError
    │   └── DiskFullError
    ├── EmbeddingUnavailableError    embedding_unavailable
    ├── DeadlineExceededError        timeout
    ├── JournalUnavailableError      storage_unavailable
    ├── AlreadyRunningError          internal_error
    └── InvalidSettingsError         internal_error

Each class carries its `wire_type`, the name that a client sees. The message is written for the agent or
person who reads it: what was wrong, and what is allowed. `hint` is the next call to make.
"""

from typing import ClassVar


class LearningMemoryError(Exception):
    """The root of the tree; catching it catches every anticipated failure.

    Args:
        message: What was wrong, in a sentence that is safe to show to a client.
        hint: What to do next, if anything helps.
    """

    wire_type: ClassVar[str] = "internal_error"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def sentence(self) -> str:
        """The message and the hint, for people."""
        return f"{self.message} {self.hint}" if self.hint else self.message

    def to_body(self) -> dict[str, str]:
        """Return what a client gets: the type, the message, and the hint if there is one."""
        body = {"type": self.wire_type, "message": self.message}
        return {**body, "hint": self.hint} if self.hint else body


class InvalidInputError(LearningMemoryError):
    """An argument is missing, mistyped, out of range or not one of the allowed values."""

    wire_type = "validation_error"


class NotFoundError(LearningMemoryError):
    """An id names nothing that exists (any more)."""

    wire_type = "not_found"


class NoActiveGhapError(LearningMemoryError):
    """The caller has no open GHAP entry and named none."""

    wire_type = "no_active_ghap"


class InsufficientDataError(LearningMemoryError):
    """There are too few experiences for the question."""

    wire_type = "insufficient_data"


class StorageUnavailableError(LearningMemoryError):
    """The vector engine did not take or give data."""

    wire_type = "storage_unavailable"


class MissingCollectionError(StorageUnavailableError):
    """A collection was used before it was ensured."""


class DamagedCollectionError(StorageUnavailableError):
    """A collection cannot be opened. What was in it can be made anew from the journal."""


class WrongDimensionError(StorageUnavailableError):
    """A vector's length is not its collection's."""


class DiskFullError(StorageUnavailableError):
    """Too little free space is left to write safely."""


class EmbeddingUnavailableError(LearningMemoryError):
    """A model is still loading, or could not be loaded."""

    wire_type = "embedding_unavailable"


class DeadlineExceededError(LearningMemoryError):
    """An operation did not finish in its time."""

    wire_type = "timeout"


class JournalUnavailableError(LearningMemoryError):
    """The journal cannot be read or written, or is newer than this program."""

    wire_type = "storage_unavailable"


class AlreadyRunningError(LearningMemoryError):
    """Another process holds the journal or the store."""


class InvalidSettingsError(LearningMemoryError):
    """A setting is malformed; the server does not start on a guess."""
