"""Names: which words are names, and which lessons have a name of a text."""

from dataclasses import replace
from pathlib import Path

import pytest

from learning_memory_server.advice.lessons import Lessons
from learning_memory_server.advice.log import AdviceLog
from learning_memory_server.advice.names import Names, names_in
from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import FailureLog
from learning_memory_server.lessons.effects import Effects
from learning_memory_server.lessons.files.freshness import Freshness
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Ghap, Lesson
from tests.support import CONFIRMED, TickingClock, numbered

HERE = Caller("garden", "b" * 16)


def lesson(number: int, takeaway: str, **changes: object) -> Ghap:
    about = replace(CONFIRMED, lesson=Lesson("", takeaway))
    return numbered(number, project="garden", goal=f"goal {number}", resolution=about, **changes)


@pytest.fixture
def names(tmp_path: Path) -> Names:
    journal = Journal(tmp_path)
    collector = ObservationCollector(journal, TickingClock())
    effects = Effects(AdviceLog(journal.advice, FailureLog(journal.failures)), collector)
    return Names(Lessons(collector, effects, Freshness()))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("run bin/press with --atmos", {"bin/press"}),
        ("see ./tools/feed.py:12", {"tools/feed.py"}),
        ("why does E1234 come from parse_row and parseRow?", {"E1234", "parse_row", "parseRow"}),
        ("once.cfg is there once, and twice.cfg is not", {"once.cfg"}),
        ("read https://example.org/a/b2", set()),
        ("python3 -m pytest --maxfail2 and the plain words of a sentence", set()),
    ],
)
def test_paths_identifiers_codes_and_files_that_are_there_once_are_names(text: str, found: set[str]) -> None:
    assert names_in(text, {"once.cfg"}, {"python3"}) == found


def test_a_lesson_that_names_the_same_is_found_and_others_are_not(names: Names) -> None:
    wanted = lesson(1, "bin/press wants salt before the luster")
    others = [lesson(number, f"The crawler {number} wants more room") for number in range(2, 9)]
    names.lessons.collector.add_resolved([wanted, *others])
    assert names.about("press the feed with bin/press again", HERE) == [wanted]
    assert names.about("press the feed again", HERE) == []


def test_a_name_of_many_lessons_or_of_many_commands_says_nothing(names: Names) -> None:
    different = (
        "bin/press wants salt first",
        "Clean the drum of bin/press weekly",
        "Only one bin/press may run at night",
    )
    many = [lesson(number, text) for number, text in enumerate(different, 1)]
    names.lessons.collector.add_resolved(many)
    assert names.about("use bin/press", HERE) == []
    rare = lesson(9, "tools/feed_row.py wants sorted rows")
    names.lessons.collector.add_resolved([rare])
    for number in range(11):
        names.note("cat tools/feed_row.py", replace(HERE, session=f"{number:016x}"))
    assert names.about("cat tools/feed_row.py", HERE) == []


def test_lessons_that_say_nearly_the_same_count_as_one(names: Names) -> None:
    twins = [lesson(number, "bin/press wants salt before the luster") for number in range(1, 5)]
    names.lessons.collector.add_resolved(twins)
    assert len(names.about("use bin/press", HERE)) == 4


def test_what_was_imported_or_is_of_another_project_is_left_out(names: Names) -> None:
    names.lessons.collector.add_resolved([replace(lesson(1, "bin/press wants salt"), imported=True)])
    names.lessons.collector.add_resolved([replace(lesson(2, "bin/press wants soda"), project="orchard")])
    assert names.about("use bin/press", HERE) == []


@pytest.mark.parametrize(
    ("command", "runs"), [("bin/press may.csv", True), ("cat bin/press", False), ("bin/seal may.csv", False)]
)
def test_a_command_that_runs_what_a_lesson_names_is_known(names: Names, command: str, runs: bool) -> None:
    assert names.runs(command, lesson(1, "bin/press wants salt before the luster"), HERE) is runs


def test_what_a_text_says_besides_names_is_the_rest(names: Names) -> None:
    assert names.besides("who painted bin/press green?", HERE) == "who painted  green?"


@pytest.mark.parametrize(
    ("place", "found"),
    [("fix/ferry-anchors", True), ("main\nsrc/other_row.py", False), ("main\ntools/feed_row.py", True)],
)
def test_a_lesson_that_names_the_branch_or_a_changed_file_is_about_the_place(
    names: Names, place: str, found: bool
) -> None:
    about = lesson(1, "Anchors of the ferry hold in mud; tools/feed_row.py says where")
    names.lessons.collector.add_resolved([about])
    assert names.at(place, HERE) == ([about] if found else [])


def test_a_branch_with_a_stop_word_is_found_by_its_other_words(names: Names) -> None:
    about = lesson(1, "Anchors of the ferry hold in mud")
    names.lessons.collector.add_resolved([about])
    assert names.at("fix/the-ferry-anchors", HERE) == [about]
