"""Loading a model: the packaged one, or an ONNX export if there is one, else the original, which is then exported."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.embedding.base import DEFAULT_MODEL
from learning_memory_server.embedding.extras import exports
from learning_memory_server.embedding.packaged import load_packaged
from learning_memory_server.embedding.source import check_dimension, find_source
from learning_memory_server.system import timeouts
from learning_memory_server.system.children import detached, module_command
from learning_memory_server.system.crashes import raised_name
from learning_memory_server.system.files import make_private_directory

if TYPE_CHECKING:
    from learning_memory_server.embedding.base import Embedder
    from learning_memory_server.embedding.onnx_runtime import OnnxEmbedder
    from learning_memory_server.embedding.source import ModelSource

_MODULE: Final = "learning_memory_server.embedding.extras.onnx_export"

log = structlog.get_logger()


def load_embedder(
    model: str,
    dimension: int | None,
    models: Path,
    exporter: ModelExporter | None = None,
    packaged: Callable[[], Embedder] = load_packaged,
) -> Embedder:
    """Load the packaged model, or another one's export, or else that model itself.

    Args:
        model: The default model's name, the absolute path of a folder, or a name in the library's local cache.
        dimension: The length that a vector must have; None accepts the model's.
        models: Where exports are kept.
        exporter: Makes a missing export for the next time. With an exporter, exports that are no longer needed are
            removed.
        packaged: Loads the packaged model, or waits for one that is being loaded.
    """
    if model == DEFAULT_MODEL:
        loaded = packaged()
        check_dimension(model, dimension, loaded.identity.dimension)
        if exporter is not None:
            exports.remove_replaced(models, DEFAULT_MODEL)
        return loaded
    source = find_source(model)
    exported = _open_export(source, models)
    if exported is not None:
        check_dimension(model, dimension, exported.identity.dimension)
        if exporter is not None:
            exports.remove_unused(models, source)
        return exported
    from learning_memory_server.embedding.extras.sentence import SentenceEmbedder  # noqa: PLC0415 - leads to torch

    original = SentenceEmbedder(model, dimension)
    if exporter is not None and original.is_exportable:
        reason = exports.failure_of(models, source)
        if reason is None:
            exporter.start(model, models)
        else:
            log.info("model.export_skipped", type=raised_name(reason))
    return original


def _open_export(source: ModelSource, models: Path) -> OnnxEmbedder | None:
    """Return the model's export if there is one and it works."""
    if not exports.has_export(models, source):
        return None
    try:
        from learning_memory_server.embedding.onnx_runtime import OnnxEmbedder  # noqa: PLC0415 - leads to numpy

        return OnnxEmbedder(models / source.digest, source)
    except Exception as error:  # noqa: BLE001 - whatever a library raises, the original still works
        # Its message may contain the path of the file.
        log.warning("model.export_rejected", export=source.digest, type=type(error).__name__)
        return None


class ModelExporter:
    """Exports a model in a short-lived process of low priority, which ends with its owner."""

    def __init__(self, delay: float = timeouts.EXPORT_DELAY) -> None:
        self._delay = delay
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[str] | None = None

    def start(self, model: str, models: Path) -> None:
        """Start an export unless one was started before. Returns at once; a failure is only logged."""
        with self._lock:
            if self._thread is None and not self._stopping.is_set():
                # A daemon thread, so that the process can end.
                self._thread = threading.Thread(target=self._run, args=(model, models), daemon=True)
                self._thread.start()

    def wait(self) -> None:
        """Wait until any export that was started is done or has failed."""
        if self._thread is not None:
            self._thread.join()

    def stop(self) -> None:
        """End a running export, and never start another."""
        with self._lock:
            self._stopping.set()
            if self._process is not None:
                self._process.kill()
        self.wait()

    def _run(self, model: str, models: Path) -> None:
        if self._stopping.wait(self._delay):
            return
        try:
            process = self._spawn(model, models)
        except OSError as error:
            log.warning("model.export_failed", reason=error.strerror)
            return
        try:
            _, errors = process.communicate(timeout=timeouts.EXPORT_CHILD)
        except subprocess.TimeoutExpired:
            process.kill()
            _, errors = process.communicate()
        if process.returncode == 0:
            log.info("model.exported")
        elif not self._stopping.is_set():
            last = errors.strip().splitlines()[-1:] or [f"It ended with {process.returncode}."]
            log.warning("model.export_failed", code=process.returncode, type=raised_name(last[0]))
            if process.returncode == 1 and exports.is_lasting(last[0]):
                exports.remember_failure(models, model, last[0])

    def _spawn(self, model: str, models: Path) -> subprocess.Popen[str]:
        make_private_directory(models)
        with self._lock:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                module_command(_MODULE, model, str(models)),
                **detached(),
                stdin=subprocess.DEVNULL,
                # stdout is reserved for the protocol.
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            )
            if self._stopping.is_set():
                self._process.kill()
            return self._process
