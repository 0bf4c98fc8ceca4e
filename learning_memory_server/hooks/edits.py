"""The files and texts of edits in the events of clients."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

_EDIT_MAX: Final = 100_000  # Characters of an edit's old and new text that are looked at
_FILE: Final = ("file_path", "filePath", "notebook_path", "absolute_path")
_OLD: Final = ("old_string", "oldString")
_NEW: Final = ("new_string", "newString", "content", "new_source")
_CHANGE: Final = (*_OLD, *_NEW, "edits")
"""The keys of old and new text, which only a tool that edits a file is given; a new file may be empty."""
_PATCHED: Final = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
"""What Codex's patches say before each file."""


def find_text(given: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """Return the first text under one of the names, whose parts are keys."""
    for name in names:
        found: Any = given
        for key in name.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, str):
            return found
    return None


def edit_in(tool: object, tool_input: Mapping[str, Any]) -> dict[str, str]:
    """Return the file that a tool's input names, and whether the tool edits it, as parts of an event."""
    patch = tool_input.get("command")
    if tool == "apply_patch" and isinstance(patch, str) and (named := _PATCHED.search(patch)):
        return {"file": named[1].strip(), "edit": "true"}
    file, is_edit = find_text(tool_input, _FILE), any(name in tool_input for name in _CHANGE)
    return {"file": file, "edit": "true" if is_edit else ""} if file else {}


def texts_in(tool_input: Mapping[str, Any]) -> dict[str, Any]:
    """Return the old and new text in a tool's input, as parts of an event."""
    edits = tool_input.get("edits")
    return {
        "before": find_text(tool_input, _OLD),
        "content": find_text(tool_input, _NEW),
        "edits": json.dumps(edits) if isinstance(edits, list) else None,
    }


def edited_in(event: Mapping[str, object]) -> tuple[str, str]:
    """Return the old and the new text of an edit, or of several in one call, which are a list or JSON."""
    edits = event.get("edits")
    if isinstance(edits, str) and edits.startswith("[") and len(edits) <= 2 * _EDIT_MAX:
        with suppress(ValueError, RecursionError):
            edits = json.loads(edits)
    given = [event, *(each for each in (edits if isinstance(edits, list) else ()) if isinstance(each, dict))]
    before, content = (
        "\n".join(text for each in given for name in names if isinstance(text := each.get(name), str) and text)
        for names in (("before", "old_string"), ("content", "new_string"))
    )
    return before[:_EDIT_MAX], content[:_EDIT_MAX]
