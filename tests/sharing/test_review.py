"""Lessons of others that wait for a person's yes, and the answers."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.errors import NotFoundError
from learning_memory_server.journal.answers import Answers
from learning_memory_server.journal.journal import Journal
from learning_memory_server.lessons.values.log import ValueLog
from learning_memory_server.model.answer import Said
from learning_memory_server.model.entry import Ghap
from learning_memory_server.sharing.review import AnswerableKind, Review
from learning_memory_server.sharing.shared import SharedLessons
from tests.server.dashboard.making import entry
from tests.support import NOON

FIRST, SECOND, OWN = (replace(entry(number), project="shop", imported=number < 3) for number in (1, 2, 3))


class Queue:
    def __init__(self, folder: Path, *found: Ghap) -> None:
        self.journal = Journal(folder)
        self.answers = Answers(self.journal.answers)
        entries = ObservationCollector(self.journal, lambda: NOON)
        entries.add_resolved(list(found))
        self.review = Review(self.answers, entries, SharedLessons(), ValueLog(self.journal.values))

    def waiting(self, now: datetime = NOON) -> list[str]:
        return [each.id for each in self.review.waiting("shop", now)]

    def answer(self, said: Said) -> None:
        self.review.answer(self.review.find(FIRST.id, "shop"), said, NOON)


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return Queue(tmp_path / "journal", OWN, SECOND, FIRST)


def test_the_oldest_is_asked_about_first_and_an_own_lesson_is_not(queue: Queue) -> None:
    assert queue.waiting() == [FIRST.id, SECOND.id]
    own = queue.review.find(OWN.id, "shop")
    assert (own.kind, own.is_told) == (AnswerableKind.OWN, True)


def test_never_later_and_undo_are_lines_of_the_journal(queue: Queue) -> None:
    queue.answer(Said.NEVER)
    assert queue.waiting() == [SECOND.id]
    queue.answer(Said.UNDO)
    assert queue.waiting() == [FIRST.id, SECOND.id]
    queue.answer(Said.LATER)
    assert queue.waiting() == [SECOND.id]
    assert queue.waiting(NOON + timedelta(days=8)) == [FIRST.id, SECOND.id]
    queue.answer(Said.YES)
    assert queue.waiting() == [SECOND.id]
    assert [line.count(b'"kind":"answer"') for _, _, line in queue.journal.raw_lines()].count(1) == 4
    # Whoever reads the journal anew finds the answer.
    assert Queue(queue.journal.path).waiting() == [SECOND.id]


def test_later_takes_no_answer_back_that_was_given_meanwhile(queue: Queue) -> None:
    for said in (Said.YES, Said.NEVER):
        queue.answer(said)
        queue.answer(Said.LATER)
        assert queue.answers.said(FIRST.id) is said
    queue.answer(Said.UNDO)
    queue.answer(Said.LATER)
    assert queue.answers.said(FIRST.id) is Said.LATER


def test_an_id_that_names_nothing_is_refused(queue: Queue) -> None:
    with pytest.raises(NotFoundError):
        queue.review.find("ghap_20260101_000000_ffffff", "shop")
