"""Find sentences that are hard to read. `python -m tests.docs.prose [PAGE ...]` lists them.

A flag is a sign of a sentence that a reader of English as a second language has to read twice. The cells of tables are
sentences too. Code, headings and comments are not looked at.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

_MOST_WORDS: Final = 30
_MOST_FIGURES: Final = 5
_VERB: Final = r"(?:is|are|was|has|have|does|can|cannot|may|goes|stays|counts|fails)"
_PATTERNS: Final = {
    "a clause used as a noun": (
        rf"(?:^|[.:;] )(?:What|Whatever|Who|Whoever|Which)\b[^.?]*\b{_VERB}\b[^.?]*\."
        r"|\b(?:of|for|with|from|to|by|at|on|about|than) (?:what|whatever|whoever) (?!to )"
        r"|\b(?:is|are) what (?:it|they|you|we|a|an|the|is|are|was|makes|this)\b"
    ),
    "a pointing word": (
        r"\b(?:says? so|does so|do so|so does|so do|so is|so are|(?:of|by) (?:which|these|those|them|itself)"
        r"|that of|the other one|the one before|the former|the latter|likewise|the same of)\b"
    ),
    "no one who acts": r"\b(?:nobody|somebody|anybody|everybody|whoever|one's own)\b",
    "a house word": (
        r"\b(?:unasked|(?:is|are|was) told|told again|mended|bears? on|speaks? for|in vain|set aside|at once|besides"
        r"|of late|what came of)\b"
    ),
    "negative or turned around": (
        r"\b(?:Nor|Neither)\b|\bnot (?:(?!until\b|under\b|unique\b)un\w+|without)\b"
        r"|(?:^|[.] )(?:Not|Never|No) [^.]*\b(?:if|unless|until)\b"
    ),
    "a vague amount": r"\b(?:a few|some dozens|somewhat|next to nothing|nearly all|mostly|rarely)\b",
}
_RULES: Final = {name: re.compile(pattern) for name, pattern in _PATTERNS.items()}
_FIGURE: Final = re.compile(r"(?<![\w.-])\.?\d[\d.,]*")
_ITEM: Final = re.compile(r"(?:[-*]|\d+\.) ")
_END: Final = re.compile(r"(?<=[.?!]) (?=[A-Z\"(])")


class Flag(NamedTuple):
    """A line, and what is wrong in a sentence that begins near it."""

    line: int
    reason: str


class Reading(NamedTuple):
    """The flags of a text, and the number of its words."""

    flags: list[Flag]
    words: int


def read(text: str) -> Reading:
    """Look at every sentence of a Markdown text."""
    flags: list[Flag] = []
    words = 0
    for line, sentence in _sentences(text):
        count = len(sentence.split())
        words += count
        found = ((name, rule.search(sentence)) for name, rule in _RULES.items())
        flags += (Flag(line, f"{name}: {match[0][:50]!r}") for name, match in found if match)
        if count > _MOST_WORDS:
            flags.append(Flag(line, f"{count} words: {sentence[:40]!r}"))
        if len(_FIGURE.findall(sentence)) > _MOST_FIGURES:
            flags.append(Flag(line, f"more than {_MOST_FIGURES} figures: {sentence[:40]!r}"))
    return Reading(flags, words)


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    for line, paragraph in _paragraphs(text):
        linked = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph)
        plain = re.sub(r"`[^`]*`", "CODE", linked).replace("*", "")
        for sentence in _END.split(plain):
            yield line, sentence


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield paragraphs, items of lists and cells of tables, with their first lines."""
    held: list[str] = []
    start, fenced = 1, False
    for number, raw in enumerate([*text.split("\n"), ""], 1):
        line = raw.strip()
        mark = line.startswith(("```", "~~~"))
        fenced ^= mark
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("|") and not fenced else []
        skipped = fenced or mark or not line or bool(cells) or line.startswith(("#", "<!--", "![")) or raw[:4] == "    "
        if held and (skipped or _ITEM.match(line)):
            yield start, " ".join(held)
            held = []
        yield from ((number, cell) for cell in cells if re.search(r"\w", cell))
        if not skipped:
            start = start if held else number
            held.append(_ITEM.sub("", line, count=1) if _ITEM.match(line) else line)


def main() -> None:
    """Print the flags of the pages that are named, and for each page how many there are."""
    for name in sys.argv[1:]:
        flags, words = read(Path(name).read_text("utf-8"))
        sys.stdout.writelines(f"{name}:{line}: {reason}\n" for line, reason in flags)
        rate = 1000 * len(flags) / max(words, 1)
        sys.stdout.write(f"{name}: {len(flags)} flags, {words} words, {rate:.1f} per 1,000\n")


if __name__ == "__main__":
    main()
