"""Rules that were earned: what is promoted to a file that clients load, as a change of that file for a person to make.

Each rule is a sentence in a list, above it a comment with where it comes from, which models do not read. Everything
that is added stands between two marks, so that taking it out leaves the file as it was, byte for byte.
"""

import difflib
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Final

LEARNED: Final = ".claude/rules/learned.md"
BYTES_MAX: Final = 1_000
"""Bytes of all that is added to a file."""
_BLOCK: Final = re.compile(
    r"(?P<end>\r?\n)?(?P<begin><!-- learning-memory: begin(?P<was_open>, after a line without an end)? -->)\r?\n"
    r"(?P<rules>.*?)<!-- learning-memory: end -->\r?\n",
    re.DOTALL,
)
_RULE: Final = re.compile(r"<!-- (\w+)[^>]*-->\r?\n- [^\r\n]*\r?\n")
_PATHS: Final = re.compile(r'---\npaths: "[^"\n]*"\n---\n\n')


@dataclass(frozen=True, slots=True)
class Rule:
    """A sentence that says what to do, where it comes from, and the files that it is about, if it is about some."""

    id: str
    text: str
    source: str
    paths: tuple[str, ...] = ()

    def lines(self) -> str:
        """Return it as a file has it."""
        return f"<!-- {self.id}: {self.source} -->\n- {self.text}\n"


def promoted(text: str) -> dict[str, str]:
    """Return the rules in a file, by the id of what they come from."""
    block = _BLOCK.search(text)
    return {rule[1]: rule[0].replace("\r\n", "\n") for rule in _RULE.finditer(block["rules"])} if block else {}


def with_rules(text: str, rules: Sequence[Rule], gone: Container[str], *, is_ours: bool) -> str:
    """Return a file's text with rules, as many as there is room for, and without those that are gone.

    Those that it has come first, and stay as they are. A file of ours alone, which `is_ours`, says which files its
    rules are about if all of them say so; without rules it is empty.
    """
    lines = {name: said for name, said in promoted(text).items() if name not in gone}
    for rule in rules:
        more = lines.get(rule.id, rule.lines())
        if len("".join((*lines.values(), more)).encode()) <= BYTES_MAX - len(_block("", "")):
            lines[rule.id] = more
    before = without_rules(text)
    if is_ours and _PATHS.fullmatch(before):
        before = ""
    if not lines:
        return before
    by_id = {rule.id: rule.paths for rule in rules}
    if is_ours and not before and all(by_id.get(name) for name in lines):
        paths = sorted({path for name in lines for path in by_id[name]})
        glob = paths[0] if len(paths) == 1 else f"{{{','.join(paths)}}}"
        before = f'---\npaths: "{glob}"\n---\n\n'
    is_open = bool(before) and not before.endswith("\n")
    block = _block("".join(lines.values()), ", after a line without an end" if is_open else "")
    added = f"\n{block}" if is_open else block
    return before + (added.replace("\n", "\r\n") if "\r\n" in before else added)


def without_rules(text: str) -> str:
    """Return a file's text as it was before rules were added."""
    return _BLOCK.sub(lambda block: "" if block["was_open"] else block["end"] or "", text, count=1)


def patch(path: str, before: str, after: str) -> str:
    """Return the change of a file, for `git apply`; nothing if there is none."""
    names = (f"a/{path}" if before else "/dev/null", f"b/{path}" if after else "/dev/null")
    old, new = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (before, after))
    lines = difflib.unified_diff(old, new, *names)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _block(lines: str, how: str) -> str:
    return f"<!-- learning-memory: begin{how} -->\n{lines}<!-- learning-memory: end -->\n"
