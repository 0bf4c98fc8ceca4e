"""What was changed from one command to another, and generated changes of which none may be told."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learning_memory_server.learning.failures.changes import applied, change
from learning_memory_server.learning.failures.parse import parse
from learning_memory_server.learning.failures.remedies import remedy_for
from learning_memory_server.learning.failures.sanitize import named_in
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

words = st.lists(st.sampled_from(OPERANDS), min_size=1, max_size=3)


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, str]:  # noqa: PLR0911 - one for each kind
    """Return a command, and the same with an edit of a kind that is not allowed."""
    program, command, operands = draw(st.sampled_from(PROGRAMS)), draw(st.sampled_from(COMMANDS)), draw(words)
    failed = " ".join([program, command, *operands])
    kind = draw(st.integers(0, 7))
    if kind == 0:
        return failed, f"{failed} {draw(st.sampled_from(OPTIONS))}"
    if kind == 1:
        return failed, f"{program} {draw(st.sampled_from(OPTIONS))} {command} {' '.join(operands)}"
    if kind == 2:
        return failed, f"{draw(st.sampled_from(VARIABLES))} {failed}"
    if kind == 3:
        return failed, f"{draw(st.sampled_from(STEPS))} {failed}"
    if kind == 4:
        return failed, f"{failed} {draw(st.sampled_from(ENDS))}"
    if kind == 5:
        return f"{failed} {draw(st.sampled_from(LIMITS))}", failed
    if kind == 6:
        other = draw(st.sampled_from(COMMANDS).filter(lambda other: other != command))
        return failed, " ".join([program, other, *operands])
    others = draw(words.filter(lambda others: others != operands))
    return failed, " ".join([program, command, *others])


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None, database=None, derandomize=True)
@given(edits(), st.booleans())
def test_no_generated_edit_of_another_kind_is_told(edit: tuple[str, str], is_named: bool) -> None:
    failed, succeeded = edit
    error = f"error: it failed; try {succeeded}" if is_named else "error: it failed"
    known = [
        Failure(str(day), "shop", str(day), "error: it failed", failed, NOON + timedelta(days=day), succeeded)
        for day in range(3)
    ]
    assert remedy_for(failed, known, named=named_in(error, failed), session="another") is None


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
