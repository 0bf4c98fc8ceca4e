"""Other memories in the run of `benchmarks.recurrence`."""

from pathlib import Path

import pytest

from benchmarks.memories import MemoryMissingError, Moment, run

HERE = Path(__file__).parents[2] / "benchmarks" / "memories"
ERROR = "ImportError: No module named numpyx"
MOMENTS = [
    Moment("failure", "s1", "shop", "pytest x", ERROR, has_failed=True, key="first"),
    Moment("command", "s1", "shop", "pytest x", ERROR, has_failed=True),
    Moment("lesson", "s1", "shop", f"{ERROR} pytest x", "python3 -m pytest x"),
    Moment("failure", "s2", "shop", "pytest x", ERROR, has_failed=True, key="again"),
    Moment("failure", "s2", "other", "pytest x", ERROR, has_failed=True, key="elsewhere"),
]


def test_a_file_of_lessons_says_what_was_learned_before_and_nothing_once_that_is_forgotten() -> None:
    said, went = run(HERE / "grep.py", MOMENTS)
    assert said == {"again": "python3 -m pytest x"}
    assert went.pop("version").startswith("grep ")
    assert went == {"memory_failed": 0, "adapter_failed": 0, "first_failure": "", "after_forgetting": 0}


@pytest.mark.parametrize("name", ["server_memory", "claude_mem", "deja_vu"])
def test_a_memory_that_is_not_installed_is_said_to_be_missing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("SERVER_MEMORY", "CLAUDE_MEM"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MemoryMissingError):
        run(HERE / f"{name}.py", MOMENTS)


def test_what_fails_in_a_memory_is_told_from_what_fails_in_its_file(tmp_path: Path) -> None:
    file = tmp_path / "odd.py"
    file.write_text(
        "from contextlib import nullcontext\n"
        "from benchmarks.memories import MemoryFailedError\n"
        "class Odd:\n"
        "    version = 'odd 1'\n"
        "    def learn(self, moment):\n"
        "        raise MemoryFailedError('it is full')\n"
        "    def ask(self, moment):\n"
        "        return moment.nothing\n"
        "    def forget(self, session):\n"
        "        pass\n"
        "open_memory = lambda folder: nullcontext(Odd())\n"
    )
    said, went = run(file, MOMENTS)
    assert said == {}
    assert (went["memory_failed"], went["adapter_failed"]) == (2, 3)
    assert "nothing" in went["first_failure"]
