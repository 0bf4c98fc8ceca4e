from typing import Any

import pytest

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model import limits
from learning_memory_server.model.memory import Memory, checked_metadata
from learning_memory_server.redaction.base import marker, shortened_markers
from tests.support import NOON


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"source": 5}, "metadata.source: must be text, not int."),
        ({"source": " "}, "metadata.source: must not be empty"),
        ({"source": "x" * (limits.SOURCE_MAX + 1)}, "metadata.source: 1001 characters"),
        ({"source": " Refusal "}, "metadata.source: refusal is the source of what the user refused."),
        ({"title": ["x"]}, "metadata.title: must be text, not list."),
        ({"language": True}, "metadata.language: must be text, not bool."),
        ({"timestamp": 20260301}, "metadata.timestamp: must be text, not int."),
        ({"timestamp": "yesterday"}, "metadata.timestamp: invalid date format, expected YYYY-MM-DD"),
        ({"tags": "db"}, "metadata.tags: must be a list of texts, not str."),
        ({"tags": {"db": 1}}, "metadata.tags: must be a list of texts, not dict."),
        ({"tags": ["db", None]}, "metadata.tags[1]: must be text, not NoneType."),
        ({"tags": [1, {"a": 2}]}, "metadata.tags[0]: must be text, not int."),
        ({"tags": ["x" * (limits.TAG_MAX + 1)]}, "metadata.tags[0]: 201 characters"),
        ({"x": float("nan")}, "metadata: its numbers must be finite"),
        ({"x": {"y": [float("-inf")]}}, "metadata: its numbers must be finite"),
    ],
)
def test_metadata_of_a_wrong_type_is_refused_and_named(metadata: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        checked_metadata(metadata)
    assert refused.value.message.startswith(reason)


def test_metadata_is_kept_as_given_without_null_fields() -> None:
    given = {
        "title": "",
        "source": "notes.md",
        "tags": ["db"],
        "timestamp": "2026-03-01",
        "language": "en",
        "x": {"y": [1, None]},
    }
    assert checked_metadata({**given, "z": None}) == given
    assert checked_metadata({"source": None, "tags": None, "title": None}) == {}


def test_markers_do_not_make_imported_metadata_too_long() -> None:
    given = {"source": marker("password") * 1000, "tags": [marker("password") * 200], "x": marker("jwt") * 60_000}
    assert checked_metadata(given, shortened_markers) == given
    with pytest.raises(InvalidInputError, match=r"^metadata: "):
        checked_metadata(given)


@pytest.mark.parametrize("odd", [5, {"a": 1}, True, None, [1, {"a": 2}, None]])
def test_stored_metadata_of_the_wrong_type_is_ignored(odd: object) -> None:
    metadata = {"source": odd, "title": odd, "tags": odd}
    memory = Memory("one", "text", metadata, NOON, "project", NOON)
    assert (memory.source, memory.title, memory.tags) == (None, None, [])


def test_tags_that_are_not_text_are_ignored() -> None:
    memory = Memory("one", "text", {"tags": [1, "db", None]}, NOON, "project", NOON)
    assert memory.tags == ["db"]
