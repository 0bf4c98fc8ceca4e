"""Failures between this program and a Qdrant server, as errors of the port.

No message contains a URL, a key or the server's own text: messages reach the client, causes only the log.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from learning_memory_server.errors import (
    DiskFullError,
    ForbiddenCollectionError,
    LearningMemoryError,
    MissingCollectionError,
    NoAnswerError,
    RefusedError,
    StorageUnavailableError,
)
from learning_memory_server.index.engines.vectors import REBUILD, wrong_dimension

if TYPE_CHECKING:
    from qdrant_client.http.exceptions import UnexpectedResponse

_LOOK: Final = "Check that the server is running, and that the setting qdrant_url is right."
_KEY: Final = "The key is the setting qdrant_api_key; whoever runs the server can give you one that may do this."
_NOT_BEHIND: Final = (HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)
"""What a proxy answers while there is no server behind it."""
_ABOUT_THE_REQUEST: Final = range(400, 500)
"""These say nothing about other requests of the kind."""
_MISSING: Final = re.compile(r"Collection .* (doesn't exist|not found)")
_DIMENSION: Final = re.compile(r"dimension error: expected dim: (\d+), got (\d+)")
_NO_QUORUM: Final = re.compile(
    r"consensus operation commit failed|shards failed to apply|read operations failed|currently unavailable"
)


class Kind(StrEnum):
    """What a request is for: keys differ in what they may do, and servers in what they limit."""

    READ = "read"
    WRITE = "write"
    CREATE = "create"


@asynccontextmanager
async def request_errors(collection: str, address: str, kind: Kind = Kind.READ) -> AsyncIterator[None]:
    """Translate everything the vendor's client raises, and a late answer, into the port's errors.

    `address` is the server as messages name it.
    """
    import httpx
    from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except LearningMemoryError:
        raise
    except TimeoutError as error:
        raise late(address) from error
    except ResourceExhaustedResponse as error:
        raise RefusedError(
            f"Qdrant at {address} limits how often it is asked, and says to come back in {error.retry_after_s:.0f} seconds.",
            seconds=error.retry_after_s,
            is_of_collection=True,
        ) from error
    except UnexpectedResponse as error:
        raise _refused(collection, address, kind, error) from error
    except ResponseHandlingException as error:
        if isinstance(error.source, httpx.TimeoutException):
            raise late(address) from error
        if isinstance(error.source, httpx.TransportError):
            raise NoAnswerError(f"Qdrant at {address} cannot be reached.", hint=_LOOK) from error
        raise _not_understood(address) from error
    # A Retry-After that is no number is a QdrantException. The client asserts that an answer has a result, and an
    # answer that is not JSON is a ValueError.
    except (
        ApiException,
        QdrantException,
        httpx.InvalidURL,
        AssertionError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        raise _not_understood(address) from error


def late(address: str) -> NoAnswerError:
    """Return the error for a server that does not answer in time."""
    return NoAnswerError(f"Qdrant at {address} did not answer in time.", hint=_LOOK)


def _not_understood(address: str) -> StorageUnavailableError:
    return RefusedError(
        f"Qdrant at {address} did not do what it was asked, or is not a Qdrant server.",
        hint=_LOOK,
        is_of_collection=True,
    )


def _refused(collection: str, address: str, kind: Kind, error: UnexpectedResponse) -> StorageUnavailableError:
    if explained := _explained(collection, address, _reason(error.content)):
        return explained
    status = error.status_code or 0
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return _forbidden(collection, address, kind, error.content.decode(errors="replace"))
    if status in _NOT_BEHIND:
        return NoAnswerError(f"Qdrant at {address} cannot be reached: status {status}.", hint=_LOOK)
    message = f"Qdrant at {address} answered with status {status}."
    if status in _ABOUT_THE_REQUEST:
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


def _forbidden(collection: str, address: str, kind: Kind, answer: str) -> RefusedError:
    """Return the error for a refused key. Qdrant says why in plain text for a wrong one, in JSON for a weak one."""
    if "Access to collection" in answer:
        message = f"The API key may not use collection `{collection}` of Qdrant at {address}."
        return ForbiddenCollectionError(message, hint=_KEY, is_of_collection=True)
    if answer.startswith("{") and kind is Kind.CREATE:
        message = f"The API key may not create collections at Qdrant at {address}."
        return ForbiddenCollectionError(message, hint=_KEY)
    if answer.startswith("{") and "Global access" in answer:
        message = f"The API key is for some collections only, and may not ask Qdrant at {address} about the rest."
        return ForbiddenCollectionError(message, hint=_KEY, is_of_collection=True)
    if "Must provide" in answer:
        message = f"Qdrant at {address} requires an API key."
    elif "ExpiredSignature" in answer:
        message = f"The API key for Qdrant at {address} has expired."
    elif answer.startswith("{") and kind is Kind.WRITE:
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
