"""The vendor's client for each address of a Qdrant server, and around it deadlines, one retry and the next address."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import httpx  # what the vendor's client is made of
from qdrant_client import AsyncQdrantClient
from qdrant_client.http.exceptions import ResponseHandlingException

from learning_memory_server.errors import (
    DiskFullError,
    ForbiddenCollectionError,
    NoAnswerError,
    RefusedError,
    StorageUnavailableError,
)
from learning_memory_server.index.engines.availability import Admission, Availability
from learning_memory_server.index.engines.qdrant_errors import RequestKind, is_lost, request_errors
from learning_memory_server.index.engines.server_log import checked_address, clean_url
from learning_memory_server.system import timeouts
from learning_memory_server.system.servers import certificates, is_here
from learning_memory_server.system.waiting import is_own_delay, loop_time, request_limit

T = TypeVar("T")

Ask = Callable[[AsyncQdrantClient], Awaitable[T]]
"""A request that can be repeated: it changes nothing, or the same again."""

_NEVER: Final = 3_600  # Seconds of the client's own time-outs, which are whole and begin again with every byte


@dataclass
class _Node:
    """One address."""

    url: str
    address: str  # the part of the URL that messages show
    client: AsyncQdrantClient
    fresh: AsyncQdrantClient | None = None  # A client that keeps no connections; made when it is first needed


class Server:
    """Asks a server, or the nodes of one cluster.

    Args:
        urls: The addresses: `http(s)://host[:port][/prefix]` without user name and password.
        timeout: Seconds of one request with its answer; a read has four at most.
        allow_plaintext_key: Whether the key may be sent over HTTP to other machines.
        availability: The known state of the server; None for a new one.
    """

    def __init__(
        self,
        urls: Sequence[str],
        api_key: str | None,
        timeout: float,
        *,
        allow_plaintext_key: bool = False,
        availability: Availability | None = None,
    ) -> None:
        addresses = [checked_address(url, api_key, allow_plaintext_key=allow_plaintext_key) for url in urls]
        self.address = ", ".join(addresses)
        self._timeout = timeout
        self._errors = partial(request_errors, names_port=all(urlsplit(url).port for url in urls))
        self._connect = partial(_client, api_key=api_key)
        self._nodes = [
            _Node(url, address, self._connect(url))
            for url, address in zip(map(clean_url, urls), addresses, strict=True)
        ]
        self._is_closed = False
        self.availability = availability or Availability()
        self._is_shared = availability is not None

    async def read(self, ask: Ask[T], collection: str = "") -> T:
        """Return the result of a request that changes nothing; see `write`."""
        return await self._ask(self.availability.reads, RequestKind.READ, ask, ask, collection)

    async def write(
        self, ask: Ask[T], probe: Ask[Any], collection: str = "", kind: RequestKind = RequestKind.WRITE
    ) -> T:
        """Return the result of a request, or raise an error of the port: immediately while nothing can be written.

        Args:
            ask: The request. It may be made at several addresses.
            probe: A request that takes the same right and changes nothing.
            collection: The collection's name on the server, for messages.
            kind: Whether points are written, or collections created.
        """
        return await self._ask(self.availability.writes, kind, ask, probe, collection)

    async def _ask(self, admission: Admission, kind: RequestKind, ask: Ask[T], probe: Ask[Any], collection: str) -> T:
        self.require_open()
        if refusal := admission.refusal:
            raise refusal
        try:
            answer = await self._ask_each(admission, kind, ask, probe, collection)
        except ForbiddenCollectionError:
            raise  # It says nothing about other collections
        except RefusedError as error:
            admission.refused(error, error.seconds)
            raise
        except DiskFullError as error:
            admission.refused(error, None)
            raise
        admission.answered()
        return answer

    async def _ask_each(
        self, admission: Admission, kind: RequestKind, ask: Ask[T], probe: Ask[Any], collection: str
    ) -> T:
        """Ask the addresses whose circuits are closed in order. The one that answers is asked first from then on."""
        most = min(self._timeout, timeouts.QDRANT_READ) if kind is RequestKind.READ else self._timeout
        until = loop_time() + min(most, request_limit())
        nodes = [(node, admission.circuit(node.url)) for node in self._nodes]
        asked = [(node, circuit) for node, circuit in nodes if not circuit.is_open]
        if not asked:
            nodes[0][1].require_closed()
        failure: NoAnswerError | None = None
        for node, circuit in asked:
            if failure and until - loop_time() < timeouts.QDRANT_ADDRESS_LEAST:
                break
            deadline = until if node is asked[-1][0] else min(loop_time() + timeouts.QDRANT_ADDRESS, until)
            try:
                async with self._errors(self.address, collection, kind), asyncio.timeout_at(deadline):
                    answer = await self._send(node, ask)
            except NoAnswerError as error:
                failure = error
                if not is_own_delay(deadline):
                    circuit.open(error, partial(self._probe, node, probe))
            else:
                self._nodes.sort(key=lambda each: each is not node)
                return answer
        assert failure is not None
        raise failure

    async def _send(self, node: _Node, ask: Ask[T]) -> T:
        """Return the answer of one address. If a connection is lost, ask once more over a new one."""
        try:
            return await ask(node.client)
        except ResponseHandlingException as error:
            if not is_lost(error):
                raise
        self.require_open()
        # For all that lost one at the same time: a client takes 11 ms to make.
        node.fresh = node.fresh or self._connect(node.url, most_kept=0)
        return await ask(node.fresh)

    async def _probe(self, node: _Node, probe: Ask[Any]) -> None:
        """Ask once more, over a new connection, with another client: the store may be closed by now."""
        client = self._connect(node.url, most_kept=0)
        try:
            async with self._errors(node.address):
                await probe(client)
        finally:
            await client.close()

    async def version(self) -> str:
        """Return the server's version."""
        return (await self.read(lambda client: client.info())).version

    async def read_everywhere(self, ask: Ask[T]) -> dict[str, T | StorageUnavailableError]:
        """Return the result of a reading request at each URL, or its error there."""
        answers: dict[str, T | StorageUnavailableError] = {}
        for node in list(self._nodes):
            try:
                async with self._errors(node.address), asyncio.timeout(self._timeout):
                    answers[node.url] = await self._send(node, ask)
            except StorageUnavailableError as error:
                answers[node.url] = error
        return answers

    async def close(self) -> None:
        """Release the connections. Idempotent."""
        if not self._is_closed:
            self._is_closed = True
            if not self._is_shared:
                await self.availability.close()
            for client in [each for node in self._nodes for each in (node.client, node.fresh) if each]:
                await client.close()

    def require_open(self) -> None:
        """Do nothing unless this was closed."""
        if self._is_closed:
            raise StorageUnavailableError("The store is closed.")


def _client(url: str, api_key: str | None, most_kept: int = 20) -> AsyncQdrantClient:
    # A server sends a compressed answer in several small segments, of which Nagle's algorithm holds back the last until
    # the first is acknowledged, which Linux delays by 40 ms: with it a search takes 109 ms, without it 25.
    headers = {"accept-encoding": "identity"}
    if api_key:
        # As `api_key`, the client would warn of plain HTTP, even on this machine.
        headers["api-key"] = api_key
    return AsyncQdrantClient(
        url=url,
        headers=headers,
        timeout=_NEVER,
        # It would ask for the version, and warn, from another thread.
        check_compatibility=False,
        # Else it looks through every vector for texts that it should embed.
        cloud_inference=True,
        verify=certificates(url),
        # A proxy of the environment would get the key, and does not lead back to this machine.
        trust_env=not is_here(urlsplit(url).hostname or ""),
        # Left to itself, it keeps no connection to this machine, and others for 5 seconds.
        limits=httpx.Limits(
            max_connections=None, max_keepalive_connections=most_kept, keepalive_expiry=timeouts.QDRANT_KEPT
        ),
    )
