"""Which collection on a Qdrant server a caller's collection is.

The name says what it has: the kind, a digest of everything that its points depend on, and a number. So people with the
same model share a collection, and nobody ever has to replace or rename one. A collection whose probe does not agree,
because a model makes other vectors than its name claims, is left to those who use it, and the next number is tried.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final

from learning_memory_server.errors import (
    ForbiddenCollectionError,
    MissingCollectionError,
    RefusedError,
    StorageUnavailableError,
)
from learning_memory_server.index.engines.qdrant_errors import Kind
from learning_memory_server.index.engines.qdrant_requests import changing_no_aliases
from learning_memory_server.index.engines.qdrant_schema import (
    Spread,
    collection_settings,
    is_lean,
    lean_settings,
    payload_indexes,
    stored_dimension,
)

if TYPE_CHECKING:
    from qdrant_client import models

    from learning_memory_server.index.engines.base import CollectionSpec
    from learning_memory_server.index.engines.qdrant_requests import Requests

_NAME: Final = re.compile(r"(?P<label>[a-z_]+)-[0-9a-f]*-[0-9]{1,4}")
_FORMER_LAYOUT: Final = re.compile(
    r"(experiences_[a-z_]+|(values|memories)(_next)?)-[0-9a-f]{12}(-[0-9a-f]{8})?"
)
"""The names that collections had when each person had their own: at first without the second part, later behind an
alias; with `_next` while they were built."""


@dataclass(frozen=True, slots=True)
class Place:
    """A collection on the server."""

    label: str  # the name by which callers know it
    name: str  # its name on the server
    dimension: int  # the length of its vectors


class Catalog:
    """Finds collections, and creates them. It never removes, renames or replaces one."""

    def __init__(self, requests: Requests, spread: Spread) -> None:
        self._requests = requests
        self._spread = spread

    async def find(self, spec: CollectionSpec) -> Place | None:
        """Return the collection for `spec` if there is one."""
        name, info = await self._look(spec)
        return Place(spec.name, name, spec.dimension) if info else None

    async def ensure(self, spec: CollectionSpec) -> Place:
        """Return the collection for `spec`; it and its indexes are created where they are missing."""
        name, info = await self._look(spec)
        if info is None:
            info = await self._create(spec, name)
        for field, index in payload_indexes(spec).items():
            if field not in info.payload_schema:
                await self._requests.ask(
                    name,
                    Kind.CREATE,
                    lambda client, field=field, index=index: client.create_payload_index(  # type: ignore[misc]
                        name, field, field_schema=index, wait=True
                    ),
                    probe=changing_no_aliases,
                )
        if not is_lean(info):
            # Only a key for everything may change a collection. Those of earlier versions work as they are, too.
            with suppress(RefusedError):
                await self._requests.ask(
                    name,
                    Kind.CREATE,
                    lambda client: client.update_collection(name, **lean_settings()),
                    probe=changing_no_aliases,
                )
        return Place(spec.name, name, spec.dimension)

    async def others(self, place: Place) -> list[Place]:
        """Return the collections that are other variants of one."""
        return [each for each in await self.all_places([place.label]) if each.name != place.name]

    async def whereabouts(self, spec: CollectionSpec) -> tuple[str, bool]:
        """Return the name of the collection for `spec`, and whether it is there."""
        name, info = await self._look(spec)
        return name, info is not None

    async def all_places(self, labels: Collection[str]) -> list[Place]:
        """Return all variants of some collections, sorted by name; their dimensions are not known."""
        found = map(_NAME.fullmatch, await self.names())
        places = [Place(each["label"], each[0], 0) for each in found if each and each["label"] in labels]
        return sorted(places, key=lambda place: place.name)

    async def former_layout(self) -> list[str]:
        """Return the names of collections that earlier versions of this program made."""
        return sorted(filter(_FORMER_LAYOUT.fullmatch, await self.names()))

    async def names(self) -> list[str]:
        """Return the names of all collections that the key may see."""
        listed = await self._requests.ask("", Kind.READ, lambda client: client.get_collections())
        return [each.name for each in listed.collections]

    async def _look(self, spec: CollectionSpec) -> tuple[str, models.CollectionInfo | None]:
        """Return the first collection that fits, or the first name that is not taken."""
        for number in count(1):
            name = f"{spec.name}-{spec.variant}-{number}"
            try:
                info = await self._info(name)
            except MissingCollectionError:
                return name, None
            if stored_dimension(info) == spec.dimension and not spec.refuses(info.config.metadata or {}):
                return name, info
        raise AssertionError

    async def _create(self, spec: CollectionSpec, name: str) -> models.CollectionInfo:
        settings = collection_settings(spec, self._spread)
        try:
            await self._requests.ask(
                name,
                Kind.CREATE,
                lambda client: client.create_collection(name, **settings, metadata=dict(spec.about) or None),
                probe=changing_no_aliases,
            )
        except ForbiddenCollectionError as error:
            error.name = name
            raise
        except StorageUnavailableError as error:
            # Somebody else may have created it meanwhile, and the answer to an attempt that succeeded may be lost.
            try:
                return await self._info(name)
            except MissingCollectionError:
                raise error from None
        return await self._info(name)

    async def _info(self, name: str) -> models.CollectionInfo:
        try:
            return await self._requests.ask(name, Kind.READ, lambda client: client.get_collection(name))
        except ForbiddenCollectionError as error:
            error.name = name
            raise
