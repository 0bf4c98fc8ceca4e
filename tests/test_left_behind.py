"""A test that leaves something behind fails, with a sentence that names it."""

import gc
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import structlog

from learning_memory_server.cli import access, out
from learning_memory_server.model import moment
from learning_memory_server.server.composition.logging import configure_logging
from tests.left_behind import PACKAGE, State, nothing_left_behind, restored

ROOT = Path(__file__).parents[1]
NOTHING = "Something was left behind for later tests"


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """What these tests leave behind ends with them."""
    with restored():
        yield


def set_container(name: str, value: object) -> None:
    vars(moment)["_FIRST_SEEN"][name] = value


CHANGES: dict[str, tuple[Callable[[], object], str]] = {
    "structlog": (lambda: structlog.configure(wrapper_class=structlog.BoundLogger), "Structlog's wrapper_class was "),
    "a processor": (lambda: structlog.configure(processors=[]), "Structlog's processors was "),
    "a bound variable": (lambda: structlog.contextvars.bind_contextvars(call=7), "The context of structlog was {}, "),
    "the root's level": (lambda: logging.getLogger().setLevel(47), "The level of root was 30, and is 47."),
    "the package's level": (lambda: logging.getLogger(PACKAGE).setLevel(47), f"The level of {PACKAGE} was "),
    "a handler": (lambda: logging.getLogger().addHandler(logging.NullHandler()), "The list of handlers of root was "),
    "a switch": (lambda: setattr(logging.getLogger(), "disabled", True), "The switch that disables root was False, "),
    "a command's logging": (lambda: configure_logging("critical"), "Structlog's processors was "),
    "a new variable": (lambda: os.environ.update(QUOKKA="1"), "The variable QUOKKA is new: '1'."),
    "a variable": (lambda: os.environ.update(HOME="/quokka"), "The variable HOME was "),
    "no variable": (lambda: os.environ.pop("PATH"), "The variable PATH is gone: "),
    "a signal": (lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN), "The handler of SIGUSR1 was "),
    "a switch interval": (lambda: sys.setswitchinterval(0.5), "The switch interval was 0.005, and is 0.5."),
    "garbage": (lambda: gc.set_threshold(50_000), "The list of thresholds of garbage collection was "),
    "a global": (lambda: setattr(access, "STARTS_HUB", 7), f"The global {access.__name__}.STARTS_HUB was "),
    "a new global": (lambda: setattr(out, "quokka", 7), f"The global {out.__name__}.quokka is new: 7."),
    "an array": (lambda: setattr(out, "CLIENTS", np.zeros(2)), f"The global {out.__name__}.CLIENTS was "),
    "a global that is gone": (lambda: delattr(out, "CLIENTS"), f"The global {out.__name__}.CLIENTS is gone: "),
    "content": (lambda: set_container("now", 7), f"The content of {moment.__name__}._FIRST_SEEN was {{}}, "),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_left_behind_is_named_and_restored(name: str) -> None:
    change, sentence = CHANGES[name]
    before = State()
    with pytest.raises(pytest.fail.Exception, match=NOTHING) as caught, nothing_left_behind():
        change()
    assert sentence in str(caught.value)
    assert before.left_behind() == []


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_block_that_fails_has_changed_is_restored(name: str) -> None:
    def changed_and_failed() -> None:
        with restored():
            CHANGES[name][0]()
            raise ZeroDivisionError

    with nothing_left_behind(), pytest.raises(ZeroDivisionError):
        changed_and_failed()


def test_another_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, folder = State(), str(Path.cwd())
    monkeypatch.chdir(tmp_path)
    assert before.left_behind() == [f"The working directory was {folder!r}, and is {str(tmp_path)!r}."]


def test_a_thread_that_ends_soon_is_waited_for_and_another_is_named() -> None:
    before, end = State(), threading.Event()
    thread = threading.Thread(target=end.wait, name="quokka")
    thread.start()
    assert before.left_behind(0) == ["The thread quokka still runs Event.wait."]
    threading.Timer(0.05, end.set).start()
    assert before.left_behind() == []


def test_a_test_that_changes_nothing_or_loads_a_module_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    import learning_memory_server.cli as package

    with nothing_left_behind():
        monkeypatch.setattr(package, "loaded_now", os, raising=False)


LEAVING = """
import os
import pytest

@pytest.fixture
def variable(monkeypatch):
    monkeypatch.setenv("OF_A_FIXTURE", "1")

@pytest.fixture(scope="module")
def shared():
    yield
    os.environ["OF_A_MODULE"] = "1"

def test_a_fixture_ends_before_the_check(variable, shared):
    assert os.environ["OF_A_FIXTURE"]

def test_leaves_something():
    os.environ["LEFT"] = "1"

def test_does_not():
    assert "LEFT" not in os.environ
"""


@pytest.mark.slow
def test_pytest_fails_the_test_that_leaves_something_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "test_leaving.py"
    file.write_text(LEAVING)
    options = ["-p", "no:randomly", "-p", "no:cacheprovider", "-p", "tests.left_behind", "--rootdir", str(tmp_path)]
    command = [sys.executable, "-m", "pytest", "-c", "/dev/null", *options, str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "3 passed, 2 errors" in done.stdout, done.stdout + done.stderr
    assert "ERROR at teardown of test_leaves_something" in done.stdout
    assert "The variable LEFT is new: '1'." in done.stdout
    assert "ERROR at teardown of test_does_not" in done.stdout
    assert "The variable OF_A_MODULE is new: '1'." in done.stdout
    assert "OF_A_FIXTURE is" not in done.stdout
