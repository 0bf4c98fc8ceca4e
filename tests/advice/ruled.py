"""Sessions with rules, for tests."""

from dataclasses import replace
from typing import Any

from learning_memory_server.advice.candidates import Permission, Shown
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.caller import MAIN_AGENT, Caller
from learning_memory_server.model.rule import Rule
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.rules.folders import folders_of
from learning_memory_server.server.composition.services import Services
from tests.rules.making import TRAILER, accepted
from tests.support import ALICE

NAME = ALICE.session
HERE = ALICE.project
COMMIT = "git commit -m 'Mend it' -m 'Co-Authored-By: Claude'"
TEXT = "No AI trailer in commits"
DENIAL = (
    f'Rule of your user (3 Feb): "{TEXT}". This call breaks it, so nothing of it was run. Change the call and go on.'
)


def own(words: str, *given: Any, **parts: Any) -> Rule:
    return accepted(words, *given, **{"project": HERE, **parts})


NO_TRAILER = own(TEXT, TRAILER)


class Session:
    """A session whose client names its calls."""

    def __init__(self, services: Services, caller: Caller = ALICE) -> None:
        self.services = services
        self.caller = caller
        self.calls = 0

    async def at(self, kind: TriggerKind, agent: str = MAIN_AGENT, **given: Any) -> Shown:
        # As hooks do: before a call, nobody looks at a disk.
        folders = () if kind is TriggerKind.CALL else folders_of(self.caller.folder)
        trigger = Trigger(kind, self.caller.session, folders=folders, **given)
        return await self.services.advisor.at(trigger, replace(self.caller, agent=agent))

    async def calls_(self, command: str = "", agent: str = MAIN_AGENT, *, runs: bool = True, **given: Any) -> Shown:
        """Let an agent make a call, which runs unless it is denied."""
        self.calls += 1
        key = f"{self.caller.session} {self.calls}"
        shown = await self.at(TriggerKind.CALL, agent, command=command, key=key, **given)
        if runs and (shown.decision is None or shown.decision.permission is not Permission.DENY):
            kind = TriggerKind.FILE if "file" in given else TriggerKind.COMMAND
            ended = {"file": given["file"], "is_edit": True} if "file" in given else {"command": command}
            await self.at(kind, agent, key=key, **ended)
        return shown

    def fared(self, rule: Rule = NO_TRAILER) -> tuple[int, int, int, int]:
        """Return how a rule has fared, so far as it is written."""
        found = self.services.rule_counts.fared([rule])[rule.id]
        return found.followed, found.reminded, found.broken, found.stopped
