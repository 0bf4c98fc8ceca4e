"""What asymmetric models expect before a query and before a document."""

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prefixes of a model; empty for a symmetric one."""

    query: str = ""  # before a query
    document: str = ""  # before a document

    @property
    def definition(self) -> str:
        """How an identity records them; empty if there are none."""
        return f"{self.query!r} {self.document!r}" if self.query or self.document else ""


_SENTENCE: Final = Prompts("Represent this sentence for searching relevant passages: ")
_NOMIC: Final = Prompts("search_query: ", "search_document: ")

_PROMPTS: Final = {
    r"nomic-embed-text(-v2-moe)?": _NOMIC,
    r"mxbai-embed-large": _SENTENCE,
    r"snowflake-arctic-embed": _SENTENCE,
    r"snowflake-arctic-embed2": Prompts("query: "),
    r"bge-large|bge-(small|base|large)-en(-v1\.5)?": _SENTENCE,
    r"embeddinggemma": Prompts("task: search result | query: ", "title: none | text: "),
    r"qwen3-embedding": Prompts(
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
    ),
    r"(multilingual-)?e5-(small|base|large)(-v2)?": Prompts("query: ", "passage: "),
}
"""By names without owner and tag, from the models' cards: what their files do not say, and what Ollama does not add."""


def prompts_of(model: str) -> Prompts:
    """Return the prompts of a model by its name; empty ones for an unknown model."""
    name = model.rpartition("/")[2].partition(":")[0].lower()
    return next((prompts for names, prompts in _PROMPTS.items() if re.fullmatch(names, name)), Prompts())
