"""The words of docstrings: plain sentences, counted for the whole package against a ceiling that only falls."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import learning_memory_server

CEILING: Final = 150
"""Lower it when there are fewer findings. Do not raise it."""
WORDS_MAX: Final = 30
FIGURES_MAX: Final = 5

HABITS: Final = {
    "a clause in place of a name": (
        r"^(?:What|Whatever|Who|Whoever|Which)\b[^?]*\b(?:is|are|was|has|have|does|can|may|goes|stays|counts|fails)\b[^?]*$"
        r"|\b(?:of|for|with|from|to|by|at|on|about|than) (?:what|whatever|whoever) (?!to )"
        r"|\b(?:is|are) what (?:it|they|you|we|an?|the|this|is|are|was|makes)\b"
    ),
    "a pointing word in place of a noun": (
        r"\b(?:says? so|do(?:es)? so|so (?:do(?:es)?|is|are)|(?:of|that|those) (?:which|these|those|them|of)"
        r"|by itself|the other one|the one before|the former|the latter|likewise)\b"
    ),
    "nobody in particular": r"\b(?:nobody|somebody|anybody|everybody|whoever|one's own)\b",
    "a word of this house": (
        r"\b(?:unasked|(?:is|are|was) told|told again|mended|bears? on|speaks? for|in vain|set aside|at once|besides"
        r"|of late|what came of)\b"
    ),
    "negative or inverted": (
        r"\b(?:Nor|Neither)\b|\bnot (?:un\w+|without)\b|^(?:Not|Never|No) .*\b(?:if|unless|until)\b"
    ),
    "a vague amount": r"\b(?:a few|some dozens|somewhat|next to nothing|nearly all|mostly|rarely)\b",
}


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each docstring, also of constants and attributes."""
    for node in ast.walk(ast.parse(source)):
        for each in getattr(node, "body", ()) if isinstance(getattr(node, "body", ()), list) else ():
            if (
                isinstance(each, ast.Expr)
                and isinstance(each.value, ast.Constant)
                and isinstance(each.value.value, str)
            ):
                yield each.lineno, each.value.value


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a docstring: no tables, and code as one word."""
    for paragraph in re.split(r"\n\s*\n", text):
        prose = " ".join(line.strip() for line in paragraph.splitlines() if not line.lstrip().startswith("|"))
        plain = re.sub(r"`[^`]*`", "CODE", prose)
        yield from filter(None, re.split(r"(?<=[.?!:;]) (?=[A-Z\"(])", plain))


def findings(sentence: str, *, has_figures: bool = False) -> list[str]:
    """Return the habits of a sentence. `has_figures`: its subject is measurements, so it may have many."""
    found = [habit for habit, pattern in HABITS.items() if re.search(pattern, sentence)]
    if len(sentence.split()) > WORDS_MAX:
        found.append(f"more than {WORDS_MAX} words")
    if not has_figures and len(re.findall(r"(?<![\w.-])\.?\d[\d.,]*", sentence)) > FIGURES_MAX:
        found.append(f"more than {FIGURES_MAX} figures")
    return found


def test_the_words_of_docstrings_do_not_get_worse() -> None:
    root = Path(learning_memory_server.__file__).parent
    lines, habits = [], Counter[str]()
    for path in sorted(root.rglob("*.py")):
        for number, text in docstrings(path.read_text("utf-8")):
            for sentence in sentences(text):
                for habit in findings(sentence, has_figures=path.name == "constants.py"):
                    habits[habit] += 1
                    lines.append(f"{path.relative_to(root)}:{number}: {habit}: {sentence[:100]}")
    shown = "\n".join([*lines, str(dict(habits))])
    assert len(lines) <= CEILING, shown
    assert len(lines) > CEILING - 60, f"There are {len(lines)} findings: lower CEILING to that."


@pytest.mark.parametrize(
    ("sentence", "count"),
    [
        ("Return the vectors of all points, by point id.", 0),
        ("What is forgotten is not found.", 1),
        ("Nobody waits, for whatever somebody does.", 2),
        ("Return the texts that bear on it, mostly at once.", 2),
        ("Measured with 1, 2, 3, 4, 5 and 6 texts.", 1),
        ("word " * 31, 1),
    ],
)
def test_habits_are_found(sentence: str, count: int) -> None:
    assert len(findings(sentence)) == count
