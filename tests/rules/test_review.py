"""What waits for a person's yes, and the answers."""

from datetime import timedelta
from pathlib import Path

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.errors import NotFoundError
from learning_memory_server.journal.answers import Answers
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.answer import Said
from learning_memory_server.rules.review import Review, Waiting, WaitingKind
from learning_memory_server.sharing.shared import SharedLessons
from tests.lessons.errors.agent import NOW

FIRST = Waiting("lesson_1", WaitingKind.IMPORTED, "shop", "Not npm, pnpm", "Install the tools", "imported", NOW)
SECOND = Waiting(
    "lesson_2", WaitingKind.SHARED, "shop", "Pull first", "Publish the branch", "by one person", NOW + timedelta(days=1)
)
KNOWN = Waiting("lesson_3", WaitingKind.OWN, "shop", "Seed first", "Run the tests", "own", NOW, is_told=True)


class Queue:
    def __init__(self, folder: Path) -> None:
        self.journal = Journal(folder)
        self.answers = Answers(self.journal.answers)
        entries = ObservationCollector(self.journal, lambda: NOW)
        self.review = Review(self.answers, entries, SharedLessons(), [lambda _: [SECOND, KNOWN, FIRST]])

    def waiting(self) -> list[Waiting]:
        return self.review.waiting("shop", NOW)

    def answer(self, said: Said) -> None:
        self.review.answer(FIRST, said, NOW)


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return Queue(tmp_path / "journal")


def test_the_oldest_is_asked_about_first_and_what_agents_are_shown_anyway_is_not(queue: Queue) -> None:
    assert queue.waiting() == [FIRST, SECOND]
    assert queue.review.find("lesson_3", "shop") == KNOWN


def test_never_later_and_undo_are_lines_of_the_journal(queue: Queue) -> None:
    queue.answer(Said.NEVER)
    assert queue.waiting() == [SECOND]
    queue.answer(Said.UNDO)
    assert queue.waiting() == [FIRST, SECOND]
    queue.answer(Said.LATER)
    assert queue.waiting() == [SECOND]
    assert queue.review.waiting("shop", NOW + timedelta(days=8)) == [FIRST, SECOND]
    queue.answer(Said.YES)
    assert queue.waiting() == [SECOND]
    assert [line.count(b'"kind":"answer"') for _, _, line in queue.journal.raw_lines()].count(1) == 4
    # Whoever reads the journal anew finds the answer.
    assert Queue(queue.journal.path).waiting() == [SECOND]


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
        queue.review.find("ghap_20260101_000000_000000", "shop")
