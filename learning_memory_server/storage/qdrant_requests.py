"""Requests to a Qdrant server, or to the nodes of one cluster: connections, deadlines, pauses."""

from __future__ import annotations

import asyncio
import ipaddress
import math
import re
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar
from urllib.parse import urlsplit

from learning_memory_server.errors import InvalidSettingsError, StorageUnavailableError
from learning_memory_server.storage.qdrant_errors import Kind, Limited, late, request_errors

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from qdrant_client import AsyncQdrantClient

T = TypeVar("T")

_DEFAULT_PORT: Final = 6333
_READ_WITHIN: Final = 4.0
"""Seconds that a reading request may take, so that a tool that does several answers soon: the first late one fails."""
_EACH_WITHIN: Final = 0.4
"""Seconds that each address of a cluster has before the next one is asked; the last one has the rest."""
_SILENCE: Final = 5.0
"""Seconds after a late answer in which every request fails at once: callers that wait in a row must not add up."""
_KEPT_SECONDS: Final = 60.0
"""How long an idle connection is kept. A new one costs a round trip, three with TLS."""


class _Node(NamedTuple):
    """One address, and the client for it."""

    address: str
    client: AsyncQdrantClient


class Requests:
    """Asks a server, and keeps its connections.

    Args:
        urls: The addresses: `http(s)://host[:port][/prefix]` without user name and password.
        api_key: The server's key.
        timeout: Seconds that one request may take, including its answer; a read has four at most.
        allow_plaintext_key: Whether the key may be sent over HTTP to other machines than this one.

    Raises:
        InvalidSettingsError: If a URL is malformed, or the key must not be sent to it.
    """

    def __init__(
        self, urls: Sequence[str], api_key: str | None, timeout: float, *, allow_plaintext_key: bool
    ) -> None:
        addresses = [checked_address(url, api_key, allow_plaintext_key=allow_plaintext_key) for url in urls]
        self.address = ", ".join(addresses)
        self._timeout = timeout
        self._nodes = [
            _Node(address, _client(url, api_key, timeout))
            for url, address in zip(urls, addresses, strict=True)
        ]
        self._closed = False
        self._silent_until = 0.0
        self._paused: dict[Kind, tuple[float, Limited]] = {}

    async def ask(self, collection: str, kind: Kind, call: Callable[[AsyncQdrantClient], Awaitable[T]]) -> T:
        """Return what a request returns; its failures are the port's errors.

        Fails at once for a few seconds after a late answer, and for as long as the server has said not to come back.

        Args:
            collection: The collection, as messages name it.
            kind: What the request is for.
            call: Makes the request. It may be made at several addresses, so it must be one that can be repeated.
        """
        self.require_open()
        if monotonic() < self._silent_until:
            raise late(self.address)
        paused_until, limited = self._paused.get(kind, (0.0, None))
        if limited and monotonic() < paused_until:
            raise StorageUnavailableError(limited.message)
        seconds, began = min(self._timeout, _READ_WITHIN) if kind is Kind.READ else self._timeout, monotonic()
        try:
            async with request_errors(collection, self.address, kind):
                return await self._ask_each(call, began + seconds)
        except Limited as error:
            self._paused[kind] = (monotonic() + error.seconds, error)
            raise StorageUnavailableError(error.message) from error
        except StorageUnavailableError:
            if monotonic() - began >= seconds:
                self._silent_until = monotonic() + _SILENCE
            raise

    async def ask_every(
        self, call: Callable[[AsyncQdrantClient], Awaitable[T]]
    ) -> dict[str, T | StorageUnavailableError]:
        """Return what the same reading request returns at each address, or why it fails there."""
        answers: dict[str, T | StorageUnavailableError] = {}
        for node in list(self._nodes):
            try:
                async with request_errors("", node.address), asyncio.timeout(self._timeout):
                    answers[node.address] = await call(node.client)
            except Limited as error:
                answers[node.address] = StorageUnavailableError(error.message)
            except StorageUnavailableError as error:
                answers[node.address] = error
        return answers

    async def close(self) -> None:
        """Release the connections. Idempotent."""
        if not self._closed:
            self._closed = True
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

    async def _ask_each(self, call: Callable[[AsyncQdrantClient], Awaitable[T]], until: float) -> T:
        """Ask one address after another until one answers, the one that answered last before all others."""
        import httpx  # noqa: PLC0415 - comes with qdrant_client
        from qdrant_client.http.exceptions import ResponseHandlingException  # noqa: PLC0415

        *others, last = list(self._nodes)
        for node in others:
            try:
                async with asyncio.timeout(min(_EACH_WITHIN, until - monotonic())):
                    answer = await call(node.client)
            except TimeoutError:
                continue
            except ResponseHandlingException as error:
                if not isinstance(error.source, httpx.TransportError):
                    raise
                continue
            self._prefer(node)
            return answer
        async with asyncio.timeout(until - monotonic()):
            answer = await call(last.client)
        self._prefer(last)
        return answer

    def _prefer(self, node: _Node) -> None:
        if self._nodes[0] is not node:
            self._nodes.remove(node)
            self._nodes.insert(0, node)


def checked_address(url: str, api_key: str | None, *, allow_plaintext_key: bool = False) -> str:
    """Return `host:port`, the only part of a server's URL that messages show.

    Raises:
        InvalidSettingsError: If the URL is malformed or contains credentials, which the vendor's client silently
            drops; if the key cannot be a header, which the vendor's client would quote in its error; or if it would
            leave this machine in plain text.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or _DEFAULT_PORT
    except ValueError as error:
        raise InvalidSettingsError("The Qdrant URL is malformed.") from error
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
    if api_key and parts.scheme == "http" and not allow_plaintext_key and not _is_here(parts.hostname):
        raise InvalidSettingsError(
            f"The Qdrant API key would be sent to {parts.hostname} in plain text.",
            hint="Use an https:// URL, or allow it with the setting qdrant_allow_plaintext_key.",
        )
    return f"{parts.hostname}:{port}"


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _client(url: str, api_key: str | None, timeout: float) -> AsyncQdrantClient:
    import httpx  # noqa: PLC0415 - comes with qdrant_client
    from qdrant_client import AsyncQdrantClient  # noqa: PLC0415 - a second to import

    return AsyncQdrantClient(
        url=url,
        # As `api_key`, the vendor's client warns of plain HTTP even on this machine.
        headers={"api-key": api_key} if api_key else None,
        # The vendor's own timeout is in whole seconds and restarts with every byte: `ask` enforces the real one.
        timeout=math.ceil(timeout),
        # It would ask, and warn, from another thread.
        check_compatibility=False,
        # Loading certificates takes 60 ms, and plain HTTP has no use for them.
        verify=url.startswith("https:"),
        # The vendor's client keeps no connection to this machine, and httpx drops an idle one after 5 seconds.
        limits=httpx.Limits(
            max_connections=None, max_keepalive_connections=20, keepalive_expiry=_KEPT_SECONDS
        ),
    )
