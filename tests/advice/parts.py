"""Shared parts of the advice tests."""

from dataclasses import replace
from typing import Any

from learning_memory_server.advice.advisor import Advisor
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.lessons.finder import BACKGROUND, AdviceFinder
from learning_memory_server.lessons.shown import AdviceLog
from tests.support import Parts


class MeasuredModel(HashingEmbedder):
    """Hashed words under the name of a model whose threshold was measured."""

    def __init__(self) -> None:
        super().__init__(384)
        self.identity = replace(self.identity, model="sentence-transformers/all-MiniLM-L6-v2")


def finder_over(parts: Parts, *, is_everywhere: bool = False, background: int = BACKGROUND) -> AdviceFinder:
    """A finder over these parts, wired as in the composition root."""
    return AdviceFinder(
        parts.collector, parts.index, parts.values, parts.verdicts, is_everywhere=is_everywhere, background=background
    )


def advisor(parts: Parts, **options: Any) -> Advisor:
    """An advisor that may take its time: the machine may be busy."""
    given = {"within": None, **options}
    return Advisor(finder_over(parts), AdviceLog(parts.journal.advice), parts.clock, **given)
