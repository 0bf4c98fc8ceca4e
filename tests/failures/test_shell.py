"""Which programs a shell command runs, each with its words."""

from __future__ import annotations

import pytest

from learning_memory_server.failures.shell import calls, program, steps


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cd web && make all; ls", [["cd", "web"], ["make", "all"], ["ls"]]),
        ("ls; (cd web && make) | tail", [["ls"], ["cd", "web"], ["make"]]),
        ("make lint || (echo no; false) && make test", [["make", "lint"], ["make", "test"]]),
        ("cat > notes <<EOF\nmake all\nEOF\nls", [["cat"], ["ls"]]),
        ("git commit -m 'fix; make it work'", [["git", "commit", "-m"]]),
        ("TOKEN=[redacted: GitHub token] make \\\n  all", [["TOKEN=redacted", "make", "all"]]),
        ("pytest 'an open quote", [["pytest", "an", "open", "quote"]]),
        ("", []),
    ],
)
def test_a_command_is_its_steps(command: str, expected: list[list[str]]) -> None:
    assert steps(command) == expected


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("make test", ["make test"]),
        ("A=1 sudo -E timeout 60s make", ["make"]),
        ("python3 -m pytest -q", ["python3 -m pytest -q", "pytest -q"]),
        (
            "poetry run python -m unittest",
            ["poetry run python -m unittest", "python -m unittest", "unittest"],
        ),
        ("uv --quiet run make", ["uv --quiet run make", "make"]),
        ("python run.py -m fast", ["python run.py -m fast"]),
        ("uv run", ["uv run"]),
        ("A=1", []),
    ],
)
def test_a_step_calls_programs_that_call_others(step: str, expected: list[str]) -> None:
    assert [" ".join(call) for call in calls(step.split())] == expected


@pytest.mark.parametrize("word", ["python", "python3.11", "/usr/bin/python3", r"C:\Python\python"])
def test_a_program_is_named_without_its_folder_and_version(word: str) -> None:
    assert program([word]) == "python"


def test_a_hostile_command_is_read_in_time() -> None:
    for command in ("pnpm exec " * 10_000, "npx " * 10_000, "'" * 10_000 + '"' * 10_000, "<<a " * 10_000):
        assert all(list(calls(step)) for step in steps(command))
