"""A person's rule in a file that clients load: its lines there, and a patch for `git apply`."""

import difflib
import re
from typing import Final

LEARNED: Final = ".claude/rules/learned.md"
OTHERS: Final = ("CLAUDE.md", "AGENTS.md")
_RULE: Final = re.compile(r"<!-- (\w{1,99}): [^<>\r\n]{0,200}-->\r?\n- [^\r\n]*\r?\n")
_PATHS: Final = re.compile(r'---\r?\npaths: "[^"\n]*"\r?\n---\r?\n\r?\n')


def promoted(text: str) -> dict[str, str]:
    """Return the rules in a file, by id."""
    return {rule[1]: rule[0] for rule in _RULE.finditer(text)}


def with_rule(text: str, name: str, sentence: str, source: str) -> str:
    """Return the file with a rule added under its id, by which a session recognizes that its client loads the rule."""
    if name in promoted(text):
        return text
    # An earlier version limited the file to some paths; this rule applies to all.
    whole = _PATHS.sub("", text, count=1) if _PATHS.match(text) else text
    return f"{_ended(whole)}<!-- {name}: {source} -->\n- {sentence}\n"


def with_line(text: str, sentence: str) -> str:
    """Return a person's own file with a sentence as its last list item; unchanged if it already has the sentence."""
    if any(line.lstrip("-* \t").strip() == sentence for line in text.splitlines()):
        return text
    last = text.rstrip().rpartition("\n")[2].lstrip()
    gap = "" if not text.strip() or last.startswith(("- ", "* ")) else "\n"
    return f"{_ended(text)}{gap}- {sentence}\n"


def patch(name: str, before: str | None, after: str) -> str:
    """Return a patch for `git apply`; empty without a change. `before` is None for a missing file."""
    names = ("/dev/null" if before is None else f"a/{name}", f"b/{name}")
    old, new = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (before or "", after))
    lines = difflib.unified_diff(old, new, *names)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
