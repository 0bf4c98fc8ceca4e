"""The process of the server without a hub: errors at start-up become a sentence, and the end is quick."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import NoReturn

from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.server.hurry import hurried


def main() -> NoReturn:
    """Serve until the client leaves, and end the process."""
    with hurried():
        from learning_memory_server.server.stdio import serve_stdio  # noqa: PLC0415

    status = 0
    try:
        asyncio.run(serve_stdio())
    except LearningMemoryError as error:
        print(f"learning-memory-server: {error.sentence}", file=sys.stderr)  # noqa: T201
        status = 1
    except KeyboardInterrupt:
        status = 130
    sys.stderr.flush()
    # Everything is closed and on the disk. A plain exit would wait for the thread that may still be importing
    # the model, for seconds in which the client thinks that the server hangs.
    os._exit(status)
