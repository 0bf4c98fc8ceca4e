"""Which lessons are about one matter: of these the newest is shown."""

from dataclasses import replace
from typing import Any, Final

import pytest

from learning_memory_server.advice.candidates import Candidate
from learning_memory_server.advice.matters import are_one, distinct, newest_about, newest_of_each
from learning_memory_server.model.advice import Reason
from learning_memory_server.model.entry import Ghap, Lesson, Met
from learning_memory_server.model.vocabulary import OutcomeStatus
from tests.lessons.values.parts import value
from tests.support import numbered

TIED: Final = (Met("press: error: the seal is broken", "press", is_tied=True),)


def lesson(number: int, takeaway: str, **changes: Any) -> Ghap:
    entry = numbered(number, **{"goal": f"goal{number}", "agent_session": f"{number:016x}", **changes})
    return replace(entry, resolution=replace(entry.outcome, lesson=Lesson("", takeaway)))


OLD: Final = lesson(1, "give bin/press its salt before the luster")
SAME_SESSION: Final = {"agent_session": OLD.agent_session}


@pytest.mark.parametrize(
    ("other", "is_one"),
    [
        pytest.param(lesson(2, "bin/press wants its salt before the luster"), True, id="it says nearly the same"),
        pytest.param(lesson(2, "owls sleep by day"), False, id="it says something else"),
        pytest.param(lesson(2, "owls sleep by day", errors=TIED), True, id="it is tied to the same error"),
        pytest.param(
            lesson(2, "owls sleep by day", errors=(TIED[0]._replace(is_tied=False),)), False, id="it only met the error"
        ),
        pytest.param(
            lesson(2, "owls sleep by day", goal=f"{OLD.goal}", **SAME_SESSION),
            True,
            id="it is the session's next attempt at the goal after a wrong guess",
        ),
        pytest.param(lesson(2, "owls sleep by day", goal=OLD.goal), False, id="another session has the same goal"),
        pytest.param(lesson(2, "owls sleep by day", **SAME_SESSION), False, id="the session had another goal"),
    ],
)
def test_two_lessons_are_about_one_matter(other: Ghap, is_one: bool) -> None:
    old = replace(OLD, errors=TIED, resolution=replace(OLD.outcome, status=OutcomeStatus.FALSIFIED))
    assert are_one(old, other) is are_one(other, old) is is_one


def test_what_was_confirmed_stands_whatever_the_session_tried_later() -> None:
    assert not are_one(OLD, lesson(2, "owls sleep by day", goal=OLD.goal, **SAME_SESSION))


def candidate(entry: Ghap) -> Candidate:
    return Candidate(entry, Reason.SIMILAR)


def test_in_the_place_of_the_first_the_newest_about_its_matter_stands() -> None:
    newer, other = replace(OLD, id=numbered(3).id, resolution=lesson(3, OLD.learned).outcome), lesson(2, "owls sleep")
    given = [candidate(each) for each in (OLD, other, newer)]
    assert newest_of_each(given) == [given[2], given[1]]
    assert newest_of_each(given[::-1]) == [given[2], given[1]]


def test_the_newest_is_shown_also_if_an_older_one_was_falsified() -> None:
    wrong = replace(OLD, resolution=replace(OLD.outcome, status=OutcomeStatus.FALSIFIED))
    newer = lesson(2, OLD.learned)
    assert newest_about(wrong, [wrong, newer]) == newer
    assert newest_about(newer, [wrong, newer]) == newer


def test_another_projects_lesson_does_not_stand_for_it() -> None:
    assert newest_about(OLD, [lesson(2, OLD.learned, project="acme/site")]) == OLD


def test_values_and_open_entries_are_matters_of_their_own() -> None:
    still_open = replace(OLD, resolution=None)
    given = [
        Candidate(still_open, Reason.OPEN),
        candidate(OLD),
        Candidate(value(OLD.learned), Reason.SIMILAR),
        Candidate(replace(still_open, id=numbered(7).id), Reason.OPEN),
    ]
    assert newest_of_each(given) == given


def test_of_entries_about_one_matter_the_first_stays() -> None:
    twins, other = [lesson(number, OLD.learned) for number in (1, 2)], lesson(3, "owls sleep")
    assert distinct([*twins, other]) == [twins[0], other]
