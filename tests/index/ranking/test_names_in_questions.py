"""Questions with identifiers, codes, paths and versions that no text has: they find nothing, as plain ones do."""

import random
import string
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from benchmarks.ranking import Wrapped
from benchmarks.values import groups
from learning_memory_server.embedding.base import Vectors
from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.index.document import axis_texts
from learning_memory_server.index.queries import MemoryQuery
from learning_memory_server.index.recipe import embed_question
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.system.waiting import BACKGROUND
from tests.capture.memories.shelf import open_shelf

SIZES: Final = (1, 3, 10, 50)
QUESTIONS: Final = 200
AT_MOST: Final = 0.03
"""The share of questions by which those with names may find something more often."""
_WORDS: Final = "cargo orchard violin glacier penguin saddle lantern meadow quartz ribbon walnut harbor comet".split()
_FORMS: Final = (
    "nonexistent topic {}",
    "{}",
    "what is {}",
    "{} recipe for lasagne",
    "how do I cook {} with basil",
    "where is {} planted in the garden",
    "tickets for {} to Madrid",
    "who painted {}",
    "{} {}",
    "repair the old {} at home",
)


def names(drawn: random.Random) -> Iterator[str]:
    def word() -> str:
        return drawn.choice(_WORDS)

    def number(most: int) -> int:
        return drawn.randrange(most)

    def letters(source: str, count: int) -> str:
        return "".join(drawn.choices(source, k=count))

    kinds: tuple[Callable[[], str], ...] = (
        lambda: f"{letters(string.ascii_lowercase, 3)}{number(1000)}",
        lambda: f"{word()}_{word()}_{number(99)}",
        lambda: f"{word()}{word().title()}",
        lambda: f"{word().title()}{word().title()}Error",
        lambda: f"/{word()}/{word()}/{word()}.{drawn.choice(['py', 'ts', 'cfg'])}",
        lambda: f"v{number(20)}.{number(20)}.{number(9)}",
        lambda: f"{drawn.choice(['ORA', 'ERR', 'TS', 'CVE-2031'])}-{number(99999)}",
        lambda: letters(string.hexdigits.lower(), 12),
        lambda: f"{word()}::{word()}::{word()}()",
        lambda: f"0x{letters(string.hexdigits.lower(), 8)}",
        lambda: f"--{word()}-{word()}={number(9)}",
        lambda: f"{word()}.{word()}.io",
    )
    while True:
        yield drawn.choice(kinds)()


def questions() -> tuple[list[str], list[str]]:
    """Return questions with names, and the same ones with words in their place."""
    drawn = random.Random(27)
    made = names(drawn)
    forms = [_FORMS[place % len(_FORMS)] for place in range(QUESTIONS)]
    named = [form.format(*(next(made) for _ in range(form.count("{}")))) for form in forms]
    plain = [form.format(*drawn.choices(_WORDS, k=form.count("{}"))) for form in forms]
    return named, plain


class KnownQuestions(Wrapped):
    """A model that runs once for each question: every store is asked the same ones."""

    def __init__(self) -> None:
        super().__init__(load_packaged())
        self._vectors: dict[str, Vectors] = {}

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        for text in texts:
            if text not in self._vectors:
                self._vectors[text] = super().embed_queries([text])
        return np.concatenate([self._vectors[text] for text in texts])


@pytest.mark.slow
async def test_a_name_that_no_text_has_finds_as_little_as_a_word_whatever_the_store_has(tmp_path: Path) -> None:
    texts = [axis_texts(each)[Axis.FULL] for group in groups() for each in group.members]
    random.Random(27).shuffle(texts)
    answered = [0, 0]
    model = KnownQuestions()
    async with AsyncExitStack() as opened:
        for size in SIZES:
            shelf = await opened.enter_async_context(open_shelf(tmp_path / str(size), load=lambda: model))
            for text in texts[:size]:
                await shelf.add(text)
            await shelf.ready()
            await shelf.index.refresh_baselines()
            assert (await shelf.searcher.search(MemoryQuery("nonexistent topic xyz123"))).found == []
            assert (await shelf.searcher.search(MemoryQuery(texts[0]))).found
            for kind, asked in enumerate(questions()):
                for text in asked:
                    answered[kind] += bool((await shelf.searcher.search(MemoryQuery(text))).found)
    named, plain = (count / (QUESTIONS * len(SIZES)) for count in answered)
    assert named <= plain + AT_MOST, (named, plain)


@pytest.mark.slow
async def test_a_name_that_no_text_has_moves_a_question_half_as_far_from_its_answer_as_it_does_alone() -> None:
    members = [each for group in groups() for each in group.members]
    goals, made = [each.goal for each in members], names(random.Random(27))
    named = [f"{next(made)}: {goal}" for goal in goals]
    model = EmbeddingService(load_packaged)
    texts = await model.embed_documents([axis_texts(each)[Axis.FULL] for each in members])
    plain = np.stack([await model.embed_query(each) for each in goals])
    alone = np.stack([await model.embed_query(each) for each in named])
    asked = np.stack([await embed_question(model, each, BACKGROUND) for each in named])
    await model.stop()
    plainly, by_text, found = (float((vectors * texts).sum(axis=1).mean()) for vectors in (plain, alone, asked))
    assert plainly - found < (plainly - by_text) / 2
