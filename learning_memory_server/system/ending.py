"""The end of a process: a sentence, Ctrl-C within a second (status 130), or an exception, described for a log.

Types and places may be logged, never a message. Only names that a loaded module defines in its source are used.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings

from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.system import timeouts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType
    from typing import Any, Final, NoReturn, TextIO

INTERRUPTED: Final = 130  # The exit status after Ctrl-C: 128 plus the signal's number, as shells report it
_SHOW_CURSOR: Final = "\x1b[?25h"
_unwinding: Final = threading.Event()


def run_and_exit(serve: Callable[[], int | None], name: str = "learning-memory-server") -> NoReturn:
    """Serve, then end the process: with the returned status, or with the sentence of a failure under this `name`.

    A plain exit would wait for threads that may still import a model. The caller has closed everything.
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
    """Make Ctrl-C raise `KeyboardInterrupt`, and end the process shortly after; a second Ctrl-C ends it immediately."""
    signal.signal(signal.SIGINT, _unwind)


def was_interrupted() -> bool:
    """Return whether Ctrl-C raised `KeyboardInterrupt`. A library that it met may raise an error of its own instead."""
    return _unwinding.is_set()


def leave_interrupted() -> NoReturn:
    """End the process now, as interrupted."""
    stream = sys.stderr
    if stream is not None and stream.isatty():
        # A progress bar may have hidden the cursor.
        stream.write(_SHOW_CURSOR)
        stream.flush()
    os._exit(INTERRUPTED)


def leave_shortly() -> None:
    """End the process as interrupted soon, or immediately on another Ctrl-C."""
    signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(INTERRUPTED))
    timer = threading.Timer(timeouts.UNWINDING, leave_interrupted)
    timer.daemon = True
    timer.start()


def _unwind(_number: int, _frame: FrameType | None) -> None:
    _unwinding.set()
    leave_shortly()
    raise KeyboardInterrupt


_FRAMES: Final = 40  # Places that are kept, innermost last. A recursion error has a thousand.
_EXCEPTIONS: Final = 20  # Exceptions that are described: causes can be a circle, and groups can hold groups
_UNKNOWN: Final = "?"


def describe_exception(error: BaseException) -> dict[str, Any]:
    """Return an exception's type, the places that it passed, innermost last, and its cause."""
    return _described(error, iter(range(_EXCEPTIONS - 1)))


def _described(error: BaseException, allowed: Iterator[int]) -> dict[str, Any]:
    """Return the facts of an exception, and of its causes, up to the number of elements in `allowed`."""
    facts: dict[str, Any] = {"type": type_name(type(error))}
    if isinstance(error, OSError) and type(error.errno) is int:
        facts["errno"] = error.errno
    facts["frames"] = _places(error)
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None and next(allowed, None) is not None:
        facts["cause"] = _described(cause, allowed)
    if isinstance(error, BaseExceptionGroup):
        facts["exceptions"] = [
            _described(each, allowed) for each in error.exceptions if next(allowed, None) is not None
        ]
    return facts


def type_name(kind: type) -> str:
    """Return the name of a class, or of its nearest base that a module defines."""
    for each in type.mro(kind):
        found: object = sys.modules.get(str(each.__module__))
        for part in str(each.__qualname__).split("."):
            found = getattr(found, "__dict__", {}).get(part)
        if found is each:
            return each.__qualname__
    return _UNKNOWN


def raised_name(last_line: str) -> str:
    """Return the exception that the last line of a child's traceback names; the rest of the line is its message."""
    module, _, name = last_line.partition(":")[0].rpartition(".")
    kind = getattr(sys.modules.get(module or "builtins"), "__dict__", {}).get(name)
    return name if isinstance(kind, type) and issubclass(kind, BaseException) else _UNKNOWN


def report_crashes() -> None:
    """Write uncaught exceptions and warnings to stderr as lines of JSON. Python would print their messages."""
    import json  # noqa: F401 - while there is RAM and disk for it

    def report(event: str, error: BaseException | None) -> None:
        if error is not None and not isinstance(error, SystemExit):
            _write("error", event, error=describe_exception(error))

    def warn(
        message: Warning | str,  # noqa: ARG001 - the names are those of `warnings.showwarning`
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,  # noqa: ARG001
        line: str | None = None,  # noqa: ARG001
    ) -> None:
        modules = [name for name, module in list(sys.modules.items()) if _file_of(module) == filename]
        place = f"{modules[0] if modules else _UNKNOWN}:{lineno}"
        _write("warning", "library.warned", type=type_name(category), place=place)

    sys.excepthook = lambda _kind, error, _traceback: report("process.crashed", error)
    sys.unraisablehook = lambda given: report("object.not_released", given.exc_value)
    threading.excepthook = lambda given: report("thread.crashed", given.exc_value)
    warnings.showwarning = warn


def _write(level: str, event: str, **facts: object) -> None:
    import json

    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = {"timestamp": at, "level": level, "event": event, **facts}
    print(json.dumps(line), file=sys.stderr, flush=True)  # noqa: T201 - stderr is the log


def _file_of(module: object) -> object:
    return getattr(module, "__dict__", {}).get("__file__")


def _places(error: BaseException) -> list[str]:
    places, traceback = [], error.__traceback__
    while traceback is not None:
        places.append(_place(traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    return places[-_FRAMES:]


def _place(frame: FrameType, line: int) -> str:
    """Return `module.function:line`, without what does not come from a module's source file."""
    name = frame.f_globals.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    if module is None or vars(module) is not frame.f_globals:
        return f"{_UNKNOWN}:{line}"
    code = frame.f_code
    is_source = code.co_filename == _file_of(module)
    return f"{name}.{code.co_name if is_source else _UNKNOWN}:{line}"
