"""Check that the tests catch faults: inject one fault at a time into a copy of the project, and run the module's tests.

The faults are in mutants.toml: a few lines of a module, what to put in their place, and what a user would notice. A
module's tests are the folder of the same name: tests/journal for journal/log.py. Fast tests run first, then slow ones,
until one fails.

Exit status: 0 if the tests caught every fault, except those whose survival mutants.toml explains; 1 if they did not;
2 if nothing can be concluded, because a fault no longer fits the code, or tests fail without one.
"""

import argparse
import compileall
import os
import py_compile
import queue
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

ROOT: Final = Path(__file__).parent.parent
CATALOGUE: Final = Path(__file__).with_suffix(".toml")
_PACKAGE: Final = "learning_memory_server"
_LEFT_OUT: Final = shutil.ignore_patterns(".*", "__pycache__")
"""The virtual environment, the repository, caches."""
_PYTEST: Final = ("-m", "pytest", "-x", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", "--hypothesis-seed=0")
_MARKERS: Final = ("not slow", "slow")
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_NO_TESTS: Final = 5
"""What pytest returns if no test has the marker."""
_UNUSABLE: Final = (3, 4)
"""What pytest returns if it failed internally, or was called incorrectly."""
_END_SECONDS: Final = 10.0
"""How long interrupted tests may take to clean up."""


class UnusableError(Exception):
    """Nothing can be concluded about the tests; the message says why."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault.

    Args:
        name: What to call it.
        file: The module, relative to the package.
        source: Text that is in the module exactly once.
        mutant: What to put in its place.
        effect: What a user would notice.
        tests: The tests that should notice it, relative to the project; by default the module's.
        survives: Why they cannot, or need not; empty if they must.
    """

    name: str
    file: str
    source: str
    mutant: str
    effect: str
    tests: str = ""
    survives: str = ""

    @property
    def suite(self) -> str:
        """The tests to run, relative to the project."""
        if self.tests:
            return self.tests
        if "/" not in self.file:
            return f"tests/test_{self.file}"
        folder = Path("tests", self.file).parent
        return str(next(place for place in (folder, *folder.parents) if (ROOT / place).is_dir()))

    def applied_to(self, text: str) -> str:
        """Return the module's text with the fault in it.

        Raises:
            UnusableError: If `source` is not there exactly once.
        """
        if (count := text.count(self.source)) != 1:
            raise UnusableError(f"{self.name}: its source is in {self.file} {count} times, not once.")
        return text.replace(self.source, self.mutant)


@dataclass(frozen=True, slots=True)
class Run:
    """A run of tests.

    Args:
        failure: The first test that failed, or what else ended the run; empty if all tests passed.
        seconds: How long it took.
    """

    failure: str
    seconds: float


def main(arguments: Sequence[str] | None = None, root: Path = ROOT, catalogue: Path = CATALOGUE) -> int:
    """Run the tests against the chosen faults and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="only faults with one of these in their name or module")
    parser.add_argument("--list", action="store_true", help="list the faults and run nothing")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many to run at a time")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="how much longer tests may take than without a fault"
    )
    options = parser.parse_args(arguments)
    try:
        chosen = chosen_from(read(catalogue), options.names)
        for mutant in chosen:
            mutant.applied_to((root / _PACKAGE / mutant.file).read_text("utf-8"))
        if options.list:
            for mutant in chosen:
                print(f"{mutant.file}: {mutant.name}: {mutant.effect}")  # noqa: T201 - a command
            return 0
        return 1 if _survivors(chosen, root, options.jobs, options.seconds) else 0
    except UnusableError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 2


def read(catalogue: Path) -> list[Mutant]:
    """Return the faults of a catalogue, in its order."""
    return [Mutant(**each) for each in tomllib.loads(catalogue.read_text("utf-8"))["mutant"]]


def chosen_from(mutants: Sequence[Mutant], names: Sequence[str]) -> list[Mutant]:
    """Return the faults with one of the names in their name or module; all of them without names.

    Raises:
        UnusableError: If there are none.
    """
    chosen = [each for each in mutants if not names or any(n in each.name or n in each.file for n in names)]
    if not chosen:
        raise UnusableError(f"No mutant has {' or '.join(names)} in its name or module; see --list.")
    return chosen


def _survivors(mutants: Sequence[Mutant], root: Path, jobs: int, seconds: float) -> int:
    """Print a line for each fault, and return how many survived without an explanation."""
    survivors = 0
    with TemporaryDirectory(prefix="mutants-") as folder, ExitStack() as stack:
        pool = ThreadPoolExecutor(jobs)
        # If this is interrupted, tests that have not begun never run.
        stack.callback(pool.shutdown, cancel_futures=True)
        copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for copy in pool.map(lambda number: _copied(root, Path(folder, str(number))), range(jobs)):
            copies.put(copy)

        def run(suite: str, limit: float | None, mutant: Mutant | None = None) -> Run:
            copy = copies.get()
            try:
                with _mutated(copy, mutant):
                    return _run(copy, suite, limit)
            finally:
                copies.put(copy)

        suites = list(dict.fromkeys(mutant.suite for mutant in mutants))
        unchanged = dict(zip(suites, pool.map(lambda suite: run(suite, None), suites), strict=True))
        for suite, result in unchanged.items():
            if result.failure:
                raise UnusableError(f"{suite} fails without a mutant: {result.failure}")
        results = pool.map(lambda each: run(each.suite, unchanged[each.suite].seconds + seconds, each), mutants)
        for mutant, result in zip(mutants, results, strict=True):
            survivors += not (result.failure or mutant.survives)
            print(_line(mutant, result), flush=True)  # noqa: T201
    print(f"{len(mutants)} mutants, {survivors} survived without an explanation.")  # noqa: T201
    return survivors


def _line(mutant: Mutant, result: Run) -> str:
    if result.failure:
        verdict = f"killed by {result.failure}"
        if mutant.survives:
            verdict += ", although mutants.toml explains why it survives"
    elif mutant.survives:
        verdict = f"survived: {mutant.survives}"
    else:
        verdict = f"SURVIVED. {mutant.effect}"
    return f"{mutant.file}: {mutant.name} ({result.seconds:.0f} s): {verdict}"


def _copied(root: Path, copy: Path) -> Path:
    """Copy the project, without what is hidden, and return the copy."""
    shutil.copytree(root, copy, ignore=_LEFT_OUT)
    # Compared by content: a mutant may be as long as the original and be written in the same second.
    checked = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(copy / _PACKAGE, quiet=1, invalidation_mode=checked)
    return copy


@contextmanager
def _mutated(copy: Path, mutant: Mutant | None) -> Iterator[None]:
    if mutant is None:
        yield
        return
    module = copy / _PACKAGE / mutant.file
    original = module.read_text("utf-8")
    module.write_text(mutant.applied_to(original), "utf-8")
    try:
        yield
    finally:
        module.write_text(original, "utf-8")


def _run(copy: Path, suite: str, limit: float | None) -> Run:
    """Run tests in a copy until one fails, or for `limit` seconds.

    Raises:
        UnusableError: If there are no such tests, or pytest itself failed.
    """
    started = time.monotonic()
    ran = False
    for marker in _MARKERS:
        code, output = _pytest(copy, suite, marker, limit and limit - (time.monotonic() - started))
        ran = ran or code != _NO_TESTS
        if code is None:
            return Run("the time limit", time.monotonic() - started)
        if code in _UNUSABLE:
            raise UnusableError(f"pytest could not run {suite}:\n{output}")
        if code not in (0, _NO_TESTS):
            found = _FAILED.search(output)
            return Run(found[1] if found else f"a crash of pytest ({code})", time.monotonic() - started)
    if not ran:
        raise UnusableError(f"There are no tests in {suite}.")
    return Run("", time.monotonic() - started)


def _pytest(copy: Path, suite: str, marker: str, limit: float | None) -> tuple[int | None, str]:
    """Return pytest's exit status, or None if the seconds were over, and its output."""
    # The copy comes before the package that is installed, in the processes that tests start, too.
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.Popen(
        [sys.executable, *_PYTEST, "-m", marker, suite],
        cwd=copy,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        return None, ""
    finally:
        _end(process)
    return process.returncode, output


def _end(process: subprocess.Popen[str]) -> None:
    """End tests that are still running: like Ctrl-C, so that they clean up, then by force."""
    for sign in (signal.SIGINT, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, sign)
            try:
                process.communicate(timeout=_END_SECONDS)
            except subprocess.TimeoutExpired:
                continue


if __name__ == "__main__":
    sys.exit(main())
