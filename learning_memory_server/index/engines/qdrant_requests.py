"""Requests to a Qdrant server, or to the nodes of one cluster: connections, deadlines, and who is asked next."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar
from urllib.parse import urlsplit

from learning_memory_server.errors import (
    DiskFullError,
    InvalidSettingsError,
    NoAnswerError,
    RefusedError,
    StorageUnavailableError,
)
from learning_memory_server.index.engines.addresses import DEFAULT_PORT, is_here
from learning_memory_server.index.engines.qdrant_circuits import Circuits
from learning_memory_server.index.engines.qdrant_errors import Kind, request_errors
from learning_memory_server.system.waiting import is_own_delay, request_seconds

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient

T = TypeVar("T")

_READ_WITHIN: Final = 4.0
"""Seconds that a reading request may take, so that a tool that does several answers soon: the first late one fails."""
_EACH_WITHIN: Final = 0.4
"""Seconds that each address of a cluster has before the next one is asked; the last one has the rest."""
_LEAST_SECONDS: Final = 0.1
"""An address is not asked if it would have less: to miss that would say nothing about it."""
_VERSION_SECONDS: Final = 0.5
"""Seconds for the server's version, which nothing depends on."""
_KEPT_SECONDS: Final = 60.0
"""How long an idle connection is kept. A new one costs a round trip, three with TLS."""


class _Node(NamedTuple):
    """One address: its URL, what messages show of it, and the client for it."""

    url: str
    address: str
    client: AsyncQdrantClient


class Requests:
    """Asks a server, and keeps its connections.

    Args:
        urls: The addresses: `http(s)://host[:port][/prefix]` without user name and password.
        api_key: The server's key.
        timeout: Seconds that one request may take, including its answer; a read has four at most.
        allow_plaintext_key: Whether the key may be sent over HTTP to other machines than this one.
        circuits: The circuits before the server; None for circuits that end with this.

    Raises:
        InvalidSettingsError: If a URL is malformed, or the key must not be sent to it.
    """

    def __init__(
        self,
        urls: Sequence[str],
        api_key: str | None,
        timeout: float,
        *,
        allow_plaintext_key: bool,
        circuits: Circuits | None = None,
    ) -> None:
        addresses = [checked_address(url, api_key, allow_plaintext_key=allow_plaintext_key) for url in urls]
        self.address = ", ".join(addresses)
        self._timeout = timeout
        self._connect = partial(_client, api_key=api_key, timeout=timeout)
        self._nodes = [
            _Node(url, address, self._connect(url)) for url, address in zip(urls, addresses, strict=True)
        ]
        self._closed = False
        self.circuits = circuits or Circuits()
        self._own_circuits = None if circuits else self.circuits

    async def ask(
        self,
        collection: str,
        kind: Kind,
        call: Callable[[AsyncQdrantClient], Awaitable[T]],
        probe: Callable[[AsyncQdrantClient], Awaitable[object]] | None = None,
    ) -> T:
        """Return what a request returns; its failures are the port's errors.

        Fails at once while the circuits of all addresses are open, and during a pause that follows a refusal.

        Args:
            collection: The collection's name on the server, or an empty text.
            kind: What the request is for.
            call: Makes the request. It may be made at several addresses, so it must be one that can be repeated.
            probe: Makes a request of the same kind that changes nothing; None if `call` changes nothing.
        """
        self.require_open()
        pauses = self.circuits.pauses
        pauses.require_none(kind, collection)
        try:
            answer = await self._ask_each(collection, kind, call, probe or call)
        except RefusedError as error:
            pauses.begin(kind, collection if error.is_of_collection else None, error, error.seconds)
            raise
        except DiskFullError as error:
            pauses.begin(kind, None, error, None)
            raise
        pauses.end(kind, collection)
        return answer

    async def _ask_each(
        self,
        collection: str,
        kind: Kind,
        call: Callable[[AsyncQdrantClient], Awaitable[T]],
        probe: Callable[[AsyncQdrantClient], Awaitable[object]],
    ) -> T:
        """Ask one address after another until one answers, which from then on is asked before all others.

        Addresses whose circuits are open are passed over.
        """
        now = asyncio.get_running_loop().time
        most = min(self._timeout, _READ_WITHIN) if kind is Kind.READ else self._timeout
        until = now() + request_seconds(most)
        nodes = [(node, self.circuits.of(kind, node.url)) for node in self._nodes]
        asked = [(node, circuit) for node, circuit in nodes if not circuit.is_open]
        if not asked:
            nodes[0][1].require_closed()
        failure: NoAnswerError | None = None
        for node, circuit in asked:
            if failure and until - now() < _LEAST_SECONDS:
                break
            deadline = until if node is asked[-1][0] else min(now() + _EACH_WITHIN, until)
            try:
                async with request_errors(collection, self.address, kind), asyncio.timeout_at(deadline):
                    answer = await call(node.client)
            except NoAnswerError as error:
                failure = error
                if not is_own_delay(deadline):
                    circuit.open(error, partial(self._probe, node, probe))
            else:
                _prefer(self._nodes, node)
                return answer
        assert failure is not None  # noqa: S101 - whoever is asked answers or fails
        raise failure

    async def _probe(self, node: _Node, call: Callable[[AsyncQdrantClient], Awaitable[object]]) -> None:
        """Ask once more, over a new connection: the store may be closed by now."""
        client = self._connect(node.url)
        try:
            async with request_errors("", node.address):
                await call(client)
            # Another version may have been started.
            await self.note_version(client)
        finally:
            async with request_errors("", node.address):
                await client.close()

    async def version(self) -> str:
        """Return the server's version; see `ask`."""
        return (await self.ask("", Kind.READ, lambda client: client.info())).version

    async def note_version(self, client: AsyncQdrantClient | None = None) -> None:
        """Note the server's version with its circuits. It is of no importance if this fails."""
        asked = client or self._nodes[0].client
        # Not as `ask` does: a proxy may refuse this alone.
        with suppress(StorageUnavailableError):
            async with request_errors("", self.address), asyncio.timeout(_VERSION_SECONDS):
                self.circuits.version = (await asked.info()).version

    async def ask_every(
        self, call: Callable[[AsyncQdrantClient], Awaitable[T]]
    ) -> dict[str, T | StorageUnavailableError]:
        """Return what the same reading request returns at each URL, or why it fails there."""
        answers: dict[str, T | StorageUnavailableError] = {}
        for node in list(self._nodes):
            try:
                async with request_errors("", node.address), asyncio.timeout(self._timeout):
                    answers[node.url] = await call(node.client)
            except StorageUnavailableError as error:
                answers[node.url] = error
        return answers

    async def close(self) -> None:
        """Release the connections. Idempotent."""
        if not self._closed:
            self._closed = True
            if self._own_circuits:
                await self._own_circuits.close()
            for node in self._nodes:
                async with request_errors("", node.address):
                    await node.client.close()

    def require_open(self) -> None:
        """Do nothing unless this was closed.

        Raises:
            StorageUnavailableError: If it was.
        """
        if self._closed:
            raise StorageUnavailableError("The store is closed.")


def _prefer(nodes: list[_Node], node: _Node) -> None:
    if nodes[0] is not node:
        nodes.remove(node)
        nodes.insert(0, node)


def writing_nothing(name: str) -> Callable[[AsyncQdrantClient], Awaitable[None]]:
    """Return a request that writes no points to a collection.

    A server refuses those who may not write, and is late if it cannot write, before it sees that there are none.
    """
    from qdrant_client.http.exceptions import UnexpectedResponse  # noqa: PLC0415 - a second to import

    async def write_nothing(client: AsyncQdrantClient) -> None:
        try:
            await client.upsert(name, [], wait=True)
        except UnexpectedResponse as error:
            if error.status_code != HTTPStatus.BAD_REQUEST:
                raise

    return write_nothing


async def changing_no_aliases(client: AsyncQdrantClient) -> None:
    """Make a request that takes the right to create collections, and changes nothing."""
    await client.update_collection_aliases([])


def checked_address(url: str, api_key: str | None, *, allow_plaintext_key: bool = False) -> str:
    """Return `host:port`, the only part of a server's URL that messages show.

    Raises:
        InvalidSettingsError: If the URL is malformed or contains credentials, which the vendor's client silently
            drops; if the key cannot be a header, which the vendor's client would quote in its error; or if it would
            leave this machine in plain text.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or DEFAULT_PORT
    except ValueError as error:
        raise InvalidSettingsError(
            "The Qdrant URL is malformed.",
            hint="It must look like https://host:6333; several are a list, or separated by commas.",
        ) from error
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidSettingsError("The Qdrant URL must look like https://host:6333.")
    if parts.username or parts.password:
        raise InvalidSettingsError(
            "The Qdrant URL must not contain a user name or password; use the API key."
        )
    if api_key is not None and re.fullmatch(r"[!-~]+", api_key) is None:
        raise InvalidSettingsError(
            "The Qdrant API key is empty, or contains white space or non-ASCII letters."
        )
    if api_key and parts.scheme == "http" and not allow_plaintext_key and not is_here(parts.hostname):
        raise InvalidSettingsError(
            f"The Qdrant API key would be sent to {parts.hostname} in plain text.",
            hint="Use an https:// URL, or allow it with the setting qdrant_allow_plaintext_key.",
        )
    return f"{parts.hostname}:{port}"


def _client(url: str, api_key: str | None, timeout: float) -> AsyncQdrantClient:
    import httpx  # noqa: PLC0415 - comes with qdrant_client
    from qdrant_client import AsyncQdrantClient  # noqa: PLC0415 - a second to import

    # A server sends a compressed answer in several small segments, of which Nagle's algorithm holds back the last until
    # the first is acknowledged, which Linux delays by 40 ms: with it a search takes 109 ms, without it 25.
    headers = {"accept-encoding": "identity"}
    if api_key:
        # As `api_key`, the vendor's client warns of plain HTTP even on this machine.
        headers["api-key"] = api_key
    return AsyncQdrantClient(
        url=url,
        headers=headers,
        # The vendor's own timeout is in whole seconds and restarts with every byte: `ask` enforces the real one.
        timeout=math.ceil(timeout),
        # It would ask, and warn, from another thread.
        check_compatibility=False,
        # Loading certificates takes 60 ms, and plain HTTP has no use for them.
        verify=url.startswith("https:"),
        # A proxy of the environment would get the key, and does not lead back to this machine.
        trust_env=not is_here(urlsplit(url).hostname or ""),
        # The vendor's client keeps no connection to this machine, and httpx drops an idle one after 5 seconds.
        limits=httpx.Limits(
            max_connections=None, max_keepalive_connections=20, keepalive_expiry=_KEPT_SECONDS
        ),
    )
