"""`download-model`: from a hub that has the model, and from hubs that do not answer."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.cli.app import app
from tests.command_line import in_process
from tests.embedding.hub_stub import Hub, hub_with
from tests.original_model import ORIGINAL
from tests.support import MINUTES
from tests.tiny_onnx import change, graph, save_model

pytestmark = pytest.mark.slow

MISSING = ("torch", "sentence_transformers", "transformers", "onnx")
WITHOUT_TORCH = f"""
import sys
for name in {MISSING}:
    sys.modules[name] = None
"""
COMMAND = "from learning_memory_server.cli.app import main; main()"


def variables(tmp_path: Path, **more: str) -> dict[str, str]:
    return {
        "COLUMNS": "200",
        "HF_HOME": str(tmp_path / "cache"),
        "LEARNING_MEMORY_STORAGE_PATH": str(tmp_path / "storage"),
        "LEARNING_MEMORY_CONFIG": os.devnull,
        **more,
    }


def start(tmp_path: Path, model: str, script: str = WITHOUT_TORCH + COMMAND, **environment: str) -> Any:
    """Start the command in a process of its own."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    return subprocess.Popen(
        [sys.executable, "-c", script, "download-model", model],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**others, **variables(tmp_path, **environment)},
    )


def then_use(tmp_path: Path, hub: Hub, model: str, script: str, **environment: str) -> str:
    """Run a script that downloads a model and uses it, and return what it printed."""
    process = start(tmp_path, model, script, HF_ENDPOINT=hub.url, **environment)
    output, errors = process.communicate(timeout=MINUTES)
    assert process.returncode == 0, errors
    return str(output)


def download(tmp_path: Path, hub: Hub | None, model: str = "acme/small", status: int = 0, **environment: str) -> str:
    """Run the command here, which ends with a status, and return what it printed; what it said, if it failed."""
    endpoint = environment.pop("HF_ENDPOINT", hub.url if hub else "")
    others = dict.fromkeys((name for name in os.environ if name.startswith("HF_")), None)
    with pytest.MonkeyPatch.context() as here:
        for name in MISSING:
            here.setitem(sys.modules, name, None)
        # The client reads its variables once, when it is imported: by the package, with this one.
        here.setenv("HF_HUB_OFFLINE", "1")
        here.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache/hub"))
        here.setattr("huggingface_hub.constants.ENDPOINT", endpoint)
        env = {**others, "HF_HUB_OFFLINE": None, **variables(tmp_path, **environment)}
        result = in_process(app, "download-model", model, **env)
    assert result.exit_code == status, result.output
    return " ".join(result.stderr.split()) if status else result.stdout


def snapshot(tmp_path: Path, name: str = "acme/small") -> Path:
    (folder,) = (tmp_path / "cache/hub" / f"models--{name.replace('/', '--')}" / "snapshots").iterdir()
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = save_model(tmp_path / "published")
    (folder / "onnx/model_quantized.onnx").write_bytes(graph(["input_ids"]) * 1)
    (folder / "model.safetensors").write_bytes(b"the same weights")
    (folder / "README.md").write_text("A model.", "utf-8")
    return folder


@pytest.fixture
def hub(folder: Path) -> Iterator[Hub]:
    """A hub that has the model."""
    with hub_with("acme/small", folder) as hub:
        yield hub


THEN_USE = """
import sys
from typer.testing import CliRunner
from learning_memory_server.cli.app import app
print(CliRunner().invoke(app, sys.argv[1:]).output)

def watch(event, arguments):
    if event in {"socket.connect", "socket.getaddrinfo"}:
        print("asked the network", arguments)

sys.addaudithook(watch)
"""
EMBED = """
from learning_memory_server.embedding.loading import load_embedder
embedder = load_embedder(sys.argv[2])
print(embedder.identity.model, embedder.identity.definition.split()[0], embedder.embed_queries(["x"])[0].shape)
"""


def test_a_downloaded_model_is_used_without_a_network_and_without_torch(tmp_path: Path, hub: Hub) -> None:
    output = then_use(tmp_path, hub, "acme/small", WITHOUT_TORCH + THEN_USE + EMBED)

    assert "of length 8, of texts up to 12 tokens" in output
    assert "LEARNING_MEMORY_EMBEDDING_MODEL=acme/small" in output
    assert "asked the network" not in output
    assert output.endswith("acme/small onnx/model.onnx (8,)\n")
    assert "onnx/model.onnx" in hub.fetched
    assert not hub.fetched & {"onnx/model_quantized.onnx", "model.safetensors", "README.md"}


def test_another_onnx_file_is_downloaded_by_its_path(tmp_path: Path, hub: Hub) -> None:
    model = "acme/small/onnx/model_quantized.onnx"

    output = then_use(tmp_path, hub, model, WITHOUT_TORCH + THEN_USE + EMBED)

    assert f"LEARNING_MEMORY_EMBEDDING_MODEL={model}" in output
    assert output.endswith("acme/small onnx/model_quantized.onnx (8,)\n")
    assert "onnx/model.onnx" not in hub.fetched


def test_a_download_that_was_killed_is_resumed_where_it_stopped(tmp_path: Path, folder: Path, hub: Hub) -> None:
    path, size = "/acme/small/resolve/", (folder / "onnx/model.onnx").stat().st_size
    hub.hangs = threading.Event()
    killed = start(tmp_path, "acme/small", HF_ENDPOINT=hub.url)
    assert hub.hangs.wait(MINUTES)
    partial = snapshot(tmp_path) / "onnx" / ".model.onnx.part"
    while not (partial.exists() and partial.stat().st_size):
        time.sleep(0.01)
    killed.kill()
    killed.communicate()
    there = partial.stat().st_size
    hub.hangs = None
    hub.requests.clear()

    download(tmp_path, hub)

    assert 0 < there < size
    asked = [(each, part) for each, part in hub.requests if path in each]
    # What was complete is not fetched again.
    assert {part for _, part in asked} == {f"bytes={there}-"}
    assert (snapshot(tmp_path) / "onnx/model.onnx").read_bytes() == (folder / "onnx/model.onnx").read_bytes()
    assert not partial.exists()


def test_a_lost_connection_is_resumed_at_once(tmp_path: Path, hub: Hub) -> None:
    hub.drops = 2

    download(tmp_path, hub)

    assert len({part for _, part in hub.requests}) == 3


def test_a_wrong_digest_is_a_clear_error_and_nothing_of_it_is_kept(tmp_path: Path, hub: Hub) -> None:
    hub.changes = True
    said = download(tmp_path, hub, status=1)
    assert "onnx/model.onnx of acme/small did not arrive as the hub has it: its digest is wrong." in said
    assert list((snapshot(tmp_path) / "onnx").iterdir()) == []

    hub.changes = False
    download(tmp_path, hub)


def test_the_commit_of_the_first_use_is_kept_and_a_changed_file_repaired(
    tmp_path: Path, folder: Path, hub: Hub
) -> None:
    download(tmp_path, hub)
    file = snapshot(tmp_path) / "onnx/model.onnx"
    file.write_bytes(b"changed")
    used = start(tmp_path, "acme/small", script="import sys" + EMBED)
    assert "the SHA-256 of onnx/model.onnx has changed" in used.communicate()[1]

    hub.requests.clear()
    download(tmp_path, hub)
    assert file.read_bytes() == (folder / "onnx/model.onnx").read_bytes()
    assert hub.fetched == {"onnx/model.onnx"}
    assert hub.requests[0][0].endswith(f"/revision/{hub.commit}")

    hub.commit = "f" * 40
    said = download(tmp_path, hub, status=1)
    assert "The hub no longer has the commit 0123456789ab of acme/small" in said
    assert str(file.parents[3] / "learning-memory.json") in said


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / "tokenizer.json").rename(folder / "vocab.txt"), "but no tokenizer.json, and"),
        (
            lambda folder: change(folder / "1_Pooling/config.json", pooling_mode="lasttoken"),
            "its pooling is lasttoken, and not mean or cls, and",
        ),
        (lambda folder: shutil.rmtree(folder / "onnx"), "it brings no ONNX file, and"),
    ],
)
def test_what_needs_the_extra_is_said_before_the_weights_are_fetched(
    spoil: Any, said: str, tmp_path: Path, folder: Path, hub: Hub
) -> None:
    spoil(folder)

    errors = download(tmp_path, hub, status=1)

    assert "This model needs the extra sentence-transformers: " in errors
    assert said in errors
    assert not any(path.endswith((".onnx", ".safetensors")) for path in hub.fetched)


def test_a_file_outside_the_model_s_folder_is_refused(tmp_path: Path, hub: Hub) -> None:
    listing = hub.listing()
    listing["siblings"].append({"rfilename": "../../../evil.json", "blobId": ""})
    hub.listing = lambda: listing  # type: ignore[method-assign]

    said = download(tmp_path, hub, status=1)

    assert "The hub lists a file outside the model's folder: '../../../evil.json'." in said


@pytest.mark.parametrize(
    ("model", "refuses", "said"),
    [
        ("nobody/none", None, "error: The hub has no model nobody/none, or it is private."),
        ("acme/small", (403, "GatedRepo"), "The publisher of acme/small requires you to agree to terms first."),
        ("acme/small", (500, ""), "acme/small could not be downloaded (HTTPStatusError"),
    ],
)
def test_what_the_hub_refuses_is_a_clear_error(
    model: str, refuses: tuple[int, str] | None, said: str, tmp_path: Path, hub: Hub
) -> None:
    hub.refuses = refuses

    assert said in download(tmp_path, hub, model, status=1)


def test_without_a_network_it_fails_with_a_sentence(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        errors = download(tmp_path, None, status=1, HF_ENDPOINT=f"http://127.0.0.1:{unused.getsockname()[1]}")

    assert "acme/small could not be downloaded (ConnectError" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("model", "environment", "said"),
    [
        ("acme/small", {"HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE forbids"),
        ("not a name", {}, "is not the name of a model"),
        (
            "nomic-embed-text",
            {"LEARNING_MEMORY_EMBEDDING_BACKEND": "ollama", "LEARNING_MEMORY_EMBEDDING_MODEL": "x"},
            "Run: ollama pull nomic-embed-text",
        ),
    ],
)
def test_invalid_requests_are_refused_at_once(
    model: str, environment: dict[str, str], said: str, tmp_path: Path
) -> None:
    assert said in download(tmp_path, None, model, status=1, **environment)


@pytest.mark.torch
def test_a_model_without_an_onnx_file_is_run_by_the_library(tmp_path: Path) -> None:
    with hub_with("acme/small", ORIGINAL) as hub:
        output = then_use(tmp_path, hub, "acme/small", THEN_USE + EMBED)

    assert "of length 384, of texts up to 256 tokens" in output
    assert "model.safetensors" in hub.fetched
    assert "asked the network" not in output
    assert output.rstrip().endswith("(384,)")
    record = json.loads((snapshot(tmp_path).parents[1] / "learning-memory.json").read_text("utf-8"))
    assert record["digests"]["weights"].startswith("53aa51172d14")


RERANK = """
from learning_memory_server.embedding.extras.sentence import CrossEncoderReranker
print(CrossEncoderReranker("acme/ranks").scores("a", ["b", "c"]).shape)
"""


def test_a_downloaded_re_ranking_model_is_used_without_a_network(tmp_path: Path, reranker_folder: Path) -> None:
    # Whatever makes the embeddings.
    settings: dict[str, Any] = {
        "LEARNING_MEMORY_EMBEDDING_BACKEND": "ollama",
        "LEARNING_MEMORY_EMBEDDING_MODEL": "x",
        "LEARNING_MEMORY_RERANKER_MODEL": "acme/ranks",
    }
    with hub_with("acme/ranks", reranker_folder) as hub:
        output = then_use(tmp_path, hub, "acme/ranks", THEN_USE + RERANK, **settings)

    assert "LEARNING_MEMORY_RERANKER_MODEL=acme/ranks" in output
    assert "EMBEDDING_MODEL" not in output
    assert "model.safetensors" in hub.fetched
    assert "asked the network" not in output
    assert output.endswith("(2,)\n")
