"""Memories that earlier versions made from calls that the user refused."""

from collections.abc import Iterable

from learning_memory_server.model.memory import Memory


def preferences_of(memories: Iterable[Memory], project: str) -> list[Memory]:
    """Return the memories of a project that come from a refused call, oldest first."""
    found = (each for each in memories if each.refusal and each.project == project)
    return sorted(found, key=lambda each: each.created_at)
