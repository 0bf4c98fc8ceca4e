"""The kept form of a command and its output: without secrets, folders of this machine, and changing parts.

Of an output one line is kept, the signature: the exception of a traceback, the first error of a compiler, or the first
line that sounds like an error, with marks for names, paths, times, hashes and numbers. Also the names in it.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from learning_memory_server.lessons.errors.parse import is_typo, parse, program
from learning_memory_server.lessons.files.freshness import split_at_top
from learning_memory_server.model.limits import COMMAND_MAX, SIGNATURE_MAX
from learning_memory_server.model.lines import one_line, shortened
from learning_memory_server.redaction.gate import RedactionGate

_EXAMINED: Final = 100  # Lines examined at the beginning, and as many at the end. Errors stand at either.
_LONGEST_LINE: Final = 400  # Characters of a line that are examined; minified code has lines of megabytes
_LONGEST_OUTPUT: Final = 2 * _EXAMINED * _LONGEST_LINE  # Characters of the output that are examined, half at each end

_CONTROL: Final = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
"""Colours, titles and other control characters."""
_FRAME: Final = re.compile(r"^(?:Output|Stdout|Stderr): ", re.MULTILINE)  # What a client writes before an output
_NOISE: Final = re.compile(
    r"(?:Command failed with )?exit (?:code|status):? -?\d+|Error: \(none\)"
    r"|(?:Command|Directory|Signal|Background PIDs|Process Group PGID): .*"
    # pytest's header, and what shows how far something is.
    r"|(?:platform|rootdir:|cachedir:|plugins:|configfile:|testpaths:|asyncio:|collect(?:ed|ing)) .*"
    r"|.*\[ *\d+%\]|\d+%.*|(?:Collecting|Downloading|Building|Installing|Compiling|Preparing) .*"
    r"|ERROR: pip's dependency resolver .*"
    # What linters find in a text: the program itself did its work.
    r"|\S+:\d+:?\s+\[?[A-Z]{1,4}\d{2,5}\b.*|found \d+ errors?\b.*|\*+ Module .*",
    re.IGNORECASE,
)
"""Lines that are no errors."""

_STARTING: Final = re.compile(
    r"^[ \t]*Error processing line \d+ of .*\.pth:\n(?:.*\n){0,20}?[ \t]*Remainder of file ignored$", re.MULTILINE
)
"""What Python writes of a package's file that it passes over at each start."""
_EXCEPTION: Final = re.compile(
    r"(?:E\s{2,}|Uncaught\s+|Caused by:\s+|Exception in thread \S+\s+)?"
    r"(?:\w+(?:\.|::|\\))*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Failure|Fault|Expired)\b(?:\s*[:(\[]|\s*$)"
    r"|thread \S+ (?:\(\d+\) )?panicked at|panic: "
)
_MESSAGE: Final = re.compile(
    r"(?:[^\s:]+:(?:\d+:)*\s+)*(?:fatal|error|panic|failed|npm err!)(?:\s?\[?\w*\d\]?)?\s*(?:[:!]|\s-)"
    r"|\[(?:error|fatal)\]\s+\S|npm error \S",
    re.IGNORECASE,
)
_SOUNDS_WRONG: Final = re.compile(
    r"\b(?:no such|not found|cannot|can't|could not|couldn't|unable|denied|refused|invalid|illegal|unknown|"
    r"unrecogni[sz]ed|unsupported|undefined|unresolved|unexpected|missing|fail(?:ed|ure|s)?|fault|error|err!|"
    r"timed? ?out|does not|doesn't|did not|not (?:permitted|allowed|specified|recogni[sz]ed|installed|a|in|on)|no (?:module|required|matching|rule)|"
    r"ambiguous|conflict|killed|aborted|exceeded|mismatch)\b",
    re.IGNORECASE,
)
_TAIL: Final = re.compile(
    r"(?:g?make(?:\[\d+\])?: \*\*\* \[|error: (?:could not compile|aborting due to|process didn't exit)|"
    r"npm err(?:!|or)\s*(?:$|code|errno|syscall|path|command|a complete log|exit status|lifecycle|@?[^\s@]+@\S+ )|error command failed|"
    r"ninja: build stopped|\[error\]\s*(?:$|->|to see|re-run|for more|\[help|compilation error)|"
    r"collect2: error|test suite failed|fail\s+\S+(?:\s+[\d.]+m?s)?$|"
    r"for more information|caused by:?\s*$|=+ .* =+$|\S+ \[[^\]]*\] error \d+$)",
    re.IGNORECASE,
)
"""Lines that say only that something failed, not what: those around them are better."""

_SHELL_ERROR: Final = re.compile(
    r"(?:[\w./()-]+: )++(?:line \d+: |\d+: )?.*(?:command not found|not found|No such file or directory|Permission denied)"
    r"|\S+: No module named "
)
"""Messages of a shell, or of a program with a wrong name."""
_HINT: Final = re.compile(
    r"\b(?:hint|tip|note|try|use|using|pass|add|retry|rerun|specify|export|set|mean|similar|unknown|unrecogni[sz]ed|"
    r"unexpected|not specified|require[sd]?|needs?|missing)\b",
    re.IGNORECASE,
)
_USAGE: Final = re.compile(r"usage\b|\[-", re.IGNORECASE)
_OPTION: Final = re.compile(r"(?<![\w/.-])--?[A-Za-z][\w-]*|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|\b[A-Z][A-Z0-9]{2,}(?==)")
_UNKNOWN_OPTION: Final = re.compile(
    r"(?>.*?\b(?:unknown|unrecogni[sz]ed|unexpected|no such|invalid|illegal)\b).*?\b(?:option|argument|flag|switch)s?\b"
    r"|(?>.*?\b(?:option|argument|flag|switch)\b).*\b(?:is unknown|not recogni[sz]ed)",
    re.IGNORECASE,
)
_UNKNOWN_COMMAND: Final = re.compile(
    r"(?:unknown|unrecogni[sz]ed|invalid|no such) (?:sub)?command:?\s*[\"'`]?[\w:-]+(?: [\w:-]+)?"
    r"|[\"'`][\w:-]+[\"'`] is not an? (?:\w+ )?command|command [\"'`][\w:-]+[\"'`] (?:not found|does not exist)"
    r"|(?<![\w:-])[\w:-]+: (?:command not found|unknown command)$",
    re.IGNORECASE | re.MULTILINE,
)
_SIMILAR: Final = re.compile(r"did you mean|similar|(?:maybe|perhaps) you meant", re.IGNORECASE)
_WORD: Final = re.compile(r"(?<![\w-])[a-z][\w-]*(?::[\w-]+)*")
_COMMAND_WORD: Final = re.compile(r"[\w:-]+")
_HINTS_WITHIN: Final = 15  # Lines at the beginning, and at the end, that are searched for hints
_NAMES_MAX: Final = 16
_NAME_MAX: Final = 40  # How many names are kept, and of how many characters

_PYTEST: Final = re.compile(r"^E\s{2,}")
_MARK: Final = re.compile(r"<\w+>")
_LETTER: Final = re.compile(r"[^\W\d_]")
_TWO_WORDS: Final = re.compile(r"(?>.*?[^\W\d_]{2}).*[\W\d_][^\W\d_]{2}")
_QUOTED: Final = r"(?<!\w)'[^'\n]*'(?!\w)|(?<!\w)\"[^\"\n]*\"|`[^`'\n]*[`']|\u2018[^\u2018\u2019\n]*\u2019|\u201c[^\u201c\u201d\n]*\u201d"
_TIME: Final = (
    r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b"
)
_ID: Final = r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b0x[0-9a-f]+\b|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,}\b"
_ADDRESS: Final = r"[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{0,250}\w|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b|\b(?:[0-9a-f]{1,4}:){3,7}[0-9a-f:]{0,30}[0-9a-f]\b"
_PATH: Final = (
    r"(?:\b[A-Za-z]:|\$\w++|(?<![\w@%+=.~-]))(?:[\w@%+=.~-]*[\\/])+[\w@%+=.~-]*(?::\d+)*"
    r"|\b[\w-]{1,60}\.[A-Za-z]\w{0,4}:\d+(?::\d+)?\b"
    r"|\b[\w-]{1,60}\.(?:[a-z]{1,2}|[a-z]{3,4}|\w{0,20}json)(?=[\s,:;)]|$)"
)
_NUMBER: Final = (
    r"(?<![A-Za-z_<\d])(?:(?<![\w>])[-+])?\d+(?:[.,_]\d+)*(?:e[-+]?\d+)?(?:\s?(?:ms|s|[kmg]i?b|%))?(?![A-Za-z\d])"
)
_MARKS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), mark)
    for pattern, mark in (
        (r"[a-z][a-z0-9+.-]{0,20}://[^\s'\"`<>)\]]+", "<url>"),
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
"""The replacements, in this order."""
_UNNAMED: Final = (
    *((pattern, mark) for pattern, mark in _MARKS if mark in {"<time>", "<id>", "<address>"}),
    # A number after capitals is a code, such as ORA-00942.
    (re.compile(r"(?<![A-Z][-_])(?:" + _NUMBER + ")", re.IGNORECASE), "<n>"),
)
"""The marks that stand for no name."""


def error_line(output: str) -> str | None:
    """Return the line that names the error, None if none does."""
    lines = _lines(output)
    tail = [line for line in lines if _TAIL.match(_bare(line))]
    return _naming([line for line in lines if line not in tail]) or _naming(tail)


def last_line(output: str, programs: Collection[str] = ()) -> str:
    """Return the last line with two words; a line that begins with the name of a program goes first."""
    lines = [line.strip() for line in _lines(output) if _TWO_WORDS.match(line)]
    said = [line for line in lines if line.partition(":")[0] in programs]
    return (said or lines or [""])[-1]


def shows_error(output: str) -> bool:
    """Return whether an output has a line of failure, whatever its exit status was; see `benchmarks.failures`."""
    line = _naming([line for line in _lines(output) if not line[0].isspace()])
    if line is None or line.casefold().startswith("failed"):
        return False
    return bool(_EXCEPTION.match(line) or _MESSAGE.match(line) or _SHELL_ERROR.match(line))


def named_in(output: str, command: str) -> tuple[str, ...]:
    """Return the options, variables and commands that an error names, with `?` before those that it does not know."""
    # A hint stands at either end; looking for it everywhere would take longer than everything else.
    lines = _lines(output)
    lines = lines if len(lines) <= 2 * _HINTS_WITHIN else lines[:_HINTS_WITHIN] + lines[-_HINTS_WITHIN:]
    text, words = "\n".join(lines), set(_COMMAND_WORD.findall(command))
    hints = (line for line in lines if _HINT.search(line) and not _USAGE.match(line.lstrip()))
    named = dict.fromkeys(name for line in hints for name in _options_in(line))
    unknown = {name[1:] for name in named if name.startswith("?")}
    if "ommand" in text:
        for found in _UNKNOWN_COMMAND.finditer(text):
            unknown.update(_WORD.findall(found.group()))
    unknown = set(sorted(unknown & words)[:_NAMES_MAX])
    if unknown and (said := _SIMILAR.search(text)):
        similar = _WORD.findall("\n".join(text[said.end() :].split("\n")[:3]))
        named.update(dict.fromkeys(word for word in similar if any(is_typo(word, other) for other in unknown)))
    names = [name for name in named if not name.startswith("?")] + [f"?{name}" for name in sorted(unknown)]
    return tuple(name for name in names if len(name) <= _NAME_MAX)[-_NAMES_MAX:]


def _options_in(line: str) -> Iterator[str]:
    """Yield the options and variables that a line names, without their values."""
    similar = _SIMILAR.search(line)
    end = (similar.start() if similar else len(line)) if _UNKNOWN_OPTION.match(line) else 0
    for found in _OPTION.finditer(line):
        yield f"?{found.group()}" if found.start() < end else found.group()


def _naming(lines: list[str]) -> str | None:
    at_the_left = (line for line in lines if not line[0].isspace())
    for candidates in map(list, (at_the_left, map(_bare, lines))):
        # The last line of a traceback, or of a chain of them, names what was raised.
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
    line = _marked(line, _MARKS)
    return line if _LETTER.search(_MARK.sub("", line)) else None


def _marked(line: str, marks: Iterable[tuple[re.Pattern[str], str]]) -> str:
    line = _PYTEST.sub("", line)
    for pattern, mark in marks:
        line = pattern.sub(mark, line)
    return one_line(line)[:SIGNATURE_MAX].rstrip()


def ends(output: str) -> str:
    """Return an output, or the beginning and the end of a long one: more of it is never looked at."""
    half = _LONGEST_OUTPUT // 2
    return output if len(output) <= _LONGEST_OUTPUT else f"{output[:half]}\n{output[-half:]}"


def _lines(output: str) -> list[str]:
    """Return the lines that may say something of an error."""
    return _said(ends(output))


@lru_cache(4)
def _said(output: str) -> list[str]:
    # A carriage return, by which a progress bar writes over itself, ends a line here, too.
    lines = _STARTING.sub("", output).splitlines()
    lines = lines if len(lines) <= 2 * _EXAMINED else lines[:_EXAMINED] + lines[-_EXAMINED:]
    lines = [whole_words(line, _LONGEST_LINE) for line in lines]
    shown = "\n".join(line if line.isprintable() else _CONTROL.sub("", line) for line in lines)
    lines = _FRAME.sub("", shown).split("\n")
    return [line for line in lines if (said := line.strip()) and not _NOISE.fullmatch(said)]


_HERE: Final = "\0"  # Stands for the project's folder while a text is changed; no command contains it
_START: Final = r"(?<![\w.~-])"
_END: Final = r"(?=[\\/\s'\":;&|)]|$)"
_HOMES: Final = re.compile(
    _START + r"(?:/(?:home|Users)/[^/\s'\":;&|]+|/root|[A-Za-z]:[\\/]Users[\\/][^\\/\s'\":;&|]+)" + _END
)


def tidied(text: str, project: str, folder: str | None = None) -> str:
    """Return a text with paths relative to the project, and `~` instead of home folders."""
    text = text.replace(_HERE, "")
    # Unlike `Path.home`, it takes little time, and a user without an entry in the system's list.
    home = os.path.expanduser("~").rstrip("/\\")  # noqa: PTH111
    root = (folder or "").rstrip("/\\")
    if root:
        text = _replaced(text, re.escape(root), _HERE)
    if home:
        text = _replaced(text, re.escape(home), "~")
    text = _HOMES.sub("~", text)
    if root and root.startswith(f"{home}/"):
        text = _replaced(text, re.escape(f"~{root.removeprefix(home)}"), _HERE)
    name = re.split(r"[\\/]", project)[-1]
    if name and not root:
        # At most thirty folders, so that a hostile text does not take the time of the square of its length.
        above = r"(?:~|[A-Za-z]:)?(?:[\\/][\w.@+-]+){0,30}?[\\/]"
        text = _replaced(text, above + re.escape(name), _HERE, re.IGNORECASE)
    # The folder itself is `.`, and what is in it needs no name before it.
    return re.sub(_HERE + r"[\\/]+(?=[^\\/\s'\":;&|)])", "", text).replace(_HERE, ".")


def _replaced(text: str, place: str, mark: str, flags: int = 0) -> str:
    return re.sub(_START + place + _END, mark, text, flags=flags)


def whole_words(text: str, most: int) -> str:
    """Return a text, or as many of its characters without a last word that is cut: half a secret is not recognized."""
    return text if len(text) <= most else re.sub(r"(?<!\S)\S+\Z", "", text[:most])


_COMMAND_EXAMINED: Final = 5_000  # Characters of a command that are examined: a secret must be seen whole


class SanitizedFailure(NamedTuple):
    """The kept form of a command that failed."""

    command: str
    signature: str | None  # the error's signature; None if its output names none
    line: str = ""  # the line that names the error, with its names, else the output's last one
    named: tuple[str, ...] = ()  # what the error names; see `named_in`
    folder: str = ""  # where it ran, relative to the project's top; empty there
    said: str = ""  # the line that names the error as it was, which may hold secrets and is not kept


async def sanitized(
    gate: RedactionGate,
    command: str,
    project: str,
    folder: str | None = None,
    output: str = "",
    *,
    any_line: bool = False,
) -> SanitizedFailure:
    """Return what may be kept of a command and its output; with `any_line` its last line is a signature, too."""
    said = error_line(output) or ""
    line = said or last_line(output, {program([word]) for step in parse(command).steps for word in step.call[:2]})
    # Redacted before paths are changed: to a project named `p`, the `/p:` before a password is a folder. And before it
    # is normalized: without its numbers, a secret does not look like one any more.
    named = named_in(output, command) if said else ()
    texts = [whole_words(command, _COMMAND_EXAMINED), line, split_at_top(folder or "")[1], *named]
    command, line, below, *names = (await gate.pass_data({"text": texts})).data["text"]
    signature = normalized(line) if said or any_line else None
    line = _marked(tidied(line, project, folder), _UNNAMED)
    kept_command = shortened(tidied(command, project, folder).strip(), COMMAND_MAX)
    return SanitizedFailure(kept_command, signature, line, tuple(names), below, said)
