"""The first start exports the model in its own process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from learning_memory_server.embedding.loading import ModelExporter
from learning_memory_server.embedding.source import find_source
from tests.original_model import ORIGINAL

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(300)]


FIRST_START = """
import sys
from pathlib import Path
from learning_memory_server.embedding.loading import ModelExporter, load_embedder
exporter = ModelExporter(delay=0)
for _ in range(2):
    print(load_embedder(sys.argv[2], None, Path(sys.argv[1]), exporter).runtime)
    exporter.wait()
"""


def test_the_first_start_exports_and_the_next_uses_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_START, str(tmp_path / "new" / "models"), str(ORIGINAL)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        timeout=120,
    )

    *_, first, second = [line for line in done.stdout.splitlines() if "model.exported" not in line]
    assert (first, second) == ("sentence-transformers", "onnxruntime")
    assert len(done.stdout.splitlines()) == 3
    assert [path.name for path in (tmp_path / "new" / "models").iterdir() if path.is_dir()] == [
        find_source(str(ORIGINAL)).digest
    ]


def test_an_export_that_fails_is_logged_once_and_leaves_no_process(tmp_path: Path) -> None:
    exporter = ModelExporter(delay=0)

    with capture_logs() as logs:
        exporter.start(str(tmp_path), tmp_path / "models")
        exporter.start(str(tmp_path), tmp_path / "models")
        exporter.wait()

    assert [(entry["event"], entry["log_level"]) for entry in logs] == [("model.export_failed", "warning")]
    assert logs[0]["code"] == 1
    assert str(tmp_path) not in str(logs)
    assert exporter._process is not None
    assert exporter._process.returncode is not None


def test_an_owner_that_ends_soon_starts_no_export(tmp_path: Path) -> None:
    exporter = ModelExporter()

    exporter.start(str(ORIGINAL), tmp_path / "models")
    exporter.stop()

    assert list(tmp_path.iterdir()) == []


def test_a_stopped_export_leaves_no_process_and_logs_nothing(tmp_path: Path) -> None:
    exporter = ModelExporter(delay=0)
    # Between taking the lock and writing, the process imports torch for seconds.
    with capture_logs() as logs:
        exporter.start(str(ORIGINAL), tmp_path / "models")
        while not (tmp_path / "models" / ".lock").exists():
            os.sched_yield()
        exporter.stop()
        exporter.start(str(ORIGINAL), tmp_path / "models")

    assert logs == []
    assert not [path for path in (tmp_path / "models").iterdir() if path.name != ".lock"]
    assert exporter._process is not None
    assert exporter._process.returncode is not None
