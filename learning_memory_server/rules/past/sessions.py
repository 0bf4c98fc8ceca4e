"""Past sessions, with one pass over each transcript: failures, refused calls, and the hypothetical counts of rules."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from learning_memory_server.lessons.errors.learner import Learner
from learning_memory_server.lessons.errors.sanitize import tidied
from learning_memory_server.lessons.errors.transcripts import Beginning, Passed, Refused
from learning_memory_server.model import limits
from learning_memory_server.model.caller import session_hash
from learning_memory_server.model.lines import one_line, shortened
from learning_memory_server.model.memory import Refusal
from learning_memory_server.model.rule import Rule, Suggestion
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.rules.past.events import Asked, Event, Over, Prompt, events_in, matters, slim
from learning_memory_server.rules.past.past import Past
from learning_memory_server.rules.past.replay import Replay
from learning_memory_server.rules.suggesting.refusals import refusal_of


@dataclass(frozen=True, slots=True)
class Transcript:
    """A transcript to read, and its project."""

    path: Path
    began: Beginning
    project: str


@dataclass(eq=False)
class Sessions:
    """Reads transcripts, and counts breaches of the suggestions and rules in `known` meanwhile.

    Some suggestions come from the transcripts themselves. Their breaches are counted afterwards, in the stored calls.
    """

    gate: RedactionGate
    own: Path  # Refused calls count only in the client's own folder: files elsewhere may be forged
    known: Sequence[Suggestion | Rule]
    has_strayed: Callable[[str | None, Beginning], bool]
    passed: Passed
    names: set[str] = field(default_factory=set, init=False)
    commands: int = field(default=0, init=False)
    failed: int = field(default=0, init=False)
    strayed: int = field(default=0, init=False)
    learner: Learner = field(init=False)
    replay: Replay = field(init=False)
    _tape: list[tuple[Transcript, list[Event]]] = field(default_factory=list, init=False)
    _refused: dict[str, tuple[Refused, Transcript]] = field(default_factory=dict, init=False)
    _late: Replay | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.replay = Replay(self.known)

    async def read(self, found: Sequence[Transcript], progress: Callable[[int, int], object]) -> None:
        """Read transcripts, the events of each file in order."""
        own = self.own.resolve()
        is_own = [each.path.resolve().is_relative_to(own) for each in found]
        self.learner = Learner(self.gate, imported=not all(is_own))
        sizes = [each.path.stat().st_size for each in found]
        total = max(sum(sizes), 1)
        for number, each in enumerate(found):
            done = partial(_say, progress, sum(sizes[:number]), total)
            done(0)
            await self._read(each, done, hears=is_own[number])

    def count(self, more: Iterable[Suggestion]) -> None:
        """Count the breaches of suggestions from the transcripts."""
        self._late = Replay(more)
        for transcript, events in () if self._late.is_empty else self._tape:
            self._late.begin(transcript.began)
            for event in events:
                self._late.see(event)
            self._late.end()

    async def refused(self) -> list[Refusal]:
        """Return the calls that a person refused with words, redacted and without folders of this machine."""
        return [
            await refusal_of(each, session_hash(each.session or of.path.stem), of.project, each.folder, self.gate)
            for each, of in self._refused.values()
            if each.words
        ]

    async def past(self) -> dict[str, Past]:
        """Return the counts of suggestions and rules with a pattern, by id."""
        since = self.replay.since
        found = self.replay.past(_shown, since)
        found |= self._late.past(_shown, since) if self._late else {}
        calls = (await self.gate.pass_data({"texts": [each.call for each in found.values()]})).data["texts"]
        return {
            name: replace(each, call=shortened(call, limits.COMMAND_MAX))
            for (name, each), call in zip(found.items(), calls, strict=True)
        }

    async def _read(self, transcript: Transcript, progress: Callable[[int], object], *, hears: bool) -> None:
        began, kept = transcript.began, list[Event]()
        self.replay.begin(began)
        for event in events_in(transcript.path, self.passed, progress):
            if not isinstance(event, Prompt):
                asked = event if isinstance(event, Asked) else event.asked
                if self.has_strayed(asked.folder, began):
                    self.strayed += isinstance(event, Over) and event.ran is not None
                    continue
            self.replay.see(event)
            if matters(event):
                kept.append(slim(event))
            if isinstance(event, Over):
                await self._over(event, transcript, hears=hears)
            else:
                self.names.add(event.session)
        self.replay.end()
        self._tape.append((transcript, kept))

    async def _over(self, over: Over, transcript: Transcript, *, hears: bool) -> None:
        if over.ran:
            ran = replace(over.ran, project=transcript.project, top=transcript.began.folder)
            self.failed += await self.learner.saw(ran)
            self.commands += 1
        if over.refused and hears:
            self._refused.setdefault(over.refused.id, (over.refused, transcript))


def _say(progress: Callable[[int, int], object], before: int, total: int, done: int) -> None:
    """Report the overall progress from the bytes read of one file."""
    progress(before + done, total)


def _shown(asked: Asked) -> str:
    return tidied(one_line(asked.call), "", asked.folder or None)
