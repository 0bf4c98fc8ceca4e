"""What a server may answer instead of what it was asked for, and the error that is expected then."""

from collections.abc import Callable

from learning_memory_server.errors import (
    DiskFullError,
    NoAnswerError,
    RefusedError,
    StorageUnavailableError,
    WrongDimensionError,
)
from tests.index.engines.stub import Stub, refusal, success


def answers(status: int, content: bytes, **headers: str) -> Callable[[Stub], None]:
    def prepare(stub: Stub) -> None:
        stub.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        stub.answer = lambda _method, _path: (status, content)

    return prepare


def hangs_up(stub: Stub) -> None:
    stub.answer = lambda _method, _path: None


def never_answers(stub: Stub) -> None:
    def wait(_method: str, _path: str) -> tuple[int, bytes] | None:
        stub.released.wait()
        return None

    stub.answer = wait


FAULTS: dict[str, tuple[Callable[[Stub], None], type[StorageUnavailableError], str]] = {
    "bad key": (answers(401, b"Invalid API key or JWT"), RefusedError, "refused the API key"),
    "not a Qdrant": (answers(404, b"<html>Not Found</html>"), StorageUnavailableError, "status 404"),
    "404 of another shape": (answers(404, b'{"status": "no"}'), StorageUnavailableError, "status 404"),
    "wrong dimension": (
        answers(400, refusal("Wrong input: Vector dimension error: expected dim: 4, got 3")),
        WrongDimensionError,
        "4 numbers, not 3",
    ),
    "unindexed filter": (
        answers(400, refusal('Bad request: Index required but not found for "x"')),
        StorageUnavailableError,
        "is still being created",
    ),
    "too busy": (answers(429, refusal("Rate limit exceeded"), Retry_After="3"), RefusedError, "come back in 3 seconds"),
    "busy at odds with itself": (
        answers(429, refusal("Rate limit exceeded"), Retry_After="soon"),
        RefusedError,
        "limits how often it is asked.",
    ),
    "internal error": (
        answers(500, refusal("Service internal error: task panicked at /qdrant/storage/x")),
        RefusedError,
        "status 500",
    ),
    "full disk": (
        answers(500, refusal("Service internal error: No space left on device: WAL buffer size exceeds available")),
        DiskFullError,
        "disk is full",
    ),
    "redirect": (answers(302, b"", Location="/login"), RefusedError, "status 302"),
    "garbage": (answers(200, b"\x00\xff not json"), RefusedError, "is not a Qdrant server"),
    "nothing": (answers(200, b""), RefusedError, "is not a Qdrant server"),
    "JSON of another shape": (answers(200, b'{"hello": [1]}'), RefusedError, "is not a Qdrant server"),
    "a result of another shape": (answers(200, success("x")), RefusedError, "is not a Qdrant server"),
    "no result": (answers(200, success(None)), RefusedError, "is not a Qdrant server"),
    "a proxy before nothing": (answers(502, b"<html>Bad Gateway</html>"), NoAnswerError, "cannot be reached"),
    "dropped connection": (hangs_up, NoAnswerError, "cannot be reached"),
}
