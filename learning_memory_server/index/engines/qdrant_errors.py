"""Errors of the vendor's client as errors of the port, without URLs, keys or the server's own text."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum
from http import HTTPStatus
from typing import Final

import httpx  # what the vendor's client is made of
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from learning_memory_server.errors import (
    DiskFullError,
    ForbiddenCollectionError,
    MissingCollectionError,
    NoAnswerError,
    RefusedError,
    StorageUnavailableError,
)
from learning_memory_server.index.engines.server_log import DEFAULT_PORT
from learning_memory_server.index.engines.vectors import REBUILD, wrong_dimension
from learning_memory_server.system.servers import NOT_BEHIND, SPEAKS_TLS, obstacle, speaks_tls

_LOOK: Final = "Check that the server is running, and that the setting qdrant_url is right."
_WITHOUT_PORT: Final = (
    f"A URL without a port means port {DEFAULT_PORT}; a proxy is usually at 443: https://qdrant.example.org:443."
)
_KEY: Final = "The key is the setting qdrant_api_key; whoever runs the server can give you one that may do this."
_ABOUT_THE_REQUEST: Final = range(400, 500)  # These say nothing about other requests of the kind
_MISSING: Final = re.compile(r"Collection .* (doesn't exist|not found)")
_DIMENSION: Final = re.compile(r"dimension error: expected dim: (\d+), got (\d+)")
_NO_QUORUM: Final = re.compile(
    r"consensus operation commit failed|shards failed to apply|read operations failed|currently unavailable"
)


class RequestKind(StrEnum):
    """The purpose of a request: keys have different rights."""

    READ = "read"
    WRITE = "write"
    CREATE = "create"


_UNREADABLE: Final = (AssertionError, RuntimeError, ValueError, httpx.InvalidURL)
"""Exceptions from the answer of something that is no Qdrant server, and from a client that was closed meanwhile."""


def is_lost(error: ResponseHandlingException) -> bool:
    """Whether a connection ended during a request, as one that was kept may."""
    return isinstance(error.source, httpx.ReadError | httpx.WriteError | httpx.RemoteProtocolError)


@asynccontextmanager
async def request_errors(
    address: str, collection: str = "", kind: RequestKind = RequestKind.READ, *, names_port: bool = True
) -> AsyncIterator[None]:
    """Translate what one request raises, with the server's `address` and the collection's name there."""
    try:
        yield
    except QdrantException as error:
        # Of status 429 alone, and of this class itself if `Retry-After` is no number of seconds.
        message = f"Qdrant at {address} limits how often it is asked"
        if not isinstance(error, ResourceExhaustedResponse):
            raise RefusedError(f"{message}.") from error
        seconds = error.retry_after_s
        raise RefusedError(f"{message}, and says to come back in {seconds} seconds.", seconds=float(seconds)) from error
    except UnexpectedResponse as error:
        raise _refusal(address, collection, kind, error) from error
    except (TimeoutError, ApiException, *_UNREADABLE) as error:
        cause = error.source if isinstance(error, ResponseHandlingException) else error
        if isinstance(cause, _UNREADABLE):
            message = f"Qdrant at {address} did not do what it was asked, or is not a Qdrant server."
            raise RefusedError(message, hint=_LOOK) from error
        raise _unreachable(
            address, *obstacle(cause, "qdrant_url", "Start the server"), names_port=names_port
        ) from error


def _unreachable(address: str, why: str, advice: str, *, names_port: bool = True) -> NoAnswerError:
    hint = advice if names_port else f"{advice} {_WITHOUT_PORT}"
    return NoAnswerError(f"Qdrant at {address} cannot be reached: {why}.", hint=hint)


def _refusal(address: str, collection: str, kind: RequestKind, error: UnexpectedResponse) -> StorageUnavailableError:
    """Return the error for an answer that is a refusal."""
    status = error.status_code or 0
    if explained := _explained(collection, address, _reason(error)):
        return explained
    if speaks_tls(status, error.content):
        why, advice = SPEAKS_TLS
        return _unreachable(address, why, advice.format(setting="qdrant_url"))
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return _forbidden(collection, address, kind, error.content.decode(errors="replace"))
    if status in NOT_BEHIND:
        return _unreachable(address, f"status {status}", _LOOK)
    message = f"Qdrant at {address} answered with status {status}."
    if status in _ABOUT_THE_REQUEST and status != HTTPStatus.TOO_MANY_REQUESTS:
        # Qdrant itself knows each path that is asked for: it is another server, or the URL has a wrong prefix.
        hint = _LOOK if status == HTTPStatus.NOT_FOUND else None
        return StorageUnavailableError(message, hint=hint)
    return RefusedError(message)


def _explained(collection: str, address: str, reason: str) -> StorageUnavailableError | None:
    # What callers call it; the rest of the name says which model made the vectors.
    label = collection.partition("-")[0]
    if _MISSING.search(reason):
        return MissingCollectionError(f"Collection `{label}` does not exist.", hint=REBUILD)
    if sizes := _DIMENSION.search(reason):
        return wrong_dimension(label, int(sizes[1]), int(sizes[2]))
    if "No space left" in reason:
        return DiskFullError("The Qdrant server's disk is full.", hint="Searches still work; writes wait.")
    if _NO_QUORUM.search(reason):
        return RefusedError(
            f"Too few nodes of the Qdrant cluster at {address} are running.",
            hint="What is written meanwhile is kept, and indexed when they are back.",
        )
    if "Index required" in reason:
        return StorageUnavailableError(
            f"Collection `{label}` is still being created on the Qdrant server.", hint="Call again soon."
        )
    return None


def _forbidden(collection: str, address: str, kind: RequestKind, answer: str) -> RefusedError:
    """Return the error for a refused key. Qdrant says why in plain text for a wrong one, in JSON for a weak one."""
    is_weak = answer.startswith("{")
    if "Access to collection" in answer:
        message = f"The API key may not use collection `{collection}` of Qdrant at {address}."
        return ForbiddenCollectionError(message, hint=_KEY)
    if is_weak and kind is RequestKind.CREATE:
        message = f"The API key may not create collections at Qdrant at {address}."
        return ForbiddenCollectionError(message, hint=_KEY)
    if is_weak and "Global access" in answer:
        message = f"The API key is for some collections only, and may not ask Qdrant at {address} about the rest."
        return ForbiddenCollectionError(message, hint=_KEY)
    if "Must provide" in answer:
        message = f"Qdrant at {address} requires an API key."
    elif "ExpiredSignature" in answer:
        message = f"The API key for Qdrant at {address} has expired."
    elif is_weak and kind is RequestKind.WRITE:
        message = f"The API key may not write to Qdrant at {address}: it is for reading."
    else:
        message = f"Qdrant at {address} refused the API key."
    return RefusedError(message, hint=_KEY)


def _reason(error: UnexpectedResponse) -> str:
    """Return `status.error` of Qdrant's error body, or an empty text if the body is something else."""
    try:
        return str(error.structured()["status"]["error"])
    except (ValueError, TypeError, KeyError):
        return ""
