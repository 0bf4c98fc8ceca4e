"""Convert calls of past sessions to acts for rules, and find the commands that a pattern may match."""

import re
from typing import Final

from learning_memory_server.model.rule import CallForm, Pattern
from learning_memory_server.rules.past.events import BASH, EDITS, Asked
from learning_memory_server.rules.patterns.matching import Act
from learning_memory_server.shell.script import read

_WORKTREE: Final = re.compile(r"^(?:\.claude/)?\.?worktrees/[^/]+/")
_WORKTREES: Final = re.compile(r"/(?:\.claude/)?\.?worktrees/[^/]+.*$")


def act_of(asked: Asked, top: str) -> Act | None:
    """Return a call as an act for rules; None if it is neither a bash command nor an edit in the project.

    Files are relative to the folder `top`, the project's root, or to the root of a worktree in it. A session may have
    started in a subfolder of its project, so the top folder may be above `top`.
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
    """Return the text that an edit writes, and the text that it replaces."""
    edits = asked.given.get("edits")
    given = [each for each in edits if isinstance(each, dict)] if isinstance(edits, list) else [asked.given]
    keys = "content" if "content" in asked.given else "new_source" if "new_source" in asked.given else "new_string"
    text = ["\n".join(str(each.get(key) or "") for each in given) for key in (keys, "old_string")]
    return text[0], text[1]


def mark_of(pattern: Pattern) -> re.Pattern[str] | None:
    """Return an expression that each command matching the pattern contains; None if there is no such expression."""
    named = [_named(form) for form in (*pattern.broken, *pattern.about, *pattern.first)]
    globs = {*pattern.files, *(word for words in named for word in words)}
    spelt = {_spelt(glob) for glob in globs}
    if not all(named) or "" in spelt:
        return None
    return re.compile("|".join(sorted(spelt)) or r"(?!)")


def _spelt(glob: str) -> str:
    """Return an expression for the longest part without wildcards. A word without wildcards must match whole."""
    literal = max(re.split(r"[*?\[\]{},!]+", glob), key=len).strip("/")
    is_word = literal == glob and literal.isalnum()
    return rf"\b{re.escape(literal)}\b" if is_word else re.escape(literal)


def _named(form: CallForm) -> tuple[str, ...]:
    """Return words or globs. A matching call contains at least one: its program, else one of the required words."""
    return (form.words[0].rpartition("/")[2],) if form.words else form.having
