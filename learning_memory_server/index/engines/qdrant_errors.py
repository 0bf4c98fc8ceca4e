"""Failures of requests to a Qdrant server as errors of the port, without URLs, keys or the server's own text."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum
from http import HTTPStatus
from typing import Final

import httpx2
import msgspec

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
from learning_memory_server.system.servers import NOT_BEHIND, obstacle

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
    """The purpose of a request: keys have different rights, and servers have different limits."""

    READ = "read"
    WRITE = "write"
    CREATE = "create"


@asynccontextmanager
async def request_errors(address: str, *, names_port: bool = True) -> AsyncIterator[None]:
    """Translate failures of the connection into the port's errors, with the server's `address`."""
    try:
        yield
    except (TimeoutError, httpx2.TransportError) as error:
        why, advice = obstacle(error, "qdrant_url", "Start the server")
        hint = advice if names_port else f"{advice} {_WITHOUT_PORT}"
        raise NoAnswerError(f"Qdrant at {address} cannot be reached: {why}.", hint=hint) from error
    # A client that was closed meanwhile is a RuntimeError.
    except (msgspec.MsgspecError, UnicodeDecodeError, httpx2.InvalidURL, RuntimeError) as error:
        message = f"Qdrant at {address} did not do what it was asked, or is not a Qdrant server."
        raise RefusedError(message, hint=_LOOK, is_of_collection=True) from error


def refusal(collection: str, address: str, kind: RequestKind, response: httpx2.Response) -> StorageUnavailableError:
    """Return the error for an answer that is a refusal."""
    if explained := _explained(collection, address, _reason(response.content)):
        return explained
    status, again = response.status_code, response.headers.get("retry-after", "")
    if status == HTTPStatus.TOO_MANY_REQUESTS and again.isdecimal():
        return RefusedError(
            f"Qdrant at {address} limits how often it is asked, and says to come back in {again} seconds.",
            seconds=float(again),
            is_of_collection=True,
        )
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return _forbidden(collection, address, kind, response.content.decode(errors="replace"))
    if status in NOT_BEHIND:
        return NoAnswerError(f"Qdrant at {address} cannot be reached: status {status}.", hint=_LOOK)
    message = f"Qdrant at {address} answered with status {status}."
    if status in _ABOUT_THE_REQUEST and status != HTTPStatus.TOO_MANY_REQUESTS:
        # Qdrant itself knows each path that is asked for: it is another server, or the URL has a wrong prefix.
        hint = _LOOK if status == HTTPStatus.NOT_FOUND else None
        return StorageUnavailableError(message, hint=hint)
    return RefusedError(message, is_of_collection=True)


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
            is_of_collection=True,
        )
    if "Index required" in reason:
        return StorageUnavailableError(
            f"Collection `{label}` is still being created on the Qdrant server.", hint="Call again soon."
        )
    return None


def _forbidden(collection: str, address: str, kind: RequestKind, answer: str) -> RefusedError:
    """Return the error for a refused key. Qdrant says why in plain text for a wrong one, in JSON for a weak one."""
    if "Access to collection" in answer:
        message = f"The API key may not use collection `{collection}` of Qdrant at {address}."
        return ForbiddenCollectionError(message, hint=_KEY, is_of_collection=True)
    if answer.startswith("{") and kind is RequestKind.CREATE:
        message = f"The API key may not create collections at Qdrant at {address}."
        return ForbiddenCollectionError(message, hint=_KEY)
    if answer.startswith("{") and "Global access" in answer:
        message = f"The API key is for some collections only, and may not ask Qdrant at {address} about the rest."
        return ForbiddenCollectionError(message, hint=_KEY, is_of_collection=True)
    if "Must provide" in answer:
        message = f"Qdrant at {address} requires an API key."
    elif "ExpiredSignature" in answer:
        message = f"The API key for Qdrant at {address} has expired."
    elif answer.startswith("{") and kind is RequestKind.WRITE:
        message = f"The API key may not write to Qdrant at {address}: it is for reading."
    else:
        message = f"Qdrant at {address} refused the API key."
    return RefusedError(message, hint=_KEY)


def _reason(content: bytes) -> str:
    """Return `status.error` of Qdrant's error body, or an empty text if the body is something else."""
    try:
        return str(json.loads(content)["status"]["error"])
    except (ValueError, TypeError, KeyError):
        return ""
