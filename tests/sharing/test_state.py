"""What a set of shared files adds up to."""

import itertools

from learning_memory_server.sharing.files import FileKind, SharedFile, shared_file, verdict
from learning_memory_server.sharing.shared import state_of
from tests.sharing.repositories import lesson
from tests.support import full_ghap, numbered


def files(*given: SharedFile) -> dict[str, SharedFile]:
    return {file.name: file for file in given}


def said(*given: SharedFile) -> set[str]:
    return {each.file.content for each in state_of(files(*given)).values()}


def corrected(file: SharedFile, text: str) -> SharedFile:
    return shared_file(
        FileKind.LESSON, "2026-04-01", {**file.texts, "Lesson": text}, {**file.fields, "about": file.content}
    )


ONE, TWO = lesson(1), lesson(2)
COPY = lesson(1, "2026-02-02")
BETTER = corrected(ONE, "Better.")
GONE = verdict(FileKind.WITHDRAWS, ONE)


def test_a_copy_counts_once_and_the_first_name_is_kept() -> None:
    (only,) = state_of(files(ONE, COPY)).values()
    assert only.names == [COPY.name, ONE.name]
    assert ONE.content == COPY.content


def test_a_correction_replaces_and_is_itself_withdrawn() -> None:
    assert said(ONE, TWO, BETTER) == {TWO.content, BETTER.content}
    assert said(ONE, BETTER, verdict(FileKind.WITHDRAWS, BETTER)) == {ONE.content}


def test_without_its_withdrawal_a_lesson_is_one_again() -> None:
    assert said(ONE, COPY, TWO, GONE) == {TWO.content}
    assert said(ONE, COPY, TWO) == {ONE.content, TWO.content}


def test_the_same_evidence_counts_once_for_each_kind() -> None:
    first, second = full_ghap(), numbered(3)
    given = [verdict(FileKind.CONFIRMS, ONE, entry) for entry in (first, first, second)]
    (only,) = state_of(files(ONE, *given, verdict(FileKind.CONTRADICTS, ONE, first))).values()
    assert [len(names) for names in only.verdicts.values()] == [2, 1]


def test_the_order_of_the_files_does_not_matter() -> None:
    given = (ONE, COPY, TWO, BETTER, GONE, verdict(FileKind.CONFIRMS, TWO))
    states = [state_of(files(*order)) for order in itertools.permutations(given)]
    assert all(state == states[0] for state in states)
