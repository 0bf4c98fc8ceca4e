"""What was edited until an error was gone, and whether that is told where the error comes again.

An edit is taken to have mended an error if the same command was run before and after it, named the error before and not
after, and nothing that was run in between can have changed anything (`pending.py`). The rest of the rule, and what is
told, is in `docs/decisions/21-repeat-errors.md`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from keyword import kwlist
from typing import Final, NamedTuple

from learning_memory_server.learning.anchors.freshness import digests
from learning_memory_server.learning.failures.parse import do_the_same
from learning_memory_server.learning.failures.sanitize import with_names
from learning_memory_server.model import limits
from learning_memory_server.model.failure import Episode, Failure
from learning_memory_server.model.lines import one_line, shortened
from learning_memory_server.redaction.base import MARKER
from learning_memory_server.redaction.gate import RedactionGate

EDIT_MAX: Final = 3_000
"""Characters of each text of an edit that are looked at. Of a longer one nobody could say what it did."""
_LEAST: Final = 0.5
"""The least share of the sessions that mended an error by an edit in which the same file was edited."""
_WORDS: Final = 3
"""How many words a line says at least that is not taken for one that any mistake of its kind leads to."""

_KIND: Final = re.compile(r"^\W*(?:[\w.]*(?:Error|Exception|Failure)\w*|error|fatal)\b[:\s]*")
_IDENTIFIER: Final = re.compile(r"\w+[._:/]\w+|[a-z][A-Z]\w|\w_")
_WORD: Final = re.compile(r"[^\W\d_]\w{2,}")
_MISSING: Final = re.compile(r"no such file|can(?:'t|not) (?:open|find)|not found|does not exist", re.IGNORECASE)
"""What may also be due to the working directory."""
_NAME: Final = re.compile(r"(?!\.\./|~)[\w@+./-]{1,120}")
"""The name of a file, and nothing else: what has a space could say something."""
_CODE: Final = re.compile(
    r".*\.(?:py|pyi|[cm]?[jt]sx?|vue|go|rs|java|kts?|swift|scala|cs?|cc|cpp|h|hpp|rb|php|lua|exs?|sql|css|html?|toml|ini"
    r"|cfg|properties|json)",
    re.IGNORECASE,
)
"""Files whose lines may be told. Those of shell scripts, workflows and prose are commands and instructions."""
_TEXT: Final = re.compile(r"(['\"`])(?=[^'\"`]*\s)(?:\\.|(?!\1).)*\1")
"""A literal with a space, which may say anything."""
_COMMENT: Final = re.compile(r"(?:^|\s)(?:#|//|--|;|/\*|<!--).*|^\*.*")
_PLAIN: Final = rf"(?<![\w.])(?!(?:{'|'.join(kwlist)}|const|let|var|function|export|new|pub|mut|fn)\b)[^\W\d_]+"
_NOT_TOLD: Final = re.compile(
    # Three words in a row that are not code's; what runs or fetches something, or weakens a check.
    rf"(?:{_PLAIN}[,.:]? ){{2}}{_PLAIN}(?![\w.(=\[])|://|\$\(|&&|\|\s|\b(?i:system|exec\w*|eval|popen|subprocess|spawn\w*"
    r"|shell|sh|bash|curl|wget|rm|sudo|chmod|pip|npm|npx|git|token|passw\w*|secret|verify|unlink|rmtree)\b"
)


@dataclass(frozen=True, slots=True)
class Edited:
    """A file that an agent edited. Without both texts, which lines changed is not known."""

    file: str
    old: str = ""  # the text that was replaced
    new: str = ""  # the text in its place

    @classmethod
    def of(cls, file: str, old: str = "", new: str = "") -> Edited:
        """Return an edit, without its texts if they are too long: half of a text does not say which lines changed."""
        return cls(file) if max(len(old), len(new)) > EDIT_MAX else cls(file, old, new)


class ErrorLine(NamedTuple):
    """The line that names an error, without secrets. Nothing of it is kept but its signature and its digest."""

    line: str
    digest: str  # what it is recognized by: the line with its names
    words: frozenset[str]  # those that say more than what kind of error it is
    is_named: bool  # whether it names something. What a test expected is what is being written.
    files: frozenset[str]  # the names of files, without folders, in the command and in what it wrote

    @classmethod
    def of(cls, line: str, signature: str, files: frozenset[str]) -> ErrorLine:
        """Return what is known of an error."""
        text = with_names(line)
        said = _KIND.sub("", text)
        is_named = "<name>" in signature or _IDENTIFIER.search(said) is not None
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        words = frozenset(_WORD.findall(said))
        return cls(line, digest, words, is_named and "assert" not in text.casefold(), files)


async def episode_of(
    error: ErrorLine, edits: Sequence[Edited], written: Collection[str], redaction: RedactionGate
) -> Episode | None:
    """Return what has mended an error, None if nobody can say which edit did.

    `edits` are those since a command last failed with it, `written` the files that were edited before it came first.
    """
    names = dict.fromkeys(edit.file for edit in edits)
    files = tuple(name for name in names if _last(name) in error.files)
    if not files and len(names) == 1 and not _MISSING.search(error.line):
        files = tuple(names)
    if not 1 <= len(files) <= limits.EPISODE_FILES or not all(map(_NAME.fullmatch, files)):
        return None
    mine = [edit for edit in edits if edit.file in files]
    texts = [*files, *(edit.old for edit in mine), *(edit.new for edit in mine)]
    texts = (await redaction.pass_data({"text": texts})).data["text"]
    if tuple(texts[: len(files)]) != files:
        return None
    olds, news = _lines(texts[len(files) : -len(mine)]), _lines(texts[-len(mine) :])
    changed = [f"- {line}" for line in olds if line not in news]
    changed += [f"+ {line}" for line in news if line not in olds]
    told = [line for each in changed if (line := _as_data(each))] if all(map(_CODE.fullmatch, files)) else []
    told.sort(key=lambda line: -len(error.words & set(_WORD.findall(line))))
    row = "".join(islice(digests(line[2:].encode() for line in changed), limits.ANCHOR_LINES_MAX))
    kept, is_own = tuple(told[: limits.EPISODE_LINES]), not set(files).isdisjoint(written)
    return Episode(error.digest, files, kept, row, is_own)


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def _lines(texts: Iterable[str]) -> dict[str, None]:
    return dict.fromkeys(line for text in texts for each in text.splitlines() if (line := one_line(each)))


def _as_data(line: str) -> str:
    """Return a line without what could tell an agent to do something; nothing if it is not plain code."""
    text = _COMMENT.sub("", _TEXT.sub(r"\1…\1", line[2:])).replace("`", "'").strip()
    # Some scripts write whole sentences without a space.
    is_plain = text.replace("…", "").isascii() and re.search(r"\w", text)
    is_told = is_plain and not _NOT_TOLD.search(text) and not MARKER.search(line)
    return shortened(f"{line[:2]}{text}", limits.EPISODE_LINE_MAX) if is_told else ""


def episode_for(failure: Failure, error: ErrorLine, known: Iterable[Failure]) -> tuple[Failure, Episode] | None:
    """Return the episode to tell to an agent whose command failed, with the failure that it mended.

    `known` is what is known of failures with the same signature, oldest first. What was imported does not count.
    """
    known = [each for each in known if not each.imported]
    alike = [(each, each.episode) for each in known if each.episode and each.episode.error == error.digest]
    others = [(each, episode) for each, episode in alike if each.session != failure.session]
    shown = {each.shown for each in known if each.session == failure.session}
    if any(each.id in shown for each, _ in others):
        return None
    vain = max((each.created_at for each in known if each.in_vain), default=None)
    found = {(each.session, name) for each, episode in others for name in episode.files}
    least = _LEAST * len({session for session, _ in found})
    for each, episode in reversed(others):
        is_same = do_the_same(each.command, failure.command)
        is_clear = error.is_named or (is_same and len(error.words) >= _WORDS)
        is_there = is_clear or not error.files.isdisjoint(map(_last, episode.files))
        needed = 1 if is_clear and (is_same or not episode.is_own) else 2
        finders = max(sum(name == other for _, other in found) for name in episode.files)
        if is_there and finders >= max(needed, least) and not (vain and each.created_at <= vain):
            return each, episode
    return None


def line_of(mended: Failure, episode: Episode, known: Iterable[Failure]) -> str:
    """Return what an agent is told of an episode."""
    others = [each for each in known if each.episode and not each.imported and each.session != mended.session]
    mine = set(episode.files)
    more = len({each.session for each in others if each.episode and not mine.isdisjoint(each.episode.files)})
    often = f", and in {more} more {'session' if more == 1 else 'sessions'}," if more else ""
    lines = f": {', '.join(f'`{line}`' for line in episode.lines)}" if episode.lines else ""
    what = f"after lines of {' and '.join(episode.files)} changed{lines}"
    return f"This error went away on {mended.created_at:%Y-%m-%d}{often} {what}"
