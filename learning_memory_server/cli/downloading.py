"""`download-model`: a model from the hub, loaded once to see that it works."""

from __future__ import annotations

from learning_memory_server.cli.access import open_settings
from learning_memory_server.cli.terminal import errors, megabytes, show_facts, working
from learning_memory_server.embedding.base import DEFAULT_MODEL
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.files import disk_use
from learning_memory_server.paths import PREFIX


def fetch_model(model: str) -> None:
    """Download a model, load it, and say how to use it.

    Raises:
        InvalidInputError: If the models are Ollama's.
        EmbeddingUnavailableError: If it cannot be downloaded or loaded.
    """
    settings = open_settings()
    if settings.embedding_backend == "ollama" and model != settings.reranker_model:
        raise InvalidInputError(
            "embedding_backend is ollama, and Ollama gets its models itself.",
            hint=f"Run: ollama pull {model} (or, for one that re-ranks, set reranker_model to it first)",
        )
    from learning_memory_server.embedding.download import download_model  # noqa: PLC0415 - not for other commands
    from learning_memory_server.embedding.source import is_reranker  # noqa: PLC0415

    folder = download_model(model, show_progress=errors().is_terminal)
    with working("Loading it"):
        facts = _facts_of_reranker(model) if is_reranker(folder) else _facts_of_embedder(model)
    show_facts(
        [("model", model), ("folder", str(folder)), ("size", megabytes(disk_use(folder.resolve()))), *facts]
    )


def _facts_of_embedder(model: str) -> list[tuple[str, str]]:
    from learning_memory_server.embedding.sentence import SentenceEmbedder  # noqa: PLC0415 - seconds

    identity = SentenceEmbedder(model).identity
    return [
        ("vectors", f"of length {identity.dimension}, of texts up to {identity.max_tokens} tokens"),
        (
            "next",
            "It comes with this package and is used unless a setting names another."
            if model == DEFAULT_MODEL
            else f"Set {PREFIX}EMBEDDING_MODEL={model} (or embedding_model in config.toml), then run "
            "`learning-memory-server hub stop`; the next session makes the index anew with it.",
        ),
    ]


def _facts_of_reranker(model: str) -> list[tuple[str, str]]:
    from learning_memory_server.embedding.sentence import CrossEncoderReranker  # noqa: PLC0415 - seconds

    CrossEncoderReranker(model)
    then = (
        f"Set {PREFIX}RERANKER_MODEL={model} (or reranker_model in config.toml), then run "
        "`learning-memory-server hub stop`; `doctor` tells whether it is fast enough here."
    )
    return [("re-ranks", "the best results of a search"), ("next", then)]
