"""Which file a tool has read or edited, and which lines it took out and put in, as clients say it."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

EDIT_MAX: Final = 20_000
"""Characters of old and of new lines that are looked at: of more, the first ones say what was changed."""
_FILE: Final = ("file_path", "filePath", "notebook_path", "absolute_path")
_OLD: Final = ("old_string", "oldString")
_NEW: Final = ("new_string", "newString", "content", "new_source")
_PATCHED: Final = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
"""What Codex's patches say before each file."""


def edit_in(tool: object, tool_input: Mapping[str, Any]) -> dict[str, Any]:
    """Return the file that a tool's input names with old and new text, as arguments of the tool `hook`."""
    patch = tool_input.get("command")
    if tool == "apply_patch" and isinstance(patch, str) and (named := _PATCHED.search(patch)):
        lines = _PATCHED.split(patch)[2].splitlines()
        return {"file": named[1].strip(), **dict(zip(("old", "new"), _changed(lines), strict=True))}
    keys = {"file": _FILE, "old": _OLD, "new": _NEW}
    found = {
        name: next((tool_input[key] for key in those if key in tool_input), "")
        for name, those in keys.items()
    }
    return found if found["file"] else {}


def old_and_new(patch: str, old: str, new: str) -> tuple[str, str]:
    """Return the lines that were taken out and put in: those of Claude Code's patch, JSON, else what was given."""
    try:
        hunks = json.loads(patch) if patch else []
        lines = [line for hunk in hunks for line in hunk["lines"]]
        old, new = _changed(lines) if lines else (old, new)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        # It says less than it seems to, and is only used to recognise lines.
        pass
    return old[:EDIT_MAX], new[:EDIT_MAX]


def _changed(lines: Iterable[str]) -> tuple[str, str]:
    """Return the lines of a diff that begin with `-`, and those with `+`."""
    kept = list(lines)
    return tuple("\n".join(line[1:] for line in kept if line.startswith(sign)) for sign in "-+")  # type: ignore[return-value]
