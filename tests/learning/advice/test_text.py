from dataclasses import replace

from learning_memory_server.learning.advice.advisor import Related
from learning_memory_server.learning.advice.text import related
from learning_memory_server.model.entry import Lesson, RootCause
from learning_memory_server.model.vocabulary import RootCauseCategory
from tests.support import CONFIRMED, numbered


def test_an_agent_is_shown_what_nobody_would_see() -> None:
    lesson = Lesson("looking closely", "one\n\x1b[31m\u202etwo\u200b")
    entry = numbered(1, goal="first\u202e\nsecond", resolution=replace(CONFIRMED, lesson=lesson))

    (item,) = related(Related((entry,)))

    assert (item["learned"], item["goal"]) == ("one [31m[U+202E]two[U+200B]", "first[U+202E] second")


def test_a_takeaway_is_shown_before_the_root_cause_and_that_before_what_worked() -> None:
    cause = RootCause(RootCauseCategory.WRONG_ASSUMPTION, "the clocks differ")

    def learned(lesson: Lesson | None) -> str:
        entry = numbered(1, resolution=replace(CONFIRMED, root_cause=cause, lesson=lesson))
        return related(Related((entry,)))[0]["learned"]

    assert learned(Lesson("freezing the clock", "compare time zones first")) == "compare time zones first"
    assert learned(Lesson("freezing the clock")) == "the clocks differ"
    assert learned(None) == "the clocks differ"
