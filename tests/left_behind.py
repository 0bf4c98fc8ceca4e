"""What a test must leave as it was: the state of its process, which every later test shares.

The order of tests is another one in each run. A test that leaves something behind makes a later one fail in some orders
only, and that one is not at fault. So the one that left it fails, with a sentence that names it.

Product code may change its process where the process is its own, as a command's is. A test that runs it in this process
does so within `restored`.
"""

import gc
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

import pytest
import structlog

PACKAGE: Final = "learning_memory_server"
SECONDS: Final = 30.0
"""How long a thread may take to end by itself after a test, on a busy machine."""
_OTHERS: Final = frozenset(
    {"PYTEST_CURRENT_TEST", "KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK", "TORCHINDUCTOR_CACHE_DIR"}
)
"""Variables that are no test's: the phase of the test, and what scikit-learn and torch set when they are first used."""
_SIGNALS: Final = [number for number in signal.Signals if number.name != "SIGALRM"]
"""SIGALRM is the limit of time, whose handler is another one for each test."""
_OF_PYTHON: Final = frozenset({"__builtins__", "__warningregistry__"})
"""Globals that Python itself writes."""
_ALLOWED_THREADS: Final = frozenset({"tqdm_monitor"})
"""The first progress bar of a process starts a thread for all of them, which sleeps until the process ends."""
_ROOT, _OURS = logging.getLogger(), logging.getLogger(PACKAGE)
_ABSENT: Final = object()

Facts = Mapping[str, Any]


class _Module:
    """The globals of a module, and those of them that are containers."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.before = dict(vars(module))
        self.values = list(self.before.values())
        self.containers = {
            f"{module.__name__}.{name}": value
            for name, value in self.before.items()
            if type(value) in {dict, list, set} and name not in _OF_PYTHON
        }

    def is_as_before(self) -> bool:
        # Lists take the same values for equal without a look at them, and are compared in half the time of dicts.
        return _is_same(self.values, list(vars(self.module).values()))

    def changed(self) -> Iterator[tuple[str, Any, Any]]:
        """Yield names with the value before, and now. A module that is loaded becomes a global of its package."""
        if not self.is_as_before():
            for name, was, now in _changed(self.before, vars(self.module)):
                if was is not now and name not in _OF_PYTHON and not (was is _ABSENT and isinstance(now, ModuleType)):
                    yield name, was, now


class _Modules:
    """The modules of the package, as an earlier state found them: to look is faster than to copy, and few change."""

    def __init__(self) -> None:
        self._known: dict[str, _Module] = {}
        self._count = 0

    def now(self) -> list[_Module]:
        # A test that loads nothing is the rule.
        if len(sys.modules) != self._count:
            self._count = len(sys.modules)
            loaded = {name: module for name, module in list(sys.modules.items()) if name.startswith(PACKAGE)}
            self._known = {
                name: known if (known := self._known.get(name)) and known.module is module else _Module(module)
                for name, module in loaded.items()
            }
        for name, known in self._known.items():
            if not known.is_as_before():
                self._known[name] = _Module(known.module)
        return list(self._known.values())


_MODULES: Final = _Modules()


class State:
    """What this process is like: logging, variables, the interpreter, its threads, and the globals of the package.

    Modules that are loaded later are not looked at.
    """

    def __init__(self) -> None:
        self._logging, self._variables, self._interpreter = _logging(), _variables(), _interpreter()
        self._config, self._context = structlog.get_config(), structlog.contextvars.get_contextvars()
        self._handlers = {number: signal.getsignal(number) for number in _SIGNALS}
        self._threads = set(threading.enumerate())
        self._modules = _MODULES.now()
        self._contents = [
            (name, value, value.copy()) for each in self._modules for name, value in each.containers.items()
        ]

    def left_behind(self, seconds: float = SECONDS) -> list[str]:
        """Return a sentence for all that is different now. Threads may take some seconds to end."""
        handlers = {number: signal.getsignal(number) for number in _SIGNALS}
        found = [
            *((name, *values) for name, *values in _changed(self._logging, _logging())),
            *((f"the variable {name}", *values) for name, *values in _changed(self._variables, _variables())),
            *_changed(self._interpreter, _interpreter()),
            *((f"the handler of {number.name}", *values) for number, *values in _changed(self._handlers, handlers)),
            *(
                (f"the global {each.module.__name__}.{name}", *values)
                for each in self._modules
                for name, *values in each.changed()
            ),
            *((f"the content of {name}", was, now) for name, now, was in self._contents if not _is_same(was, now)),
        ]
        sentences = [f"{name[0].upper()}{name[1:]} {_change(was, now)}." for name, was, now in found]
        return [*sentences, *_threads_left(self._threads, seconds)]

    def restore(self) -> None:
        """Make everything as it was, but for threads, and for what nothing here changes."""
        self._restore_logging()
        for name, was, _ in _changed(self._variables, _variables()):
            if was is _ABSENT:
                del os.environ[name]
            else:
                os.environ[name] = was
        for number, handler in self._handlers.items():
            if signal.getsignal(number) != handler:
                signal.signal(number, handler)
        sys.setswitchinterval(self._interpreter["the switch interval"])
        gc.set_threshold(*self._interpreter["the list of thresholds of garbage collection"])
        self._restore_modules()

    def _restore_logging(self) -> None:
        # The same list again: `capture_logs` changes its content while it captures.
        self._config["processors"][:] = self._logging["structlog's processors"]
        structlog.configure(**self._config)
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(**self._context)
        for logger in (_ROOT, _OURS):
            before = self._logging[f"the list of handlers of {logger.name}"]
            for handler in logger.handlers:
                if handler not in before:
                    handler.close()
            logger.handlers[:] = before
            logger.setLevel(self._logging[f"the level of {logger.name}"])
            logger.disabled = self._logging[f"the switch that disables {logger.name}"]

    def _restore_modules(self) -> None:
        for each in self._modules:
            for name, was, _ in list(each.changed()):
                if was is _ABSENT:
                    delattr(each.module, name)
                else:
                    setattr(each.module, name, was)
        for _, container, content in self._contents:
            if not _is_same(content, container):
                container.clear()
                (container.extend if isinstance(container, list) else container.update)(content)


@contextmanager
def nothing_left_behind() -> Iterator[None]:
    """Fail if anything is different after the block, and restore it, so that nothing else fails for that."""
    before = State()
    yield
    if sentences := before.left_behind():
        before.restore()
        pytest.fail(f"Something was left behind for later tests. {' '.join(sentences)}", pytrace=False)


@pytest.fixture(autouse=True, scope="module")
def nothing_left_behind_by_fixtures_of_a_module() -> Iterator[None]:
    """Fail the last test of a module whose shared fixtures leave something behind."""
    with nothing_left_behind():
        yield


@pytest.fixture(autouse=True)
def nothing_left_behind_by_this_test() -> Iterator[None]:
    """Fail a test that leaves something behind. This is set up first: all its other fixtures have ended by then."""
    with nothing_left_behind():
        yield


@contextmanager
def restored() -> Iterator[None]:
    """Let a block change what belongs to its process, and restore that after it, as the end of a process would."""
    before = State()
    try:
        yield
    finally:
        before.restore()


@pytest.fixture
def restored_process() -> Iterator[None]:
    """Let a test run product code that changes its process for good."""
    with restored():
        yield


def _logging() -> Facts:
    return {
        **{f"structlog's {name}": _copy(value) for name, value in structlog.get_config().items()},
        "the context of structlog": structlog.contextvars.get_contextvars(),
        "the level up to which logging is disabled": _ROOT.manager.disable,
        **{f"the level of {logger.name}": logger.level for logger in (_ROOT, _OURS)},
        **{f"the list of handlers of {logger.name}": logger.handlers[:] for logger in (_ROOT, _OURS)},
        **{f"the switch that disables {logger.name}": logger.disabled for logger in (_ROOT, _OURS)},
    }


def _variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _OTHERS}


def _interpreter() -> Facts:
    return {
        "the working directory": os.getcwd(),  # noqa: PTH109 - this runs twice for each test
        "the switch interval": sys.getswitchinterval(),
        "the switch of garbage collection": gc.isenabled(),
        "the list of thresholds of garbage collection": gc.get_threshold(),
        "sys.path": sys.path[:],
        "sys.argv": sys.argv[:],
        "sys.excepthook": sys.excepthook,
        "sys.unraisablehook": sys.unraisablehook,
        "threading.excepthook": threading.excepthook,
    }


def _changed(before: Mapping[Any, Any], now: Mapping[Any, Any]) -> Iterator[tuple[Any, Any, Any]]:
    if _is_same(before, now):
        return
    for name in [*before, *(name for name in now if name not in before)]:
        was, is_now = before.get(name, _ABSENT), now.get(name, _ABSENT)
        if not _is_same(was, is_now):
            yield name, was, is_now


def _threads_left(before: set[threading.Thread], seconds: float) -> Iterator[str]:
    end = time.monotonic() + seconds
    for thread in set(threading.enumerate()) - before:
        if thread.name in _ALLOWED_THREADS:
            continue
        thread.join(max(0.0, end - time.monotonic()))
        if thread.is_alive():
            function = getattr(getattr(thread, "_target", None), "__qualname__", "?")
            yield f"The thread {thread.name} still runs {function}."


def _change(was: object, is_now: object) -> str:
    if was is _ABSENT:
        return f"is new: {is_now!r}"
    if is_now is _ABSENT:
        return f"is gone: {was!r}"
    return f"was {was!r}, and is {is_now!r}"


def _is_same(before: Any, now: Any) -> bool:
    try:
        return before is now or bool(before == now)
    except ValueError:
        # Arrays have no such answer.
        return False


def _copy(value: Any) -> Any:
    return value.copy() if type(value) in {dict, list} else value
