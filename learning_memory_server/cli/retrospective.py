"""`retrospective`: what an agent reads and keeps in one, which a person then answers in `review`."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from learning_memory_server.advice.again import came_again
from learning_memory_server.advice.asking.past import PREFIX, Moment
from learning_memory_server.cli import out
from learning_memory_server.cli.access import open_connection
from learning_memory_server.cli.command import (
    Commands,
    Offline,
    Result,
    SinceOption,
    chosen_time,
    current_project,
    open_settings_here,
)
from learning_memory_server.cli.maintenance.importing import file_errors
from learning_memory_server.cli.maintenance.learning import read_moments
from learning_memory_server.cli.rules.keeping import formed, sentence
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.kinds import RULE
from learning_memory_server.model import limits, rule
from learning_memory_server.model.moment import as_seen, utc_now
from learning_memory_server.model.rule import Origin, OriginKind, Pattern, Rule, RuleState, When
from learning_memory_server.rules.forms.given import call_form, glob_of
from learning_memory_server.server.settings import Settings

PAGE_MAX: Final = 28_000  # Characters of a page: a client cuts what a command prints after 30,000
_DIGITS: Final = 32  # Hexadecimal digits of the id of a rule
_KEYS: Final = ("text", "evidence", "call", "file")
_EXAMPLE: Final = '{"text": "A test must fail without the change", "evidence": ["moment_0123456789ab"]}'

_RETROSPECTIVE: Final = Commands(
    no_args_is_help=True,
    help="For an agent that looks back: read what went wrong, and suggest rules, which you answer in `review`.",
)
commands = Commands()
commands.add_typer(_RETROSPECTIVE, name="retrospective")


@_RETROSPECTIVE.command(example="--since 4w")
def recent(since: SinceOption = None) -> Result:
    """Show what went wrong since the last retrospective: what you corrected, broken rules, and what came again.

    The last retrospective was when an agent last stored a value, or kept a
    sentence, in this project. Entries came again if an agent says that a later
    one is the same, although its session had been shown the first. `split`
    takes that back.
    """
    settings = open_settings_here()
    stored, project = Offline(settings), current_project(settings)
    start = chosen_time(since) or _last(stored, project)
    entries = [each for each in stored.collector.list_resolved() if each.project == project]

    def is_new(at: datetime) -> bool:
        return start is None or as_seen(at) >= start

    corrections = [
        {"id": each.id, "at": each.outcome.resolved_at.isoformat(), "words": each.outcome.words, "goal": each.goal}
        for each in entries
        if each.outcome.words and not each.imported and is_new(each.outcome.resolved_at)
    ]
    rules = {each.id: each for each in stored.rule_log.accepted(project)}
    breaches = [
        {
            "rule": rule.short_id(each.rule),
            "text": rules[each.rule].text,
            "at": each.created_at.isoformat(),
            "session": each.session,
            "reminded": each.reminded,
            "broken": each.broken,
            "call": each.call,
        }
        for each in stored.rule_counts.all()
        if each.rule in rules and each.project == project and (each.broken or each.reminded) and is_new(each.created_at)
    ]
    again = [
        {"id": first.id, "goal": first.goal, "lesson": _takeaway(first.outcome.lesson), "again_in": later}
        for first, later in came_again(entries, stored.advice_log)
        if is_new(stored.collector.get(later[-1]).created_at)
    ]
    out.say(f"Since {out.date(start)}:" if start else "Since the first session:")
    for title, records in (("Came again although shown", again), ("Corrections", corrections), ("Breaches", breaches)):
        shown = paged(records, PAGE_MAX // 3)[0]
        left = f", of which the newest {len(shown):,}" if len(shown) < len(records) else ""
        out.say(f"{title}: {len(records):,}{left}", "bold")
        for each in shown:
            out.say(json.dumps(each, ensure_ascii=False), is_line=True)
    return Result(
        {"since": start and start.isoformat(), "came_again": again, "corrections": corrections, "breaches": breaches}
    )


@_RETROSPECTIVE.command(example="--page 2")
async def past(
    page: Annotated[int, typer.Option("--page", min=1, metavar="N", help="Which page to show.")] = 1,
) -> Result:
    """Show the moments of past sessions at which you contradicted an agent, a JSON object on each line.

    Reads Claude Code's transcripts of this project on this machine, without a
    model, and changes nothing. Each page fits into a reply of a tool. An agent
    reads all pages once, and sorts them into at most fifteen sentences for
    `retrospective keep`.
    """
    settings = open_settings_here()
    found, lesson = await read_moments(settings)
    pages = paged(list(map(view, found)))
    if page > len(pages):
        raise InvalidInputError(f"--page: the last page is {len(pages)}.")
    shown = pages[page - 1]
    for each in shown:
        out.say(json.dumps(each, ensure_ascii=False), is_line=True)
    if not found:
        out.say(f"No objection of yours was found in {out.one_line(str(lesson.place))}.")
        lesson.show_left_out()
    elif page < len(pages):
        out.say(f"Page {page} of {len(pages)}. Next: learning-memory-server retrospective past --page {page + 1}")
    else:
        out.say(f"Page {page} of {len(pages)}, the last one: {out.counted(len(found), 'moment')} in all.")
    return Result({"moments": shown, "page": page, "pages": len(pages), "total": len(found)})


@_RETROSPECTIVE.command(example="sentences.jsonl")
async def keep(file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of JSON lines.")]) -> Result:
    """Keep an agent's sentences, with the moments or entries that support each, until you answer them in `review`.

    Each line is an object. Its `text` is one sentence of at most 200
    characters. Its `evidence` has ids of moments or entries. It may have the
    `call` or the `file` that would break it, as in `rule add`. At most fifteen
    are kept, all or none. No agent is shown them before your yes.
    """
    settings = open_settings_here()
    stored = Offline(settings)
    with file_errors(file):
        content = file.read_bytes()
    given = _sentences(content)
    moments = dict[str, Moment]()
    if any(name.startswith(PREFIX) for each in given for name in each.evidence):
        moments = {each.id: each for each in (await read_moments(settings))[0]}
    known = {each.id for each in stored.collector.list_resolved()}
    made = [_made(settings, each, moments, known) for each in given]
    async with open_connection(settings, "retrospective keep") as connection:
        reply = await connection.run("suggest", rules=[RULE.encode(each) for each in made])
    new = set(reply["kept"])
    out.say(
        f"Kept {len(new):,} of {out.counted(len(made), 'sentence')}. You answer them in: learning-memory-server review"
    )
    if len(new) < len(made):
        out.say(f"{len(made) - len(new):,} had been kept, or forgotten, before.")
    return Result({"kept": [each.id for each in made if each.id in new], "total": len(made)})


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A line of the file."""

    number: int
    text: str
    evidence: tuple[str, ...]
    call: str = ""
    file: str = ""


def view(moment: Moment) -> dict[str, str]:
    """Return a moment as an agent reads it, without what is empty."""
    said = {
        "id": moment.id,
        "day": out.date(moment.at),
        "session": moment.session[:8],
        "sign": moment.kind.value,
        "words": moment.words,
        "answer": moment.answer,
    }
    return {name: value for name, value in said.items() if value}


def paged(records: Sequence[dict[str, Any]], most: int = PAGE_MAX) -> list[list[dict[str, Any]]]:
    """Return records in pages of at most so many characters of JSON lines; at least one page."""
    pages, left = [list[dict[str, Any]]()], most
    for each in records:
        size = len(json.dumps(each, ensure_ascii=False)) + 1
        if size > left and pages[-1]:
            pages.append([])
            left = most
        pages[-1].append(each)
        left -= size
    return pages


def _last(stored: Offline, project: str) -> datetime | None:
    """Return when a project had its last retrospective, None if it had none."""
    values = [each.created_at for each in stored.value_log.all() if each.project == project and not each.imported]
    kept = [
        each.created_at
        for each in stored.rule_log.all()
        if each.project == project and each.imported and each.origin.kind is OriginKind.PAST
    ]
    return max(map(as_seen, [*values, *kept]), default=None)


def _takeaway(lesson: Any) -> str:
    return (lesson and (lesson.takeaway or lesson.what_worked)) or ""


def _sentences(content: bytes) -> list[_Sentence]:
    """Return the sentences of a file; `InvalidInputError` names the line that is none."""
    lines = [(number, line) for number, line in enumerate(content.splitlines(), 1) if line.strip()]
    if not 0 < len(lines) <= limits.RETROSPECTIVE_MAX:
        raise InvalidInputError(
            f"FILE: must have 1 to {limits.RETROSPECTIVE_MAX} lines, and has {len(lines):,}.",
            hint=f"Each is an object such as {_EXAMPLE}.",
        )
    return [_sentence(number, line) for number, line in lines]


def _sentence(number: int, line: bytes) -> _Sentence:
    try:
        given: Any = json.loads(line)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"FILE, line {number}: is no JSON object.", hint=f"For example: {_EXAMPLE}")
    if unknown := given.keys() - set(_KEYS):
        raise InvalidInputError(f"FILE, line {number}: has {min(unknown)!r}; allowed are {', '.join(_KEYS)}.")
    text, evidence, call, file = (given.get(key, "") for key in _KEYS)
    if not all(isinstance(each, str) for each in (text, call, file)) or (call and file):
        raise InvalidInputError(f"FILE, line {number}: text, call and file are texts, and only one of call and file.")
    if not isinstance(evidence, list) or not evidence or not all(isinstance(each, str) for each in evidence):
        raise InvalidInputError(f"FILE, line {number}: evidence must be a list of ids of moments or entries.")
    return _Sentence(number, text, tuple(dict.fromkeys(evidence)), call, file)


def _made(settings: Settings, given: _Sentence, moments: Mapping[str, Moment], known: Iterable[str]) -> Rule:
    """Return a sentence as a rule without an answer."""
    if unknown := [each for each in given.evidence if each not in moments and each not in known]:
        raise InvalidInputError(
            f"FILE, line {given.number}: {unknown[0]} is neither a moment nor a resolved entry of this project.",
            hint="`retrospective past` shows the ids of moments, `list` those of entries.",
        )
    said = sorted((moments[each] for each in given.evidence if each in moments), key=lambda each: each.at)
    project, now = current_project(settings), utc_now()
    text = sentence(settings, given.text)
    origin = Origin(OriginKind.PAST, _support(said, len(given.evidence) - len(said)), said[-1].at if said else now)
    made = Rule(
        id=_id(text, project),
        text=text,
        project=project,
        state=RuleState.POSTPONED,
        origin=origin,
        created_at=now,
        changed_at=now,
        evidence=given.evidence[: limits.RULE_EVIDENCE_MAX],
    )
    return _timed(made, given)


def _timed(made: Rule, given: _Sentence) -> Rule:
    """Return a rule with the time that its line says, else with the time that its sentence says."""
    if given.call:
        return replace(made, when=When.CALL, pattern=Pattern(broken=(call_form(given.call),)))
    if given.file:
        return replace(made, when=When.FILE, pattern=Pattern(files=(glob_of(given.file),)))
    return formed(made)


def _support(said: Sequence[Moment], entries: int) -> str:
    """Say what supports a sentence."""
    sessions = len({each.session for each in said})
    parts = [f"{out.counted(len(said), 'objection')} of yours in {out.counted(sessions, 'session')}"] if said else []
    parts += [f"{entries:,} {'entry' if entries == 1 else 'entries'}"] if entries else []
    return " and ".join(parts)


def _id(text: str, project: str) -> str:
    """Return the id of a sentence, the same each time: who repeats the command keeps nothing twice."""
    named = f"{OriginKind.PAST}\0{text}\0{project}"
    return f"{rule.PREFIX}{hashlib.sha256(named.encode('utf-8', 'replace')).hexdigest()[:_DIGITS]}"
