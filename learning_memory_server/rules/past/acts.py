"""Calls of past sessions as what rules judge, and what a command has that a pattern may be about."""

import re
from typing import Final

from learning_memory_server.model.rule import CallForm, Pattern
from learning_memory_server.rules.past.events import BASH, EDITS, Asked
from learning_memory_server.rules.patterns.matching import Act
from learning_memory_server.shell.script import read

_WORKTREE: Final = re.compile(r"^(?:\.claude/)?\.?worktrees/[^/]+/")
_WORKTREES: Final = re.compile(r"/(?:\.claude/)?\.?worktrees/[^/]+.*$")


def act_of(asked: Asked, top: str) -> Act | None:
    """Return a call as what rules judge; None if it is neither a command of bash nor an edit in the project.

    Files are relative to the folder `top`, the project's root, or to the root of a worktree in it. A session may have
    begun in a folder of its project: then one above it may be the top.
    """
    if asked.tool == BASH:
        root, home = top or asked.folder, _WORKTREES.sub("", top)
        others = (home,) if home else ()
        return Act(read(asked.call), "", "", "", root, asked.folder, others, has_top=False) if asked.call else None
    if asked.tool not in EDITS or not (file := _file(asked, top)):
        return None
    return Act(None, file, *_change(asked), root=top)


def _file(asked: Asked, top: str) -> str:
    path, root = asked.call.replace("\\", "/"), (top or asked.folder).replace("\\", "/")
    if path.startswith(f"{root}/"):
        return _WORKTREE.sub("", path[len(root) + 1 :])
    return "" if path.startswith("/") or path[1:2] == ":" else path


def _change(asked: Asked) -> tuple[str, str]:
    """Return what an edit writes, and what was there before."""
    edits = asked.given.get("edits")
    given = [each for each in edits if isinstance(each, dict)] if isinstance(edits, list) else [asked.given]
    keys = "content" if "content" in asked.given else "new_source" if "new_source" in asked.given else "new_string"
    text = ["\n".join(str(each.get(key) or "") for each in given) for key in (keys, "old_string")]
    return text[0], text[1]


def mark_of(pattern: Pattern) -> re.Pattern[str] | None:
    """Return what is in each command that a pattern may be about; None if it may be any."""
    named = [_named(form) for form in (*pattern.broken, *pattern.about, *pattern.first)]
    globs = {*pattern.files, *(word for words in named for word in words)}
    spelt = {_spelt(glob) for glob in globs}
    if not all(named) or "" in spelt:
        return None
    return re.compile("|".join(sorted(spelt)) or r"(?!)")


def _spelt(glob: str) -> str:
    """Return an expression for the longest part of a word without wildcards; a word without any is whole."""
    literal = max(re.split(r"[*?\[\]{},!]+", glob), key=len).strip("/")
    is_word = literal == glob and literal.isalnum()
    return rf"\b{re.escape(literal)}\b" if is_word else re.escape(literal)


def _named(form: CallForm) -> tuple[str, ...]:
    """Return words, or globs of words: a call has one of them. A program is one; without it, all that may be had."""
    return (form.words[0].rpartition("/")[2],) if form.words else form.having
