"""Requests that are made at once, which takes a server one round trip."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

T = TypeVar("T")


async def all_done(requests: Iterable[Awaitable[T]]) -> list[T]:
    """Return the results in order. If any fails, wait for the others, and raise the first failure.

    A request that was left alone would still be using a connection when the store is closed.
    """
    results = await asyncio.gather(*requests, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]
