"""The situations of `golden.toml`: a small store, what occurs, and what must be shown.

A situation has the `entries` of its store, by their names in the first table, with what differs here; else all of that
table. `rules` are those of the second table that a person has accepted.

`fillers` are more entries of one text, `texts` are prompts that others wrote before, `before` are triggers in
this session or others. `shown` has the names of what is shown, each with its reason; nothing is silence.

The model is the packaged one, and everything else is what a server has, but for an index in RAM.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import AsyncIterator, Container, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from unittest import mock

from learning_memory_server.advice import observer
from learning_memory_server.advice.advisor import Advisor
from learning_memory_server.advice.candidates import Candidate, Observed, Shown
from learning_memory_server.advice.filters import Situation as Judged
from learning_memory_server.advice.matters import age
from learning_memory_server.advice.names import Names
from learning_memory_server.advice.sources.lessons import LessonsSource
from learning_memory_server.advice.sources.ties import TiesSource
from learning_memory_server.embedding.base import Vectors
from learning_memory_server.embedding.scale import DEFAULT_SCALE
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.index.document import Collection, Document
from learning_memory_server.index.engines.base import Hit, Record
from learning_memory_server.index.recipe import embed
from learning_memory_server.journal.kinds import RULE
from learning_memory_server.lessons.values.log import document_of
from learning_memory_server.model.advice import AdviceKind, Citation, Effect, TriggerKind
from learning_memory_server.model.answer import Answer, Said
from learning_memory_server.model.caller import MAIN_AGENT, Caller, session_hash
from learning_memory_server.model.entry import Anchor, Ghap, Lesson, Met, Resolution, RootCause
from learning_memory_server.model.rule import Rule
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.model.value import Value
from learning_memory_server.model.vocabulary import Axis, Domain, OutcomeStatus, RootCauseCategory, Strategy
from learning_memory_server.server.composition.services import Services, open_services
from learning_memory_server.server.settings import Settings
from tests.advice.remembering import model
from tests.lessons.values.parts import value
from tests.support import InProcessFitting, TickingClock

GOLDEN: Final = Path(__file__).with_name("golden.toml")
PROJECT: Final = "shop"
NOW: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
_SHOWN: Final = re.compile(r"^shown = .*$", re.MULTILINE)
_KINDS: Final = {
    "session start": TriggerKind.SESSION_START,
    "prompt": TriggerKind.PROMPT,
    "task": TriggerKind.SUBAGENT_START,
    "start_ghap": TriggerKind.ENTRY_START,
    "update_ghap": TriggerKind.ENTRY_UPDATE,
    "command": TriggerKind.COMMAND,
    "file": TriggerKind.FILE,
    "stop": TriggerKind.STOP,
    "end": TriggerKind.SUBAGENT_STOP,
    "call": TriggerKind.CALL,
}


_OF_SUBAGENTS: Final = {TriggerKind.SUBAGENT_START, TriggerKind.SUBAGENT_STOP}


@dataclass(frozen=True, slots=True)
class Golden:
    """A situation as it is written."""

    name: str
    given: Mapping[str, Any]
    known: Mapping[str, Mapping[str, Any]]  # the entries of the first table
    rules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # those of the second table

    @property
    def shown(self) -> list[str]:
        """What must be shown."""
        return list(self.given["shown"])

    def entries(self) -> list[dict[str, Any]]:
        """Return what its entries are like."""
        found = ({"name": each} if isinstance(each, str) else each for each in self.given.get("entries", self.known))
        return [{**self.known.get(each["name"], {}), **each} for each in found]


def read_golden(path: Path = GOLDEN) -> list[Golden]:
    """Return the situations of a file."""
    document = tomllib.loads(path.read_text("utf-8"))
    return [Golden(each["name"], each, document["entries"], document["rules"]) for each in document["situations"]]


def rewritten(text: str, shown: Sequence[Sequence[str]]) -> str:
    """Return the text of the file with what is shown now; nothing else changes."""
    lines = iter(shown)

    def line(_: re.Match[str]) -> str:
        return f"shown = {json.dumps(list(next(lines)))}"

    return _SHOWN.sub(line, text)


@dataclass(eq=False)
class _Index:
    """The index of a room, in RAM: it compares a vector with all of them."""

    embeddings: EmbeddingService
    vectors: dict[tuple[str, str], tuple[Vectors, str]] = field(default_factory=dict)
    is_open: bool = True
    scale: Any = field(default_factory=lambda: SimpleNamespace(known=DEFAULT_SCALE, scale=DEFAULT_SCALE))

    async def write(self, document: Document, name: str) -> None:
        """Add a document, of an entry or a value with this id."""
        (vector,) = await embed(self.embeddings, [document])
        self.vectors[document.collection, document.point_id] = vector, name

    async def nearest(
        self, collection: Collection, vector: Vectors, *, limit: int, ids: Container[str] | None = None, **_: object
    ) -> list[Hit]:
        """Return the closest points, best first."""
        found = [
            Hit(point, float(row @ vector))
            for (of, point), (row, _) in self.vectors.items()
            if of == collection and (ids is None or point in ids)
        ]
        return sorted(found, key=lambda hit: (-hit.score, hit.id))[:limit]

    async def retrieve(self, collection: Collection, points: Iterable[str]) -> list[Record]:
        """Return points with the ids of their entries."""
        return [Record(each, {"ghap_id": self.vectors[collection, each][1]}) for each in points]


@dataclass(eq=False)
class Stage:
    """A situation with everything in place. What is shown can be asked for again and again."""

    golden: Golden
    services: Services
    folder: Path
    names: dict[str, str] = field(default_factory=dict)  # by id
    _asked: tuple[Trigger, Observed, Caller] | None = None
    _judged: Judged | None = None
    _met: list[str] = field(default_factory=list)  # the rules that an agent met at an act: no number decides of them
    _texts: list[tuple[str, Caller]] = field(default_factory=list)

    def caller(self, session: str = "now", agent: str = MAIN_AGENT, *, is_confirmed: bool = True) -> Caller:
        """Return a caller by the name of its session."""
        return Caller(PROJECT, session_hash(session), agent, folder=str(self.folder), is_told=is_confirmed)

    async def happens(self, given: Mapping[str, Any]) -> Shown:
        """Let something occur, and return what is shown."""
        given = dict(given)
        session = given.pop("session", "now")
        kind = _KINDS[given.pop("kind")]
        is_confirmed = given.pop("is_confirmed", True)
        agent = given.pop("agent", "a subagent" if kind in _OF_SUBAGENTS else MAIN_AGENT)
        caller = replace(
            self.caller(session, agent, is_confirmed=is_confirmed), is_attended=given.pop("is_attended", True)
        )
        advisor: Advisor = self.services.advisor
        context = session_hash(f"{session}, as its client calls it")
        place = given.pop("place", "")
        given.setdefault("folder", str(self.folder))
        state = advisor.sessions.hear(caller, context)
        state.started_at = state.started_at or NOW - timedelta(hours=1)
        if kind is TriggerKind.SUBAGENT_START:
            task = Trigger(TriggerKind.SUBAGENT_TASK, context, text=given.pop("text"))
            await advisor.at(task, self.caller(session))
        if "goal" in given:
            begun = {name: given.pop(name) for name in ("goal", "hypothesis")}
            given["entry"] = replace(self._entry({"name": "mine", **begun, "learned": ""}), resolution=None)
            given["entry"] = replace(given["entry"], agent_session=caller.session, agent=caller.agent or "")
        if loaded := given.pop("loaded", None):
            state.loaded.update(each for each, name in self.names.items() if name in loaded)
        if file := given.pop("loads_text", ""):
            (self.folder / "CLAUDE.md").write_text(file, "utf-8")
            given["loads"] = ("CLAUDE.md",)
        with mock.patch.object(observer, "place_of", return_value=place):
            return await advisor.at(Trigger(kind, context, **given), caller)

    async def set_up(self) -> None:
        """Fill the store, and let happen what happened before."""
        self.services.room.has_deadline = False
        await self._fill(self.golden.entries())
        self.services.rule_log.add(*map(self._rule, self.golden.given.get("rules", [])))
        names = self._names_source().names
        note = names.note

        def noted(text: str, caller: Caller) -> None:
            self._texts.append((text, caller))
            note(text, caller)

        names.note = noted  # type: ignore[method-assign]
        for part in self.golden.given.get("texts", []):
            for number in range(part["count"]):
                noted(part["text"].format(number), self.caller(f"{part['text']} {number}"))
        for event in self.golden.given.get("before", []):
            await self.happens(event)

    async def _fill(self, entries: Sequence[Mapping[str, Any]]) -> None:
        services = self.services
        made = [self._entry(each) for each in entries]
        with_entries = list(zip(made, entries, strict=True))
        pending = [entry for entry, each in with_entries if each.get("is_pending")]
        cited = [entry for each in entries for entry in self._effects(each)]
        resolved = [each for each in made if each.resolution and each not in pending]
        services.collector.add_resolved(sorted([*self._fillers(), *resolved, *cited], key=age))
        for entry in made:
            if entry.resolution is None:
                services.collector.still_open.save(entry)
        index = _Index(services.embeddings)
        for each in services.collector.documents():
            if each.collection == Collection.of(Axis.FULL):
                await index.write(each, each.payload["ghap_id"])
        for number, text in enumerate(self.golden.given.get("values", [])):
            services.value_log.add(found := self._value(number, text))
            await index.write(document_of(found), found.id)
        self._names_source().finder.index = index  # type: ignore[assignment]
        services.collector.add_resolved(pending)
        declined = [entry.id for entry, each in with_entries if each.get("is_declined")]
        services.answers.add(*(Answer(each, PROJECT, Said.NEVER, NOW) for each in declined))

    def _names_source(self) -> LessonsSource:
        return next(each for each in self.services.room.sources if isinstance(each, LessonsSource))

    async def shown(self) -> list[str]:
        """Return what is shown, without a line in the log."""
        self._asked = self._judged = None
        texts = len(self._texts)
        room, log = self.services.room, self.services.advice_log
        offered, passing = room.offered, room.passing

        async def asked(*given: Any) -> list[Candidate]:
            self._asked = given
            return await offered(*given)

        def judged(candidates: Sequence[Candidate], situation: Judged) -> list[Candidate]:
            self._judged = situation
            return passing(candidates, situation)

        with (
            mock.patch.multiple(room, offered=asked, passing=judged),
            mock.patch.multiple(log, record=mock.DEFAULT, record_failure=mock.DEFAULT),
        ):
            shown = await self.happens(self.golden.given["trigger"])
        found = self._named(shown.candidates)
        self._met = found[: len(shown.meeting.rules)]
        del self._texts[texts:]
        return found

    async def shown_again(self) -> list[str]:
        """Return what would be shown now that a number has changed; `shown` comes first."""
        if self._asked is None or self._judged is None:
            return []
        for source in self.services.room.sources:
            if isinstance(source, LessonsSource):
                source.finder._last = None
                source.names._entries.clear()
                source.names._texts.clear()
            elif isinstance(source, TiesSource):
                source.ties._projects.clear()
        for text, caller in [*self._texts]:
            Names.note(self._names_source().names, text, caller)
        offered = await self.services.room.offered(*self._asked)
        return [*self._met, *self._named(self.services.room.passing(offered, self._judged))]

    def id_of(self, name: str) -> str:
        """Return the id of an entry by its name."""
        return next(each for each, found in self.names.items() if found == name)

    def _named(self, candidates: Sequence[Candidate]) -> list[str]:
        return [f"{self.names.get(each.id, each.id)}: {each.reason.value}" for each in candidates]

    def _entry(self, given: Mapping[str, Any]) -> Ghap:
        number = len(self.names)
        at = NOW - timedelta(days=given.get("days", 30), minutes=-number)
        name = f"ghap_{at:%Y%m%d_%H%M%S}_{number:06x}"
        self.names[name] = given["name"]
        status = OutcomeStatus(given.get("outcome", "confirmed"))
        is_wrong = status is OutcomeStatus.FALSIFIED
        learned = given["learned"]
        errors = (Met(each["line"], each.get("programs", ""), is_tied=True) for each in given.get("errors", []))
        return Ghap(
            id=name,
            project=given.get("project", PROJECT),
            agent_session=session_hash(given.get("session", given["name"])),
            agent=MAIN_AGENT,
            created_at=at,
            domain=Domain.DEBUGGING,
            strategy=Strategy.CHECK_ASSUMPTIONS,
            goal=given["goal"],
            hypothesis=given["hypothesis"],
            action=given.get("action", "Try it and look"),
            prediction=given.get("prediction", "It works then"),
            imported=given.get("is_imported", False),
            errors=tuple(errors),
            anchors=tuple(Anchor(each) for each in given.get("files", [])),
            resolution=None
            if given.get("is_open")
            else Resolution(
                status,
                "So it was.",
                at + timedelta(minutes=1),
                surprise="It was not so." if is_wrong else None,
                root_cause=RootCause(RootCauseCategory.WRONG_ASSUMPTION, learned) if is_wrong and learned else None,
                lesson=Lesson(learned, learned) if learned else None,
            ),
        )

    def _fillers(self) -> list[Ghap]:
        return [
            self._entry(
                {
                    "name": f"filler {number}",
                    "days": 20,
                    **{name: text.format(number) if isinstance(text, str) else text for name, text in given.items()},
                }
            )
            for given in self.golden.given.get("fillers", [])
            for number in range(given["count"])
        ]

    def _effects(self, given: Mapping[str, Any]) -> list[Ghap]:
        found = []
        for effect in Effect:
            for _ in range(given.get(effect.value, 0)):
                entry = self._entry({"name": "a judge", "goal": "x", "hypothesis": "y", "learned": "", "days": 10})
                cited = (Citation(self.id_of(given["name"]), AdviceKind.EXPERIENCE, effect),)
                found.append(replace(entry, resolution=replace(entry.outcome, cited=cited)))
        return found

    def _rule(self, given: str | Mapping[str, Any]) -> Rule:
        parts = {"name": given} if isinstance(given, str) else given
        name = parts["name"]
        number = len(self.names)
        self.names[id_ := f"rule_{number:032x}"] = name
        at = (NOW - timedelta(days=10, minutes=-number)).isoformat()
        about = {"id": id_, "project": PROJECT, "state": "accepted", "created_at": at, "changed_at": at}
        said = {**about, "origin": {"kind": "added"}, **self.golden.rules.get(name, {}), **parts}
        del said["name"]
        return RULE.decode(said)

    def _value(self, number: int, text: str) -> Value:
        name = f"value {number}"
        self.names[name] = name
        return replace(value(name, project=PROJECT, minutes=number), text=text)


@asynccontextmanager
async def staged(golden: Golden, folder: Path) -> AsyncIterator[Stage]:
    """Set a situation up in an empty folder."""
    settings = Settings(storage_path=folder / "data")
    project = folder / PROJECT
    project.mkdir()
    async with open_services(
        settings, purpose="a test", clock=TickingClock(NOW), load=model, fitting=InProcessFitting()
    ) as services:
        stage = Stage(golden, services, project)
        await stage.set_up()
        yield stage
