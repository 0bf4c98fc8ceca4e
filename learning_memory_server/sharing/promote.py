"""Rules that were earned: a file that clients load, with the sources in comments, and its change for a person."""

import difflib
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Final

LEARNED: Final = ".claude/rules/learned.md"
BYTES_MAX: Final = 1_000  # Bytes of all rules
_RULE: Final = re.compile(r"<!-- (\w{1,99}): [^<>\r\n]{0,200}-->\r?\n- [^\r\n]*\r?\n")
_PATHS: Final = re.compile(r'---\r?\npaths: "[^"\n]*"\r?\n---\r?\n\r?\n')


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
    """Return the rules in a file, by the id of their source."""
    return {rule[1]: rule[0] for rule in _RULE.finditer(text)}


def with_rules(text: str, rules: Sequence[Rule], gone: Container[str]) -> str:
    """Return the file's text with as many rules as fit, the present ones first, and a person's additions."""
    lines = {name: said for name, said in promoted(text).items() if name not in gone}
    for rule in rules:
        more = lines.get(rule.id, rule.lines())
        if len("".join((*lines.values(), more)).encode()) <= BYTES_MAX:
            lines[rule.id] = more
    added = _RULE.sub("", text)
    if _PATHS.fullmatch(added):
        added = ""
    by_id = {rule.id: rule.paths for rule in rules}
    if lines and not added and all(by_id.get(name) for name in lines):
        paths = sorted({path for name in lines for path in by_id[name]})
        glob = paths[0] if len(paths) == 1 else f"{{{','.join(paths)}}}"
        added = f'---\npaths: "{glob}"\n---\n\n'
    end = "\n" if lines and added and not added.endswith("\n") else ""
    return f"{added}{end}{''.join(lines.values())}"


def patch(before: str, after: str) -> str:
    """Return the change of the file, for `git apply`; nothing if there is none."""
    names = (f"a/{LEARNED}" if before else "/dev/null", f"b/{LEARNED}" if after else "/dev/null")
    old, new = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (before, after))
    lines = difflib.unified_diff(old, new, *names)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
