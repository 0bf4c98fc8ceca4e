"""The names that people give to projects, and merged projects, applied on reading, so that it can be undone."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.records import Records
from learning_memory_server.model.project import Naming
from learning_memory_server.model.stored import WRITTEN


class Names(Records[Naming]):
    """The names of projects."""

    def of(self, project: str) -> str:
        """Return what the project with an id is read as."""
        seen = {project}
        while (said := self.find(project)) and said.into and said.into not in seen:
            seen.add(project := said.into)
        return said.name or project if said else project

    def have_own(self, project: str, records: Iterable[Any]) -> bool:
        """Return whether sessions here have kept a record of the project with an id: no archive makes one known."""
        name = self.of(project)
        return any(each.project == name and not each.imported for each in records)

    def id_of(self, name: str) -> str:
        """Return the id under which a project with this name is written."""
        return next((each.id for each in self.all() if each.name == name and not each.into), name)

    def as_read(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return a record's data with the project that it is read as. The codec restores what was written."""
        written = data.get("project") if isinstance(data, dict) else None
        name = self.of(written) if isinstance(written, str) else written
        return data if name == written else {**data, "project": name, WRITTEN: written}

    def renamed(self, thing: Any) -> Any:
        """Return a thing as it will be read."""
        name = self.of(thing.project)
        others = {**thing.others, WRITTEN: thing.project}
        return thing if name == thing.project else replace(thing, project=name, others=others)

    def as_written(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the data of a record that is to be written, with the id of its project."""
        identity = self.id_of(data["project"]) if "project" in data else None
        return data if identity == data.get("project") else data | {"project": identity}

    def rename(self, project: str, name: str, known: Collection[str], at: datetime) -> None:
        """Rename a project, back if to its id. Raises `InvalidInputError` if another project has or had the name."""
        identity = self.id_of(project)
        others = {each for each in known if each != project} | {each.id for each in self.all() if each.id != identity}
        if name in others:
            raise InvalidInputError(
                f"{name} is the name of another project than {project}.",
                hint=f"To read both as one: learning-memory-server project merge {project} {name}",
            )
        self._say(identity, at, name=None if name == identity else name)

    def merge(self, project: str, into: str, at: datetime) -> None:
        """Read a project as another from now on."""
        target = self.id_of(into)
        if self.of(target) == project:
            raise InvalidInputError(f"{project} and {into} are one project.")
        self._say(self.id_of(project), at, into=target)

    def split(self, project: str, at: datetime) -> list[str]:
        """Read what was merged into a project as projects of their own again; return their names."""
        merged = [each for each in self.all() if each.into and self.of(each.into) == project]
        if not merged:
            raise InvalidInputError(f"Nothing was merged into {project}.")
        for each in merged:
            self._say(each.id, at, into=None)
        return [self.of(each.id) for each in merged]

    def take_over(self, said: Iterable[Naming], known: Collection[str]) -> list[Naming]:
        """Write and return what an archive says of projects, except of those of which something is said here.

        `known` are the projects here: a name that another of them has stays with that.
        """
        taken = {*known, *(name for each in self.all() for name in (each.id, each.name))}
        free = (replace(each, name=None) if each.name in taken - {each.id} else each for each in said)
        return self.add_new(each for each in free if each.name or each.into)

    def _say(self, project: str, at: datetime, **changes: Any) -> None:
        before = self.find(project) or Naming(project, at)
        self.add(replace(before, created_at=at, **changes))
