from __future__ import annotations

import pytest

from learning_memory_server.failures.commands import are_similar, change, likeness, parse


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("python3 ./tests/run.py", {"python3", "tests/run.py"}),
        ("pytest -q 2>&1 | tail -20", {"pytest", "-q"}),
        ("make test || true", {"make", "test"}),
        ("make test > /tmp/log 2>/tmp/errors", {"make", "test"}),
        ("make lint || (echo no; false) && make test", {"make", "lint", "test"}),
        ("cd shop && npm test", {"cd", "shop", "npm", "test"}),
        ("git commit -m 'a longer message'", {"git", "commit", "-m"}),
        ("python3 - <<'EOF'\nimport this\nEOF\nls src/", {"python3", "-", "ls", "src"}),
        ('PYTHONPATH=src python3 -c "import a; print(a)"', {"PYTHONPATH=src", "python3", "-c"}),
        ("echo don't", {"echo", "dont"}),
        ("", set()),
        ("   \n ", set()),
    ],
)  # fmt: skip
def test_words_are_what_a_command_does(text: str, words: set[str]) -> None:
    assert parse(text).words == words


@pytest.mark.parametrize(
    ("text", "programs"),
    [
        ("/usr/bin/python3.11 a.py", {"python"}),
        ("sudo -E timeout 20 pip3 install x", {"pip"}),
        ("A=1 B=2 make", {"make"}),
        ("cd x && cargo build", {"cargo"}),
        ("cd x", {"cd"}),
        ("python3 -m pytest -q", {"pytest"}),
        ("uv run pytest", {"pytest"}),
        ("npx tsc --noEmit", {"npx"}),
        ("python3 run.py -m fast", {"python"}),
    ],
)
def test_programs_are_named_without_their_folder_version_and_wrappers(text: str, programs: set[str]) -> None:
    assert parse(text).programs == programs


@pytest.mark.parametrize(
    ("failed", "succeeded"),
    [
        ("python test_issue.py", "python3 test_issue.py"),
        ("python -m pytest -q", "python3 -m pytest -q"),
        ("pytest tests/a.py", "cd shop && python3 -m pytest tests/a.py"),
        ("pip install -e shop", "pip install -e ."),
        ("git -C shop add -A", "git add -A"),
        ("pip install shop", "pip3 install -e ."),
        ("cd shop && ls", "ls"),
        ("make", "make -j1"),
    ],
)
def test_commands_that_try_the_same_are_similar(failed: str, succeeded: str) -> None:
    assert are_similar(parse(failed), parse(succeeded))


@pytest.mark.parametrize(
    ("failed", "succeeded"),
    [
        ("cd shop && python test_issue.py", "cd shop && python --version"),
        ("pytest -q", "which pytest"),
        ("python test_issue.py", "cat test_issue.py"),
        ("git -C shop add -A", "git log --oneline -n 5"),
        ("python a.py", "python3 b.py"),
        ("make test", ""),
        ("", ""),
    ],
)
def test_other_programs_other_words_and_questions_are_not(failed: str, succeeded: str) -> None:
    assert not are_similar(parse(failed), parse(succeeded))


def test_a_change_is_the_words_that_came_and_went() -> None:
    made = change(parse("cd shop && python run.py"), parse("python3 run.py 2>&1 | head"))
    assert sorted(made.added) == ["python3"]
    assert sorted(made.removed) == ["cd", "python", "shop"]
    assert made
    assert not change(parse("make test"), parse("make test | tail -3"))


def test_changes_agree_if_they_added_or_removed_one_of_the_same_words() -> None:
    one = change(parse("python a.py"), parse("python3 a.py"))
    assert one.agrees_with(change(parse("python b.py"), parse("python3 -X dev b.py")))
    assert not one.agrees_with(change(parse("python3 a.py"), parse("python a.py")))
    assert not one.agrees_with(change(parse("python a.py"), parse("python a.py")))


def test_likeness_is_the_share_of_common_words() -> None:
    assert likeness(parse("make test"), parse("make test")) == 1
    assert likeness(parse("make test"), parse("make lint")) == pytest.approx(1 / 3)
    assert likeness(parse("make"), parse("ls")) == 0
    assert likeness(parse(""), parse("")) == 1


def test_a_hostile_command_is_parsed_in_time() -> None:
    parse("'" * 100_000 + '"' * 100_000)
    parse("<<a " * 50_000)
    parse("a\\" * 100_000)
