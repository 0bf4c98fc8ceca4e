"""Names that people gave to projects, and projects that they merged."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from learning_memory_server.model.stored import Stored

_DIGEST = re.compile(r"-[0-9a-f]{6}$")


@dataclass(frozen=True, slots=True)
class Naming(Stored):
    """The latest name or merge of a project."""

    id: str  # the project id in entries
    created_at: datetime
    name: str | None = None  # its name, if different from its id
    into: str | None = None  # the id of the project that it was merged into

    @property
    def project(self) -> str:
        """Its id."""
        return self.id


def name_among(project: str, others: Iterable[str]) -> str:
    """Return a project's name for people: its short name, unless another project has the same short name."""
    short = short_name(project)
    return project if any(each != project and short_name(each) == short for each in others) else short


def short_name(project: str) -> str:
    """Return the last part of a project's name, without a digest, for lists without space for host and owner."""
    last = project.rstrip("/").rpartition("/")[2] or project
    return _DIGEST.sub("", last) or last
