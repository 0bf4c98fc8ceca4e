"""Tosses, once in a session, whether it is told anything unasked, and counts its failing calls from then on."""

import random
from collections.abc import Callable
from dataclasses import replace

import structlog

from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.journal.codec import TRIAL
from learning_memory_server.journal.log import Log
from learning_memory_server.journal.records import Records
from learning_memory_server.model.advice import Trial
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.moment import Clock

log = structlog.get_logger()


class Trials(Records[Trial]):
    """The trials in the journal: none while nothing is to be withheld."""

    def __init__(
        self, log: Log, clock: Clock, withheld: float = 0.0, chance: Callable[[], float] = random.random
    ) -> None:
        super().__init__(log, TRIAL)
        self._clock = clock
        self._withheld = withheld  # the share of sessions in which everything is withheld
        self._chance = chance  # returns a random number from 0 to 1

    def of(self, project: str, session: str) -> Trial | None:
        """Return the trial of a session in which there is something to tell; None if nothing is ever withheld.

        What was tossed first holds for every channel, agent and entry of the session, also over restarts.
        """
        known = self.find(session)
        if known is None and self._withheld:
            is_withheld = self._chance() < self._withheld
            self.add(known := Trial(session, project, self._clock(), is_withheld, self._withheld))
        return known

    def may_tell(self, caller: Caller) -> bool:
        """Return whether a session may be told what there is to tell."""
        trial = self.of(caller.project, caller.session)
        return not (trial and trial.withheld)

    def ended(self, caller: Caller, *, has_failed: bool) -> None:
        """Note that a command of a session has ended. Nothing is raised: callers run next to an agent's work."""
        trial = self.find(caller.session)
        if trial and (has_failed or trial.failed is None):
            try:
                self.add(replace(trial, failed=(trial.failed or 0) + has_failed), at=self._clock())
            except LearningMemoryError as problem:
                log.warning("trial.skipped", reason=type(problem).__name__)
