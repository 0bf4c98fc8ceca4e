"""Extract the sentences in Markdown, without code, tables, headings, comments and addresses."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

_FENCE: Final = re.compile(r"\s{0,12}(```+|~~~+)\s*([\w-]*)")
_SHELL: Final = re.compile(r"|bash|sh|shell|zsh|console|terminal")
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HEADING: Final = re.compile(r"\s{0,3}#{1,6}\s+(.*?)[\s#]*$")
_ITEM: Final = re.compile(r"(\s*)(?:[-*+\u2022]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(.*)$")
_NO_PROSE: Final = re.compile(r"\s*(?:\||<|(?:[-*_=]\s*){3,}$|\[[^\]]*\]:\s)")
"""Tables, tags, rules and link targets."""
_LINK: Final = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_EMPHASIS: Final = re.compile(r"(`[^`]*`)|\*\*|__(?=\S)|(?<=\S)__|(?<![\w*])\*(?=[^\s*])|(?<=[^\s*])\*(?![\w*])")
_SIGNS: Final = re.compile(r"^(?:[^\w\s`\"'(\[./@-]+\ufe0f?\s*)+")
_WARNING: Final = re.compile(
    r"^(?:(?:very )?important|critical|mandatory|warning|note|caution|attention|reminder|required|rule)\s*[:!\u2014-]+\s*",
    re.IGNORECASE,
)
"""Words before a sentence that only add emphasis."""
_END: Final = re.compile(r"(?<=[.!?])[)\"']?\s+(?=[\"'(`]?[A-Z0-9`])|(?<=[\u3002\uff01\uff1f])\s*")
_ABBREVIATION: Final = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|approx|no|incl|cf)|\b[A-Z])\.$", re.IGNORECASE)
_BAD: Final = re.compile(
    r"\b(?:wrong|bad|incorrect|mistakes?|anti-?patterns?|problems?|symptoms?|examples?|e\.g|issues?|catches|excludes)\b"
    r"|\N{CROSS MARK}",
    re.IGNORECASE,
)
"""Introductions of lists of mistakes or examples, whose items are not instructions."""
_NOT: Final = re.compile(
    r"^(?:please )?(?:(?:things? (?:to|you should) )?(?:do not|don'?ts?|never|avoid|must not|forbidden|prohibited|not allowed)"
    r"(?: (?:ever )?do)?(?: (?:this|these|any of these|the following(?: things)?))?)\W*$",
    re.IGNORECASE,
)
"""Introductions of lists of forbidden things: without the introduction, an item would mean the opposite."""
_IS_NOT: Final = re.compile(r"^(?:no|not|never|do not|don'?t|avoid)\b", re.IGNORECASE)
"""The beginning of a sentence or an introduction that forbids something."""
_TIME: Final = re.compile(r"(?:always )?(?:before|after|prior to|at the end of|when)\b", re.IGNORECASE)
"""The beginning of a heading that says when to run the commands below it."""
_WHEN: Final = re.compile(r"\b(?:before|after|at the end|whenever|when)\b", re.IGNORECASE)
_COMMANDS: Final = 3  # More commands below a sentence count as a manual
_COMMAND: Final = 80  # Maximum characters of a command


@dataclass(slots=True)
class _Reader:
    """The state of a line reader."""

    text: list[str] = field(default_factory=list)  # of the paragraph or the item
    indent: int = -1  # of the item, -1 for a paragraph
    leads: list[tuple[int, str]] = field(default_factory=list)  # introductions of the open lists, with their indents
    lead: str = ""  # a paragraph that ends in a colon, before code or a list
    heading: str = ""
    code: list[str] | None = None  # in a fence
    fence: str = ""
    waits: str = ""  # a sentence that commands may follow

    def line(self, line: str) -> Iterator[str]:
        """Process a line, and yield the sentences that it completes."""
        if self.code is not None:
            yield from self._in_code(line)
        elif match := _FENCE.match(line):
            yield from self._ended(is_before_code=True)
            if _TIME.match(self.heading) and not _WHEN.search(self.waits):
                yield from filter(None, [self.waits.rstrip(":")])
                self.waits, self.heading = f"{self.heading.rstrip(':')}:", ""
            self.fence, self.code = match[1], [] if _SHELL.fullmatch(match[2].casefold()) else [""] * (_COMMANDS + 1)
        elif match := _HEADING.match(line):
            yield from self._ended()
            self.leads, self.lead, self.heading = [], "", plain(match[1])
        elif not line.strip():
            yield from self._ended(keeps_lead=True)
        elif _NO_PROSE.match(line):
            yield from self._ended()
        elif match := _ITEM.match(line):
            yield from self._ended(keeps_lead=True)
            self._begin_item(len(match[1].expandtabs(2)), match[2])
        else:
            if not self.text and self.indent < 0 and not line[:1].isspace():
                self.leads = []
            self.text.append(line.strip())

    def end(self) -> Iterator[str]:
        """Yield the remaining sentences at the end of the text."""
        yield from self._ended()

    def _begin_item(self, indent: int, text: str) -> None:
        while self.leads and self.leads[-1][0] >= indent and self.leads[-1][0] >= 0:
            self.leads.pop()
        if self.lead:
            self.leads.append((-1 if not self.leads else indent - 1, self.lead))
            self.lead = ""
        self.indent, self.text = indent, [text]

    def _in_code(self, line: str) -> Iterator[str]:
        if line.strip().startswith(self.fence):
            code, self.code = self.code or [], None
            commands = [text for each in code if (text := each.partition(" #")[0].strip()) and text[0] not in "#$"]
            waits, self.waits = self.waits, ""
            if waits:
                fits = len(code) <= _COMMANDS and commands and all(len(each) <= _COMMAND for each in commands)
                yield f"{waits} {', '.join(f'`{each}`' for each in commands)}" if fits else waits.rstrip(":")
        elif self.code is not None:
            self.code.append(line)

    def _ended(self, *, keeps_lead: bool = False, is_before_code: bool = False) -> Iterator[str]:
        """Yield the sentences of the completed paragraph or item."""
        if self.waits and not is_before_code and self.text:
            yield self.waits.rstrip(":")
            self.waits = ""
        if not self.text:
            if self.waits and not (is_before_code or keeps_lead):
                yield self.waits.rstrip(":")
                self.waits = ""
            return
        whole, item = plain(" ".join(self.text)), self.indent >= 0
        lead = self.leads[-1][1] if item and self.leads else self.heading if item or self._is_led else ""
        self.text, indent, self.indent = [], self.indent, -1
        if whole.endswith(":"):
            if item:
                self.leads.append((indent, whole))
            else:
                self.lead = whole
        if _BAD.search(lead):
            return
        parts = [_led(lead, each) for each in split(whole)]
        if whole.endswith(":") and parts:
            *parts, self.waits = parts
        yield from parts

    @property
    def _is_led(self) -> bool:
        """Whether a heading applies to the items below it: it forbids them, or ends in a colon."""
        return _NOT.search(self.heading) is not None or self.heading.endswith(":")


def sentences(markdown: str) -> Iterator[str]:
    """Yield the sentences of paragraphs and lists, each on one line.

    A sentence that ends in a colon gets the one to three commands of the shell code block after it. An item of a list
    of forbidden things begins with "Do not". Lists of bad examples are left out.
    """
    reader = _Reader()
    for line in _COMMENT.sub("", markdown).splitlines():
        yield from reader.line(line)
    yield from reader.end()


def plain(text: str) -> str:
    """Return a text without emphasis, link targets and leading symbols. Code keeps its backticks."""
    text = _EMPHASIS.sub(lambda match: match[1] or "", _LINK.sub(r"\1", text))
    text = _SIGNS.sub("", " ".join(text.split()))
    return _SIGNS.sub("", _WARNING.sub("", text))


def split(text: str) -> list[str]:
    """Return the sentences of a paragraph."""
    found = [""]
    for part in _END.split(text):
        if found[-1] and (found[-1].count("`") % 2 or _ABBREVIATION.search(found[-1])):
            found[-1] = f"{found[-1]} {part}"
        else:
            found.append(part)
    return [plain(each) for each in found if each]


def _led(lead: str, text: str) -> str:
    """Return an item in combination with the introduction of its list."""
    if _NOT.search(lead):
        return text if _IS_NOT.search(text) else f"Do not {text[:1].lower()}{text[1:]}"
    belongs = lead.endswith(":") and (text.startswith("`") or (_IS_NOT.search(lead) and not _IS_NOT.search(text)))
    return f"{lead} {text}" if belongs else text
