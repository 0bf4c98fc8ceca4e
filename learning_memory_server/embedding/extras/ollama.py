"""Models on an Ollama server, through its API: https://docs.ollama.com/api."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

from learning_memory_server.embedding.base import PROBE, EmbeddingIdentity, Runtime, Vectors
from learning_memory_server.embedding.graph import prompts_of
from learning_memory_server.errors import EmbeddingUnavailableError, InvalidSettingsError, ModelServerAwayError
from learning_memory_server.model import limits
from learning_memory_server.system import timeouts
from learning_memory_server.system.servers import NOT_BEHIND, certificates, is_here, obstacle, speaks_tls
from learning_memory_server.system.waiting import Backoff, attempts

_BATCH: Final = 32
_BODY_MAX: Final = 64 << 20  # Maximum bytes of a response. A batch of vectors with 4,096 numbers takes 3 MB


class OllamaEmbedder:
    """A model on an Ollama server. Models are never pulled.

    Args:
        model: The model's name, with or without a tag.
        url: The server.
        timeout: Seconds to wait for the next byte of a reply.
    """

    runtime: Runtime = "ollama"
    tokenizer = None  # the server has it

    def __init__(self, model: str, url: str, timeout: float = 60.0) -> None:
        self._model = model
        self._server = OllamaServer(url, timeout)
        self._prompts = prompts_of(model)
        # Read before embedding, so that a change of the tag in between is noticed.
        digest = self._server.digest_of(model)
        max_tokens = self._server.context_length(model)
        actual = self._server.embed(model, [self._prompts.document + PROBE]).shape[1]
        self.identity = EmbeddingIdentity(
            provider="ollama",
            model=full_name(model),
            weights=digest,
            dimension=actual,
            max_tokens=max_tokens,
            definition=self._prompts.definition,
        )

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension)."""
        return self._embed([self._prompts.document + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension)."""
        return self._embed([self._prompts.query + text for text in texts])

    def _embed(self, texts: list[str]) -> Vectors:
        import numpy as np

        vectors = np.empty((len(texts), self.identity.dimension), dtype=np.float32)
        for start in range(0, len(texts), _BATCH):
            made = self._embed_truncated(texts[start : start + _BATCH])
            if made.shape[1] != self.identity.dimension:
                raise self._changed()
            vectors[start : start + _BATCH] = made
        # Checked afterwards, so that vectors from a newly pulled model are rejected.
        if self._server.digest_of(self._model) != self.identity.weights:
            raise self._changed()
        return vectors

    def _embed_truncated(self, texts: list[str]) -> Vectors:
        import numpy as np

        try:
            return self._server.embed(self._model, texts)
        except TextTooLongError:
            # Some versions of Ollama reject texts that they should truncate.
            if len(texts) > 1:
                return np.vstack([self._embed_truncated([text]) for text in texts])
            if len(texts[0]) <= 1:
                raise
            return self._embed_truncated([texts[0][: len(texts[0]) // 2]])

    def _changed(self) -> EmbeddingUnavailableError:
        return EmbeddingUnavailableError(
            f"Ollama's {self._model} has changed since this server started.",
            hint="Run `learning-memory-server hub stop`; the next session rebuilds the index with it.",
        )


class TextTooLongError(EmbeddingUnavailableError):
    """A text is longer than the model's context, and the server did not truncate it."""


class OllamaServer:
    """An Ollama server. Thread-safe."""

    def __init__(self, url: str, timeout: float) -> None:
        parts = urlsplit(url)
        # A URL may contain a password before the host.
        self.address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self._timeout = timeout
        try:
            trusted = certificates(url)
        except InvalidSettingsError as error:
            raise EmbeddingUnavailableError(error.message, hint=error.hint) from error
        self._client = httpx2.Client(
            base_url=url,
            timeout=httpx2.Timeout(timeout, connect=min(timeout, timeouts.OLLAMA_CONNECT)),
            # A new connection per request: this is cheap on one machine, and leaves no connection open.
            limits=httpx2.Limits(max_keepalive_connections=0),
            # A proxy for the internet does not lead back to this machine.
            trust_env=not is_here(parts.hostname or ""),
            verify=trusted,
        )

    def version(self) -> str:
        """Return the server's version."""
        return str(self._request("GET", "/api/version").get("version", "unknown"))

    def digest_of(self, model: str) -> str:
        """Return the digest that a model's name currently refers to. It changes when the tag moves."""
        listed = self._request("GET", "/api/tags").get("models")
        for entry in listed if isinstance(listed, list) else ():
            if isinstance(entry, dict) and isinstance(entry.get("digest"), str):
                names = {full_name(str(entry.get(key, ""))) for key in ("name", "model")}
                if full_name(model) in names:
                    return str(entry["digest"])
        raise _missing(model)

    def context_length(self, model: str) -> int:
        """Return the maximum number of tokens of a model's input; 0 if the server does not report it."""
        shown = self._request("POST", "/api/show", {"model": model})
        info, parameters = shown.get("model_info"), shown.get("parameters")
        lengths = [
            value
            for key, value in (info if isinstance(info, dict) else {}).items()
            if key.endswith(".context_length") and isinstance(value, int)
        ]
        lengths += [int(number) for number in re.findall(r"^num_ctx\s+(\d+)$", str(parameters), re.MULTILINE)]
        return min(lengths, default=0)

    def embed(self, model: str, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension) with unit rows. Raises `TextTooLongError`."""
        import numpy as np

        body = {"model": model, "input": list(texts), "truncate": True}
        answer = self._request("POST", "/api/embed", body).get("embeddings")
        try:
            vectors = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError):
            raise self._malformed() from None  # Rows with different lengths, or values that are not numbers
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise self._malformed()
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.all(np.isfinite(lengths) & (lengths > 0)):
            raise EmbeddingUnavailableError(
                f"Ollama's {model} made a vector without a direction.", hint="Choose an embedding model."
            )
        normalised: Vectors = (vectors / lengths).astype(np.float32)
        return normalised

    def _request(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        with self._transport_errors():
            for attempt in attempts("ollama.request", _is_lost, Backoff(timeouts.OLLAMA_AGAIN)):
                with attempt, self._client.stream(method, path, json=body) as response:
                    content = self._read(response)
            if speaks_tls(response.status_code, content):
                raise httpx2.UnsupportedProtocol("The server speaks TLS.")
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            answer = None
        if response.status_code != HTTPStatus.OK:
            raise self._refusal(response, answer, str((body or {}).get("model", "")))
        if not isinstance(answer, dict):
            raise self._malformed()
        return answer

    def _read(self, response: httpx2.Response) -> bytes:
        """Return the body, up to a maximum size."""
        content = bytearray()
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > _BODY_MAX:
                raise EmbeddingUnavailableError(
                    f"{self.address} answered with more than {_BODY_MAX >> 20} MiB, so it does not seem to be Ollama.",
                    hint="Correct ollama_url.",
                )
        return bytes(content)

    def _refusal(self, response: httpx2.Response, answer: object, model: str) -> EmbeddingUnavailableError:
        said = answer.get("error") if isinstance(answer, dict) else None
        if not isinstance(said, str):
            kind = ModelServerAwayError if response.status_code in NOT_BEHIND else EmbeddingUnavailableError
            return kind(
                f"{self.address} answered with HTTP status {response.status_code}, and does not seem to be Ollama.",
                hint="Correct ollama_url, or restart Ollama.",
            )
        if response.status_code == HTTPStatus.NOT_FOUND and model:
            return _missing(model)
        explanation = " ".join(said.split())[: limits.SERVER_QUOTED_MAX]
        message = f"Ollama answered with HTTP status {response.status_code}: {explanation}"
        if re.search(r"context length|too large to process", explanation):
            return TextTooLongError(message)
        return EmbeddingUnavailableError(message, hint="See Ollama's log.")

    def _malformed(self) -> EmbeddingUnavailableError:
        return EmbeddingUnavailableError(
            f"{self.address} answered, but does not seem to be Ollama.",
            hint="Correct ollama_url, or update Ollama (0.3 or later).",
        )

    @contextmanager
    def _transport_errors(self) -> Iterator[None]:
        """Translate connection errors."""
        try:
            yield
        except httpx2.ReadTimeout as error:
            raise ModelServerAwayError(
                f"Ollama at {self.address} sent nothing for {self._timeout:g} seconds.",
                hint="It may be loading a large model; `ollama ps` shows what it is running. Try again later.",
            ) from error
        except httpx2.HTTPError as error:
            why, advice = obstacle(error, "ollama_url", "Start it with `ollama serve`")
            raise ModelServerAwayError(f"Ollama at {self.address} cannot be reached: {why}.", hint=advice) from error


def _is_lost(error: Exception) -> bool:
    """Whether the server closed the connection during a request. Other errors would recur."""
    return isinstance(error, (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError))


def full_name(model: str) -> str:
    """Return a model's name with its tag and without the default registry, in lower case: Ollama ignores case."""
    name = model.lower().removeprefix("registry.ollama.ai/").removeprefix("library/")
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def _missing(model: str) -> EmbeddingUnavailableError:
    return EmbeddingUnavailableError(f"Ollama has no model {model!r}.", hint=f"Run: ollama pull {model}")
