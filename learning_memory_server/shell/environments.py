"""Whether a command runs in a project's environment, in a container, or on another machine."""

from enum import StrEnum

from learning_memory_server.shell import calls, uses, wrappers


class Via(StrEnum):
    """The ways to run a command, other than by its bare name in this shell."""

    NOTHING = ""
    ENVIRONMENT = "environment"  # By a path in it, or by a runner such as `uv run`
    CONTAINER = "container"  # Or another machine


def by_path(path: str, via: Via) -> Via:
    """Return how a program runs that is called by a path."""
    is_in = not via and not uses.ENVIRONMENTS.isdisjoint(path.split("/")[:-1])
    return Via.ENVIRONMENT if is_in else via


def inside(words: calls.Words, via: Via) -> Via:
    """Return how the inner commands of a command run."""
    key = calls.found_in(wrappers.WRAPPERS, calls.parsed(words, most=2))
    if via is Via.CONTAINER or key in wrappers.CONTAINERS:
        return Via.CONTAINER
    return Via.ENVIRONMENT if key in wrappers.ENVIRONMENTS else via
