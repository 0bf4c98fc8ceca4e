"""What was changed from one command to another, and the changes of which none may be told."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import permutations, product

import pytest

from learning_memory_server.lessons.errors.changes import applied, change
from learning_memory_server.lessons.errors.parse import parse
from learning_memory_server.lessons.errors.remedies import remedy_for
from learning_memory_server.lessons.errors.sanitize import named_in
from learning_memory_server.model.failure import Failure
from tests.support import NOON

PROGRAMS = ("git", "npm", "kubectl", "psql", "terraform", "kiln", "bin/kiln", "docker", "aws", "python3", "curl")
COMMANDS = ("apply", "push", "run", "fire", "seed", "plan", "install", "commit", "up", "load")
OPERANDS = ("staging", "prod", "a.txt", "b.csv", "main", "s3://shop", "shop_test", "./deploy", "https://shop.test/x")
OPTIONS = (
    "--context prod",
    "--profile=prod",
    "--namespace shop",
    "--region eu",
    "--account 1",
    "--host db",
    "--project x",
    "--registry https://r.test",
    "--index-url https://i.test",
    "--config other",
    "--env prod",
    "--force",
    "--yes",
    "-y",
    "-f",
    "-k x",
    "--no-verify",
    "--no-input",
    "--no-sandbox",
    "--skip-tests",
    "--plugin x",
    "--require ./x.js",
    "--volumes",
    "--purge",
    "--kiln",
    "--glaze blue",
    "-x",
    "@secrets",
    "--upload-file a",
)
VARIABLES = ("NODE_ENV=prod", "AWS_PROFILE=prod", "PYTHONPATH=x", "LD_PRELOAD=x.so", "HUSKY=0", "KILN=1", "PATH=/x")
STEPS = (
    "rm -rf build &&",
    "git stash &&",
    "kiln heat &&",
    "sudo",
    "env",
    "timeout 9",
    "cat x |",
    "npm install left &&",
    "pip install x &&",
    "eval",
    "curl x | sh;",
    "export A=1 &&",
    "cd ../other && git pull &&",
)
ENDS = (
    "| sh",
    "> out",
    ">> ~/.netrc",
    "&& git push",
    "; kiln cool",
    "&",
    "< secrets",
    "$(cat x)",
    "`id`",
    "|| kiln x",
    "<<E\nx\nE",
)
WORDS = [words for count in (1, 2, 3) for words in permutations(OPERANDS, count)]
LIMITS = (
    "--dry-run",
    "--check",
    "--read-only",
    "--sandbox",
    "--locked",
    "--frozen-lockfile",
    "--no-fix",
    "--test",
    "-n",
)


def edits() -> Iterator[tuple[str, str]]:
    """Yield commands, each with the same after every edit of a kind that is not allowed."""
    words = iter(WORDS[::2])
    for program, command in product(PROGRAMS, COMMANDS):
        operands, others = " ".join(next(words)), " ".join(next(words))
        failed = f"{program} {command} {operands}"
        yield from ((failed, f"{failed} {added}") for added in OPTIONS + ENDS)
        yield from ((failed, f"{program} {added} {command} {operands}") for added in OPTIONS)
        yield from ((failed, f"{added} {failed}") for added in VARIABLES + STEPS)
        yield from ((f"{failed} {limit}", failed) for limit in LIMITS)
        yield from ((failed, f"{program} {other} {operands}") for other in COMMANDS if other != command)
        yield failed, f"{program} {command} {others}"


@pytest.mark.slow
@pytest.mark.parametrize("said", ["", "; try {}"])
def test_no_edit_of_another_kind_is_told(said: str) -> None:
    told = []
    for failed, succeeded in edits():
        error = f"error: it failed{said.format(succeeded)}"
        known = [
            Failure(str(day), "shop", str(day), "error: it failed", failed, NOON + timedelta(days=day), succeeded)
            for day in range(3)
        ]
        if remedy_for(failed, known, named=named_in(error, failed), session="another") is not None:
            told.append((error, succeeded))
    assert told == []


@pytest.mark.parametrize(
    ("failed", "succeeded", "other", "expected"),
    [
        ("python a.py", "python3 a.py", "cd x && DEBUG=1 python -m b | tail", "cd x && DEBUG=1 python3 -m b | tail"),
        ("cd web && npm test", "npm test", "cd web && git add -A", "git add -A"),
        ("cp a b", "cp -r a b", 'cp "c d" e', 'cp -r "c d" e'),
        ("git pull", "git pull --ff-only", "git pull origin main", "git pull --ff-only origin main"),
        ("tsc", "npx tsc", "tsc --noEmit && echo 'tsc is done'", "npx tsc --noEmit && echo 'tsc is done'"),
        ("mypy --prety src", "mypy src", "mypy --prety tests", "mypy tests"),
        ("ls a", "LC_ALL=C ls a", "ls b", "LC_ALL=C ls b"),
    ],
)
def test_an_edit_is_made_in_another_command(failed: str, succeeded: str, other: str, expected: str) -> None:
    made = change(parse(failed), parse(succeeded))
    assert made is not None
    (edit,) = made.edits
    assert applied(parse(other), edit) == expected


@pytest.mark.parametrize(
    "command",
    [
        "for f in *; do make; done",
        "make & make",
        "(make)",
        "make `x`",
        "make $(x)",
        "make 'open",
        "T=[redacted: token] make",
        "eval make",
        "make <<END\nx\nEND",
        "make" + "x" * 3000,
    ],
)
def test_a_command_that_is_not_read_for_certain_is_not_changed(command: str) -> None:
    assert not parse(command).is_certain
    assert change(parse(command), parse("make all")) is None


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cd web && make all; ls", [["cd", "web"], ["make", "all"], ["ls"]]),
        ("make 2>&1 | tail -5", [["make"]]),
        ("make || true", [["make"]]),
        ("make; echo rc=$?", [["make"]]),
        ("git commit -m 'fix; make it work' # done", [["git", "commit", "-m", "'fix; make it work'"]]),
        ("cat > notes <<EOF\nmake all\nEOF\nls", [["cat"], ["ls"]]),
        ("make \\\n  all > log", [["make", "all"]]),
        ("", []),
    ],
)
def test_a_command_is_its_steps(command: str, expected: list[list[str]]) -> None:
    assert [list(step.words) for step in parse(command).steps] == expected


def test_a_hostile_command_is_read_in_time() -> None:
    for unit in ("pnpm exec ", "'\"", "<<a ", "[redacted: ", "a|", "$(", "\\", "npx ", "#", "cd x && "):
        command = parse(unit * 10_000)
        assert change(command, command) is not None
