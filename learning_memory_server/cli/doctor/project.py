"""Check of the working directory's project: what its files set, and whether it is the one that it claims to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from learning_memory_server.cli.access.reading import read_entries
from learning_memory_server.cli.doctor.finding import Finding, Level, yellow
from learning_memory_server.model.identity import folder_of
from learning_memory_server.server.claims import claims_of
from learning_memory_server.system import paths
from learning_memory_server.system.project_files import find_steering

if TYPE_CHECKING:
    from learning_memory_server.server.claims import Claims
    from learning_memory_server.server.settings import Settings

_TOPIC = "project"


def check_files(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Name the variables that files of the project set, and that sessions ignore there.

    Args:
        environment: This process's variables.
    """
    for name, file in find_steering(environment):
        yield yellow(
            _TOPIC,
            f"{file} sets {name}, which a project may not: sessions and commands ignore it if they get that value. "
            f"What you want for yourself belongs into {paths.config_file()} or the client's own settings.",
        )


def check_claim(settings: Settings, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Ask about a folder whose remote names a known project that it may not be.

    Args:
        settings: Where the data is.
        environment: This process's variables.
    """
    directory, claims = folder_of(environment), claims_of(settings)
    if settings.project:
        return
    project = claims.project_of(directory)
    if earlier := claims.find_earlier_name(directory):
        yield _named_before(claims, directory, project, earlier)
    if claims.may_tell(directory, project):
        return
    if not read_entries(settings).timeline.count(project):
        # There is nothing to tell, and the first session records where its history begins.
        return
    claims.look_up(directory, project, is_new=False)
    if claims.may_tell(directory, project):
        return

    async def confirm() -> str:
        claims.confirm(directory, project)
        return f"{directory} is {project}."

    yield Finding(
        Level.YELLOW,
        _TOPIC,
        f"The remote of {directory} says that it is {project}, and its history does not show it, so sessions here are "
        f"told nothing of that project unasked. If it is, run in this folder: {paths.APPLICATION} doctor --fix",
        confirm,
        f"Is {directory} the project {project}, and may its sessions be told what is known of that?",
    )


def _named_before(claims: Claims, directory: Path, project: str, earlier: str) -> Finding:
    async def take() -> str:
        claims.take_earlier_name(directory)
        return f"{directory} is {earlier}."

    return Finding(
        Level.YELLOW,
        _TOPIC,
        f"Something is kept of a project {earlier!r}, as earlier versions called every folder of that name, and several "
        f"of them were seen here. This one is {project!r}. If what is kept is of this folder, run in it: "
        f"{paths.APPLICATION} doctor --fix",
        take,
        f"Is what is kept of {earlier!r} of {directory}? What was kept as {project!r} keeps that name.",
    )
