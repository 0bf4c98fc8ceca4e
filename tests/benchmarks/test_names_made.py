"""The texts that `benchmarks.names` makes."""

from benchmarks.names import COMMANDS, PROMPTS, SAME, made
from learning_memory_server.advice.names import names_in

NAMED = ["bin/press", "parse_row", "config/feed.yaml", "E1234"]


def test_other_texts_name_something_that_no_lesson_names_and_the_same_texts_name_what_one_does() -> None:
    texts = made(NAMED)
    assert [len(texts["other"]), len(texts["same"])] == [PROMPTS + COMMANDS, SAME]
    for text in texts["other"]:
        named = names_in(text.prompt or text.command)
        assert named
        assert named.isdisjoint(NAMED)
    assert all(names_in(text.prompt or text.command) & {*NAMED} for text in texts["same"])
    assert sum(bool(text.command) for text in texts["same"]) == SAME // 2


def test_a_seed_makes_the_same_texts_again_and_another_one_others() -> None:
    assert made(NAMED) == made(NAMED)
    assert made(NAMED) != made(NAMED, seed=2)
