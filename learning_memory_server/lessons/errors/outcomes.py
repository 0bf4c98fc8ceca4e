"""The end of a test or build command: its recognition, and the counts of tests in its output."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import dropwhile
from typing import Any, Final

from learning_memory_server.lessons.errors.prefixes import without_prefixes
from learning_memory_server.lessons.errors.sanitize import shows_error, tidied
from learning_memory_server.model import limits
from learning_memory_server.model.entry import Run
from learning_memory_server.model.lines import one_line, shortened
from learning_memory_server.shell.naming import head, looks, program
from learning_memory_server.shell.steps import read_steps
from learning_memory_server.system.terminal import without_controls

_EXAMINED: Final = 8_000  # Characters of a command, and of the end of an output, that are read

_ANY: Final = frozenset[str]()
_PROGRAMS: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("pytest", "py.test", "tox", "nox", "unittest", "make", "gmake", "ninja", "ctest"), _ANY),
    **dict.fromkeys(("jest", "vitest", "mocha", "ava", "rspec", "phpunit", "tsc", "just"), _ANY),
    "cargo": frozenset({"test", "t", "build", "b", "check", "c", "clippy", "nextest", "bench"}),
    "go": frozenset({"test", "build", "vet", "install"}),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), frozenset({"test", "t", "build"})),
    **dict.fromkeys(("gradle", "gradlew"), frozenset({"test", "build", "check", "assemble"})),
    **dict.fromkeys(("mvn", "mvnw"), frozenset({"test", "verify", "package", "install", "compile"})),
    **dict.fromkeys(("dotnet", "bazel", "swift", "mix", "zig"), frozenset({"test", "build", "compile"})),
    **dict.fromkeys(("rake", "rails", "playwright", "deno", "dune", "stack", "cabal"), frozenset({"test", "build"})),
    "cmake": frozenset({"--build"}),
    "docker": frozenset({"build"}),
}
"""The programs that test or build, with a required word; empty for programs that do nothing else."""
_BY_NAME: Final = frozenset({"npx", "bunx", "pnpm", "yarn"})  # Programs that also run another one after their name
_CHECKS: Final = re.compile(
    r"test|spec|lint|check|repro|debug|build|compile|ruff|flake8|mypy|pyright|black|isort|prettier|biome|rubocop|tidy"
    r"|bandit|clippy|vet\b|tsc\b",
    re.IGNORECASE,
)
"""Words of a command that looks for mistakes in the user's code."""
_ANSWERING: Final = frozenset(
    """
    grep egrep fgrep rg ag ack diff cmp comm test [ expr gh glab git curl wget ping nc ssh pgrep pidof systemctl service
    kubectl docker podman jq yq find which command type true false timeout lsof pg_isready dpkg rpm brew npm pip env
    """.split()
)
"""Programs whose exit status is an answer, or another program's."""
_VERSIONING: Final = frozenset({"git", "gh"})
_TIMED_OUT, _STOPPED = 124, 126  # From 126 on, a shell says that it could not run a program, or that a signal ended it
_EXIT: Final = re.compile(r"\s*(?:Exit code|Command failed with exit code|exit status:?)\s*(\d{1,3})\b", re.IGNORECASE)

_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("passed", "passing", "pass"), "passed"),
    **dict.fromkeys(("failed", "failing", "failures", "fail", "error", "errors"), "failed"),
    **dict.fromkeys(("skipped", "skip", "ignored", "pending", "todo"), "skipped"),
}
_COUNT: Final = re.compile(rf"\b(\d+) ({'|'.join(_WORDS)})\b")
_NAMED_COUNT: Final = re.compile(r"\b(failures|errors|skipped|failed|passed)\s*[=:]\s*(\d+)", re.IGNORECASE)
_SUMMARIES: Final = (
    # pytest: = 2 failed, 5 passed in 0.12s =. nextest: Summary [0.1s] 5 tests run: 4 passed, 1 failed, 0 skipped
    re.compile(
        r"^(?:=+ )?(?:\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?)(?:, )?)+ in [\d.]+.*$"
    ),
    re.compile(r"^\s*Summary \[.*\b\d+ (?:passed|failed).*$"),
    # Jest: Tests: 1 failed, 5 passed, 6 total. Vitest: Tests  1 failed | 5 passed (6)
    re.compile(r"^\s*Tests:?\s+\d+ (?:passed|failed|skipped|todo).*$"),
    # Gradle: 10 tests completed, 2 failed. ctest: 90% tests passed, 1 tests failed out of 10
    re.compile(r"^\s*\d+ tests completed, .*\d failed.*$"),
    # Maven and .NET: Tests run: 10, Failures: 1, Errors: 0, Skipped: 0. Failed: 1, Passed: 5, Skipped: 0
    re.compile(r"^.*Fail(?:ures|ed):\s+\d+, (?:Errors|Passed):\s+\d+.*$"),
    # unittest, such as FAILED with failures=1, errors=2 in brackets.
    re.compile(r"^(?:FAILED|OK) \(\w[^)]*=\d+\)$"),
)
"""Lines that say how the tests of a run ended; the last one counts."""
_CARGO: Final = re.compile(r"^test result: \w+\. .*$")  # There is one of each crate, and they add up
_MOCHA: Final = re.compile(
    r"^\s*\d+ (?:(?:passing|failing|pending)\b.*|(?:pass|fail|skip|todo|errors?)\s*)$"
)  # Also bun's
_RAN: Final = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
_FOUND: Final = re.compile(r"^\W{0,9}(?:found )?[1-9]\d* (?:errors?|problems?)\b", re.IGNORECASE | re.MULTILINE)
"""How linters and type checkers sum up."""
_TESTS_RUN: Final = re.compile(r"Tests run: (\d+)")


def is_test_or_build(command: str) -> bool:
    """Return whether one of a command's steps tests or builds."""
    return any(_is_such(step.call) for step in read_steps(command).steps if step.call)


def is_check(command: str) -> bool:
    """Return whether a command fails because of the user's code: a test, build, linter or type check."""
    steps = [step for step in read_steps(command).steps if step.call and not looks(step.call)]
    # What git is given is a message or a name.
    words = (word for step in steps if program(step.call) not in _VERSIONING for word in step.words)
    return is_test_or_build(command) or any(map(_CHECKS.search, words))


def silent_signature(command: str, output: str) -> str | None:
    """Return what names the failure of a command whose output names no error: its exit status, if that is a failure.

    None where a status is an answer, or says that somebody stopped the command.
    """
    status, read = exit_status(output), read_steps(command)
    names = {head(step.call)[1] for step in read.steps if step.call} - {"cd"}
    is_said = status is not None and 0 < status < _STOPPED and status != _TIMED_OUT
    if not is_said or not names or names & _ANSWERING or read.only_looks or is_check(command) or not read.is_certain:
        return None
    return f"{' '.join(sorted(names))}: exit status {status}"


def run_of(command: str, output: str, error: str, *, at: datetime, project: str, folder: str) -> Run | None:
    """Return how a command ended, None if it neither tests nor builds; `error` is the client's text of a failure."""
    status = exit_status(error) if error else 0
    if status is None or not is_test_or_build(command):
        return None
    shown = shortened(one_line(tidied(command[:_EXAMINED], project, folder or None)), limits.RUN_COMMAND_MAX)
    return Run(at, shown, status, **counts_in(error or output))


def exit_status(error: str) -> int | None:
    """Return the exit status at the start of a client's text about a failed command; None without one."""
    found = _EXIT.match(error)
    return int(found[1]) if found else None


def counts_in(output: str) -> dict[str, Any]:
    """Return how many tests passed, failed and were skipped, if an output says it."""
    lines = [without_prefixes(line) for line in without_controls(output[-_EXAMINED:]).splitlines()]
    if cargo := [line for line in lines if _CARGO.match(line)]:
        return _sum(cargo)
    for pattern in _SUMMARIES:
        if found := [line for line in lines if pattern.match(line)]:
            return _completed(_sum(found[-1:]), found[-1], output)
    if mocha := [line for line in lines if _MOCHA.match(line)]:
        return _sum(mocha)
    if ran := _RAN.search("\n".join(lines)):
        return {"passed": int(ran[1])}
    return {}


def tests_passed(command: str, output: str) -> bool:
    """Return whether a command only runs tests, and its output counts some that passed and none that failed."""
    counts = counts_in(output)
    calls = [step for step in read_steps(command).steps if step.folder is None]
    return len(calls) == 1 and is_test_or_build(command) and bool(counts.get("passed")) and not counts.get("failed")


def statuses_in(command: str, output: str) -> list[str]:
    """Return the exit statuses that an output says; one that stands alone counts if nothing follows."""
    steps, found = read_steps(command), list[str]()
    for text in steps.printed:
        statuses = re.findall(rf"^{re.escape(text)}(\d{{1,3}})\b", output, re.MULTILINE)
        found += statuses if text.strip() else statuses[-1:] if steps.is_hidden else []
    return found


def shows_failure(command: str, output: str) -> bool:
    """Return whether an output shows a failure that the status of a command does not say, as that of `pytest | tail`.

    Without a sign of it, nobody knows: then it counts as passed.
    """
    steps = read_steps(command)
    joined = [*(each.joined for each in steps.steps[1:]), "|" if steps.is_hidden else "&&"]
    calls = zip(steps.steps, joined, strict=False)
    if not any(behind != "&&" and not looks(each.call) for each, behind in calls):
        return False
    if statuses := statuses_in(command, output):
        return not set(statuses) <= {"0"}
    if counts_in(output).get("failed") or _FOUND.search(output[-_EXAMINED:]):
        return True
    return shows_error(output) and not tests_passed(command, output)


def _is_such(call: Sequence[str]) -> bool:
    length, _ = head(call)
    named = list(dropwhile(lambda word: word.startswith("-"), call[1:])) if program(call) in _BY_NAME else []
    return any(map(_tests_or_builds, filter(None, (call, call[length - 1 :], named))))


def _tests_or_builds(call: Sequence[str]) -> bool:
    wanted = _PROGRAMS.get(program(call))
    # `test:unit` is a script that tests.
    return wanted is not None and (not wanted or any(word.partition(":")[0] in wanted for word in call[1:5]))


def _sum(lines: list[str]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for line in lines:
        for count, word in _COUNT.findall(line):
            counts[_WORDS[word]] += int(count)
        for word, count in _NAMED_COUNT.findall(line):
            counts[_WORDS[word.lower()]] += int(count)
    return dict(counts)


def _completed(counts: dict[str, int], line: str, output: str) -> dict[str, int]:
    """Return the counts, with passed ones computed where only the number of all tests is given."""
    ran = _TESTS_RUN.search(line) or _RAN.search(output) or re.match(r"\s*(\d+) tests completed", line)
    if "passed" in counts or not ran:
        return counts
    return {**counts, "passed": max(int(ran[1]) - sum(counts.values()), 0)}
