"""The report of past sessions: what a person reads first, errors by their cause, each in one line."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from learning_memory_server.lessons.errors.brief import bare, brief
from learning_memory_server.lessons.errors.figures import Figures, figures_of, plain_command
from learning_memory_server.lessons.errors.jobs import HOOKED, calls_of, check_of, is_same_job
from learning_memory_server.lessons.errors.sanitize import alike
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.lines import counted, one_line, shortened
from learning_memory_server.model.memory import Refusal
from learning_memory_server.model.moment import as_seen
from learning_memory_server.shell.steps import read_steps

_REFUSALS: Final = 5  # Refusals in a report, the last ones
_REPEATED: Final = 2  # Sessions that an error is reported from
_OFTEN: Final = 3  # Sessions that a failing check, or a path that is not there, is reported from
_CHECKS: Final = 5  # Checks that are listed in one line
_ERROR: Final = 100  # Characters of an error that are shown
_CALL: Final = 50  # of a refused call

_MISSING: Final = re.compile(
    r"no such file or directory|directory not found|did not match any file|path does not exist", re.IGNORECASE
)
LASTING: Final = re.compile(
    r"^no\b|\b(?:avoid|never|always|must|prefer|our|(?:do|did) not|(?<!why )don't|not to|we want)\b", re.IGNORECASE
)
ONCE: Final = re.compile(r"\b(?:first|just|now|wait|maybe|hang on|actually|lol|the one)\b", re.IGNORECASE)
"""Signs that words of a refusal say how to work from now on, and that they are about this call alone."""
_READER: Final = re.compile(r"(?:ls|cat|head|tail|grep|rg|sed|wc|stat|find|diff|cp|mv|rm)\b", re.IGNORECASE)
_PATH: Final = re.compile(r"[\w./@+-]+")
_SCRIPT: Final = re.compile(r"^\S+: line \d+: ")
_LOCATION: Final = re.compile(r"^[^\s:(]+(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\)):?\s+")
"""Where in a file a compiler or linter found something."""
_CONFIGURATION: Final = re.compile(r"[^\s:(]+\.(?:json|toml|ya?ml|ini|cfg)[:(]\d")
_SAYS_ERROR: Final = re.compile(r"^(?:(?:error|fatal):|\[FAILED\]) (?=\S)", re.IGNORECASE)
_SAYS_NOTHING: Final = re.compile(
    r"^\W*\{|failed to push some refs|exited with code|exit status|task failed"
    r"|merge conflict|could not apply|cherry-pick is now empty|\[FAILED\]$",
    re.IGNORECASE,
)
"""Lines that say that something failed but not what, JSON, and the conflicts and hooks of everyday commits."""


@dataclass(frozen=True, slots=True)
class ReportLine:
    """A line of the report; the figures are of all failures that it is about, and None for a refusal."""

    label: str
    text: str
    figures: Figures | None = None
    is_of_check: bool = False
    is_list: bool = False  # of checks of which no cause is known
    is_mended: bool = False  # whether a call that is not there, or not so, failed, and another one usually worked next
    refusal: Refusal | None = None

    @property
    def rank(self) -> tuple[float, ...]:
        """The place in the report: by the number of sessions, then tools before checks, then the newest first."""
        if self.figures is None:
            return ()
        return (-self.figures.sessions, self.is_of_check, -as_seen(self.figures.last_seen).timestamp())


def report(failures: Iterable[Failure], most: int, refused: Sequence[Refusal] = ()) -> list[ReportLine]:
    """Return what a person should read first, at most so many lines.

    First come the causes that several sessions had: the errors of tools and of the place, wrong paths, and checks after
    which another command worked. Then come calls that the person refused in a sentence. Only where there is nothing
    else, the checks are listed that failed.
    """
    projects = defaultdict[str, list[Failure]](list)
    for each in failures:
        if each.line:  # Without one, only an exit status is known
            projects[each.project].append(each)
    found = sorted((line for known in projects.values() for line in _of_project(known)), key=lambda line: line.rank)
    lines = [line for line in found if not line.is_list] + _refusals(refused)
    return (lines or found)[:most]


def _of_project(failures: Iterable[Failure]) -> list[ReportLine]:
    lost, causes = list[Failure](), defaultdict[str, list[Failure]](list)
    for each in failures:
        if _names_missing_path(each):
            lost.append(each)
        else:
            causes[alike(_LOCATION.sub("", each.named_line))].append(each)
    checks, lines = defaultdict[str, list[Failure]](list), list[ReportLine]()
    for known in causes.values():
        figures = figures_of(known)
        if _is_of_code(figures):
            for each in known:
                checks[check_of(each)].append(each)
        elif figures.sessions >= _REPEATED and not _SAYS_NOTHING.search(figures.line):
            is_mended = figures.is_of_call and _is_usual(figures) and _is_corrected(figures)
            lines.append(replace(_line(figures, _of_tool(figures, known)), is_mended=is_mended))
    checks.pop("", None)
    if len({each.session for each in lost}) >= _OFTEN:
        lines.append(_line(figures_of(lost), _of_paths(lost)))
    return lines + _of_checks(checks)


def _of_checks(checks: dict[str, list[Failure]]) -> list[ReportLine]:
    """Return a line for each check after which another command worked, and a list of the others.

    That a check fails and then passes is what checks are for.
    """
    lines, others = list[ReportLine](), list[tuple[int, str]]()
    rest = list[Failure]()
    for name, known in checks.items():
        figures = figures_of(known)
        if figures.sessions < _OFTEN:
            continue
        if fixed := _other_after(name, figures):
            lines.append(_line(figures, f"`{name}` failed; {fixed}", is_of_check=True))
        else:
            others.append((-figures.sessions, f"hooks of `{name}`" if name in HOOKED else f"`{name}`"))
            rest += known
    if others:
        listed = ", ".join(f"{name} in {-sessions:,}" for sessions, name in sorted(others)[:_CHECKS])
        lines.append(replace(_line(figures_of(rest), f"checks failed: {listed}", is_of_check=True), is_list=True))
    return lines


def _other_after(name: str, figures: Figures) -> str:
    """Return the other command for the job of a check that usually worked after it had failed."""
    is_other = not any(name.startswith(each) for each in calls_of(figures.followed))
    if not (is_other and _is_usual(figures) and is_same_job(name, figures.followed)):
        return ""
    return f"`{brief(figures.followed, '')}` worked next in {figures.followed_in:,}/{figures.sessions:,}"


def _of_tool(figures: Figures, known: Sequence[Failure]) -> str:
    """Return the sentence about an error of a tool or of the place."""
    line = shortened(_SAYS_ERROR.sub("", _LOCATION.sub("", figures.line)), _ERROR)
    alike_ones = " (or the like)" if len({_LOCATION.sub("", each.named_line) for each in known}) > 1 else ""
    folders = {each.folder for each in known}
    where = "".join(f" in `{folder}`" for folder in folders if folder and len(folders) == 1)
    text = f"`{brief(figures.command, figures.line)}`{where}: {line}{alike_ones}"
    share = f" in {figures.followed_in:,}/{figures.sessions:,}"
    if not _is_usual(figures):
        return text
    if plain_command(figures.followed) == plain_command(figures.command):
        return f"{text}; the same command then worked{share}"
    if is_same_job(figures.command, figures.followed):
        moved = " after a `cd`" if where and figures.followed.startswith("cd . && ") else ""
        return f"{text}; `{brief(figures.followed, '')}` worked next{moved}{share}"
    return text


def _of_paths(lost: Sequence[Failure]) -> str:
    """Return the sentence about commands that named a path which is not there; the example ran below the top."""
    example = min(lost, key=lambda each: (not each.folder, not each.command.startswith("cd "), len(each.command)))
    where = f" run inside `{example.folder}`" if example.folder else ""
    command = brief(example.command, example.named_line)
    return f"{len(lost):,} commands named a path that is not there where they ran, such as `{command}`{where}"


def _refusals(refused: Sequence[Refusal]) -> list[ReportLine]:
    """Return calls that the person refused in a sentence; first what is meant to last, then the newest.

    A question says nothing of what to do.
    """
    newest = sorted(refused, key=lambda each: as_seen(each.at), reverse=True)
    stated = [each for each in newest if "?" not in each.words]
    stated.sort(key=lambda each: len(ONCE.findall(each.words)) - len(LASTING.findall(each.words)))
    return [
        ReportLine(
            "you refused",
            f'"{one_line(each.words)}" ({each.at.day} {each.at:%b %Y}, `{_refused_call(each)}`)',
            refusal=each,
        )
        for each in stated[:_REFUSALS]
    ]


def _refused_call(refusal: Refusal) -> str:
    call = one_line(refusal.call).lstrip("\\ ")
    if refusal.tool != "Bash":
        return shortened(f"{refusal.tool} {call}".strip(), _CALL)
    shown = brief(call, "")
    # Words are seldom about the first of several calls.
    return shown if len(shown) <= _CALL else shortened(" && ".join(calls_of(call)) or shown, _CALL)


def _line(figures: Figures, text: str, *, is_of_check: bool = False) -> ReportLine:
    return ReportLine(counted(figures.sessions, "session"), text, figures, is_of_check)


def _is_of_code(figures: Figures) -> bool:
    """Return whether an error is of the code under work; one that another call usually avoids is not."""
    if figures.is_about_the_place or _CONFIGURATION.match(figures.line):
        return False
    return figures.is_of_check or figures.sessions < _REPEATED or not (_is_usual(figures) and _is_corrected(figures))


def _is_corrected(figures: Figures) -> bool:
    """Return whether the same call worked after a change."""
    before, after = brief(figures.command, figures.line), brief(figures.followed, "")
    is_other = plain_command(figures.followed) != plain_command(figures.command) or figures.is_of_call
    return bool(after) and is_other and before != after and is_same_job(figures.command, figures.followed)


def _is_usual(figures: Figures) -> bool:
    """Whether the command that worked next did so in at least half of the sessions."""
    most = max(figures.sessions / 2, min(figures.sessions, 2))
    return figures.followed_in >= most


def _names_missing_path(failure: Failure) -> bool:
    """Return whether a command names a path that is not there; a look for a file, at the top, is answered by that."""
    line = failure.named_line
    if not _MISSING.search(line) or (_READER.match(line) and not line.startswith("stat ") and not failure.folder):
        return False
    named = {
        bare(word)
        for step in read_steps(failure.command).steps
        for word in step.call
        if "/" in word or word != step.call[0]
    }
    return not named.isdisjoint(map(bare, _PATH.findall(_SCRIPT.sub("", line))))
