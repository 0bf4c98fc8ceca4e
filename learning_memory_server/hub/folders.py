"""The folders that connections come from: their projects, and whether they may be told of these unasked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.embedding.threads import in_daemon_thread

if TYPE_CHECKING:
    from learning_memory_server.server.composition.services import Services

_PROJECT_SECONDS: Final = 600.0
"""How long the project of a folder is remembered. A folder's remote rarely changes, and a session keeps its project."""
_ROOTS_SECONDS: Final = 0.3
"""How long the first connection of a folder waits for its root commits. Git takes 10 ms for 1,000 commits."""


@dataclass(slots=True)
class Folders:
    """What the hub knows of folders."""

    services: Services
    _projects: dict[str, tuple[str, float]] = field(default_factory=dict)

    async def project_of(self, hello: dict[str, Any]) -> str:
        """Return the project of a connection. That of a folder is remembered: asking git takes longer than a hook."""
        directory = hello["directory"]
        if named := hello["project"]:
            return str(named)
        found, until = self._projects.get(directory, ("", 0.0))
        if time.monotonic() > until:
            found = await asyncio.to_thread(self.services.claims.project_of, Path(directory))
            self._projects[directory] = found, time.monotonic() + _PROJECT_SECONDS
        return found

    async def telling(self, hello: dict[str, Any], project: str) -> Callable[[], bool]:
        """Return what tells whether a connection may be told of its project unasked, and begin to find that out."""
        directory, claims = Path(hello["directory"]), self.services.claims
        telling = partial(claims.may_tell, directory, project)
        if hello["project"]:
            # The user has said which project it is.
            return lambda: True
        if not telling():
            is_new = not self.services.knows(project)
            looking = in_daemon_thread(partial(claims.look_up, directory, project, is_new=is_new))
            await asyncio.wait([asyncio.wrap_future(looking)], timeout=_ROOTS_SECONDS)
        return telling
