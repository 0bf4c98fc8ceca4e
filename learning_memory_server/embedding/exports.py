"""The folder of exported models: which attempts were in vain, and what nothing needs any more."""

from __future__ import annotations

import builtins
import json
import os
import re
import shutil
import time
from contextlib import suppress
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final

import structlog

from learning_memory_server.embedding.source import find_source
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.journal.lock import exclusive
from learning_memory_server.version import VERSION

if TYPE_CHECKING:
    from pathlib import Path

    from learning_memory_server.embedding.source import ModelSource

_INVOLVED: Final = ("torch", "transformers", "sentence-transformers", "onnx", "onnxruntime", "tokenizers")
"""The packages that an export depends on: with another version of one, a failed export is worth another try."""
_KEPT_SECONDS: Final = 30 * 24 * 3600
"""An export of another model is kept for this long after its last use: its user may go back to it."""

log = structlog.get_logger()


def has_export(models: Path, source: ModelSource) -> bool:
    """Tell whether there is an export of the model, without looking into it."""
    return (models / source.digest).is_dir()


def failure_path(models: Path, source: ModelSource) -> Path:
    """Return the file that remembers that a model cannot be exported; deleting it allows another try."""
    return models / f"{source.digest}.failed"


def failure_of(models: Path, source: ModelSource) -> str | None:
    """Return why the model's export failed before, unless a package that is involved has changed since."""
    try:
        found = json.loads(failure_path(models, source).read_text("utf-8"))
        return str(found["reason"]) if found["versions"] == _versions() else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def is_lasting(last_line: str) -> bool:
    """Tell from the last line of a failed export whether another try would fail too.

    What the operating system refused, such as space on a disk, may be there the next time.
    """
    raised = getattr(builtins, last_line.partition(":")[0], None)
    return not (isinstance(raised, type) and issubclass(raised, (OSError, MemoryError)))


def remember_failure(models: Path, model: str, reason: str) -> None:
    """Keep why a model's export failed, so that it is not tried at every start. If that fails, it is tried again."""
    with suppress(LearningMemoryError, OSError):
        source = find_source(model)
        content = {"model": source.name, "reason": reason, "versions": _versions()}
        failure_path(models, source).write_text(json.dumps(content), "utf-8")


def remove_unused(models: Path, source: ModelSource) -> None:
    """Remove what the export in use has replaced, and what was not used for a month.

    Replaced is what bears the same model's name: its files or the way they are exported have changed. A process that
    has such an export open goes on, because it holds all of it; one that is just opening it falls back to the original.

    Args:
        models: Where exports are kept.
        source: The model whose export is in use.
    """
    with suppress(LearningMemoryError, OSError):
        os.utime(models / source.digest)
        # Whoever makes an export holds the folder, so nothing that is found here is half-made.
        with exclusive(models, "the removal of unused exports"):
            for path in list(models.iterdir()):
                if _is_unused(path, source):
                    _remove(path)
                    log.info("model.export_removed", export=path.name)


def _is_unused(path: Path, source: ModelSource) -> bool:
    # Anything else in the folder is not this program's.
    named = re.fullmatch(r"([0-9a-f]{12})(\.tmp|\.failed)?", path.name)
    if named is None or path.is_symlink():
        return False
    digest, suffix = named.groups()
    if suffix == ".tmp":
        return True
    if digest == source.digest:
        # A failure that was remembered before the export was made after all.
        return suffix == ".failed"
    return _model_of(path) == source.name or time.time() - path.stat().st_mtime > _KEPT_SECONDS


def _model_of(path: Path) -> object:
    """Return the name of the model that a folder or a remembered failure is about, or None if it does not tell."""
    try:
        if path.is_file():
            return json.loads(path.read_text("utf-8"))["model"]
        return json.loads((path / "meta.json").read_text("utf-8"))["identity"]["model"]
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _versions() -> dict[str, Any]:
    versions: dict[str, Any] = {"learning-memory-server": VERSION}
    for package in _INVOLVED:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return versions
