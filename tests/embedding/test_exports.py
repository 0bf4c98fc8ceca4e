"""The folder of exports: replaced and unused ones are removed, and failed ones are not retried at every start."""

import json
import os
import time
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from learning_memory_server.embedding.extras import exports
from learning_memory_server.embedding.loading import ModelExporter
from learning_memory_server.embedding.source import ModelSource, find_source
from learning_memory_server.system.locking import exclusive

MONTH = 31 * 24 * 3600


@pytest.fixture
def source(tmp_path: Path) -> ModelSource:
    """Make a model that cannot be loaded; the folder of exports only needs its files."""
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "config.json").write_text("{}", "utf-8")
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "tokenizer.json").write_text("{}", "utf-8")
    return find_source(str(folder))


@pytest.fixture
def models(tmp_path: Path, source: ModelSource) -> Path:
    path = tmp_path / "models"
    export_of(path / source.digest, source.name)
    return path


def export_of(folder: Path, model: str, age: float = 0) -> None:
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps({"identity": {"model": model}}), "utf-8")
    os.utime(folder, (time.time() - age,) * 2)


def names(models: Path) -> set[str]:
    return {path.name for path in models.iterdir()} - {".lock"}


def test_an_export_that_another_of_the_same_model_replaced_is_removed(
    models: Path, source: ModelSource
) -> None:
    export_of(models / "aaaaaaaaaaaa", source.name)
    (models / "bbbbbbbbbbbb.tmp").mkdir()
    (models / "cccccccccccc.failed").write_text(json.dumps({"model": source.name}), "utf-8")

    with capture_logs() as logs:
        exports.remove_unused(models, source)

    assert names(models) == {source.digest}
    assert {entry["export"] for entry in logs} == {"aaaaaaaaaaaa", "bbbbbbbbbbbb.tmp", "cccccccccccc.failed"}


def test_an_export_of_another_model_is_kept_for_a_month_after_its_last_use(
    models: Path, source: ModelSource
) -> None:
    export_of(models / "aaaaaaaaaaaa", "other")
    export_of(models / "bbbbbbbbbbbb", "other", age=MONTH)
    (models / "dddddddddddd").mkdir()

    exports.remove_unused(models, source)

    assert names(models) == {source.digest, "aaaaaaaaaaaa", "dddddddddddd"}


def test_using_an_export_resets_its_age(models: Path, source: ModelSource) -> None:
    os.utime(models / source.digest, (0, 0))

    exports.remove_unused(models, source)

    assert time.time() - (models / source.digest).stat().st_mtime < MONTH


def test_what_is_not_an_export_is_left_alone(models: Path, source: ModelSource, tmp_path: Path) -> None:
    export_of(models / "my-notes", source.name, age=MONTH)
    export_of(tmp_path / "elsewhere", source.name)
    (models / "aaaaaaaaaaaa").symlink_to(tmp_path / "elsewhere")

    exports.remove_unused(models, source)

    assert names(models) == {source.digest, "my-notes", "aaaaaaaaaaaa"}
    assert (tmp_path / "elsewhere" / "meta.json").exists()


def test_nothing_is_removed_while_an_export_is_being_made(models: Path, source: ModelSource) -> None:
    (models / "bbbbbbbbbbbb.tmp").mkdir()

    with exclusive(models, "the export of an embedding model"):
        exports.remove_unused(models, source)

    assert "bbbbbbbbbbbb.tmp" in names(models)


def test_a_failure_is_remembered_until_a_package_changes(models: Path, source: ModelSource) -> None:
    assert exports.failure_of(models, source) is None

    exports.remember_failure(models, str(source.folder), "RuntimeError: no such operator")
    assert exports.failure_of(models, source) == "RuntimeError: no such operator"

    path = exports.failure_path(models, source)
    kept = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**kept, "versions": {**kept["versions"], "onnx": "0.1"}}), "utf-8")
    assert exports.failure_of(models, source) is None


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "{}", "\udcff"])
def test_a_damaged_record_of_a_failure_is_ignored(content: str, models: Path, source: ModelSource) -> None:
    exports.failure_path(models, source).write_text(content, "utf-8", "surrogateescape")

    assert exports.failure_of(models, source) is None


@pytest.mark.parametrize(
    ("last_line", "lasting"),
    [
        ("RuntimeError: no such operator", True),
        ("torch.onnx.errors.UnsupportedOperatorError: aten::x", True),
        ("The export's vectors differ from those of small (smallest cosine 0.10000).", True),
        ("OSError: [Errno 28] No space left on device", False),
        ("FileNotFoundError: [Errno 2] No such file or directory", False),
        ("MemoryError", False),
    ],
)
def test_what_the_operating_system_refused_may_work_next_time(last_line: str, lasting: bool) -> None:
    assert exports.is_lasting(last_line) is lasting


@pytest.mark.slow
def test_an_export_that_cannot_work_is_recorded(source: ModelSource, tmp_path: Path) -> None:
    models, exporter = tmp_path / "new", ModelExporter(delay=0)

    with capture_logs() as logs:
        exporter.start(str(source.folder), models)
        exporter.wait()

    assert [entry["event"] for entry in logs] == ["model.export_failed"]
    assert exports.failure_of(models, source)
    assert str(tmp_path) not in str(logs)
