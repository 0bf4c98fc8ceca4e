"""The kept form of a command and its output: without secrets, folders of this machine, and changing parts.

Of an output one line is kept: the exception of a traceback, the first error of a compiler, or the first line that
sounds like an error. Its signature has marks for names, paths, times, hashes and numbers.
"""

import os
import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from learning_memory_server.lessons.errors.prefixes import without_prefixes
from learning_memory_server.model.limits import COMMAND_MAX, SIGNATURE_MAX
from learning_memory_server.model.lines import one_line, shortened
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.shell.naming import program
from learning_memory_server.shell.steps import read_steps
from learning_memory_server.system.terminal import without_controls

_EXAMINED: Final = 100  # Lines examined at the beginning, and as many at the end. Errors stand at either.
_LONGEST_LINE: Final = 400  # Characters of a line that are examined; minified code has lines of megabytes
_LONGEST_OUTPUT: Final = 2 * _EXAMINED * _LONGEST_LINE  # Characters of the output that are examined, half at each end

_FRAME: Final = re.compile(r"^(?:Output|Stdout|Stderr): ")  # What a client writes before an output
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
_PATHS: Final = (
    *((pattern, mark) for pattern, mark in _MARKS if mark in {"<url>", "<path>"}),
    (re.compile(r"(?<=no such file or directory: )\S+|(?<=\bcd: )\S+(?=: )"), "<path>"),
)
_PRIVATE: Final = tuple((pattern, mark) for pattern, mark in _MARKS if mark in {"<id>", "<address>"})
"""The marks in a line that a person reads: what they stand for may be a password, or somebody's address."""


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
    """Return whether an output has a line of failure, whatever its exit status was."""
    line = _naming([line for line in _lines(output) if not line[0].isspace()])
    if line is None or line.casefold().startswith("failed"):
        return False
    return bool(_EXCEPTION.match(line) or _MESSAGE.match(line) or _SHELL_ERROR.match(line))


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


def comparable(line: str) -> str:
    """Return a line without times, ids, addresses and numbers, but with its names: the same error has the same line."""
    return _marked(line, _UNNAMED)


def alike(line: str) -> str:
    """Return a line as `comparable` does, and without paths, but with other names."""
    return comparable(_marked(line, _PATHS))


def is_exception(line: str) -> bool:
    """Return whether a line is an exception that a program did not catch."""
    return _EXCEPTION.match(line) is not None


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
    lines = _STARTING.sub("", without_controls(output)).splitlines()
    lines = lines if len(lines) <= 2 * _EXAMINED else lines[:_EXAMINED] + lines[-_EXAMINED:]
    lines = [without_prefixes(_FRAME.sub("", whole_words(line, _LONGEST_LINE))) for line in lines]
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
    line: str = ""  # the line that names the error, else the output's last one; see `comparable`
    real_line: str = ""  # the same with its numbers
    folder: str = ""  # where it ran, relative to the project's top; empty there
    said: str = ""  # the line that names the error as it was, which may hold secrets and is not kept


async def sanitized(
    gate: RedactionGate,
    command: str,
    project: str,
    folder: str | None = None,
    output: str = "",
    *,
    top: str = "",
    any_line: bool = False,
) -> SanitizedFailure:
    """Return what may be kept of a command and its output.

    Args:
        gate: Takes out secrets.
        command: The command.
        project: The name of the project.
        folder: The working directory, to which paths are made relative.
        output: The output.
        top: The project's folder; where the command ran is kept relative to it.
        any_line: Whether the last line is a signature if no line names an error.
    """
    said = error_line(output) or ""
    line = said or last_line(output, {program([word]) for step in read_steps(command).steps for word in step.call[:2]})
    # Redacted before paths are changed: to a project named `p`, the `/p:` before a password is a folder. And before it
    # is normalized: without its numbers, a secret does not look like one any more.
    texts = whole_words(command, _COMMAND_EXAMINED), line, _below(folder or "", top)
    command, line, below = await gate.pass_texts(*texts)
    signature = normalized(line) if said or any_line else None
    real_line = _marked(tidied(line, project, folder), _PRIVATE)
    kept_command = shortened(tidied(command, project, folder).strip(), COMMAND_MAX)
    return SanitizedFailure(kept_command, signature, comparable(real_line), real_line, below, said)


def _below(folder: str, top: str) -> str:
    """Return a folder relative to the project's; empty if it is not below that. The disk is not asked."""
    return folder.removeprefix(f"{top}/") if top and folder.startswith(f"{top}/") else ""
