"""`download-model`: a model from huggingface.co, loaded once to check that it works."""

from typing import Annotated

import typer

from learning_memory_server.cli.access.reading import open_settings
from learning_memory_server.cli.command import Commands
from learning_memory_server.cli.terminal import readable_size, show_facts, working
from learning_memory_server.embedding.base import DEFAULT_MODEL
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.system.files import disk_use
from learning_memory_server.system.paths import PREFIX

commands = Commands()


@commands.command("download-model")
def download_model(
    model: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="An embedding or re-ranking model on huggingface.co, such as `owner/name`, or one of the ONNX files that "
            "it brings: `owner/name/onnx/model_quantized.onnx`.",
        ),
    ],
) -> None:
    """Download a model from huggingface.co, and load it once to check that it works.

    Nothing else uses the network for a model. The default model needs no
    download: it comes with this package.
    """
    settings = open_settings()
    if settings.embedding_backend == "ollama" and model != settings.reranker_model:
        raise InvalidInputError(
            "embedding_backend is ollama, and Ollama downloads its models itself.",
            hint=f"Run: ollama pull {model} (for a re-ranking model, set reranker_model to it first)",
        )
    from learning_memory_server.embedding.extras import download  # noqa: PLC0415 - not for other commands
    from learning_memory_server.embedding.source import is_reranker  # noqa: PLC0415

    if model == DEFAULT_MODEL:
        show_facts([("model", model), ("next", "It comes with this package: there is nothing to download.")])
        return
    with working("Asking the hub") as report:
        folder = download.download_model(model, report)
    with working("Loading the model"):
        facts = _facts_of_reranker(model) if is_reranker(folder) else _facts_of_embedder(model)
    show_facts(
        [
            ("model", model),
            ("commit", folder.name),
            ("folder", str(folder)),
            ("size", readable_size(disk_use(folder.resolve()))),
            *facts,
        ]
    )


def _facts_of_embedder(model: str) -> list[tuple[str, str]]:
    from learning_memory_server.embedding.loading import load_embedder  # noqa: PLC0415

    embedder = load_embedder(model, None)
    identity = embedder.identity
    return [
        ("runs on", embedder.runtime),
        ("vectors", f"of length {identity.dimension}, of texts up to {identity.max_tokens} tokens"),
        (
            "next",
            (
                f"Set {PREFIX}EMBEDDING_MODEL={model} (or embedding_model in config.toml), then run "
                "`learning-memory-server hub stop`; the next session rebuilds the index with it."
            ),
        ),
    ]


def _facts_of_reranker(model: str) -> list[tuple[str, str]]:
    from learning_memory_server.embedding.extras.sentence import CrossEncoderReranker  # noqa: PLC0415 - seconds

    CrossEncoderReranker(model)
    then = (
        f"Set {PREFIX}RERANKER_MODEL={model} (or reranker_model in config.toml), then run "
        "`learning-memory-server hub stop`. `doctor` says whether it is fast enough on this machine."
    )
    return [("re-ranks", "the best results of a search"), ("next", then)]
