"""What is told when something recurs, by this server and by plain ways: `python -m benchmarks.recurrence [--json]`.

--sessions  Recorded sessions (formats: `benchmarks.recorded`). The moments are failing commands whose error came
            before; the rule, the cure and what is right are in `benchmarks.recurring`.
--entries   Resolved entries. The moments are starts to which the lesson of an earlier entry applies, as judged by hand
            before any ranking was tried (`benchmarks/data/advice-judgements.json`, or a file that `benchmarks.replay`
            has written). What names such an entry, or says what it taught, is right.
Always      The prompts of `benchmarks/data/prompts.json`: the moments are those that an experience bears on.

The rules, judgements and prompts were written down before any arm ran. The arms, all in one run:

- nothing: silence.
- file: the newest lessons, told at each start, of as many bytes as the server says in a session on average.
- last: at an error its last cure, always; else the newest lesson, always.
- bm25, dense: the best earlier lesson of the repository, or the two best for an entry, from a threshold on. The
  threshold is set on the other repositories, or on the other half if there is only one: where right answers exceed
  wrong ones by most. Vectors and scores are rounded before they are compared, and ties are broken by id.
- server: all that this server says; and each of its channels alone.
- Other memories: the files of --memory (`benchmarks.memories` says what they are). What they are told is
  the same: a lesson is what bm25 finds, and commands are in full. They count like this server, each moment's answers
  together.

Columns: the share of the moments at which something is told, and how much of it is right, if somebody can say, both
with 95 % intervals bootstrapped by session; how often something is told elsewhere; bytes of all that is said; events
that pass in silence, which cost no byte of ours; calls until it works, if agents follow what they are told.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.memories import MemoryMissingError, Moment, run
from benchmarks.population import completed
from benchmarks.recorded import read_entries, read_sessions
from benchmarks.recurrence_arms import Event, Lesson, arms
from benchmarks.recurring import PROMPT, START, Failed, Session, failures, is_right, last_success, tell
from benchmarks.values import groups
from learning_memory_server.advice.candidates import Candidate
from learning_memory_server.advice.text import related
from learning_memory_server.embedding.base import Embedder
from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.index.document import axis_texts
from learning_memory_server.model.advice import Reason, TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.limits import ADVICE_SHOWN
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.server.composition.logging import configure_logging
from learning_memory_server.server.settings import Settings

DATA: Final = Path(__file__).parent / "data"
JUDGEMENTS: Final = DATA / "advice-judgements.json"
PROMPTS: Final = DATA / "prompts.json"
_TAUGHT: Final = 40
"""Characters of what an entry taught by which a text without ids is known to say it."""


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=Path)
    parser.add_argument("--entries", type=Path)
    parser.add_argument("--judgements", type=Path, default=JUDGEMENTS)
    parser.add_argument("--memory", type=Path, action="append", default=[])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    others = Others(options.memory)
    configure_logging("error")
    embedder = load_packaged()
    report = {}
    if options.sessions:
        report["sessions"] = asyncio.run(of_sessions(read_sessions(options.sessions), embedder, others))
    if options.entries:
        judged = json.loads(options.judgements.read_text("utf-8"))["pairs"]
        report["entries"] = asyncio.run(of_entries(read_entries(options.entries), judged, embedder, others))
    report["prompts"] = asyncio.run(of_prompts(embedder, others))
    if options.json:
        print(json.dumps({**report, "memories": others.went}))
        return
    for name, went in others.went.items():
        print(f"{name}: {went}")
    for name, found_by_arm in report.items():
        print(f"\n{name}: {next(iter(found_by_arm.values()))['moments']} moments")
        print(f"  {'':24}{'told':>21}{'right':>21} of elsewhere   bytes  silent  calls  rightly  per KB  ahead  when")
        for arm, found in found_by_arm.items():
            shares = "".join(f"{_shown(found[part], found[f'{part}_interval']):>21}" for part in ("told", "right"))
            counts = f"{found['judged']:>4}{found['elsewhere']:>9}{found['speech']:>9}{found['silent']:>8}"
            rightly = f"{found['rightly']:>9}{found['per_kilobyte']:>8}  {found['ahead']} {found['ahead_interval']}"
            print(f"  {arm:24}{shares}{counts}{found['calls'] or '-':>7}{rightly}  {' '.join(found['when'])}")


async def of_sessions(sessions: Sequence[Session], embedder: Embedder, memories: Others) -> dict[str, Any]:
    """Return the figures of each arm for the errors of sessions."""
    found = failures(sessions)
    cures, told = last_success(found), await tell(Settings(), sessions)
    happened, said, known = [], list[dict[str, str]](), dict[str, list[tuple[str, Lesson]]]()
    for failed in found:
        of_project = known.setdefault(failed.project, [])
        query = f"{failed.error[1]} {failed.command}"
        happened.append(
            Event(
                failed.session,
                failed.project,
                query,
                tuple(lesson for session, lesson in of_project if session != failed.session),
                partial(is_right, failed=failed),
                failed.recurs,
                failed.calls,
                cures.get((failed.session, failed.place), ""),
            )
        )
        places = {"start": START, "prompt": PROMPT, "failure": failed.place}
        said.append({name: told[failed.session, place] for name, place in places.items()})
        if failed.cure:
            lesson = Lesson(f"{failed.session} {failed.place:04}", query, failed.cure)
            of_project.append((failed.session, lesson))
    asked = [
        {"start": (each.session, START), "prompt": (each.session, PROMPT), "failure": (each.session, each.place)}
        for each in found
    ]
    others = memories.say("sessions", _moments(sessions, found), asked)
    return arms(happened, said, len(sessions), len(told), embedder, others=others)


def _moments(sessions: Sequence[Session], found: Sequence[Failed]) -> Iterator[Moment]:
    """Return all that happens in sessions; what an agent learned of failures comes at their ends."""
    failed = {(each.session, each.place): each for each in found}
    for session in sessions:
        about = session.id, session.project
        yield Moment("start", *about, "", key=(session.id, START))
        yield Moment("prompt", *about, session.task, key=(session.id, PROMPT))
        for place, call in enumerate(session.calls):
            if call.has_failed:
                yield Moment("failure", *about, call.command, call.output, has_failed=True, key=(session.id, place))
            yield Moment("command", *about, call.command, call.output, has_failed=bool(call.has_failed))
        for each in (failed[key] for key in failed if key[0] == session.id):
            if each.cure:
                yield Moment("lesson", *about, f"{each.error[1]} {each.command}", each.cure)


async def of_entries(
    entries: Sequence[Ghap], judgements: Sequence[Mapping[str, Any]], embedder: Embedder, memories: Others
) -> dict[str, Any]:
    """Return the figures of each arm for the starts of entries."""
    applicable: dict[str, set[str]] = {}
    for pair in judgements:
        # `benchmarks.replay` also writes those that do not apply, and those that nobody has judged.
        if pair.get("applies", True):
            applicable.setdefault(pair["later"], set()).add(pair["earlier"])
    said = await _told(entries, [(entry, entry.goal) for entry in entries])
    happened, known, moments = [], list[Lesson](), list[Moment]()
    for entry in entries:
        right = applicable.get(entry.id, set())
        query = f"{entry.goal}\n{entry.hypothesis}"
        happened.append(_asked(entry.id, entry.project, query, tuple(known), right))
        known.append(_lesson(entry))
        asked = {"start": "", "prompt": entry.goal, "start_ghap": query}
        moments += [Moment(kind, entry.id, entry.project, text, key=(entry.id, kind)) for kind, text in asked.items()]
        moments.append(Moment("lesson", entry.id, entry.project, known[-1].found_by, known[-1].told))
    places = [{kind: (entry.id, kind) for kind in asked} for entry in entries]
    others = memories.say("entries", moments, places)
    return arms(happened, said, len(entries), 3 * len(entries), embedder, most=ADVICE_SHOWN, others=others)


async def of_prompts(embedder: Embedder, memories: Others) -> dict[str, Any]:
    """Return the figures of each arm for prompts, of which some are about something that is known."""
    data = json.loads(PROMPTS.read_text("utf-8"))
    stored = {
        f"{group.name}/{place}": replace(member, project="shop")
        for group in groups()
        for place, member in enumerate(group.members)
    }
    known = tuple(_lesson(entry) for entry in sorted(stored.values(), key=lambda entry: entry.id))
    asked = [
        *((each["text"], {stored[f"{each['group']}/{at}"].id for at in each["answers"]}) for each in data["related"]),
        *((text, set[str]()) for text in data["unrelated"]),
    ]
    said = await _told(list(stored.values()), [(None, text) for text, _ in asked])
    happened = [_asked(text, "shop", text, known, right) for text, right in asked]
    moments = [Moment("lesson", each.id, "shop", each.found_by, each.told) for each in known]
    moments += [Moment("prompt", text, "shop", text, key=text) for text, _ in asked]
    others = memories.say("prompts", moments, [{"prompt": text} for text, _ in asked])
    return arms(happened, said, len(asked), len(asked), embedder, others=others)


class Others:
    """Other memories, by their files, and how their runs went."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = files
        self.went: dict[str, dict[str, Any]] = {}

    def say(
        self, part: str, moments: Iterable[Moment], places: Sequence[Mapping[str, Any]]
    ) -> dict[str, dict[str, list[str]]]:
        """Return what each says, by its name and channel, at the places of events; none of those that are not here."""
        happened, found = list(moments), {}
        for file in self.files:
            try:
                said, went = run(file, happened)
            except MemoryMissingError as missing:
                self.went[f"{file.stem}, {part}"] = {"never_run": str(missing)}
                continue
            self.went[f"{file.stem}, {part}"] = went
            channels = {channel: [said.get(each[channel], "") for each in places] for channel in places[0]}
            found[went["version"]] = {name: texts for name, texts in channels.items() if any(texts)}
        return found


async def _told(entries: Sequence[Ghap], asked: Sequence[tuple[Ghap | None, str]]) -> list[dict[str, str]]:
    """Return what the server says to each of those who ask; an entry that asks is learned after that."""
    said = []
    async with completed([] if asked[0][0] else entries) as services:
        # However long it takes: figures must not depend on the machine.
        services.room.has_deadline = False
        for number, (entry, prompt) in enumerate(asked):
            project = entry.project if entry else "shop"
            caller = Caller(project, f"session {number}")
            start = await services.advisor.at(Trigger(TriggerKind.SESSION_START), caller)
            shown = await services.advisor.at(Trigger(TriggerKind.PROMPT, text=prompt), caller)
            heard = {"prompt": _as_json(shown.candidates)}
            if entry:
                heard["start"] = start.text
                # A recorded journal may call days of work one session, in which a lesson is told once.
                started = replace(entry, agent_session=caller.session)
                shown = await services.advisor.at(Trigger(TriggerKind.ENTRY_START, entry=started), caller)
                heard["start_ghap"] = _as_json(shown.candidates)
                services.collector.add_resolved([entry])
                await services.persister.persist(entry)
            said.append(heard)
    return said


def _asked(session: str, project: str, query: str, known: tuple[Lesson, ...], right: set[str]) -> Event:
    taught = {each.id: json.loads(each.told)[0]["learned"][:_TAUGHT] for each in known if each.id in right}

    def judge(text: str) -> bool:
        return any(name in text or said in text for name, said in taught.items())

    newest = known[-1].told if known else ""
    return Event(session, project, query, known, judge, bool(taught), None, newest)


def _lesson(entry: Ghap) -> Lesson:
    return Lesson(entry.id, axis_texts(entry)[Axis.FULL], _as_json([Candidate(entry, Reason.SIMILAR)]))


def _as_json(found: Sequence[Candidate]) -> str:
    items = related(found, lambda _entry: "")
    return json.dumps(items, ensure_ascii=False) if items else ""


def _shown(share: float | None, interval: Sequence[float]) -> str:
    return "-" if share is None else f"{share:.3f} [{interval[0]:.2f}, {interval[1]:.2f}]"


if __name__ == "__main__":
    main()
