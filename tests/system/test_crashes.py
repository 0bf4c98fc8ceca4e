"""What is said of an exception, however it was made: types and places that stand in source files, and nothing else."""

import json
import stat
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.system.ending import describe_exception, raised_name, type_name

SECRET = "quokka"  # noqa: S105 - a word to look for
URL = f"https://ann:{SECRET}@example.org/{SECRET}?key={SECRET}"


def caught(error: BaseException) -> BaseException:
    """Return the exception with a traceback."""
    with pytest.raises(BaseException) as raised:  # noqa: PT011 - whatever it is
        raise error
    return raised.value


class UnspeakableError(ValueError):
    """Fails when somebody asks for its text."""

    def __str__(self) -> str:
        raise RuntimeError(SECRET)

    __repr__ = __str__


def from_text(source: str) -> BaseException:
    """Return what a text raises that is run as a program."""
    with pytest.raises(BaseException) as raised:  # noqa: PT011 - whatever it is
        exec(compile(source, f"/home/{SECRET}/x.py", "exec"), {"__name__": SECRET})  # noqa: S102
    return raised.value


def circle() -> BaseException:
    """Return two exceptions that are each other's cause."""
    one, other = ValueError(SECRET), KeyError(SECRET)
    one.__cause__, other.__cause__ = other, one
    return one


def long_chain() -> BaseException:
    """Return an exception with ten thousand causes."""
    error = OSError(SECRET)
    for _ in range(10_000):
        following = OSError(SECRET)
        following.__cause__ = error
        error = following
    return error


def deep_group() -> BaseException:
    """Return groups within groups."""
    error: Exception = ValueError(SECRET)
    for _ in range(1_000):
        error = ExceptionGroup(SECRET, [error] * 20)
    return error


def endless() -> None:
    """Call itself until Python refuses."""
    endless()


def too_deep() -> BaseException:
    """Return a recursion error."""
    with pytest.raises(RecursionError) as raised:
        endless()
    return raised.value


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RuntimeError(URL), "RuntimeError"),
        (UnspeakableError(SECRET), "UnspeakableError"),
        (type(SECRET, (LookupError,), {})(SECRET), "LookupError"),
        (type("Odd", (OSError,), {"__module__": f"/home/{SECRET}"})(SECRET), "OSError"),
        (type("Odd", (OSError,), {"__module__": None, "__qualname__": f"{SECRET}.x"})(SECRET), "OSError"),
        (OSError(SECRET, SECRET, SECRET), "OSError"),
        (from_text(f"def {SECRET}(): raise KeyError('{SECRET}')\n{SECRET}()"), "KeyError"),
        (from_text(f"class {SECRET}(Exception): pass\nraise {SECRET}('{SECRET}')"), "Exception"),
        (circle(), "ValueError"),
        (long_chain(), "OSError"),
        (deep_group(), "ExceptionGroup"),
        (too_deep(), "RecursionError"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_nothing_that_an_exception_was_given_is_said(error: BaseException, kind: str) -> None:
    facts = describe_exception(caught(error))
    assert facts["type"] == kind
    assert facts["frames"]
    said = json.dumps(facts)
    assert SECRET not in said
    assert "example.org" not in said
    assert len(said) < 20_000


def test_what_is_said_finds_the_place_and_the_cause() -> None:
    try:
        try:
            open(f"/nowhere/{SECRET}")  # noqa: PTH123, SIM115 - it fails
        except OSError as error:
            raise ValueError(SECRET) from error
    except ValueError as error:
        facts = describe_exception(error)
    assert facts["frames"][0].startswith(f"{__name__}.test_what_is_said_finds_the_place_and_the_cause:")
    assert (facts["cause"]["type"], facts["cause"]["errno"]) == ("FileNotFoundError", 2)


def test_a_type_has_the_name_that_its_module_gives_it() -> None:
    assert type_name(json.JSONDecodeError) == "JSONDecodeError"
    assert type_name(type(f"{SECRET}", (json.JSONDecodeError,), {})) == "JSONDecodeError"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("ValueError: /home/ann", "ValueError"),
        ("MemoryError", "MemoryError"),
        ("learning_memory_server.errors.NotFoundError: x", "NotFoundError"),
        (f"{SECRET}.NotFoundError: x", "?"),
        (SECRET, "?"),
        ("print: x", "?"),
        ("", "?"),
    ],
)
def test_only_the_type_is_taken_from_the_last_line_of_a_traceback(line: str, name: str) -> None:
    assert raised_name(line) == name


CRASHES = """
import sys, threading, warnings
from learning_memory_server.system.ending import report_crashes
report_crashes()
SECRET = sys.argv[1]
def fail():
    raise ValueError(f"https://ann:{SECRET}@example.org")
class Holder:
    def __del__(self):
        fail()
warnings.warn(f"https://ann:{SECRET}@example.org")
thread = threading.Thread(target=fail, name=SECRET)
thread.start()
thread.join()
Holder()
fail()
"""


def test_uncaught_exceptions_and_warnings_are_lines_without_messages() -> None:
    result = subprocess.run([sys.executable, "-c", CRASHES, SECRET], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert SECRET not in result.stderr
    lines: list[dict[str, Any]] = [json.loads(line) for line in result.stderr.splitlines()]
    assert [line["event"] for line in lines] == [
        "library.warned",
        "thread.crashed",
        "object.not_released",
        "process.crashed",
    ]
    assert [line["error"]["type"] for line in lines[1:]] == ["ValueError"] * 3
    assert warnings.showwarning.__module__ != "learning_memory_server.system.ending"


@pytest.mark.slow
def test_whatever_the_umask_everything_that_a_process_makes_is_private(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    program = "import os, sys; os.umask(0); from learning_memory_server.__main__ import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", program, "--direct"],
        input=b"",
        capture_output=True,
        check=False,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "LEARNING_MEMORY_EMBEDDING_BACKEND": "hashing"},
    )
    assert result.returncode == 0, result.stderr
    made = list(home.rglob("*"))
    assert any(path.name == "journal" for path in made)
    assert [path for path in made if stat.S_IMODE(path.stat().st_mode) & 0o077] == []
