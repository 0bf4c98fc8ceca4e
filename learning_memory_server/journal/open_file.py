"""The file of an open entry: its data as one JSON object, with the version and a checksum, which earlier ones lack."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, Final

from learning_memory_server.journal.formats import is_version
from learning_memory_server.journal.line import DamagedLineError, digest

_UNVERSIONED: Final = 1
"""The version of open files that name none, as the first ones did."""


def open_file_of(content: dict[str, Any]) -> bytes:
    """Return the content of an open file, with its checksum."""
    return json.dumps({**content, "sum": digest(content)}, ensure_ascii=False, indent=1).encode()


def content_of(text: bytes) -> dict[str, Any]:
    """Return what an open file says, without its checksum. Earlier programs wrote none.

    Raises:
        DamagedLineError: If it is not as it was written.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedLineError("it is not JSON") from error
    if not isinstance(content, dict):
        raise DamagedLineError("it is not a JSON object")
    stated = content.pop("sum", None)
    try:
        actual = stated and digest(content)
    except ValueError as error:
        raise DamagedLineError("it is not valid Unicode") from error
    if stated != actual:
        raise DamagedLineError("the checksum does not match")
    return content


def open_version(text: bytes) -> int:
    """Return the version that an open file names, damaged or not; the first if it names none, or nonsense."""
    with suppress(ValueError, RecursionError):
        content = json.loads(text)
        if isinstance(content, dict) and is_version(content.get("v")):
            return int(content["v"])
    return _UNVERSIONED
