"""Advice at the moment of belief: the choice, and its effects."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence, Set as AbstractSet
from dataclasses import KW_ONLY, dataclass, field, replace
from time import monotonic
from typing import Final

import structlog

from learning_memory_server.capture.memories.store import MemoryLog
from learning_memory_server.errors import AWAY
from learning_memory_server.index.ranking.terms import terms
from learning_memory_server.lessons.errors.parse import looks, parse
from learning_memory_server.lessons.finder import AdviceFinder, Ranked, may_tell
from learning_memory_server.lessons.names import Names
from learning_memory_server.lessons.shown import AdviceLog
from learning_memory_server.lessons.validity import Validity
from learning_memory_server.model import limits
from learning_memory_server.model.advice import Advice, AdviceKind, Channel, Citation, Effect, Item, Reason, advice_id
from learning_memory_server.model.caller import MAIN_AGENT, Caller
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.lines import one_line, shortened
from learning_memory_server.model.moment import Clock
from learning_memory_server.model.value import Value
from learning_memory_server.system import timeouts
from learning_memory_server.system.recent import Recent

_PROMPT_MAX: Final = 2_000  # Characters of a prompt that are used: the model reads no more
_TERMS_LEAST: Final = 3  # The least number of distinct terms of a prompt: "run the tests" has too few
_LINE_TERMS_LEAST: Final = 6  # The same of an error's line that is also looked for without its command: see decision 20
_LOOK: Final = 0.02  # Seconds between looks at an index that is not open yet
_WRONG: Final = 5  # How many of the hypotheses about a file are looked at: the newest

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Related:
    """What to show: experiences, then values."""

    experiences: tuple[Ghap, ...] = ()
    values: tuple[Value, ...] = ()
    freshness: Mapping[str, str] = field(default_factory=dict)  # what became of their files, by id


@dataclass(eq=False)
class Told:
    """What each agent was told unasked since its context was last emptied, through whatever channel.

    A subagent sees nothing of what the main agent was told.
    """

    _names: Recent[str, str] = field(default_factory=Recent, init=False)
    _ids: Recent[tuple[str, str], set[str]] = field(default_factory=Recent, init=False)
    rules: Recent[str, set[str]] = field(
        default_factory=Recent, init=False
    )  # The rules that clients loaded, by session

    def heard(self, session: str, name: str) -> None:
        """Note what a client calls a session now: it is another one, and knows nothing, once it was cleared."""
        self._names[session] = name

    def to(self, session: str, agent: str | None) -> set[str]:
        """Return the ids of the things shown to an agent, to read or to add to."""
        return self._ids.of((self._names.get(session, session), agent or MAIN_AGENT), set)


@dataclass(eq=False)
class Advisor:
    """Shows what was learned before, at most two things, and keeps in the journal what it showed."""

    finder: AdviceFinder
    log: AdviceLog
    clock: Clock
    _: KW_ONLY
    within: float | None = timeouts.ADVICE  # seconds that it may take; None for no limit
    told: Told = field(default_factory=Told)
    # What agents were shown before they had an entry.
    _ahead: Recent[tuple[str, str, str], dict[Channel, tuple[Item, ...]]] = field(default_factory=Recent, init=False)

    def knows(self, caller: Caller, name: str) -> bool:
        """Return whether an agent was told something, or its client has loaded it as a rule."""
        return name in self.told.to(caller.session, caller.agent) or name in self.told.rules.of(caller.session, set)

    def __post_init__(self) -> None:
        self.collector, self.values = self.finder.collector, self.finder.values
        self.validity = Validity(self.log, self.collector)
        self.names = Names(self.collector, self.finder.answers, self.finder.shared_by)

    async def advise(self, entry: Ghap, channel: Channel, folder: str = "") -> Related:
        """Return what to show for an entry's present hypothesis to somebody in a folder, and record it.

        The same call again shows the same, and what the agent was told before is not repeated.
        Silence if nothing is near enough, or the model or the engine are not ready or late.
        """
        if channel is Channel.START and (
            ahead := self._ahead.pop((entry.project, entry.agent_session, entry.agent), None)
        ):
            for early, shown in ahead.items():
                self._record(entry, early, shown)
        if known := self.log.find(advice_id(entry.id, entry.iteration_count, channel)):
            return self._shown(known, folder)
        told = self.told.to(entry.agent_session, entry.agent)
        seen = told.union(item.id for advice in self.log.of(entry) for item in advice.items)
        ranked = await self._ranked(self.finder.rank(entry, self.log.effects()), entry.project, folder)
        seen |= self.told.rules.of(entry.agent_session, set)
        items = ranked.items(seen) if ranked else []
        if not items:
            return Related()
        told.update(item.id for item in items)
        return self._shown(self._record(entry, channel, items), folder)

    async def find_lesson(
        self,
        text: str,
        caller: Caller,
        *,
        tools: AbstractSet[str] | None = None,
        patience: float = 0.0,
        by_name: bool = False,
    ) -> Ghap | None:
        """Return the lesson that is relevant to a user's text, a command or an error, and record that it is shown.

        None for nearly all other texts, or if the model or the engine are late. Only the beginning of the text
        counts. A lesson that names the same file, identifier or code has a lower threshold.

        Args:
            text: The text.
            caller: The agent to tell.
            tools: Set if the text is a command and its error: the terms of which the lesson must have one, if any.
            patience: Seconds to wait for a model and an index that are not ready yet.
            by_name: Whether the lesson must name the same thing.
        """
        text = text[:_PROMPT_MAX]
        heard = self.names.heard(text, caller)
        heard = [] if by_name and all(map(looks, parse(text).steps)) else heard
        named = [each for each in heard if not (self.knows(caller, each.id) or self.log.is_worn(each.id))]
        if not named and (by_name or len(set(terms(text))) < _TERMS_LEAST):
            return None
        if not self.finder.has_any(caller.project) or (tools and not self.finder.is_known(tools, caller.project)):
            return None
        until = monotonic() + patience
        while not self.finder.index.is_open and monotonic() < until:
            await asyncio.sleep(_LOOK)
        line = text.rpartition("\n")[2] if tools is not None else ""
        texts = (text, line) if len(set(terms(line))) >= _LINE_TERMS_LEAST else (text,)
        ranked = await self._ranked_texts(texts, caller, until)
        found = ranked.lesson(is_error=tools is not None, named=named) if ranked else None
        if found is None or self.knows(caller, found[0].id):
            return None
        entry, item = found
        if tools and not self.finder.has(entry, tools):
            return None
        bears = (by_name or tools is not None) and self.names.runs(text, entry, caller)
        if not bears:
            # A name alone is no reason: what is done with the thing must be what the lesson is about.
            rest = self.names.besides(text, caller)
            ranked = ranked if rest == text else await self._ranked_texts((rest,), caller, until)
            bears = bool(ranked and ranked.bears(entry))
        if not bears:
            return None
        self.record_shown(caller, Channel.HOOK, [item])
        return entry

    async def _ranked_texts(self, texts: Sequence[str], caller: Caller, until: float) -> Ranked | None:
        return await self._ranked(
            self.finder.rank_texts(texts, caller.project, self.log.effects()),
            caller.project,
            caller.folder,
            max(until - monotonic(), timeouts.HOOK_LESSON),
        )

    async def find_wrong(self, file: str, caller: Caller) -> Ghap | None:
        """Return the newest falsified hypothesis of other sessions about a file, and record that it is shown."""
        named = self.collector.timeline.wrong_about(caller.project, file)[-_WRONG:]
        entries = [each for each in self.collector.look_up(reversed(named)).found if each.resolution]
        await self.validity.freshness.judge(entries, caller.project, caller.folder)
        current = (each for each in entries if self.is_current(each, caller) and not self.knows(caller, each.id))
        if (entry := next(current, None)) is None:
            return None
        self.record_shown(caller, Channel.HOOK, [Item(entry.id, AdviceKind.EXPERIENCE, reason=Reason.SIMILAR)])
        return entry

    def is_current(self, entry: Ghap, caller: Caller) -> bool:
        """Return whether another session's lesson may be told: it misled no more often than it helped."""
        misled, helped = self.log.effects().get(entry.id, (0, 0))
        is_in_doubt = misled > helped or entry.id in self.validity.successors()
        is_advice = entry.agent_session != caller.session and may_tell(entry, self.finder.answers)
        return is_advice and not is_in_doubt

    def record_shown(self, caller: Caller, channel: Channel, items: Sequence[Item]) -> None:
        """Record that an agent is shown these things outside a call about an entry.

        They are recorded with its open entry; if it has none, with the next one that it starts while this process runs.
        """
        if not items:
            return
        if entry := self.collector.still_open.current(caller):
            self._record(entry, channel, items)
        else:
            ahead = self._ahead.of((caller.project, caller.session, caller.agent or ""), dict)
            ahead[channel] = _joined(ahead.get(channel, ()), items)
        self.told.to(caller.session, caller.agent).update(item.id for item in items)

    def _record(self, entry: Ghap, channel: Channel, items: Sequence[Item]) -> Advice:
        """Return the advice on an entry's present hypothesis through a channel, with these items in the journal."""
        known = self.log.find(advice_id(entry.id, entry.iteration_count, channel))
        if known:
            advice = replace(known, items=_joined(known.items, items))
        else:
            advice = Advice(
                entry.id,
                entry.iteration_count,
                channel,
                items=tuple(items),
                project=entry.project,
                created_at=self.clock(),
            )
        if advice != known:
            self.log.add(advice)
        return advice

    async def _ranked(
        self, ranking: Awaitable[Ranked | None], project: str, folder: str, patience: float = 0.0
    ) -> Ranked | None:
        """Return what a ranking finds in time, as far as it still holds."""
        try:
            async with asyncio.timeout(self.within and self.within + patience):
                if ranked := await ranking:
                    return await self.validity.current(ranked, project, folder)
                log.info("advice.skipped", reason="NotReady")  # The model or the index is being loaded
                return None
        except (*AWAY, TimeoutError) as error:
            log.info("advice.skipped", reason=type(error).__name__)
            return None

    def _shown(self, advice: Advice, folder: str) -> Related:
        """Return what a record says was shown, as far as it still exists."""
        ids = [item.id for item in advice.items]
        shared = filter(None, map(self.finder.shared.entries.get, ids))
        entries = (*self.collector.look_up(ids).found, *shared)
        values = (self.values.find(name) for name in ids)
        words = {each.id: said for each in entries if (said := self.validity.words(each, folder))}
        return Related(entries, tuple(value for value in values if value), words)


def _joined(before: Sequence[Item], items: Sequence[Item]) -> tuple[Item, ...]:
    """Return the items of both, each once."""
    return (*before, *(item for item in items if all(item.id != each.id for each in before)))


@dataclass(frozen=True, slots=True)
class Cited:
    """What an agent names when it resolves an entry."""

    shown: dict[str, Effect] = field(default_factory=dict)  # The effects of the advice on the entry, by id
    found: list[Citation] = field(default_factory=list)  # the rest of what exists
    not_recorded: list[str] = field(default_factory=list)  # a sentence for each other id


@dataclass(frozen=True, slots=True)
class Citing:
    """Sorts what an agent names. None of it is refused."""

    advisor: Advisor
    memories: MemoryLog

    def sort(self, entry: Ghap, helped: Sequence[str], misled: Sequence[str]) -> Cited:
        """Return which of the ids count for an entry, and as what."""
        shown = {item.id for each in self.advisor.log.of(entry) for item in each.items}
        cited = Cited()
        for name in dict.fromkeys((*helped[: limits.CITED_MAX], *misled[: limits.CITED_MAX])):
            effect = Effect.HELPED if name in helped else Effect.MISLED
            if name in helped and name in misled:
                cited.not_recorded.append(f"{name}: it is in both helped and misled.")
            elif name in shown:
                cited.shown[name] = effect
            elif (kind := self._kind(name)) and name != entry.id:
                cited.found.append(Citation(name, kind, effect))
            else:
                named = shortened(one_line(name), limits.ID_MAX) or "An empty id"
                cited.not_recorded.append(f"{named}: there is no other entry, value or memory with this id.")
        if more := ", ".join((*helped[limits.CITED_MAX :], *misled[limits.CITED_MAX :])):
            cited.not_recorded.append(
                f"{shortened(more, limits.NARRATIVE_MAX)}: only {limits.CITED_MAX} of each list count."
            )
        return cited

    def _kind(self, name: str) -> AdviceKind | None:
        if self.advisor.collector.look_up([name]).found or self.advisor.finder.shared.entries.get(name):
            return AdviceKind.EXPERIENCE
        if self.advisor.values.find(name):
            return AdviceKind.VALUE
        return AdviceKind.MEMORY if self.memories.find(name) else None
