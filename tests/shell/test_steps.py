"""The steps of a shell text are what it runs, as it is written, without what only shapes or hides the output."""

import pytest

from learning_memory_server.shell.naming import head, looks
from learning_memory_server.shell.steps import STEPS_READ_MAX, read_steps


def steps(text: str) -> list[tuple[str, str]]:
    return [(each.joined, " ".join(each.words)) for each in read_steps(text).steps]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("make lint test", [("", "make lint test")]),
        ("cd 'my app' && make; ls", [("", "cd 'my app'"), ("&&", "make"), (";", "ls")]),
        ("a\nb || c", [("", "a"), ("\n", "b"), ("||", "c")]),
        ("make 2>&1 | tail -3", [("", "make")]),
        ("make | tee log > all", [("", "make"), ("|", "tee log")]),
        ("cat log | sort", [("", "cat log")]),
        ("make || true", [("", "make")]),
        ("make; echo $?", [("", "make")]),
        ("echo hi", [("", "echo hi")]),
        ("pytest 2>/dev/null -x tests", [("", "pytest -x tests")]),
        ("CI=1 make  # all of it", [("", "CI=1 make")]),
        ("for f in a b; do lint $f; done", [("", "lint $f")]),
        ("make && (cd x && lint)", [("", "make"), ("&&", "cd x"), ("&&", "lint")]),
        ("if make; then lint; else fix; fi", [("", "make"), ("\n", "lint"), ("\n", "fix")]),
        ("V=$(git describe) && make", [("", "git describe"), ("&&", "make")]),
        ("V=${X:-a}; make", [(";", "make")]),
        ("cat <<EOF | lint\nrm -rf x\nEOF\nmake", [("", "cat"), ("|", "lint"), ("\n", "make")]),
        ("login --token [redacted: password] now", [("", "login --token redacted now")]),
        ("echo \U0001f600x && run \U0001f600", [("", "echo \U0001f600x"), ("&&", "run \U0001f600")]),
        ("", []),
    ],
)
def test_the_steps_of_a_text(text: str, found: list[tuple[str, str]]) -> None:
    assert steps(text) == found


@pytest.mark.parametrize(
    ("text", "is_certain"),
    [
        ("cd x && make 2>&1 | tail", True),
        ("echo '$(x)' ${HOME} $HOME", True),
        ("make &", False),
        ("(make)", False),
        ("for f in a; do make; done", False),
        ("! make", False),
        ('make "$(date)"', False),
        ("make `date`", False),
        ("diff <(a) <(b)", False),
        ("make ${X:-y}", False),
        ("eval make", False),
        ("[[ -f x ]] && make", False),
        ("cat <<EOF\nx\nEOF", False),
        ("make 'unclosed", False),
        ("make\N{HORIZONTAL ELLIPSIS}", False),
        ("curl -u [redacted: password]", False),
        (f"make {'x' * STEPS_READ_MAX}", False),
    ],
)
def test_whether_the_steps_are_all_that_a_text_does(text: str, *, is_certain: bool) -> None:
    assert read_steps(text).is_certain is is_certain


@pytest.mark.parametrize(
    ("text", "is_hidden", "printed", "unsaid"),
    [
        ("make", False, (), 0),
        ("make | tail", True, (), 1),
        ("make || true", True, (), 1),
        ("make; lint", False, (), 1),
        ("make && lint", False, (), 0),
        ("make; echo $?", True, ("",), 1),
        ('make; echo "exit: $?"', True, ("exit: ",), 1),
        ("make | tail; echo ${PIPESTATUS[0]}", True, ("",), 1),
        ("make | tail; echo $?", True, (), 1),
        ("for f in a b; do make $f; done", False, (), 1),
    ],
)
def test_whether_the_status_of_a_text_is_that_of_its_steps(
    text: str, *, is_hidden: bool, printed: tuple[str, ...], unsaid: int
) -> None:
    found = read_steps(text)
    assert (found.is_hidden, found.printed, found.unsaid) == (is_hidden, printed, unsaid)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("A=1 sudo -u postgres psql -c x", "psql -c x"),
        ("timeout -k 5 60 env B=2 make", "make"),
        ("time nice -n 5 make", "make"),
        ("command -v git", "command -v git"),
        ("npx jest", "npx jest"),
        ("A=1", ""),
        ("sudo", "sudo"),
    ],
)
def test_a_call_begins_with_the_program_that_a_command_is_about(text: str, call: str) -> None:
    assert [" ".join(each.call) for each in read_steps(text).steps] == [call]


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("python3.11 -m pytest -x", (3, "pytest")),
        ("uv run --with x pytest", (5, "pytest")),
        ("yarn lint", (2, "lint")),
        ("yarn exec jest", (3, "jest")),
        ("npx -y jest", (3, "jest")),
        ("poetry run python -m mypy", (5, "mypy")),
        ("docker compose up", (2, "docker-compose")),
        ("./gradlew test", (1, "gradle")),
        ("/usr/bin/make", (1, "/usr/bin/make")),
        ("uv run", (1, "uv")),
    ],
)
def test_the_head_of_a_call_is_its_program_with_its_runner(call: str, found: tuple[int, str]) -> None:
    assert head(call.split()) == found


@pytest.mark.parametrize(
    ("call", "is_look"),
    [
        ("git status", True),
        ("grep -r x", True),
        ("cd x", True),
        ("command -v git", True),
        ("make --help", True),
        ("make -v", True),
        ("make -v all", False),
        ("git push", False),
        ("", True),
    ],
)
def test_a_call_that_only_looks_changes_nothing(call: str, *, is_look: bool) -> None:
    assert looks(call.split()) is is_look


def test_a_deeply_nested_text_is_read() -> None:
    assert read_steps("(" * 3_000 + "make" + ")" * 3_000) is not None
    assert read_steps("echo " + "$(" * 3_000 + ")" * 3_000).is_certain is False
