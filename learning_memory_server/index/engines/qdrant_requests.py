"""Requests to a Qdrant server, or to the nodes of one cluster: connections, deadlines, and which node is asked next."""

import asyncio
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Final, Generic, NamedTuple, Self, TypeVar
from urllib.parse import urlsplit

import httpx2
import msgspec
import structlog
from msgspec import Struct

from learning_memory_server.errors import DiskFullError, NoAnswerError, RefusedError, StorageUnavailableError
from learning_memory_server.index.engines.qdrant_errors import RequestKind, refusal, request_errors
from learning_memory_server.index.engines.server_log import checked_address, clean_url
from learning_memory_server.system import timeouts
from learning_memory_server.system.servers import certificates, is_here, require_plain
from learning_memory_server.system.waiting import Backoff, Circuit, is_own_delay, loop_time

T = TypeVar("T")

_TRIED: Final = ("1.15.5", "1.18.3", "1.19.0")  # The versions of Qdrant that this program was tried with

log = structlog.get_logger()


class Answer(Struct, Generic[T]):
    """The usual form of an answer: a result, with fields that are not read."""

    result: T


class Updated(Struct):
    """The result of a change of points or indexes."""

    status: str


class _Version(Struct):
    version: str


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request that can be repeated: it changes nothing, or the same again."""

    kind: RequestKind
    method: str
    collection: str  # its name on the server, or an empty text
    path: str  # without the collection's
    into: type[T]  # what is read of the answer
    body: object = None
    accepts: HTTPStatus = HTTPStatus.OK


_VERSION: Final = Call(RequestKind.READ, "GET", "", "/", _Version)
CHANGING_NO_ALIASES: Final = Call(RequestKind.CREATE, "POST", "", "/collections/aliases", Answer[bool], {"actions": []})
"""A request that takes the right to create collections, and changes nothing."""


def writing_nothing(collection: str) -> Call[dict[str, Any]]:
    """Return a request that writes no points: the server refuses it or is late like a real write."""
    body: dict[str, Any] = {"points": []}
    return Call(
        RequestKind.WRITE, "PUT", collection, "/points?wait=true", dict[str, Any], body, accepts=HTTPStatus.BAD_REQUEST
    )


def product(version: str) -> str:
    """Name a version of Qdrant and, if this program was not tried with it, those with which it was."""
    tried = "" if version in _TRIED else f"; this was tried with {', '.join(_TRIED[:-1])} and {_TRIED[-1]}"
    return f"Qdrant {version}{tried}"


class _Pause(NamedTuple):
    """Why requests are not made, and for how long."""

    error: StorageUnavailableError
    backoff: Backoff


class Availability:
    """Refusals, circuits and version of a server. It outlasts a store, which may be opened again.

    Reads and writes of each address have a circuit. After a refusal, requests of that kind pause for the seconds that
    the server said, or else for 1, 2, 4 and at most 60; those of one collection if the refusal names one.

    Attributes:
        listeners: Called each time that requests of a kind get answers again.
        version: The server's version; None until it has been asked.
    """

    def __init__(self) -> None:
        self.listeners: list[Callable[[], None]] = []
        self.version: str | None = None
        self._circuits: dict[tuple[bool, str], Circuit] = {}
        self._pauses: dict[tuple[RequestKind, str | None], _Pause] = {}

    def describe(self) -> dict[str, Any]:
        """Return the server's `version`, and whether it is one that was `tried`, if they are known, and `refusal`."""
        known = {} if self.version is None else {"version": self.version, "tried": self.version in _TRIED}
        return known | self.refusal()

    def refusal(self) -> dict[str, Any]:
        """Return why reading or writing is `refused`, and the `retry_seconds` left; nothing if neither is."""
        pauses = [pause for (kind, _), pause in self._pauses.items() if kind is not RequestKind.CREATE]
        last = max(pauses, key=lambda pause: pause.backoff.left, default=None)
        if last is None or not last.backoff.left:
            return {}
        return {"refused": last.error.sentence, "retry_seconds": round(last.backoff.left)}

    @property
    def is_open(self) -> bool:
        """Whether any circuit is open."""
        return any(circuit.is_open for circuit in self._circuits.values())

    def circuit(self, kind: RequestKind, url: str) -> Circuit:
        """Return the circuit for a kind of request to an address, by its URL."""
        is_read = kind is RequestKind.READ
        key = (is_read, url)
        if key not in self._circuits:
            name = f"qdrant: {'reads' if is_read else 'writes'} at {url.partition('//')[2]}"
            self._circuits[key] = Circuit(name, lambda: self._closed(key))
        return self._circuits[key]

    def require(self, kind: RequestKind, collection: str) -> None:
        """Raise the refusal of such requests, with the seconds left of the pause, if they were refused lately."""
        for key in ((kind, None), (kind, collection)):
            pause = self._pauses.get(key)
            if pause is not None and pause.backoff.left:
                again = copy(pause.error)
                again.retry_seconds = pause.backoff.left
                raise again from pause.error

    def refused(
        self, kind: RequestKind, collection: str | None, error: StorageUnavailableError, said: float | None = None
    ) -> None:
        """Begin a pause, and give the error its seconds; `collection` is None if the refusal is about all."""
        last = self._pauses.get((kind, collection))
        backoff = (
            last.backoff if last else Backoff(timeouts.QDRANT_PAUSE, most=timeouts.QDRANT_PAUSE_MAX, clock=loop_time)
        )
        if backoff.left:
            # It was on its way when the pause began.
            error.retry_seconds = backoff.left
            return
        seconds = backoff.begin(None if said is None else max(said, timeouts.QDRANT_PAUSE))
        self._pauses[kind, collection] = _Pause(error, backoff)
        error.retry_seconds = seconds
        log.warning("requests.paused", kind=kind.value, collection=collection, reason=error.message, seconds=seconds)

    def answered(self, kind: RequestKind, collection: str) -> None:
        """Forget the refusals of such requests."""
        self._pauses.pop((kind, None), None)
        self._pauses.pop((kind, collection), None)

    async def close(self) -> None:
        """Stop probing. Idempotent."""
        for circuit in self._circuits.values():
            await circuit.close()

    def _closed(self, key: tuple[bool, str]) -> None:
        others = [circuit for other, circuit in self._circuits.items() if other != key and other[0] == key[0]]
        if all(circuit.is_open for circuit in others):
            # While another address answered, nothing was missed.
            for listener in self.listeners:
                listener()


class _Node(NamedTuple):
    """One address: its URL, what messages show of it, and the client for it."""

    url: str
    address: str
    client: httpx2.AsyncClient


class Requests:
    """Asks a server, and keeps its connections.

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
        allow_plaintext_key: bool,
        availability: Availability | None = None,
    ) -> None:
        addresses = [checked_address(url, api_key, allow_plaintext_key=allow_plaintext_key) for url in urls]
        self.address = ", ".join(addresses)
        self._timeout = timeout
        self._limit = math.inf
        self._errors = partial(request_errors, names_port=all(urlsplit(url).port for url in urls))
        self._connect = partial(_client, api_key=api_key)
        self._nodes = [
            _Node(url, address, self._connect(url))
            for url, address in zip(map(clean_url, urls), addresses, strict=True)
        ]
        self._closed = asyncio.Event()  # shared with the views of `with_limit`
        self.availability = availability or Availability()
        self._is_shared = availability is not None

    def with_limit(self, seconds: float) -> Self:
        """Return a view whose requests may take no longer than some seconds."""
        view = copy(self)
        view._limit = seconds  # noqa: SLF001 - its own
        return view

    async def ask(self, call: Call[T], probe: Call[Any] | None = None) -> T:
        """Return the result of a request, or raise an error of the port: immediately while a circuit is open.

        Args:
            call: The request. It may be made at several addresses.
            probe: A request of the same kind that changes nothing; None if `call` changes nothing.
        """
        self.require_open()
        self.availability.require(call.kind, call.collection)
        try:
            answer = await self._ask_each(call, probe or call)
        except RefusedError as error:
            named = call.collection if error.is_of_collection else None
            self.availability.refused(call.kind, named, error, error.seconds)
            raise
        except DiskFullError as error:
            self.availability.refused(call.kind, None, error)
            raise
        self.availability.answered(call.kind, call.collection)
        return answer

    async def _ask_each(self, call: Call[T], probe: Call[Any]) -> T:
        """Ask the addresses whose circuits are closed in order. The one that answers is asked first from then on."""
        most = min(self._timeout, timeouts.QDRANT_READ) if call.kind is RequestKind.READ else self._timeout
        until = loop_time() + min(most, self._limit)
        nodes = [(node, self.availability.circuit(call.kind, node.url)) for node in self._nodes]
        asked = [(node, circuit) for node, circuit in nodes if not circuit.is_open]
        if not asked:
            nodes[0][1].require_closed()
        failure: NoAnswerError | None = None
        for node, circuit in asked:
            if failure and until - loop_time() < timeouts.QDRANT_ADDRESS_LEAST:
                break
            deadline = until if node is asked[-1][0] else min(loop_time() + timeouts.QDRANT_ADDRESS, until)
            try:
                async with self._errors(self.address), asyncio.timeout_at(deadline):
                    answer = await self._send(node, call, self.address)
            except NoAnswerError as error:
                failure = error
                if not is_own_delay(deadline):
                    circuit.open(error, partial(self._probe, node, probe))
            else:
                self._nodes.sort(key=lambda each: each is not node)
                return answer
        assert failure is not None
        raise failure

    async def _send(self, node: _Node, call: Call[T], address: str) -> T:
        """Return the answer of one address. If a connection is lost, ask once more over a new one."""
        try:
            return await _sent(node.client, node.url, call, address)
        except (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError):
            self.require_open()
            async with self._connect(node.url) as client:
                return await _sent(client, node.url, call, address)

    async def _probe(self, node: _Node, call: Call[Any]) -> None:
        """Ask once more, over a new connection: the store may be closed by now."""
        async with self._connect(node.url) as client, self._errors(node.address):
            fresh = node._replace(client=client)
            await _sent(client, node.url, call, node.address)
            await self.note_version(fresh)  # Another version may have been started

    async def version(self) -> str:
        """Return the server's version; see `ask`."""
        return (await self.ask(_VERSION)).version

    async def note_version(self, node: _Node | None = None) -> None:
        """Note the server's version. Best effort."""
        asked = node or self._nodes[0]
        # Not as `ask` does: a proxy may refuse this alone.
        with suppress(StorageUnavailableError):
            async with self._errors(self.address), asyncio.timeout(timeouts.QDRANT_VERSION):
                self.availability.version = (await self._send(asked, _VERSION, self.address)).version

    async def ask_every(self, call: Call[T]) -> dict[str, T | StorageUnavailableError]:
        """Return what the same reading request returns at each URL, or why it fails there."""
        answers: dict[str, T | StorageUnavailableError] = {}
        for node in list(self._nodes):
            try:
                async with self._errors(node.address), asyncio.timeout(self._timeout):
                    answer: T = await self._send(node, call, node.address)
                    answers[node.url] = answer
            except StorageUnavailableError as error:
                answers[node.url] = error
        return answers

    async def close(self) -> None:
        """Release the connections. Idempotent."""
        if not self._closed.is_set():
            self._closed.set()
            if not self._is_shared:
                await self.availability.close()
            for node in self._nodes:
                async with self._errors(node.address):
                    await node.client.aclose()

    def require_open(self) -> None:
        """Do nothing unless this was closed."""
        if self._closed.is_set():
            raise StorageUnavailableError("The store is closed.")


async def _sent(client: httpx2.AsyncClient, url: str, call: Call[T], address: str) -> T:
    path = f"/collections/{call.collection}{call.path}" if call.collection else call.path
    content = None if call.body is None else msgspec.json.encode(call.body)
    response = await client.request(call.method, f"{url}{path}", content=content)
    require_plain(response.status_code, response.content)
    if response.status_code not in {HTTPStatus.OK, call.accepts}:
        raise refusal(call.collection, address, call.kind, response)
    return msgspec.json.decode(response.content, type=call.into)


def _client(url: str, api_key: str | None) -> httpx2.AsyncClient:
    # A server sends a compressed answer in several small segments, of which Nagle's algorithm holds back the last until
    # the first is acknowledged, which Linux delays by 40 ms: with it a search takes 109 ms, without it 25.
    headers = {"accept-encoding": "identity", "content-type": "application/json"}
    if api_key:
        headers["api-key"] = api_key
    return httpx2.AsyncClient(
        headers=headers,
        # It would restart with every byte: `ask` enforces the real one.
        timeout=None,
        verify=certificates(url),
        # A proxy of the environment would get the key, and does not lead back to this machine.
        trust_env=not is_here(urlsplit(url).hostname or ""),
        # Left to itself, httpx drops an idle connection after 5 seconds.
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=timeouts.QDRANT_KEPT),
    )
