"""Models in the local cache of the Hugging Face hub: where each is, its commit, and the digests of its files.

The commit and the digests are recorded when a model is first used, in a file of ours in the model's folder. From then
on that commit is used whatever other programs do to the cache, and a file that differs is an error.
"""

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from learning_memory_server.embedding.graph import read_object
from learning_memory_server.errors import EmbeddingUnavailableError
from learning_memory_server.system import files

RECORD: Final = "learning-memory.json"
_NAME: Final = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


def hub_name(model: str) -> str:
    """Return a model's full name on the Hugging Face hub; the library's own models may omit their owner."""
    return model if "/" in model else f"sentence-transformers/{model}"


def is_hub_name(model: str) -> bool:
    """Return whether a name could be that of a model on the hub."""
    return _NAME.fullmatch(hub_name(model)) is not None


def repository_of(model: str) -> Path:
    """Return the folder in the cache that a model has if it was downloaded."""
    # Even with local_files_only, the libraries ask huggingface.co for revisions. They read this once, when imported.
    os.environ["HF_HUB_OFFLINE"] = "1"
    from huggingface_hub.constants import HF_HUB_CACHE  # noqa: PLC0415 - most models are the packaged one

    cache = Path(os.environ.get("SENTENCE_TRANSFORMERS_HOME") or HF_HUB_CACHE)
    return cache / f"models--{hub_name(model).replace('/', '--')}"


def recorded_commit(repository: Path) -> str | None:
    """Return the commit of a model that was used before; None if none was."""
    commit = read_object(repository / RECORD).get("commit")
    return commit if isinstance(commit, str) else None


def find_snapshot(model: str) -> Path | None:
    """Return the folder of a model's files, of the commit that was used before or else the last one downloaded."""
    if not is_hub_name(model):
        return None
    repository = repository_of(model)
    commit = recorded_commit(repository)
    with suppress(OSError):
        commit = commit or (repository / "refs" / "main").read_text("utf-8").strip()
    found = repository / "snapshots" / commit if commit else None
    return found if found and found.is_dir() else None


def check_first_use(model: str, snapshot: Path, digests: Mapping[str, str]) -> None:
    """Compare digests with those of the first use, and record those that are new.

    Raises:
        EmbeddingUnavailableError: If one differs.
    """
    repository = snapshot.parent.parent
    record = read_object(repository / RECORD)
    known = record.get("digests")
    recorded: dict[str, str] = known if isinstance(known, dict) else {}
    for name, digest in digests.items():
        if recorded.get(name, digest) != digest:
            raise EmbeddingUnavailableError(
                f"The model {model!r} is not the one that was first used: the SHA-256 of {name} has changed.",
                hint=f"Run `learning-memory-server download-model {model}`, which repairs it. If you changed it on "
                f"purpose, delete {repository / RECORD} first.",
            )
    if not digests.keys() <= recorded.keys():
        content = {"commit": snapshot.name, "digests": {**recorded, **digests}}
        # A cache that may only be read has no record.
        with suppress(OSError):
            files.replace(repository / RECORD, json.dumps(content, indent=1).encode())
