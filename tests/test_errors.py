"""The tree of errors, as its module draws it, and its way through the control channel."""

import re
from collections.abc import Iterator

import pytest

from learning_memory_server import errors
from learning_memory_server.errors import (
    EmbeddingUnavailableError,
    JournalUnavailableError,
    LearningMemoryError,
    StorageUnavailableError,
    error_from_body,
)


def below(error: type[LearningMemoryError], depth: int) -> Iterator[tuple[int, str, str | None]]:
    """Yield the depth, name and, if it is new, the wire type of each class below one, as the module defines them."""
    for each in error.__subclasses__():
        if each.__module__ == errors.__name__:
            own = each.wire_type if each.wire_type != error.wire_type or depth == 1 else None
            yield depth, each.__name__, own
            yield from below(each, depth + 1)


def test_the_drawing_shows_every_error_and_what_a_client_sees() -> None:
    lines = re.findall(r"^    ([│ ]*)[├└]── (\w+) *(\w+)?$", errors.__doc__ or "", re.MULTILINE)
    drawn = [(1 + len(indent) // 4, name, wire_type or None) for indent, name, wire_type in lines]

    assert drawn == list(below(LearningMemoryError, 1))


def test_every_error_keeps_its_class_through_the_control_channel() -> None:
    for _, name, _ in below(LearningMemoryError, 1):
        sent = getattr(errors, name)("It failed.", hint="Try again.")
        received = error_from_body(sent.to_control_body())
        assert type(received) is type(sent)
        assert (received.message, received.hint) == (sent.message, sent.hint)


def test_what_to_do_next_is_worded_for_each_reader_also_beyond_the_control_channel() -> None:
    sent = LearningMemoryError(
        "Of get_clusters: it failed.", hint="Call {} again.", calls=["get_clusters"], doctor=" to see why"
    )
    for error in (sent, error_from_body(sent.to_control_body())):
        assert error.hint == "Run `learning-memory-server doctor` to see why. Call get_clusters again."
        assert error.hint_for(str.upper) == "Run `learning-memory-server doctor` to see why. Call GET_CLUSTERS again."
        assert error.in_doctor == "Of get_clusters: it failed. Call get_clusters again."
    assert LearningMemoryError("It failed.", hint="Call {} or {name}.").hint == "Call {} or {name}."


def test_a_client_never_sees_a_class_name() -> None:
    error = JournalUnavailableError("It failed.", hint="Try again.")
    assert error.to_body() == {"type": "storage_unavailable", "message": "It failed.", "hint": "Try again."}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"type": "storage_unavailable"}, StorageUnavailableError),
        ({"type": "embedding_unavailable", "kind": "UnheardOfError"}, EmbeddingUnavailableError),
        ({"type": "internal_error", "kind": "UnheardOfError"}, LearningMemoryError),
        ({"type": "unheard_of"}, LearningMemoryError),
        ({}, LearningMemoryError),
    ],
)
def test_an_error_of_another_version_is_the_nearest_class(
    body: dict[str, str], expected: type[LearningMemoryError]
) -> None:
    error = error_from_body({**body, "message": "It failed."})
    assert type(error) is expected
    assert (error.message, error.hint) == ("It failed.", None)
