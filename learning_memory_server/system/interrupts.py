"""How a process ends: with a sentence, and after Ctrl-C within a second, with exit status 130 and no traceback."""

from __future__ import annotations

import os
import signal
import sys
import threading

from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.system import timeouts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Final, NoReturn

INTERRUPTED: Final = 130
"""The exit status after Ctrl-C: 128 plus the signal's number, as shells report it."""
_SHOW_CURSOR: Final = "\x1b[?25h"


def run_and_exit(serve: Callable[[], int | None], name: str = "learning-memory-server") -> NoReturn:
    """Serve, then end the process: with the status returned, or with the sentence of a failure under this `name`.

    A plain exit would wait for threads that may still be importing a model, and for those seconds the client would
    think that the server hangs. Whoever serves has closed everything, and what is acknowledged is on disk.
    """
    try:
        status = serve() or 0
    except LearningMemoryError as error:
        print(f"{name}: {error.sentence}", file=sys.stderr)  # noqa: T201 - stderr is the log
        status = 1
    except KeyboardInterrupt:
        status = INTERRUPTED
    sys.stderr.flush()
    os._exit(status)


def end_on_interrupt() -> None:
    """Make Ctrl-C raise `KeyboardInterrupt`, and end the process if that has not ended it shortly after.

    A thread that loads a model or waits for input would delay a plain exit by seconds, or prevent it. A second Ctrl-C
    ends the process at once.
    """
    signal.signal(signal.SIGINT, _unwind)


def leave_interrupted() -> NoReturn:
    """End the process now, as interrupted."""
    stream = sys.stderr
    if stream is not None and stream.isatty():
        # A progress bar may have hidden the cursor.
        stream.write(_SHOW_CURSOR)
        stream.flush()
    os._exit(INTERRUPTED)


def leave_shortly() -> None:
    """End the process as interrupted soon, or at once on another Ctrl-C."""
    signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(INTERRUPTED))
    timer = threading.Timer(timeouts.UNWINDING, leave_interrupted)
    timer.daemon = True
    timer.start()


def _unwind(_number: int, _frame: FrameType | None) -> None:
    leave_shortly()
    raise KeyboardInterrupt
