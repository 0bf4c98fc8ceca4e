"""Tries at what may go through the next time: the one rule of how many, and how far apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from learning_memory_server.errors import DiskFullError, StorageUnavailableError, WrongDimensionError

if TYPE_CHECKING:
    from collections.abc import Callable

    # The vendor gives this type no public name.
    from stamina._core import _RetryContextIterator

_ATTEMPTS: Final = 3


def attempts(
    on: Callable[[Exception], bool] | tuple[type[Exception], ...], first_wait: float
) -> _RetryContextIterator:
    """Return three attempts, to loop over with `for` or `async for`; the last one's error is raised.

    Args:
        on: What is worth another attempt.
        first_wait: Seconds before the second attempt; the third comes after twice as long.
    """
    import stamina  # noqa: PLC0415 - not before the first use

    return stamina.retry_context(
        on=on, attempts=_ATTEMPTS, timeout=None, wait_initial=first_wait, wait_exp_base=2, wait_jitter=0
    )


def is_transient(error: Exception) -> bool:
    """Tell whether the engine may do what it has just refused, if it is asked again."""
    permanent = isinstance(error, (DiskFullError, WrongDimensionError))
    return isinstance(error, StorageUnavailableError) and not permanent
