"""Download models from the Hugging Face hub, only at a person's command, to the cache of the hub's own client.

That client neither resumes interrupted downloads nor compares digests.
"""

import hashlib
import os
from collections.abc import Callable, Iterable
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import Any, Final

import httpx2

from learning_memory_server.embedding.graph import NotRunnableError, read_graph
from learning_memory_server.embedding.source import (
    RECORD,
    file_digest,
    hub_name,
    is_hub_name,
    is_reranker,
    recorded_commit,
    repository_of,
    require_library,
    split_file,
)
from learning_memory_server.errors import EmbeddingUnavailableError
from learning_memory_server.system import files, timeouts
from learning_memory_server.system.locking import exclusive
from learning_memory_server.system.waiting import Backoff, attempts

_PARTS: Final = {"modules.json", "config.json"}
_DEFINITIONS: Final = (".json", ".txt", ".model", ".tiktoken")  # Suffixes of files other than weights
_NOT_SHOWN: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)
"""The hub's status codes for a model that does not exist, or that the user may not access."""
_OTHER_RUNTIMES: Final = ("onnx", "openvino", "coreml")  # Folders whose descriptions are not needed

Report = Callable[[str, int, int], None]  # Called with the file name, its MB so far, and its MB in total


def download_model(model: str, report: Report) -> Path:
    """Download a model to the local cache of the hub, and return its folder. Interrupted downloads are resumed.

    Args:
        model: Its name, optionally followed by `/` and the path of an ONNX file other than the default one.
        report: Called as files arrive.
    """
    name, wanted = split_file(model)
    if not is_hub_name(name):
        raise EmbeddingUnavailableError(
            f"{model!r} is not the name of a model.", hint="A name is OWNER/MODEL, as on huggingface.co."
        )
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
        raise EmbeddingUnavailableError("HF_HUB_OFFLINE forbids network access.", hint="Unset it for this command.")
    repository = repository_of(name)
    # Its temporary files are resumed, so no other process may write to them.
    with exclusive(repository, "the download of a model", name="the folder of the model"):
        try:
            return _download(repository, name, wanted, report)
        # The last three are for a response that does not come from the hub.
        except (httpx2.HTTPError, OSError, ValueError, LookupError, TypeError) as error:
            raise _explained(name, error) from error


def _download(repository: Path, name: str, wanted: str, report: Report) -> Path:
    with _client() as client:
        hub = _Hub(client, hub_name(name), recorded_commit(repository) or "main", repository, report)
        hub.fetch(path for path in hub.digests if _is_definition(path))
        hub.fetch(_weights(hub, name, wanted))
    files.replace(repository / "refs" / "main", hub.commit.encode())
    return hub.snapshot


class _Hub:
    """The files of one model at one commit, on the hub and in the cache."""

    def __init__(self, client: httpx2.Client, name: str, revision: str, repository: Path, report: Report) -> None:
        self._client = client
        self._name = name
        self._report = report
        answer = client.get(f"/api/models/{name}/revision/{revision}", params={"blobs": "true"})
        if answer.headers.get("X-Error-Code") == "RevisionNotFound":
            raise EmbeddingUnavailableError(
                f"The hub no longer has the commit {revision[:12]} of {name}, which was used first.",
                hint=f"To take the newest, delete {repository / RECORD} and run the command again.",
            )
        answer.raise_for_status()
        described = answer.json()
        self.commit: str = PurePosixPath(described["sha"]).name
        self.digests = dict(map(_digest_of, described["siblings"]))  # By path: a SHA-256, git's digest, or empty
        if not self.digests.keys() & _PARTS:
            raise EmbeddingUnavailableError(
                f"{name} is not a sentence-transformers model.", hint="Choose one with the tag sentence-transformers."
            )
        self.snapshot = repository / "snapshots" / self.commit

    def fetch(self, paths: Iterable[str]) -> None:
        """Download the files that are missing or differ from the hub's."""
        for path in paths:
            target, digest = self.snapshot / path, self.digests[path]
            if target.is_file() and _is_what(target, digest):
                continue
            files.make_private_directory(target.parent)
            partial = target.with_name(f".{target.name}.part")
            for attempt in attempts("model.download", _is_lost, Backoff(timeouts.DOWNLOAD_AGAIN)):
                with attempt:
                    self._resume(path, partial)
            if not _is_what(partial, digest):
                partial.unlink()
                raise EmbeddingUnavailableError(
                    f"{path} of {self._name} did not arrive as the hub has it: its digest is wrong.",
                    hint="Run the command again. If that does not help, a proxy or mirror changes it (HTTPS_PROXY, "
                    "HF_ENDPOINT).",
                )
            partial.replace(target)

    def _resume(self, path: str, partial: Path) -> None:
        """Download the missing part of a file."""
        there = partial.stat().st_size if partial.exists() else 0
        headers = {"Range": f"bytes={there}-"} if there else {}
        with self._client.stream("GET", f"/{self._name}/resolve/{self.commit}/{path}", headers=headers) as answer:
            if answer.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                return  # The file is complete
            answer.raise_for_status()
            is_rest = answer.status_code == HTTPStatus.PARTIAL_CONTENT
            done = there if is_rest else 0
            total = done + int(answer.headers.get("Content-Length", 0))
            with partial.open("ab" if is_rest else "wb", buffering=0) as file:
                for chunk in answer.iter_bytes():
                    file.write(chunk)
                    done += len(chunk)
                    self._report(f"Downloading {path} (MB)", done >> 20, total >> 20)


def _weights(hub: _Hub, name: str, wanted: str) -> list[str]:
    """Return the paths of the weights to download: onnxruntime's file if it can run one, otherwise the library's."""
    obstacle = ""
    if not is_reranker(hub.snapshot):
        onnx = [path for path in hub.digests if path.endswith(".onnx") and path.count("/") <= 1]
        try:
            graph = read_graph(hub.snapshot, name, onnx, wanted)
        except NotRunnableError as error:
            obstacle = str(error)
            if wanted:
                raise EmbeddingUnavailableError(
                    f"{name} cannot be run: {obstacle}.", hint="Choose another file or model."
                ) from error
        else:
            return [path for path in hub.digests if path.startswith(graph.file)]
    # Before a long download instead of after it.
    require_library(obstacle)
    own = [path for path in hub.digests if path.count("/") <= 1 and not path.startswith(_OTHER_RUNTIMES)]
    safe = [path for path in own if path.endswith(".safetensors")]
    return safe or [path for path in own if path.endswith(".bin")]


def _is_definition(path: str) -> bool:
    is_known = path.endswith(_DEFINITIONS) or PurePosixPath(path).name.startswith("vocab.")
    return is_known and path.count("/") <= 1 and not path.startswith(_OTHER_RUNTIMES)


def _digest_of(sibling: dict[str, Any]) -> tuple[str, str]:
    path = str(sibling["rfilename"])
    if ".." in path.split("/") or path.startswith("/") or "\\" in path:
        raise EmbeddingUnavailableError(f"The hub lists a file outside the model's folder: {path!r}.")
    return path, str((sibling.get("lfs") or {}).get("sha256") or sibling.get("blobId") or "")


def _is_what(path: Path, digest: str) -> bool:
    """Whether a file has the digest stated by the hub."""
    if len(digest) == hashlib.sha256().digest_size * 2:
        return file_digest(path) == digest
    content = path.read_bytes()
    blob = b"blob %d\0%b" % (len(content), content)
    return digest in ("", hashlib.sha1(blob, usedforsecurity=False).hexdigest())


def _is_lost(error: Exception) -> bool:
    return isinstance(error, httpx2.TransportError)


def _client() -> httpx2.Client:
    from huggingface_hub import get_token
    from huggingface_hub.constants import ENDPOINT

    token = get_token()
    return httpx2.Client(
        base_url=ENDPOINT,
        follow_redirects=True,
        timeout=httpx2.Timeout(timeouts.DOWNLOAD, connect=timeouts.DOWNLOAD_CONNECT),
        # A compressed file could not be resumed.
        headers={"Accept-Encoding": "identity", **({"Authorization": f"Bearer {token}"} if token else {})},
    )


def _explained(model: str, error: Exception) -> EmbeddingUnavailableError:
    """Return the error to raise for an exception from the hub or the network."""
    refused = error.response if isinstance(error, httpx2.HTTPStatusError) else None
    if refused is not None and refused.headers.get("X-Error-Code") == "GatedRepo":
        return EmbeddingUnavailableError(
            f"The publisher of {model} requires you to agree to terms first.",
            hint="Agree on the model's page on huggingface.co, set HF_TOKEN, and try again.",
        )
    if refused is not None and refused.status_code in _NOT_SHOWN:
        return EmbeddingUnavailableError(
            f"The hub has no model {hub_name(model)}, or it is private.",
            hint="Check its name on huggingface.co; for a private model, set HF_TOKEN.",
        )
    reason = " ".join(str(error).split("\n", 1)[0].split())
    return EmbeddingUnavailableError(
        f"{model} could not be downloaded ({type(error).__name__}: {reason}).",
        hint="Check the network (and HTTPS_PROXY, HF_ENDPOINT) and the disk space, and try again: the download "
        "resumes where it stopped. Or copy a model's folder from elsewhere and set embedding_model to its path.",
    )
