"""`download-model`: from a hub that has the model, and from hubs that do not answer."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.embedding.hub_stub import DECOYS, hub_with
from tests.original_model import ORIGINAL

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(300)]


COMMAND = "from learning_memory_server.cli.app import main; main()"


def download(
    tmp_path: Path, model: str, *, script: str = COMMAND, **environment: str
) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    return subprocess.run(
        [sys.executable, "-c", script, "download-model", model],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=tmp_path,
        env={
            **variables,
            "HF_HOME": str(tmp_path / "cache"),
            "HF_HUB_DISABLE_XET": "1",
            "LEARNING_MEMORY_STORAGE_PATH": str(tmp_path / "storage"),
            "LEARNING_MEMORY_CONFIG": os.devnull,
            **environment,
        },
    )


COMMAND_AND_USE = """
import sys
from typer.testing import CliRunner
from learning_memory_server.cli.app import app
print(CliRunner().invoke(app, sys.argv[1:]).output)

def watch(event, arguments):
    if event in {"socket.connect", "socket.getaddrinfo"}:
        print("asked the network", arguments)

sys.addaudithook(watch)
from learning_memory_server.embedding.extras.sentence import SentenceEmbedder
embedder = SentenceEmbedder("acme/small")
print(embedder.identity.model, embedder.identity.weights[:12], embedder.embed_query("x").shape)
"""


def test_a_downloaded_model_is_used_without_a_network(tmp_path: Path) -> None:
    requests: list[str] = []
    with hub_with("acme/small", ORIGINAL, requests) as url:
        done = download(tmp_path, "acme/small", script=COMMAND_AND_USE, HF_ENDPOINT=url)

    assert done.returncode == 0, done.stderr
    assert "of length 384, of texts up to 256 tokens" in done.stdout
    assert "LEARNING_MEMORY_EMBEDDING_MODEL=acme/small" in done.stdout
    assert any("model.safetensors" in path for path in requests)
    assert not any(decoy in path for path in requests for decoy in DECOYS)
    assert "asked the network" not in done.stdout
    assert done.stdout.endswith("acme/small 53aa51172d14 (384,)\n")


RERANKER_AND_USE = (
    COMMAND_AND_USE.partition("from learning_memory_server.embedding.extras.sentence")[0]
    + """
from learning_memory_server.embedding.extras.sentence import CrossEncoderReranker
print(CrossEncoderReranker("acme/ranks").scores("a", ["b", "c"]).shape)
"""
)


def test_a_downloaded_re_ranking_model_is_used_without_a_network(
    tmp_path: Path, reranker_folder: Path
) -> None:
    requests: list[str] = []
    # Whatever makes the embeddings.
    settings = {
        "LEARNING_MEMORY_EMBEDDING_BACKEND": "ollama",
        "LEARNING_MEMORY_EMBEDDING_MODEL": "x",
        "LEARNING_MEMORY_RERANKER_MODEL": "acme/ranks",
    }
    with hub_with("acme/ranks", reranker_folder, requests) as url:
        done = download(tmp_path, "acme/ranks", script=RERANKER_AND_USE, HF_ENDPOINT=url, **settings)

    assert done.returncode == 0, done.stderr
    assert "LEARNING_MEMORY_RERANKER_MODEL=acme/ranks" in done.stdout
    assert "EMBEDDING_MODEL" not in done.stdout
    assert any("model.safetensors" in path for path in requests)
    assert not any(decoy in path for path in requests for decoy in DECOYS)
    assert "asked the network" not in done.stdout
    assert done.stdout.endswith("(2,)\n")


def test_a_model_that_the_hub_does_not_have_is_a_clear_error(tmp_path: Path) -> None:
    with hub_with("acme/small", ORIGINAL, []) as url:
        done = download(tmp_path, "nobody/none", HF_ENDPOINT=url)

    assert done.returncode == 1
    assert "error: The hub has no model nobody/none, or it is private." in done.stderr


def test_without_a_network_it_fails_soon(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        began = time.monotonic()
        done = download(tmp_path, "acme/small", HF_ENDPOINT=f"http://127.0.0.1:{unused.getsockname()[1]}")

    assert done.returncode == 1
    assert time.monotonic() - began < 60
    assert "acme/small could not be downloaded (ConnectError" in done.stderr
    assert "Traceback" not in done.stderr


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
    done = download(tmp_path, model, **environment)

    assert done.returncode == 1
    assert said in done.stderr
