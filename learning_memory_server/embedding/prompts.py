"""What asymmetric models want before a text, where the backend does not know it by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Prompts:
    """What is put before a text.

    Args:
        query: Before what is looked for.
        document: Before what is found.
    """

    query: str = ""
    document: str = ""

    @property
    def definition(self) -> str:
        """What an identity says about them; nothing if there are none."""
        return f"{self.query!r} {self.document!r}" if self.query or self.document else ""


_SENTENCE: Final = Prompts("Represent this sentence for searching relevant passages: ")
_NOMIC: Final = Prompts("search_query: ", "search_document: ")

# From the models' cards.
_PROMPTS: Final = {
    "nomic-embed-text": _NOMIC,
    "nomic-embed-text-v2-moe": _NOMIC,
    "mxbai-embed-large": _SENTENCE,
    "snowflake-arctic-embed": _SENTENCE,
    "snowflake-arctic-embed2": Prompts("query: "),
    "bge-large": _SENTENCE,
    "embeddinggemma": Prompts("task: search result | query: ", "title: none | text: "),
    "qwen3-embedding": Prompts(
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
    ),
}


def prompts_of(model: str) -> Prompts:
    """Return the prompts of a model, by its name without owner and tag; none for a model that is not known."""
    return _PROMPTS.get(model.rpartition("/")[2].partition(":")[0].lower(), Prompts())
