"""Which errors were gone after edits in recorded sessions, by a rule that knows nothing of this server's.

An error was gone by edits if the first of the next fifteen commands with the same words, up to a pipe, ends without its
line, and the session edited files in between. What is told of files is right if one of them is among these; it is wrong
if none is, if the error was gone without an edit, or if another command was the cure; else nobody can say.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from learning_memory_server.cli.recurring import Failed, Session, Told, is_right

_WITHIN: Final = 15
_TOLD: Final = re.compile(r"after lines of (.+?) changed")

Edits = Mapping[tuple[str, int], frozenset[str] | None]
"""The files that were edited until each error was gone, by session and place; None if it is not known to be gone."""


def edits_of(sessions: Sequence[Session], found: Sequence[Failed]) -> Edits:
    """Return the files that were edited until each error was gone."""
    lines = {(failed.session, failed.place): failed.error[1] for failed in found}
    calls = {session.id: session.calls for session in sessions}
    edits: dict[tuple[str, int], frozenset[str] | None] = {}
    for (session, place), line in lines.items():
        edits[session, place], files = None, set[str]()
        for later, ran in enumerate(calls[session][place + 1 :][:_WITHIN], start=place + 1):
            files.update(edit.file for edit in ran.edits)
            if _words(ran.command) == _words(calls[session][place].command):
                if lines.get((session, later)) != line:
                    edits[session, place] = frozenset(files)
                break
    return edits


def is_right_of_edits(told: str, failed: Failed, edits: Edits) -> bool | None:
    """Return whether a text tells what mended a failure: a command, or files that were edited."""
    files = [name for names in _TOLD.findall(told) for name in names.split(" and ")]
    if not files:
        return is_right(told, failed)
    edited = edits[failed.session, failed.place]
    if edited:
        return any(f"/{path}".endswith(f"/{name}") for path in edited for name in files)
    return None if edited is None and failed.cure is None else False


def last_edit(found: Sequence[Failed], edits: Edits) -> Told:
    """Return the files that were edited in the last earlier session in which each moment's error was gone by edits."""
    known: dict[tuple[str, tuple[str, str]], list[tuple[str, frozenset[str]]]] = {}
    told = {}
    for failed in found:
        before = known.setdefault((failed.project, failed.error), [])
        others = [files for session, files in before if session != failed.session]
        if failed.recurs and others:
            told[failed.session, failed.place] = f"after lines of {' and '.join(others[-1])} changed"
        if edited := edits[failed.session, failed.place]:
            before.append((failed.session, edited))
    return told


def _words(command: str) -> list[str]:
    return command.split("|", maxsplit=1)[0].replace("2>&1", "").split()
