"""What a person's commands do with a memory, whoever holds it: the command itself, or the hub that it asks.

An operation is a coroutine function of the services, a `Report`, and JSON-like keyword arguments; its result is
JSON-like, too.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.server.operations.calling import call
from learning_memory_server.server.operations.forgetting import forget
from learning_memory_server.server.operations.indexing import compare, complete, reindex
from learning_memory_server.server.operations.migrating import migrate
from learning_memory_server.server.operations.taking_in import add, add_open, add_records, apply_deletions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from learning_memory_server.server.operations.report import Report
    from learning_memory_server.server.services import Services

    Operation = Callable[..., Awaitable[dict[str, Any]]]

OPERATIONS: Final[dict[str, Operation]] = {
    operation.__name__: operation
    for operation in (
        add,
        add_open,
        add_records,
        apply_deletions,
        call,
        compare,
        complete,
        forget,
        migrate,
        reindex,
    )
}


async def operate(services: Services, report: Report, name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Run an operation.

    Raises:
        InvalidInputError: If there is none of that name, or it takes other fields: the other end is of another
            version.
        LearningMemoryError: What the operation raises.
    """
    operation = OPERATIONS.get(name)
    if operation is None:
        raise InvalidInputError(f"There is no operation {name!r}; there are {', '.join(OPERATIONS)}.")
    try:
        inspect.signature(operation).bind(services, report, **fields)
    except TypeError as error:
        raise InvalidInputError(f"{name}: {error}.") from None
    return await operation(services, report, **fields)
