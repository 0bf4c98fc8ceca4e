"""Choose the remedy for an error that an agent is shown, if any.

The remedy is the edit from a failed command to one that succeeded, applied to the agent's own command. It is shown if
it is of a harmless kind (`_is_allowed`), enough sessions of this machine found it (one for a single word, else two; on
two days for an option or variable that the error does not name), and at least `LEAST` of the evidence supports it.
Evidence is every other session that fixed the error, by the share of words in common. Imported sessions count once one
of this machine agrees.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Final, NamedTuple

from learning_memory_server.lessons.errors.changes import Change, Edit, applied, change
from learning_memory_server.lessons.errors.parse import (
    RUNNER_WORDS,
    Command,
    are_similar,
    likeness,
    parse,
    program,
    without_version,
)
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.limits import FAILURES_KEPT
from learning_memory_server.model.lines import one_line

LEAST: Final = 0.7  # The least share of the evidence in favour of a remedy that is shown
_PRIOR: Final = 0.7  # The prior of a remedy, as evidence that counts as one session
_AS_GOOD: Final = 0.1  # Remedies within this of the best support are as good as it
_DIGITS: Final = 3  # Decimal places of a share of evidence that is kept

_VERSIONED: Final = frozenset("python pip pypy node ruby gem php lua gcc g++ clang clang++ java javac".split())
"""Programs that stay the same program in another version."""
_NODE_RUNNERS: Final = frozenset({"npx", "pnpm", "yarn"})
_FOLDERS: Final = re.compile(
    r"\.|(?:(?!\.\./)[\w.@-]+/)*(?:bin|\.bin|Scripts)|~/(?:\.\w+/|go/)?bin|(?:/usr|/usr/local|/opt/homebrew)?/bin"
)
"""Folders in which a program may be found: the project's, the user's and the system's own."""
_OPTIONS: Final = re.compile(
    r"--?(?:no-)?(?:show-)?(?:colou?r|pager|progress|ansi|header|summary|verbose|quiet|silent|ascii|plain|pretty|json|wide"
    r"|ff-only|format|output-format|encoding|width|columns|indent|jobs|parallel|workers|threads|processes|unbuffered"
    r"|stacktrace|backtrace|trace|std)"
)
"""Options whose names say that they concern how something is shown, how fast it runs, or which language is read."""
_SHORT: Final = {"cp": {"-r", "-R", "-a", "--recursive"}, "mkdir": {"-p", "--parents"}, "make": {"-j"}}
_VARIABLES: Final = re.compile(
    r"PYTHON(?:IOENCODING|UTF8|UNBUFFERED|DONTWRITEBYTECODE|HASHSEED)|LC_\w+|LANG|LANGUAGE|NO_COLOR|FORCE_COLOR"
    r"|CLICOLOR|CARGO_TERM_COLOR|TERM|COLUMNS|LINES|TZ|RUST_BACKTRACE|\w+_NUM_THREADS"
)
_SIMPLE: Final = re.compile(r"[\w.:+-]{0,20}")  # A value that names neither a file nor an address
NEVER: Final = re.compile(
    r"(?<![\w./])(?:rm|rmdir|rmi|del|delete|remove|drop\w*|destroy|flush\w*|reset|prune|purge|wipe|"
    r"truncate|downgrade|rollback|revert|force|hard|kill|pkill|killall|apply|deploy\w*|publish\w*|push|upload|unlock|dd|"
    r"mkfs\S*|shred|sudo|doas|su|chmod|chown|uninstall|revoke)(?![\w./])"
    r"|rmtree|unlink|\bDROP\b|\bDELETE\b|\bdown\b.{0,500}\s(?:-v|--volumes)\b"
)
"""Never shown, whatever was changed: what destroys, publishes, or asks for more rights."""
_FOLDER_ERROR: Final = re.compile(r"\bcd\b|\bchdir\b|cannot change to|can't cd")

_Case = tuple[Failure, Change]  # A fixed failure and its edits: none if another thing fixed it


class Remedy(NamedTuple):
    """A remedy as an agent gets it."""

    text: str  # its command with the edit
    support: float  # the share of the evidence in favour of it, from 0 to 1
    failure: Failure  # the failure that it was learned from


def remedy_for(
    command: str, known: Sequence[Failure], *, named: Collection[str] = (), session: str = "", folder: str | None = None
) -> Remedy | None:
    """Return the remedy to show to an agent whose command failed with an error, if there is one.

    Args:
        command: The command, as it is kept.
        known: The failures of the error, oldest first.
        named: The names in this error; see `sanitize.named_in`.
        session: The agent's session, whose own finds do not count.
        folder: The working directory; None if remedies that depend on files are out.
    """
    recent, now = known[-FAILURES_KEPT:], parse(command)
    cases = _cases(recent, session)
    others = [case for case in cases if case[0].session != session]
    if not others or not now.is_certain:
        return None
    hints = frozenset(named).union(*(each.named for each in recent))
    # A session that met an error ten times is one witness, not ten.
    rivals = Counter(each.session for each, _ in cases)
    tried = _tried(recent)
    found: list[tuple[float, float, Remedy]] = []
    for edit in dict.fromkeys(edit for _, made in reversed(others) for edit in made.edits):
        witnesses = [case for case in others if edit in case[1].edits]
        text = applied(now, edit)
        if (
            text is None
            or not _is_witnessed(edit, witnesses, hints)
            or not _is_allowed(edit, hints, recent[0].signature)
            or NEVER.search(text)
            or not _fits(edit, now, folder)
        ):
            continue
        best = max((each for each, _ in witnesses), key=lambda each: likeness(now, parse(each.command)))
        support, evidence = _PRIOR, 1.0 + tried[edit]
        for each, made in cases:
            if each.session != best.session:
                evidence += (weight := likeness(now, parse(each.command)) / rivals[each.session])
                support += weight * (edit in made.edits)
        remedy = Remedy(text, round(support / evidence, _DIGITS), best)
        found.append((support / evidence, likeness(now, parse(best.command)), remedy))
    most = max((support for support, _, _ in found), default=0.0)
    good = [each for each in found if each[0] >= max(most - _AS_GOOD, LEAST)]
    return max(good, key=lambda each: each[1])[2] if good else None


def _cases(known: Sequence[Failure], session: str) -> list[_Case]:
    """Return the fixed failures, without imported ones that no session of this machine agrees with."""
    found = [(each, made) for each in known if each.remedy and (made := mended(each.command, each.remedy))]
    own = {edit for each, made in found if not each.imported and each.session != session for edit in made.edits}
    return [(each, made) for each, made in found if not each.imported or made.edits & own]


@lru_cache(4096)
def mended(failed: str, succeeded: str) -> Change | None:
    """Return the change from a failed command to the one that fixed it, None if read-only commands came between."""
    one, other = parse(failed), parse(succeeded)
    if other.only_looks and not one.only_looks:
        return None
    made, are_alike = change(one, other), are_similar(one, other)
    if made and made.edits and (made.is_exact or are_alike):
        return made
    return made if made and not made.edits else Change(is_exact=False) if are_alike else None


def _tried(known: Sequence[Failure]) -> Counter[Edit]:
    """Return for each edit how many sessions made it, and failed with the same error."""
    tried = {
        (one.session, edit)
        for one, other in combinations([each for each in known if not each.imported], 2)
        if one.session == other.session and (made := mended(one.command, other.command))
        for edit in made.edits
    }
    return Counter(edit for _, edit in tried)


def _is_witnessed(edit: Edit, witnesses: Sequence[_Case], hints: Collection[str]) -> bool:
    sessions = {each.session for each, _ in witnesses}
    is_clear = edit.is_small and any(made.is_exact for _, made in witnesses)
    days = {each.created_at.date() for each, _ in witnesses}
    is_named = edit.kind not in {"option", "variable"} or edit.new[0].partition("=")[0] in hints
    return len(sessions) >= (1 if is_clear else 2) and (is_named or len(days) > 1)


def _is_allowed(edit: Edit, hints: Collection[str], signature: str) -> bool:
    """Return whether an edit is of a kind that is known to be harmless."""
    name, _, value = edit.new[0].partition("=") if edit.new else ("", "", "")
    if edit.kind == "program":
        return _is_same_program(edit.old, edit.new)
    if edit.kind == "typo":
        return edit.new[0] in hints and f"?{edit.old[0]}" in hints
    if edit.kind == "without":
        return f"?{edit.old[0]}" in hints and _OPTIONS.fullmatch(edit.old[0]) is not None
    if edit.kind == "variable":
        return bool(_VARIABLES.fullmatch(name) and _SIMPLE.fullmatch(value))
    if edit.kind == "option":
        is_known = _OPTIONS.fullmatch(name) or name in _SHORT.get(edit.about[0], ())
        return bool(is_known and all(_SIMPLE.fullmatch(each) for each in (value, *edit.new[1:])))
    return edit.kind == "leave" and _FOLDER_ERROR.search(signature) is not None


def _is_same_program(old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    """Return whether two ways to call a program differ by a version, a path, or what runs it."""
    if new == ("docker", "compose"):
        return old == ("docker-compose",)
    before, after = _without_runner(old), _without_runner(new)
    if len(before) != 1 or len(after) != 1:
        return False
    one, other = before[0].removeprefix("./"), after[0]
    folder, _, name = other.rpartition("/")
    if folder and not _FOLDERS.fullmatch(folder.removeprefix("./") or "."):
        return False
    if program([one]) in {"gradle", "mvn"} and name in {"gradlew", "mvnw"}:
        return name == f"{program([one])}w"
    last = one.rpartition("/")[2]
    if without_version(last) != without_version(name):
        return False
    return last == name or program([name]) in _VERSIONED or (last == program([last]) and "/" not in other)


def _without_runner(words: tuple[str, ...]) -> tuple[str, ...]:
    for runner in RUNNER_WORDS:
        if words[: len(runner)] == runner:
            return _without_runner(words[len(runner) :])
    is_module = len(words) > 2 and words[1] == "-m" and _is_same_program(("python",), words[:1])
    return words[2:] if is_module else words


def _fits(edit: Edit, now: Command, folder: str | None) -> bool:
    """Return whether the files are there, or absent, on which an edit depends."""
    if edit.kind == "leave":
        left, here = Path(edit.old[1]), Path(folder or edit.old[1])
        return here.parts[-len(left.parts) :] == left.parts and not (here.is_absolute() and (here / left).is_dir())
    needs_files = not _NODE_RUNNERS.isdisjoint(edit.new[:1])
    if not folder or edit.kind != "program":
        return not needs_files
    base = Path(folder, now.steps[0].folder or ".")
    path = f"node_modules/.bin/{edit.new[-1]}" if needs_files else edit.new[0]
    is_looked_for = "/" in path and path[0] not in "/~"
    return not is_looked_for or any((each / path).exists() for each in (base, *base.parents)[: 9 if needs_files else 1])


def seen(known: Sequence[Failure]) -> int:
    """Return how often an error was seen, by the failures of it that are kept."""
    return max(len(known), *(each.times for each in known)) if known else 0


def line_about(known: Sequence[Failure], remedy: Remedy) -> str:
    """Return the remedy for an agent, which has just run the command that failed."""
    times = seen(known)
    often = "once before, on" if times == 1 else f"{times} times before, last on"
    return f"This error came {often} {known[-1].created_at:%Y-%m-%d}. This worked: {one_line(remedy.text)}"
