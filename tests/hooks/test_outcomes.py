"""Which commands test or build, and what is kept of how they ended."""

import pytest

from learning_memory_server.lessons.errors.outcomes import counts_in, is_test_or_build, run_of, shows_failure
from learning_memory_server.model import limits
from tests.support import NOON


@pytest.mark.parametrize(
    "prefix", ["", "web-1  | ", "2026-01-02T03:04:05.1234567Z ", "[0] ", "\x1b[36mweb-1  | \x1b[0m", "\x1b(B\x1b[m"]
)
def test_counts_are_read_behind_prefixes_of_lines_and_control_sequences(prefix: str) -> None:
    lines = ["collected 7 items", "\x1b[31m== \x1b[1;38:2::255:0:0m2 failed\x1b(B\x1b[m, 5 passed in 0.12s =="]
    counts = counts_in("".join(f"{prefix}{line}\n" for line in lines).replace("== ", "= ").replace(" ==", " ="))
    assert (counts["failed"], counts["passed"]) == (2, 5)


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q",
        "cd src && .venv/bin/pytest tests 2>&1 | tail -5",
        "python3 -m pytest",
        "uv run pytest -k total",
        "poetry run python -m unittest",
        "npm test",
        "npm run test:unit",
        "yarn build",
        "pnpm exec jest",
        "npx vitest run",
        "cargo test --all",
        "cargo nextest run",
        "go test ./...",
        "timeout 60 make check",
        "DEBUG=1 make",
        "ls; (cd web && make)",
        "cmake --build build",
        "./gradlew test",
        "mvn -q verify",
        "dotnet test",
        "bundle exec rspec",
        "pytest 'an open quote",
        "TOKEN=[redacted: GitHub token] npx --yes vitest",
        "pnpm exec " * 20 + "jest",
        "cat > notes <<EOF\nls\nEOF\nmake",
    ],
)
def test_a_step_that_tests_or_builds_is_noticed(command: str) -> None:
    assert is_test_or_build(command)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "ls -la",
        "cat Makefile",
        "echo make",
        "grep -rn pytest .",
        "git commit -m 'fix; make it work'",
        "cat > notes <<EOF\nmake all\nEOF",
        "npm install",
        "cargo run",
        "python build.py",
        "python",
        "uv run",
        "pnpm exec " * 1000,
        "'",
    ],
)
def test_other_commands_are_not(command: str) -> None:
    assert not is_test_or_build(command)


@pytest.mark.parametrize(
    ("output", "failed", "passed", "skipped"),
    [
        ("E  assert 1 == 2\n\n= 2 failed, 5 passed, 1 skipped in 0.12s =", 2, 5, 1),
        ("\x1b[32m7 passed\x1b[0m, 2 warnings in 1.2s", None, 7, None),
        ("1 error in 0.2s", 1, None, None),
        ("     Summary [   0.1s] 5 tests run: 4 passed, 1 failed, 0 skipped", 1, 4, 0),
        ("test result: ok. 3 passed; 0 failed; 1 ignored\ntest result: FAILED. 1 passed; 2 failed; 0 ignored", 2, 4, 1),
        ("Test Suites: 1 failed, 1 total\nTests:       1 failed, 5 passed, 6 total", 1, 5, None),
        ("      Tests  1 failed | 5 passed (6)", 1, 5, None),
        ("  5 passing (10ms)\n  1 failing", 1, 5, None),
        ("Ran 5 tests in 0.1s\n\nOK", None, 5, None),
        ("Ran 5 tests in 0.1s\n\nFAILED (failures=1, errors=2)", 3, 2, None),
        ("[ERROR] Tests run: 10, Failures: 1, Errors: 0, Skipped: 2", 1, 7, 2),
        ("Failed!  - Failed:     1, Passed:     5, Skipped:     0, Total:     6", 1, 5, 0),
        (" 5 pass\n 1 skip\n 2 fail\n 9 expect() calls\nRan 8 tests across 2 files. [9ms]", 2, 5, 1),
        ("10 tests completed, 2 failed, 1 skipped", 2, 7, 1),
    ],
)
def test_the_counts_of_common_programs_are_read(
    output: str, failed: int | None, passed: int | None, skipped: int | None
) -> None:
    counts = counts_in(f"some text\n{output}\n")

    assert (counts.get("failed"), counts.get("passed"), counts.get("skipped")) == (failed, passed, skipped)


@pytest.mark.parametrize("output", ["", "ok  \tshop/cart\t0.1s", "we passed 5 passed checkpoints"])
def test_an_output_without_a_summary_has_no_counts(output: str) -> None:
    assert counts_in(output) == {}


def test_a_failing_run_is_its_command_its_status_and_its_counts_and_nothing_of_its_output() -> None:
    error = "Exit code 1\nsecret words of the output\n= 1 failed, 3 passed in 0.1s ="

    run = run_of("pytest -q", "", error, at=NOON, project="shop", folder="/home/ann/shop")

    assert run is not None
    assert str(run) == "pytest -q: exit 1, 1 failed, 3 passed"
    assert "secret" not in repr(run)


def test_a_run_that_succeeds_has_status_0() -> None:
    run = run_of("make", "all is well", "", at=NOON, project="shop", folder="")

    assert run is not None
    assert str(run) == "make: exit 0"


@pytest.mark.parametrize("error", ["The user does not want this.", "Command timed out after 2m 0s"])
def test_a_command_that_did_not_end_by_itself_is_no_run(error: str) -> None:
    assert run_of("pytest", "", error, at=NOON, project="shop", folder="") is None


def test_a_command_is_shown_without_paths_of_the_machine_and_on_one_line() -> None:
    run = run_of(
        "cd /home/ann/shop &&\n  /home/ann/.cargo/bin/cargo test --manifest-path /home/ann/shop/Cargo.toml",
        *("", ""),
        at=NOON,
        project="acme/shop",
        folder="/home/ann/shop",
    )
    assert run
    assert run.command == "cd . && ~/.cargo/bin/cargo test --manifest-path Cargo.toml"
    long = run_of("pytest " + "x" * 1000, "", "", at=NOON, project="shop", folder="")
    assert long
    assert len(long.command) == limits.RUN_COMMAND_MAX


@pytest.mark.parametrize(
    ("command", "output", "is_failure"),
    [
        ("pytest | tail", "= 1 failed, 5 passed in 0.12s =", True),
        ("pytest 2>&1 | tail -5", "= 6 passed in 0.12s =", False),
        ("pytest | tail", "", False),
        ("pytest | tee log", "FAILED a.py::b\n= 1 failed in 0.12s =", True),
        ("pytest | python sum_up.py", "= 1 failed, 5 passed in 0.12s =", True),
        ("pytest || true", "= 1 failed in 0.12s =", True),
        ("pytest; ls", "= 1 failed in 0.12s =\na.py", True),
        ("pytest; echo $?", "1", True),
        ("pytest; echo $?", "error: it was expected\n0", False),
        ("mypy . | tail -1", "Found 2 errors in 1 file (checked 3 source files)", True),
        ("mypy . | tail -1", "Success: no issues found in 3 source files", False),
        ("npx eslint . | tail", "\u2716 3 problems (1 error, 2 warnings)", True),
        ("make lint | tail", "make: *** No rule to make target 'lint'.  Stop.\nerror: no lint", True),
        # The status says it
        ("pytest", "= 1 failed in 0.12s =", False),
        ("cd app && pytest", "= 1 failed in 0.12s =", False),
        ("cd app; pytest", "= 1 failed in 0.12s =", False),
        ("cat log | tail", "= 1 failed in 0.12s =", False),
    ],
)
def test_where_the_status_says_nothing_the_output_shows_that_a_check_failed(
    command: str, output: str, *, is_failure: bool
) -> None:
    assert shows_failure(command, output) is is_failure
