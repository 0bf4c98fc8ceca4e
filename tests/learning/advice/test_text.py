from dataclasses import replace

from learning_memory_server.learning.advice.advisor import Related
from learning_memory_server.learning.advice.text import related
from learning_memory_server.model.entry import Lesson
from tests.support import CONFIRMED, numbered


def test_an_agent_is_shown_what_nobody_would_see() -> None:
    lesson = Lesson("looking closely", "one\n\x1b[31m\u202etwo\u200b")
    entry = numbered(1, goal="first\u202e\nsecond", resolution=replace(CONFIRMED, lesson=lesson))

    (item,) = related(Related((entry,)))

    assert (item["learned"], item["goal"]) == ("one [31m[U+202E]two[U+200B]", "first[U+202E] second")
