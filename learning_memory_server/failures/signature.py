"""What names the error in a failing command's output, without what differs from one time to the next.

A signature is one line. Of a traceback it is the exception, of a compiler's messages the first error, and otherwise the
first line that sounds like an error. If none does, there is no signature: the text may be anything. Quoted names,
paths, addresses, times, hashes and numbers are replaced by a mark, so that the same mistake in another file has the
same signature.
"""

from __future__ import annotations

import re
from typing import Final

from learning_memory_server.domain.limits import SIGNATURE_MAX
from learning_memory_server.domain.lines import one_line
from learning_memory_server.failures.texts import whole_words

_EXAMINED: Final = 100
"""Lines examined at the beginning, and as many at the end. Errors stand at either."""
_LONGEST_LINE: Final = 400
"""Characters of a line that are examined; minified code has lines of megabytes."""
_LONGEST_OUTPUT: Final = 2 * _EXAMINED * _LONGEST_LINE
"""Characters of the output that are examined, half of them at each end."""

_CONTROL: Final = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
"""Colours, titles and other control characters."""
_EXIT_CODE: Final = re.compile(r"(?:Command failed with )?exit (?:code|status):? -?\d+", re.IGNORECASE)
"""What a client puts in front of a failing command's output."""

_EXCEPTION: Final = re.compile(
    r"(?:E\s{2,}|Uncaught\s+|Caused by:\s+|Exception in thread \S+\s+)?"
    r"(?:\w+(?:\.|::|\\))*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Failure|Fault|Expired)\b(?:\s*[:(\[]|\s*$)"
    r"|thread \S+ (?:\(\d+\) )?panicked at|panic: "
)
_MESSAGE: Final = re.compile(
    r"(?:[^\s:]+:(?:\d+:)*\s+)*(?:fatal|error|panic|failed|npm err!)(?:\s?\[?\w*\d\]?)?\s*(?:[:!]|\s-)"
    r"|\[(?:error|fatal)\]\s+\S|npm error \S|[^\s:]+:\d+(?::\d+)?:?\s+[A-Z]{1,4}\d{2,5}\b",
    re.IGNORECASE,
)
_SOUNDS_WRONG: Final = re.compile(
    r"\b(?:no such|not found|cannot|can't|could not|couldn't|unable|denied|refused|invalid|illegal|unknown|"
    r"unrecogni[sz]ed|unsupported|undefined|unresolved|unexpected|missing|fail(?:ed|ure|s)?|fault|error|err!|"
    r"timed? ?out|does not|doesn't|did not|not (?:permitted|allowed|recogni[sz]ed|installed|a|in|on)|no (?:module|required|matching|rule)|"
    r"ambiguous|conflict|killed|aborted|exceeded|mismatch)\b",
    re.IGNORECASE,
)
_TAIL: Final = re.compile(
    r"(?:g?make(?:\[\d+\])?: \*\*\* \[|error: (?:could not compile|aborting due to|process didn't exit)|"
    r"npm err(?:!|or)\s*(?:$|code|errno|syscall|path|command|a complete log|exit status|lifecycle|\S+@\S+ )|error command failed|"
    r"ninja: build stopped|\[error\]\s*(?:$|->|to see|re-run|for more|\[help|compilation error)|"
    r"collect2: error|test suite failed|fail\s+\S+(?:\s+[\d.]+m?s)?$|found \d+ errors?\b|"
    r"for more information|caused by:?\s*$|=+ .* =+$|\S+ \[[^\]]*\] error \d+$)",
    re.IGNORECASE,
)
"""Lines that say only that something failed, not what: those around them are better."""

_PYTEST: Final = re.compile(r"^E\s{2,}")
_MARK: Final = re.compile(r"<\w+>")
_LETTER: Final = re.compile(r"[^\W\d_]")
_QUOTED: Final = r"(?<!\w)'[^'\n]*'(?!\w)|(?<!\w)\"[^\"\n]*\"|`[^`'\n]*[`']|\u2018[^\u2019\n]*\u2019|\u201c[^\u201d\n]*\u201d"
_TIME: Final = (
    r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b"
)
_ID: Final = r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b0x[0-9a-f]+\b|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,}\b"
_ADDRESS: Final = r"[\w.+-]+@[\w-]+\.[\w.-]*\w|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b|\b(?:[0-9a-f]{1,4}:){3,}[0-9a-f:]*[0-9a-f]\b"
_PATH: Final = (
    r"(?:\b[A-Za-z]:|~|\$\w+)?(?:[\w@%+=.~-]*[\\/])+[\w@%+=.~-]*(?::\d+)*"
    r"|\b[\w-]+\.[A-Za-z]\w{0,4}:\d+(?::\d+)?\b"
    r"|\b[\w-]+\.(?:[a-z]{1,2}|[a-z]{3,4}|\w*json)(?=[\s,:;)]|$)"
)
_NUMBER: Final = r"(?<![A-Za-z_<\d])(?:(?<![\w>])[-+])?\d+(?:[.,_]\d+)*(?:e[-+]?\d+)?(?:\s?(?:ms|s|[kmg]i?b|%))?(?![A-Za-z\d])"
_MARKS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), mark)
    for pattern, mark in (
        (r"[a-z][a-z0-9+.-]*://[^\s'\"`<>)\]]+", "<url>"),
        (_QUOTED, "<name>"),
        (_TIME, "<time>"),
        (_ID, "<id>"),
        # What an error repeats of a password or a token looks like this, and so do random names.
        (r"(?-i:\b(?=\w*[a-z])(?=\w*[A-Z])(?=\w*\d)\w{12,}\b)", "<id>"),
        (_PATH, "<path>"),
        (_ADDRESS, "<address>"),
        (_NUMBER, "<n>"),
    )
)
"""What is replaced, in this order, and by what."""


def error_line(output: str) -> str | None:
    """Return the line that names the error, None if none does."""
    lines = [_CONTROL.sub("", whole_words(line, _LONGEST_LINE)) for line in _examined(output)]
    lines = [line for line in lines if line.strip() and not _EXIT_CODE.fullmatch(line.strip())]
    tail = [line for line in lines if _TAIL.match(_bare(line))]
    return _naming([line for line in lines if line not in tail]) or _naming(tail)


def _naming(lines: list[str]) -> str | None:
    for candidates in ([line for line in lines if not line[0].isspace()], [_bare(line) for line in lines]):
        # Of a traceback, and of a chain of them, the last line is what was raised in the end.
        if raised := [line for line in candidates if _EXCEPTION.match(line)]:
            return raised[-1].strip()
        # A compiler's later errors follow from its first.
        if said := next((line for line in candidates if _MESSAGE.match(line)), None):
            return said.strip()
    return next((_bare(line) for line in lines if _SOUNDS_WRONG.search(line)), None)


def _bare(line: str) -> str:
    """Return a line without the frame that some programs draw around their messages."""
    return line.strip(" \t|\N{BOX DRAWINGS LIGHT VERTICAL}\N{BLACK CIRCLE}")


def normalized(line: str) -> str | None:
    """Return the signature that a line is without what differs from one time to the next, None if nothing is left."""
    line = _PYTEST.sub("", line)
    for pattern, mark in _MARKS:
        line = pattern.sub(mark, line)
    line = one_line(line)[:SIGNATURE_MAX].rstrip()
    return line if _LETTER.search(_MARK.sub("", line)) else None


def _examined(output: str) -> list[str]:
    if len(output) > _LONGEST_OUTPUT:
        output = f"{output[: _LONGEST_OUTPUT // 2]}\n{output[-_LONGEST_OUTPUT // 2 :]}"
    # A carriage return, by which a progress bar writes over itself, ends a line here, too.
    lines = output.splitlines()
    return lines if len(lines) <= 2 * _EXAMINED else lines[:_EXAMINED] + lines[-_EXAMINED:]
