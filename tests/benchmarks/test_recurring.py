from datetime import timedelta
from pathlib import Path

import pytest

from benchmarks.recurring import EACH, Row, Session, failures, figures, is_right, last_success, sessions_in, tell
from learning_memory_server.lessons.errors.watch import Ran
from learning_memory_server.server.settings import Settings
from tests.lessons.errors.written import failed, ran, write_transcript
from tests.support import NOON

MISSING = "Exit code 1\n/usr/bin/python: No module named pytest"


def session(number: int, *calls: tuple[str, str | None], project: str = "shop") -> Session:
    at = NOON + timedelta(days=number)
    ran = (Ran(project, f"s{number}", command, error or "", error is not None, at) for command, error in calls)
    return Session(f"s{number}", project, at, tuple(ran))


def test_an_error_recurs_if_an_earlier_session_of_the_project_had_it_and_counts_three_times() -> None:
    broken = ("cd /a/b && python3.11 -m pytest x/y.py", MISSING)
    sessions = [
        session(1, broken, broken, ("python3 -m pytest", None)),
        session(2, ("/usr/bin/python -m pytest", MISSING), project="blog"),
        *(session(number, ("/usr/bin/python -m pytest", MISSING)) for number in range(3, 9)),
        session(9, ("node x.js", MISSING)),
    ]
    found = failures(sessions)
    assert [each.session for each in found if each.recurs] == ["s3", "s4", "s5"]
    assert EACH == 3
    assert {each.error for each in found} == {
        ("python", "* No module named pytest"),
        ("node", "* No module named pytest"),
    }


@pytest.mark.parametrize(
    ("later", "cure", "calls"),
    [
        ([], None, 0),
        ([("ls", None), ("python3 -m pytest a.py", None)], "python3 -m pytest a.py", 2),
        ([("python3 --version", None), ("python3 -m pytest", None)], "python3 -m pytest", 1),
        ([("python -m pytest", MISSING), ("python2 setup.py", None)], None, 2),
        ([("ls", None)] * 10 + [("python3 -m pytest", None)], None, 11),
    ],
)
def test_the_cure_is_a_like_command_that_soon_works(
    later: list[tuple[str, str | None]], cure: str | None, calls: int
) -> None:
    first = failures([session(1, ("python -m pytest", MISSING), *later)])[0]
    assert (first.cure, first.calls) == (cure, calls)


@pytest.mark.parametrize(
    ("command", "cure", "told", "right"),
    [
        ("python -m pytest", "python3 -m pytest", "This worked: python3 -m pytest (instead of: python -m x)", True),
        ("python -m pytest", "python3 -m pytest", '{"additionalContext": "This worked: python3 -m pytest"}}', True),
        ("python -m pytest", "python3 -m pytest", "This worked: uv run pytest (instead of: python3 x)", False),
        ("python -m pytest", "python3 -m pytest", "a: b\npython3 x.py", True),
        ("pip install -q x", "pip install x", "pip install x", True),
        ("pip install -q x", "pip install x", "pip install -q x", False),
        ("make", "make", "make all", False),
        ("make", None, "make all", None),
        ("pytest | tail", "pytest 2>&1", "pytest", False),
    ],
)  # fmt: skip
def test_what_is_told_is_right_if_it_names_what_the_cure_changed(
    command: str, cure: str | None, told: str, right: bool | None
) -> None:
    later = [] if cure is None else [(cure, None)]
    assert is_right(told, failures([session(1, (command, MISSING), *later)])[0]) is right


def test_the_last_success_is_of_an_earlier_session() -> None:
    sessions = [
        session(number, ("python x", MISSING), (f"python x --try{number}", None), ("python x", MISSING))
        for number in (1, 2)
    ]
    found = failures(sessions)
    assert last_success(found) == {("s2", 0): "python x --try1", ("s2", 2): "python x --try1"}


def test_figures_are_bootstrapped_by_session_and_say_what_following_would_come_to() -> None:
    moments = [
        Row("a", told=True, right=True, calls=5),
        Row("b", told=True, right=False, calls=5),
        Row("c", told=False, calls=5),
        Row("d", told=True, calls=5),
    ]
    found = figures(moments, 100, 7)
    assert (found["told"], found["judged"], found["right"]) == (0.75, 2, 0.5)
    assert found["told_interval"] == [0.25, 1.0]
    assert found["right_interval"] == [0.0, 1.0]
    # 1 if it is right, 6 if it is wrong, else 5.
    assert found["calls"] == (1 + 6 + 5 + 5) / 4
    assert (found["speech"], found["silent"]) == (100, 7)
    assert figures([], 0)["told"] is None


@pytest.mark.slow
async def test_transcripts_go_through_time_and_are_told_nothing_that_no_entry_says(tmp_path: Path) -> None:
    for day in range(3):
        lines = [failed("python -m pytest", MISSING), ran("python3 -m pytest")]
        write_transcript(tmp_path / "own" / f"{day}.jsonl", *lines, session=str(day), at=NOON + timedelta(days=day))
    sessions = sessions_in(tmp_path / "own")
    told = await tell(Settings(embedding_backend="hashing"), sessions)
    found = failures(sessions)
    assert [each.recurs for each in found] == [False, True, True]
    assert set(told.values()) == {""}
    assert len(told) == 3 * (2 + 2)
