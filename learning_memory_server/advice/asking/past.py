"""The moments of past sessions at which a person contradicted an agent, for an agent that sorts them.

They are found by the same signs as in a running session. Other programs can write transcripts elsewhere, so only the
client's own count. Sessions without a person who reads along are left out.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, Final

from learning_memory_server.advice.asking.signs import SignKind, objection_in
from learning_memory_server.advice.asking.transcript import Turn, turns_in
from learning_memory_server.lessons.errors.sanitize import tidied
from learning_memory_server.lessons.errors.transcripts import (
    UNREADABLE,
    Beginning,
    Passed,
    lines_of,
    record_of,
    text_of,
)
from learning_memory_server.model.caller import session_hash
from learning_memory_server.model.lines import one_line, shortened
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.rules.past.sessions import Transcript
from learning_memory_server.system.locations import is_attended

PREFIX: Final = "moment_"  # Of the id of a moment
_DIGITS: Final = 12  # Of an id: 48 bits, enough for the moments of one project
_ANSWER_MAX: Final = 240  # Characters of an answer: its beginning says what the agent conceded
_EXAMINED: Final = 2_000  # Characters of an answer in which secrets are looked for


@dataclass(frozen=True, slots=True)
class Moment:
    """An objection of a person in a past session, without secrets."""

    id: str  # the same each time
    at: datetime
    session: str  # a hash of the client's name of the session
    kind: SignKind
    words: str  # the person's own
    answer: str  # the beginning of the agent's answer to the person's message; empty for a refusal


async def moments_in(
    found: Iterable[Transcript],
    own: Path,
    gate: RedactionGate,
    *,
    passed: Passed,
    has_strayed: Callable[[str | None, Beginning], bool] = lambda _folder, _began: False,
) -> list[Moment]:
    """Return the moments in transcripts, oldest first, each once: a resumed session repeats what was before.

    Args:
        found: The transcripts.
        own: The client's folder of projects. Transcripts elsewhere are passed over.
        gate: Removes secrets.
        passed: Counts what could not be read.
        has_strayed: Whether a line in a folder was outside of the session's project.
    """
    mine = _in_folder(found, own)
    moments = {each.id: each for each in chain.from_iterable(_moments(each, passed, has_strayed) for each in mine)}
    return await _redacted(sorted(moments.values(), key=lambda each: (each.at, each.id)), gate)


def _in_folder(found: Iterable[Transcript], folder: Path) -> list[Transcript]:
    root = folder.resolve()
    return [each for each in found if each.path.resolve().is_relative_to(root)]


def _moments(
    transcript: Transcript, passed: Passed, has_strayed: Callable[[str | None, Beginning], bool]
) -> Iterator[Moment]:
    began = transcript.began
    try:
        for turn in turns_in(_lines(transcript, has_strayed), transcript.path):
            sign = objection_in(turn)
            if sign is None or turn.at is None:
                continue
            session = session_hash(turn.session)
            words = tidied(sign.quote, transcript.project, began.folder or None)
            said = "" if sign.kind is SignKind.REFUSED else turn.answer[:_EXAMINED]  # It came before the refusal
            answer = tidied(one_line(said), transcript.project, began.folder or None)
            yield Moment(_id(turn, sign.quote), turn.at, session, sign.kind, words, answer)
    except UNREADABLE as error:
        passed.note(transcript.path, error)


def _lines(transcript: Transcript, has_strayed: Callable[[str | None, Beginning], bool]) -> Iterator[dict[str, Any]]:
    for record in map(record_of, lines_of(transcript.path)):
        started_by = text_of(record.get("entrypoint"))
        if started_by and not is_attended({"CLAUDE_CODE_ENTRYPOINT": started_by}):
            continue
        if not has_strayed(text_of(record.get("cwd")) or None, transcript.began):
            yield record


def _id(turn: Turn, quote: str) -> str:
    named = f"{turn.at and turn.at.isoformat()} {quote}"
    return f"{PREFIX}{hashlib.sha256(named.encode('utf-8', 'replace')).hexdigest()[:_DIGITS]}"


async def _redacted(moments: Sequence[Moment], gate: RedactionGate) -> list[Moment]:
    """Return moments without secrets. Secrets are looked for before a text is cut, which could hide them."""
    given = {"words": [each.words for each in moments], "answers": [each.answer for each in moments]}
    words, answers = (await gate.pass_data(given)).data.values()
    return [
        replace(each, words=said, answer=shortened(answer, _ANSWER_MAX))
        for each, said, answer in zip(moments, words, answers, strict=True)
    ]
