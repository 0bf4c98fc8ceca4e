from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.mutants import CATALOGUE, ROOT, Mutant, main, read

Check = Callable[..., int]

MODULE = """
def total(numbers):
    result = 0
    for number in numbers:
        result += number
    return result


def title():
    return "The total"
"""
TESTS = """
from learning_memory_server.sums import total


def test_a_total_is_a_sum():
    assert total([1, 2]) == 3
"""
KILLED = 'name = "minus"\nsource = "+="\nmutant = "-="\neffect = "Totals are negative."'
SURVIVING = 'name = "untitled"\nsource = "The total"\nmutant = "The sum"\neffect = "Another title."'
HANGING = 'name = "endless"\nsource = "for number in numbers"\nmutant = "while number := 1"\neffect = "It hangs."'
MUTANTS = read(CATALOGUE)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of one module and one test."""
    root = tmp_path / "project"
    for name, text in {
        "learning_memory_server/__init__.py": "",
        "learning_memory_server/sums.py": MODULE,
        "tests/test_sums.py": TESTS,
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture
def check(project: Path, tmp_path: Path) -> Check:
    """Check the project's tests with faults of its module."""

    def run(*mutants: str, options: tuple[str, ...] = ()) -> int:
        catalogue = tmp_path / "mutants.toml"
        catalogue.write_text("\n".join(f'[[mutant]]\nfile = "sums.py"\n{mutant}' for mutant in mutants))
        return main(options, project, catalogue)

    return run


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_every_mutant_fits_the_code_and_has_tests(mutant: Mutant) -> None:
    module = ROOT / "learning_memory_server" / mutant.file
    compile(mutant.applied_to(module.read_text("utf-8")), mutant.file, "exec")
    assert (ROOT / mutant.suite).exists()


def test_every_mutant_has_its_own_name() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_a_list_shows_what_a_user_would_notice(check: Check, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(KILLED, SURVIVING, options=("--list", "minus")) == 0
    assert capsys.readouterr().out == "sums.py: minus: Totals are negative.\n"


@pytest.mark.parametrize(("source", "count"), [("subtract", 0), ("number", 4)])
def test_a_mutant_that_does_not_fit_stops_everything(
    check: Check, capsys: pytest.CaptureFixture[str], source: str, count: int
) -> None:
    assert check(KILLED, SURVIVING.replace("The total", source)) == 2
    assert capsys.readouterr() == ("", f"untitled: its source is in sums.py {count} times, not once.\n")


def test_a_name_of_no_mutant_is_refused(check: Check, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(KILLED, options=("plus",)) == 2
    assert "plus" in capsys.readouterr().err


@pytest.mark.slow
def test_each_mutant_is_killed_by_a_test_or_survives(
    check: Check, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(KILLED, SURVIVING) == 1

    killed, survived, summary = capsys.readouterr().out.splitlines()
    assert killed.startswith("sums.py: minus (")
    assert killed.endswith("killed by tests/test_sums.py::test_a_total_is_a_sum")
    assert survived.endswith("SURVIVED. Another title.")
    assert summary == "2 mutants, 1 survived without an explanation."
    assert (project / "learning_memory_server" / "sums.py").read_text() == MODULE


@pytest.mark.slow
def test_a_survivor_with_an_explanation_is_fine(check: Check, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(SURVIVING + '\nsurvives = "Only people read it."') == 0

    survived, _ = capsys.readouterr().out.splitlines()
    assert survived.endswith("survived: Only people read it.")


@pytest.mark.slow
def test_a_hang_is_no_failure(check: Check, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(HANGING, options=("--seconds", "1")) == 0

    hanging, _ = capsys.readouterr().out.splitlines()
    assert hanging.endswith("killed by the time limit")


@pytest.mark.slow
def test_tests_that_fail_without_a_mutant_prove_nothing(
    check: Check, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "tests" / "test_sums.py").write_text(TESTS.replace("== 3", "== 4"))

    assert check(KILLED) == 2

    assert "tests/test_sums.py fails without a mutant" in capsys.readouterr().err
