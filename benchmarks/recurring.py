"""What recurs in recorded sessions, and what it would come to if an agent was told of it.

The rule that finds the moments was written down before anything was told:

- An error is a program and a line. The program is that of a command's last step that is neither `cd` nor `echo`,
  without its folder and version; the line is the last one of the output that sounds like an error, else its last one,
  without what differs from time to time.
- A moment is a failing command whose error an earlier session of the same project had; each error has three at most.
- The cure is the first of the next ten commands that succeeds, is of the same program and shares another word with the
  failed one. What only asks (`--version`, `--help`, `which`) cures nothing.
- What is told is right if it names a word that the cure added or, if the cure only left words out, the cure without
  them. If the cure is the same command, something else was mended, and no command is right.
"""

import gzip
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from learning_memory_server.lessons.errors.transcripts import Passed, find_transcripts
from learning_memory_server.lessons.errors.watch import Ran
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.moment import utc_now
from learning_memory_server.rules.past.events import Over, events_in
from learning_memory_server.server.composition.services import open_services
from learning_memory_server.server.settings import Settings

_MADE: Final = ("<command-", "<local-command", "<bash-", "<system-reminder>", "Caveat: ", "[Request interrupted")
"""How texts begin that Claude Code writes in the user's name."""
EACH: Final = 3
"""How often a distinct error counts at most."""
_WITHIN: Final = 10
_DRAWS: Final = 1_000
_SOUNDS: Final = re.compile(
    r"error|exception|not found|no such|cannot|can't|denied|unknown|unrecognized|invalid|no module|failed|fatal",
    re.IGNORECASE,
)
_VARYING: Final = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\S*/\S*|0x[0-9a-f]+|\d+")
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
_ASKS: Final = frozenset({"--version", "-V", "--help", "-h", "which"})
_WORKED: Final = re.compile(r"This worked: (.*?)(?: \((?:instead|in place) of: .*|\"}})?$", re.MULTILINE)

Told = dict[tuple[str, int], str]
"""What was said at a session's commands, by the session and the command's place; empty for silence."""
START: Final = -2
PROMPT: Final = -1
"""The places of a session's start and of its first prompt."""


@dataclass(frozen=True, slots=True)
class Session:
    """A recorded session: its commands, and what it was asked, if that is known."""

    id: str
    project: str
    at: datetime
    calls: tuple[Ran, ...]
    task: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """A command that failed: its place in its session, and its error, which is a program and a line.

    `cure` is the command that worked, if one did soon; `calls`, how many more commands it took until one of the program
    worked or the session was over; `recurs`, whether it is one of the moments that count.
    """

    session: str
    project: str
    place: int
    error: tuple[str, str]
    command: str
    cure: str | None
    calls: int
    recurs: bool


class Row(NamedTuple):
    """A moment: its session, whether anything was told, and was right (None if nobody can say).

    `calls` is how many it took until it worked, as recorded; None if that is not known.
    """

    session: str
    told: bool
    right: bool | None = None
    calls: int | None = None


def failures(sessions: Sequence[Session]) -> list[Failed]:
    """Return the failing commands of sessions, which are in time order."""
    seen: dict[tuple[str, tuple[str, str]], str] = {}
    counted: Counter[tuple[str, tuple[str, str]]] = Counter()
    found = []
    for session in sessions:
        for place, call in enumerate(session.calls):
            if not call.has_failed:
                continue
            later = session.calls[place + 1 :]
            program = _program(call.command)
            error = program, _line(call.output)
            key = session.project, error
            recurs = seen.setdefault(key, session.id) != session.id and counted[key] < EACH
            counted[key] += recurs
            works = [not each.has_failed and _program(each.command) == program for each in later]
            cures = (
                each.command
                for each, did in zip(later[:_WITHIN], works, strict=False)
                if did and _is_like(call.command, each.command)
            )
            calls = works.index(True) + 1 if True in works else len(later)
            found.append(
                Failed(session.id, session.project, place, error, call.command, next(cures, None), calls, recurs)
            )
    return found


def is_right(told: str, failed: Failed) -> bool | None:
    """Return whether a text tells what cured a failure; None if nothing did. Each line is a claim of its own."""
    if failed.cure is None:
        return None
    before, after = _words(failed.command), _words(failed.cure)
    added, removed = after - before, before - after
    claims = [_words(claim) for claim in (_WORKED.findall(told) or told.splitlines())]
    if added:
        return any(added & claim for claim in claims)
    return any(removed and after <= claim and not removed & claim for claim in claims)


def last_success(found: Sequence[Failed]) -> Told:
    """Return the newest cure of each moment's error, from earlier sessions."""
    cures: dict[tuple[str, tuple[str, str]], Failed] = {}
    told, waiting = {}, list[Failed]()
    for failed in found:
        if waiting and waiting[0].session != failed.session:
            cures |= {(each.project, each.error): each for each in waiting if each.cure}
            waiting = []
        if failed.recurs and (known := cures.get((failed.project, failed.error))):
            told[failed.session, failed.place] = known.cure or ""
        waiting.append(failed)
    return told


def figures(moments: Sequence[Row], speech: int, silent: int = 0) -> dict[str, Any]:
    """Return what a way of telling comes to, from moments, the bytes of all that was said, and the silent events.

    `told` and `right` are shares with 95 % intervals, bootstrapped by session; `right` counts where somebody can say.
    `calls` is how many it takes until it works if agents follow what they are told: 1 if it is right, one more than
    recorded if it is wrong.
    """
    by_session: dict[str, list[Row]] = {}
    for row in moments:
        by_session.setdefault(row.session, []).append(row)
    groups, draw = list(by_session.values()), random.Random(0)
    drawn = [_shares(row for group in draw.choices(groups, k=len(groups)) for row in group) for _ in range(_DRAWS)]
    told, right = _shares(moments)
    calls = [
        row.calls if row.right is None else 1 if row.right else row.calls + 1
        for row in moments
        if row.calls is not None
    ]
    return {
        "moments": len(moments),
        "told": told,
        "told_interval": _middle([each[0] for each in drawn]),
        "judged": sum(row.right is not None for row in moments),
        "right": right,
        "right_interval": _middle([each[1] for each in drawn]),
        "speech": speech,
        "silent": silent,
        "calls": round(sum(calls) / len(calls), 2) if calls else None,
    }


def sessions_in(place: Path) -> list[Session]:
    """Return the sessions of Claude Code's transcripts, in time order; subagents are sessions of their own."""
    found = []
    for path in find_transcripts(place, Passed()):
        ran = [each.ran for each in events_in(path, Passed()) if isinstance(each, Over) and each.ran]
        if ran:
            name = Path(ran[0].folder or "").name or place.name
            found.append(Session(path.stem, name, ran[0].at, tuple(ran), _first_prompt(path)))
    return sorted(found, key=lambda session: (session.at, session.id))


def _first_prompt(path: Path) -> str:
    """Return what the user wrote first in a session. Claude Code writes texts in the user's name, too."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        for record in map(json.loads, lines):
            content = record.get("message", {}).get("content") if record.get("type") == "user" else None
            if isinstance(content, list):
                content = "\n".join(part.get("text", "") for part in content)
            is_made = any(record.get(mark) for mark in ("isMeta", "isSidechain", "isCompactSummary"))
            if content and not is_made and not content.startswith(_MADE):
                return str(content)
    return ""


def prompted(text: str) -> dict[str, str]:
    """Return what a hook says of a prompt."""
    return {"event": "UserPromptSubmit", "prompt": text}


def ended(command: str, output: str, *, has_failed: bool) -> dict[str, str]:
    """Return what a hook says of a command that has ended."""
    if has_failed:
        return {"event": "PostToolUseFailure", "command": command, "error": output}
    return {"event": "PostToolUse", "command": command, "output": output}


async def tell(settings: Settings, sessions: Sequence[Session]) -> Told:
    """Return what the hooks say as sessions, which are in time order, go through time in a temporary store."""
    told: Told = {}
    with TemporaryDirectory() as folder:
        now = sessions[0].at if sessions else utc_now()
        elsewhere = {"storage_path": Path(folder), "journal_path": None, "qdrant_url": None}
        here = settings.model_copy(update=elsewhere)
        async with open_services(here, purpose="replay", clock=lambda: now) as services:
            for session in sessions:
                caller = Caller(session.project, session.id)
                happened = [
                    {"event": "SessionStart"},
                    prompted(session.task),
                    *(ended(ran.command, ran.output, has_failed=bool(ran.has_failed)) for ran in session.calls),
                ]
                for place, event in enumerate(happened, start=START):
                    now = session.at + timedelta(seconds=place)
                    told[session.id, place] = await services.hooks.answer(event, caller, session.id)
    return told


def _shares(moments: Iterable[Row]) -> tuple[float | None, float | None]:
    all_of_them = list(moments)
    judged = [row.right for row in all_of_them if row.right is not None]
    return _share(sum(row.told for row in all_of_them), len(all_of_them)), _share(sum(judged), len(judged))


def _share(part: int, of: int) -> float | None:
    return round(part / of, 3) if of else None


def _middle(values: Sequence[float | None]) -> list[float]:
    known = sorted(value for value in values if value is not None)
    return [known[int(share * (len(known) - 1))] for share in (0.025, 0.975)] if known else []


def _program(command: str) -> str:
    plain = _QUOTED.sub("''", command.split("<<", maxsplit=1)[0])
    steps = [step.split("|")[0].split() for step in re.split(r"&&|;|\n", plain)]
    real = [step for step in steps if step and step[0] not in ("cd", "echo", "export", "source")]
    words = [word for word in (real or [["cd"]])[-1] if "=" not in word] or [""]
    return re.sub(r"[\d.]+$", "", words[0].rsplit("/", 1)[-1])


def _line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()] or [""]
    line = next((line for line in reversed(lines) if _SOUNDS.search(line)), lines[-1])
    return _VARYING.sub("*", line)[:200]


def _words(text: str) -> frozenset[str]:
    """Return the words of a command, without those that only send its output elsewhere."""
    kept = [part.split("|")[0] for part in text.split("<<", maxsplit=1)[0].split("&&")]
    words = (word.strip("'\"();`,") for part in kept for word in part.split())
    return frozenset(word for word in words if not re.search(r"[<>]", word)) - {"", "&&", "cd"}


def _is_like(failed: str, succeeded: str) -> bool:
    shared = _words(failed) & _words(succeeded)
    return not _ASKS & set(succeeded.split()) and (bool(shared) or len(_words(failed)) == 1)
