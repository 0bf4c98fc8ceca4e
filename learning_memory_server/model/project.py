"""People's names of projects, and projects that they merged."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from learning_memory_server.model.stored import Stored

_DIGEST = re.compile(r"-[0-9a-f]{6}$")


@dataclass(frozen=True, slots=True)
class Naming(Stored):
    """What a person said last of a project."""

    id: str  # the text that entries carry
    created_at: datetime
    name: str | None = None  # what it is called, if that is not its id
    into: str | None = None  # the id of the project that it is read as

    @property
    def project(self) -> str:
        """Its id."""
        return self.id


def name_among(project: str, others: Iterable[str]) -> str:
    """Return the name of a project that people are shown: the short one, unless another has the same."""
    short = short_name(project)
    return project if any(each != project and short_name(each) == short for each in others) else short


def short_name(project: str) -> str:
    """Return the last part of a project's name, without a digest: lists have no room for a host and an owner."""
    last = project.rstrip("/").rpartition("/")[2] or project
    return _DIGEST.sub("", last) or last
