"""The folder of exported models: which exports have failed, and which are no longer needed."""

from __future__ import annotations

import builtins
import json
import os
import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import structlog

from learning_memory_server.embedding.source import find_source
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.system import timeouts
from learning_memory_server.system.locking import exclusive
from learning_memory_server.version import VERSION

if TYPE_CHECKING:
    from learning_memory_server.embedding.source import ModelSource

_INVOLVED: Final = ("torch", "transformers", "sentence-transformers", "onnx", "onnxruntime", "tokenizers")
"""The packages that an export depends on. After a failure, a new version of any of them is worth another attempt."""

log = structlog.get_logger()


def has_export(models: Path, source: ModelSource) -> bool:
    """Return whether there is an export of the model, without checking its content."""
    return (models / source.digest).is_dir()


def failure_path(models: Path, source: ModelSource) -> Path:
    """Return the file that records that a model cannot be exported; deleting it allows another attempt."""
    return models / f"{source.digest}.failed"


def failure_of(models: Path, source: ModelSource) -> str | None:
    """Return why the model's export failed; None if it did not, or if an involved package has changed since."""
    try:
        found = json.loads(failure_path(models, source).read_text("utf-8"))
        return str(found["reason"]) if found["versions"] == _versions() else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def is_lasting(last_line: str) -> bool:
    """Return whether, by the last line of a failed export, another attempt would fail too.

    Something the operating system refused, such as disk space, may be available next time.
    """
    raised = getattr(builtins, last_line.partition(":")[0], None)
    return not (isinstance(raised, type) and issubclass(raised, (OSError, MemoryError)))


def remember_failure(models: Path, model: str, reason: str) -> None:
    """Record why a model's export failed, if possible, so that not every start tries again."""
    with suppress(LearningMemoryError, OSError):
        source = find_source(model)
        content = {"model": source.name, "reason": reason, "versions": _versions()}
        failure_path(models, source).write_text(json.dumps(content), "utf-8")


def remove_replaced(models: Path, model: str) -> None:
    """Remove exports of the packaged model, which needs none, and others that were not used for a month.

    Earlier versions of this program exported it, too.
    """
    if models.is_dir():
        _remove_all(models, lambda path: _is_unused(path, model, ""))


def remove_unused(models: Path, source: ModelSource) -> None:
    """Remove exports that the one in use has replaced, and others that were not used for a month.

    An export replaces others with the same model's name: the model's files, or the way they are exported, have changed.
    A process that has a replaced export open can continue; one that is just opening it falls back to the original.
    """
    with suppress(OSError):
        os.utime(models / source.digest)
        _remove_all(models, lambda path: _is_unused(path, source.name, source.digest))


def _remove_all(models: Path, is_unused: Callable[[Path], bool]) -> None:
    with (
        suppress(LearningMemoryError, OSError),
        # An export locks the folder while it runs, so nothing found here is half-made.
        exclusive(models, "the removal of unused exports", name="the model export folder"),
    ):
        for path in list(models.iterdir()):
            if is_unused(path):
                _remove(path)
                log.info("model.export_removed", export=path.name)


def _is_unused(path: Path, model: str, used: str) -> bool:
    """Return whether a file or folder is an export that is not needed."""
    # Files with other names are not this program's.
    named = re.fullmatch(r"([0-9a-f]{12})(\.tmp|\.failed)?", path.name)
    if named is None or path.is_symlink():
        return False
    digest, suffix = named.groups()
    if suffix == ".tmp":
        return True
    if digest == used:
        # A failure recorded before the export succeeded.
        return suffix == ".failed"
    return _model_of(path) == model or time.time() - path.stat().st_mtime > timeouts.EXPORT_KEPT


def _model_of(path: Path) -> object:
    """Return the name of the model of an export or a recorded failure, or None if that is unreadable."""
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
    from importlib import metadata  # noqa: PLC0415 - slow, and the packaged model has no export

    versions: dict[str, Any] = {"learning-memory-server": VERSION}
    for package in _INVOLVED:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return versions
