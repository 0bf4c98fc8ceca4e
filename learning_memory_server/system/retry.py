"""The retry policy: how many attempts, how far apart, and how they are logged."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.errors import (
    DiskFullError,
    LostPointsError,
    RefusedError,
    StorageUnavailableError,
    WrongDimensionError,
)

if TYPE_CHECKING:
    # stamina has no public name for this type.
    from stamina._core import _RetryContextIterator
    from stamina.instrumentation import RetryDetails

log = structlog.get_logger()

_ATTEMPTS: Final = 3


def attempts(
    what: str, on: Callable[[Exception], bool] | tuple[type[Exception], ...], first_wait: float
) -> _RetryContextIterator:
    """Return three attempts to loop over with `for` or `async for`; the last one raises its error.

    The second comes after `first_wait` seconds, and the third after twice as long. The log calls the work `what`.
    """
    import stamina  # noqa: PLC0415 - deferred to the first use

    # In place of stamina's own log line, which quotes the error's message.
    stamina.instrumentation.set_on_retry_hooks([_log_retry])
    retries = stamina.retry_context(
        on=on, attempts=_ATTEMPTS, timeout=None, wait_initial=first_wait, wait_exp_base=2, wait_jitter=0
    )
    return retries.with_name(what, (), {})


def is_transient(error: Exception) -> bool:
    """Return whether the engine might succeed if the request were repeated."""
    permanent = isinstance(error, (DiskFullError, LostPointsError, RefusedError, WrongDimensionError))
    return isinstance(error, StorageUnavailableError) and not permanent


def _log_retry(details: RetryDetails) -> None:
    log.warning(
        "attempt.failed",
        what=details.name,
        attempt=details.retry_num,
        of=_ATTEMPTS,
        wait_seconds=round(details.wait_for, 3),
        type=type(details.caused_by).__name__,
    )
