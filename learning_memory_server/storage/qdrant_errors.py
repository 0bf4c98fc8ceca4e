"""Failures between this program and a Qdrant server, as errors of the port.

No message contains a URL, a key or the server's own text: messages reach the client, causes only the log.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from learning_memory_server.errors import (
    DiskFullError,
    InvalidSettingsError,
    LearningMemoryError,
    MissingCollectionError,
    StorageUnavailableError,
)
from learning_memory_server.storage.vectors import REBUILD, wrong_dimension

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from qdrant_client.http.exceptions import UnexpectedResponse

_DEFAULT_PORT: Final = 6333
_LOOK: Final = "Check that the server is running, and that the setting qdrant_url is right."
_MISSING: Final = re.compile(r"Collection .* (doesn't exist|not found)")
_DIMENSION: Final = re.compile(r"dimension error: expected dim: (\d+), got (\d+)")


def checked_address(url: str, api_key: str | None) -> str:
    """Return `host:port`, the only part of a server's URL that messages show.

    Raises:
        InvalidSettingsError: If the URL is malformed or contains credentials, which the vendor's client silently
            drops, or if the key cannot be a header, which the vendor's client would quote in its error.
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
    return f"{parts.hostname}:{port}"


@asynccontextmanager
async def request_errors(collection: str, address: str, seconds: float | None) -> AsyncIterator[None]:
    """Translate everything the vendor's client raises, and a late answer, into the port's errors.

    Args:
        collection: The collection, by the caller's name.
        address: The server, as messages name it.
        seconds: The timeout, including the answer; None for none.
    """
    import httpx  # noqa: PLC0415 - comes with qdrant_client
    from qdrant_client.common.client_exceptions import QdrantException  # noqa: PLC0415
    from qdrant_client.http.exceptions import (  # noqa: PLC0415
        ApiException,
        ResponseHandlingException,
        UnexpectedResponse,
    )

    try:
        async with asyncio.timeout(seconds):
            yield
    except LearningMemoryError:
        raise
    except TimeoutError as error:
        raise late(address) from error
    except UnexpectedResponse as error:
        raise _refused(collection, address, error) from error
    except ResponseHandlingException as error:
        if isinstance(error.source, httpx.TimeoutException):
            raise late(address) from error
        if isinstance(error.source, httpx.TransportError):
            raise StorageUnavailableError(f"Qdrant at {address} cannot be reached.", hint=_LOOK) from error
        raise _not_understood(address) from error
    # A full queue (429) is a QdrantException. The client asserts that an answer has a result. Local mode raises
    # ValueError, TypeError and RuntimeError, and so does an answer that is not JSON.
    except (
        ApiException,
        QdrantException,
        httpx.InvalidURL,
        AssertionError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        raise _explained(collection, str(error)) or _not_understood(address) from error


def late(address: str) -> StorageUnavailableError:
    """Return the error for a server that does not answer in time."""
    return StorageUnavailableError(f"Qdrant at {address} did not answer in time.", hint=_LOOK)


def _not_understood(address: str) -> StorageUnavailableError:
    return StorageUnavailableError(
        f"Qdrant at {address} did not do what it was asked, or is not a Qdrant server.", hint=_LOOK
    )


def _refused(collection: str, address: str, error: UnexpectedResponse) -> StorageUnavailableError:
    """Return the error for an HTTP status and, if Qdrant gave one, its reason."""
    explained = _explained(collection, _reason(error.content))
    if explained is not None:
        return explained
    if error.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return StorageUnavailableError(
            f"Qdrant at {address} refused the API key.",
            hint="Set LEARNING_MEMORY_QDRANT_API_KEY to a key with write access.",
        )
    return StorageUnavailableError(f"Qdrant at {address} answered with status {error.status_code}.")


def _reason(content: bytes) -> str:
    """Return `status.error` of Qdrant's error body, or an empty text if the body is something else."""
    try:
        return str(json.loads(content)["status"]["error"])
    except (ValueError, TypeError, KeyError):
        return ""


def _explained(collection: str, reason: str) -> StorageUnavailableError | None:
    if _MISSING.search(reason):
        return MissingCollectionError(f"Collection `{collection}` does not exist.", hint=REBUILD)
    if sizes := _DIMENSION.search(reason):
        return wrong_dimension(collection, int(sizes[1]), int(sizes[2]))
    if "No space left" in reason:
        return DiskFullError("The Qdrant server's disk is full.")
    return None
