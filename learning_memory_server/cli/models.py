"""Download a model, and describe it."""

from learning_memory_server.cli import out
from learning_memory_server.cli.command import open_settings
from learning_memory_server.embedding.base import DEFAULT_MODEL
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.system.files import disk_use
from learning_memory_server.system.paths import PREFIX


def fetch_model(model: str) -> None:
    """Download an embedding or re-ranking model, load it, and print its properties and how to use it."""
    settings = open_settings()
    if settings.embedding_backend == "ollama" and model != settings.reranker_model:
        raise InvalidInputError(
            "embedding_backend is ollama, and Ollama downloads its models itself.",
            hint=f"Run: ollama pull {model} (for a re-ranking model, set reranker_model to it first)",
        )
    from learning_memory_server.embedding.extras import download
    from learning_memory_server.embedding.source import is_reranker

    if model == DEFAULT_MODEL:
        out.facts([("model", model), ("next", "It comes with this package: there is nothing to download.")])
        return
    with out.working("Asking the hub") as report:
        folder = download.download_model(model, report)
    with out.working("Loading the model"):
        facts = _facts_of_model(model, is_reranker=is_reranker(folder))
    out.facts(
        [
            ("model", model),
            ("commit", folder.name),
            ("folder", str(folder)),
            ("size", out.readable_size(disk_use(folder.resolve()))),
            *facts,
        ]
    )


def _facts_of_model(model: str, *, is_reranker: bool) -> list[tuple[str, str]]:
    """Load a model, and return its properties and how to use it."""
    kind = "reranker" if is_reranker else "embedding"
    use = f"Set {PREFIX}{kind.upper()}_MODEL={model} (or {kind}_model in config.toml), "
    stop = "run `learning-memory-server hub stop`"
    if is_reranker:
        from learning_memory_server.embedding.extras.sentence import CrossEncoderReranker

        CrossEncoderReranker(model)
        return [("re-ranks", "the best results of a search"), ("next", f"{use}then {stop}.")]
    from learning_memory_server.embedding.loading import load_embedder

    embedder = load_embedder(model)
    identity = embedder.identity
    return [
        ("runs on", embedder.runtime),
        ("vectors", f"of length {identity.dimension}, of texts up to {identity.max_tokens} tokens"),
        ("next", f"{use}then {stop}; the next session rebuilds the index with it."),
    ]
