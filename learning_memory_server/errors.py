"""Every failure this package raises on purpose.

    LearningMemoryError
    ├── InvalidInputError            validation_error
    ├── NotFoundError                not_found
    ├── NoActiveGhapError            no_active_ghap
    ├── InsufficientDataError        insufficient_data
    ├── StorageUnavailableError      storage_unavailable
    │   ├── NoAnswerError
    │   ├── RefusedError
    │   │   └── ForbiddenCollectionError
    │   ├── LostPointsError
    │   │   └── MissingCollectionError
    │   ├── DamagedCollectionError
    │   ├── WrongDimensionError
    │   ├── DiskFullError
    │   ├── RefusedSocketError
    │   └── UntrustedSocketError
    ├── EmbeddingUnavailableError    embedding_unavailable
    │   └── ModelServerAwayError
    ├── DeadlineExceededError        timeout
    ├── JournalUnavailableError      storage_unavailable
    ├── LockUnavailableError         storage_unavailable
    ├── ForeignDataError             storage_unavailable
    ├── AlreadyRunningError          internal_error
    ├── InvalidSettingsError         internal_error
    ├── OutputError                  internal_error
    └── ClientSetupError             internal_error

Each class carries its `wire_type`, the name that a client sees. The message is written for the agent or
person who reads it: what was wrong, and what is allowed. `hint` is the next call to make.
"""

from __future__ import annotations

from typing import ClassVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any


class LearningMemoryError(Exception):
    """The root of the tree: catching it catches every anticipated failure.

    `message` says what was wrong, in a sentence that is safe to show to a client, and `hint` what to do next, if
    anything helps. `{}` in a hint stands for each of the `calls`, tools of an agent. `doctor` ends the advice to run
    the doctor. `arguments` names those of the call that it is about. `retry_seconds` is for how long another attempt
    would fail as well; None if that is not known.
    """

    wire_type: ClassVar[str] = "internal_error"
    retry_seconds: float | None = None

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        calls: Iterable[str] = (),
        doctor: str | None = None,
        arguments: Iterable[object] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.own_hint = hint
        self.calls = tuple(calls)
        self.doctor = doctor
        self.arguments = {str(each).partition(".")[0] for each in arguments}

    def hint_for(self, name: Callable[[str], str] = str, *, in_doctor: bool = False) -> str | None:
        """Return the hint, with the reader's own name of each call, and for whom the doctor has not told it."""
        run = "" if self.doctor is None or in_doctor else f"Run `learning-memory-server doctor`{self.doctor}."
        hint = self.own_hint.format(*map(name, self.calls)) if self.own_hint and self.calls else self.own_hint
        return " ".join(filter(None, (run, hint))) or None

    @property
    def hint(self) -> str | None:
        """The hint for an agent."""
        return self.hint_for()

    @property
    def sentence(self) -> str:
        """The message and the hint."""
        return " ".join(filter(None, (self.message, self.hint)))

    @property
    def in_doctor(self) -> str:
        """The message and the hint as the doctor says them."""
        return " ".join(filter(None, (self.message, self.hint_for(in_doctor=True))))

    def to_body(self) -> dict[str, str]:
        """Return what a client gets: the type, the message, and the hint if there is one."""
        body = {"type": self.wire_type, "message": self.message}
        hint = self.hint
        return {**body, "hint": hint} if hint else body

    def to_control_body(self) -> dict[str, Any]:
        """Return what the hub sends to a command: the type, the class name, because classes share types, and facts."""
        body = {"type": self.wire_type, "kind": type(self).__name__, "message": self.message}
        return {**body, "hint": self.own_hint, "calls": self.calls, "doctor": self.doctor}


class InvalidInputError(LearningMemoryError):
    """An argument is missing, mistyped, out of range or not one of the allowed values."""

    wire_type = "validation_error"


class NotFoundError(LearningMemoryError):
    """An id names nothing that exists, or something that no longer does."""

    wire_type = "not_found"


class NoActiveGhapError(LearningMemoryError):
    """The caller has no open GHAP entry and named none."""

    wire_type = "no_active_ghap"


class InsufficientDataError(LearningMemoryError):
    """There are too few experiences to answer."""

    wire_type = "insufficient_data"


class StorageUnavailableError(LearningMemoryError):
    """The vector engine failed to read or write data."""

    wire_type = "storage_unavailable"


class NoAnswerError(StorageUnavailableError):
    """A server cannot be reached, or does not answer in time."""


class RefusedError(StorageUnavailableError):
    """A server does not do a kind of work for now, such as writing.

    `seconds` says for how long, if the server did.
    """

    def __init__(self, message: str, *, hint: str | None = None, seconds: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.seconds = seconds


class ForbiddenCollectionError(RefusedError):
    """The key may not create a collection, or may not use one; `name` is its name on the server, if known."""

    name: str = ""


class LostPointsError(StorageUnavailableError):
    """A server no longer has all the points that were written there."""


class MissingCollectionError(LostPointsError):
    """A collection was used before it was ensured."""


class DamagedCollectionError(StorageUnavailableError):
    """A collection cannot be opened. It can be rebuilt from the journal."""


class WrongDimensionError(StorageUnavailableError):
    """A vector does not have the length that its collection requires."""


class DiskFullError(StorageUnavailableError):
    """Too little free space is left to write safely."""


class RefusedSocketError(StorageUnavailableError):
    """This process may not use Unix sockets, as in a sandbox, so that it cannot tell whether a hub listens."""


class UntrustedSocketError(StorageUnavailableError):
    """Another user listens where this user's hub should, or could."""


class EmbeddingUnavailableError(LearningMemoryError):
    """A model is still loading, or could not be loaded."""

    wire_type = "embedding_unavailable"


class ModelServerAwayError(EmbeddingUnavailableError):
    """The server that runs a model cannot be reached, or does not answer in time."""


AWAY = (StorageUnavailableError, EmbeddingUnavailableError)
"""The failures that leave an answer from the journal, or from RAM, possible."""


class DeadlineExceededError(LearningMemoryError):
    """An operation did not finish in time."""

    wire_type = "timeout"


class JournalUnavailableError(LearningMemoryError):
    """The journal cannot be read or written, or is newer than this program."""

    wire_type = "storage_unavailable"


class LockUnavailableError(LearningMemoryError):
    """A folder's lock file cannot be created or opened."""

    wire_type = "storage_unavailable"


class ForeignDataError(LearningMemoryError):
    """The data, or a part of it, belongs to another user than this process."""

    wire_type = "storage_unavailable"


class AlreadyRunningError(LearningMemoryError):
    """Another process has locked a folder or a file that only one process may use."""


class InvalidSettingsError(LearningMemoryError):
    """A setting is malformed; the server does not start on a guess."""


class OutputError(LearningMemoryError):
    """Standard output cannot be written: its reader is gone, or a disk is full."""


class ClientSetupError(LearningMemoryError):
    """A client's configuration cannot be read or changed, or the server does not start from it."""


def error_from_body(body: Mapping[str, Any]) -> LearningMemoryError:
    """Return the error that a body describes; the inverse of `to_control_body`.

    A hub of another version may name no class, or one that is unknown here. Then the first class of the body's type is
    used, from the root down. Raises `KeyError` if the body has no message.
    """
    classes = [LearningMemoryError]
    for each in classes:
        classes += each.__subclasses__()
    named = [each for each in classes if each.__name__ == body.get("kind")]
    alike = [each for each in classes if each.wire_type == body.get("type")]
    kind = (*named, *alike, LearningMemoryError)[0]
    error = kind(body["message"], hint=body.get("hint"))
    error.calls, error.doctor = tuple(body.get("calls", ())), body.get("doctor")
    return error


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Return a space and a sentence that suggests the nearest known word, or an empty text."""
    import difflib

    close = difflib.get_close_matches(str(word).strip().lower().replace("_", "-"), known, n=1)
    close = close or difflib.get_close_matches(str(word).strip().lower(), known, n=1)
    return f" Did you mean {close[0]}?" if close else ""
