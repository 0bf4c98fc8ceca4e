"""The few requests that embeddings need from an Ollama server, with its refusals in plain sentences.

The shapes are those of Ollama's API: https://docs.ollama.com/api.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from learning_memory_server.errors import EmbeddingUnavailableError
from learning_memory_server.retrying import attempts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import httpx
    import numpy as np
    from numpy.typing import NDArray

_CONNECT_SECONDS: Final = 5.0
_FIRST_WAIT: Final = 0.1
"""Seconds; the next wait is twice as long."""
_SHOWN: Final = 200
"""Characters of the server's own explanation."""
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


class TextTooLongError(EmbeddingUnavailableError):
    """A text is longer than the model's context, and the server did not cut it."""


class OllamaServer:
    """An Ollama server. Called from one thread at a time.

    Args:
        url: `http(s)://host:port`.
        timeout: Seconds without a byte of the answer; a large model takes long to load.
    """

    def __init__(self, url: str, timeout: float = 60.0) -> None:
        import httpx  # noqa: PLC0415 - a tenth of a second, and only here

        parts = urlsplit(url)
        # A URL may carry a password before its host.
        self.address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self._timeout = timeout
        self._client = httpx.Client(
            base_url=url,
            timeout=httpx.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)),
            # Each request has a connection of its own: it costs nothing on one machine, and none is left open.
            limits=httpx.Limits(max_keepalive_connections=0),
            # A proxy for the world outside does not lead back to this machine.
            trust_env=parts.hostname not in _LOOPBACK,
        )

    def version(self) -> str:
        """Return the server's version.

        Raises:
            EmbeddingUnavailableError: If it does not answer as Ollama does.
        """
        return str(self._request("GET", "/api/version").get("version", "unknown"))

    def digest_of(self, model: str) -> str:
        """Return the digest of what a model's name means now: it changes when the tag moves.

        Raises:
            EmbeddingUnavailableError: If there is no such model, or no answer.
        """
        listed = self._request("GET", "/api/tags").get("models")
        for entry in listed if isinstance(listed, list) else ():
            if isinstance(entry, dict) and isinstance(entry.get("digest"), str):
                names = {full_name(str(entry.get(key, ""))) for key in ("name", "model")}
                if full_name(model) in names:
                    return str(entry["digest"])
        raise _missing(model)

    def context_length(self, model: str) -> int:
        """Return the number of tokens at which a model's input is cut; 0 if the server does not tell.

        Raises:
            EmbeddingUnavailableError: If there is no such model, or no answer.
        """
        shown = self._request("POST", "/api/show", {"model": model})
        info, parameters = shown.get("model_info"), shown.get("parameters")
        lengths = [
            value
            for key, value in (info if isinstance(info, dict) else {}).items()
            if key.endswith(".context_length") and isinstance(value, int)
        ]
        lengths += [int(number) for number in re.findall(r"^num_ctx\s+(\d+)$", str(parameters), re.MULTILINE)]
        return min(lengths, default=0)

    def embed(self, model: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), dimension) with rows of length 1.

        Raises:
            TextTooLongError: If a text is too long; which, the server does not say.
            EmbeddingUnavailableError: If there is no such model, no answer, or one that holds no vectors.
        """
        import numpy as np  # noqa: PLC0415 - not before there are vectors

        body = {"model": model, "input": list(texts), "truncate": True}
        answer = self._request("POST", "/api/embed", body).get("embeddings")
        try:
            vectors = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError):
            # Rows of different lengths, or of something else than numbers.
            raise self._malformed() from None
        if vectors.ndim != 2 or len(vectors) != len(texts):  # noqa: PLR2004 - rows and columns
            raise self._malformed()
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.all(np.isfinite(lengths) & (lengths > 0)):
            raise EmbeddingUnavailableError(
                f"Ollama's {model} made a vector without a direction.",
                hint="Choose a model that is made for embeddings.",
            )
        normalised: NDArray[np.float32] = (vectors / lengths).astype(np.float32)
        return normalised

    def _request(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        import httpx  # noqa: PLC0415

        # The server ended the connection in the middle; whatever else fails would fail again.
        lost = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)
        with self._transport_errors():
            for attempt in attempts(lost, _FIRST_WAIT):
                with attempt:
                    response = self._client.request(method, path, json=body)
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if response.status_code != HTTPStatus.OK:
            raise self._refusal(response, answer, str((body or {}).get("model", "")))
        if not isinstance(answer, dict):
            raise self._malformed()
        return answer

    def _refusal(self, response: httpx.Response, answer: object, model: str) -> EmbeddingUnavailableError:
        said = answer.get("error") if isinstance(answer, dict) else None
        if not isinstance(said, str):
            return EmbeddingUnavailableError(
                f"{self.address} answered with HTTP status {response.status_code}, and not as Ollama does.",
                hint="Correct ollama_url, or restart Ollama.",
            )
        if response.status_code == HTTPStatus.NOT_FOUND and model:
            return _missing(model)
        explanation = " ".join(said.split())[:_SHOWN]
        message = f"Ollama answered with HTTP status {response.status_code}: {explanation}"
        if re.search(r"context length|too large to process", explanation):
            return TextTooLongError(message)
        return EmbeddingUnavailableError(message, hint="Ollama's log tells more.")

    def _malformed(self) -> EmbeddingUnavailableError:
        return EmbeddingUnavailableError(
            f"{self.address} answered, but not as Ollama does.",
            hint="Correct ollama_url, or update Ollama (0.3 or later).",
        )

    @contextmanager
    def _transport_errors(self) -> Iterator[None]:
        """Say what a broken connection means.

        Raises:
            EmbeddingUnavailableError: In place of any error of the HTTP client.
        """
        import httpx  # noqa: PLC0415

        try:
            yield
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise EmbeddingUnavailableError(
                f"No Ollama answers at {self.address}.",
                hint="Start it with `ollama serve`, or correct ollama_url.",
            ) from error
        except httpx.TimeoutException as error:
            raise EmbeddingUnavailableError(
                f"Ollama at {self.address} said nothing for {self._timeout:g} seconds.",
                hint="It may be loading a large model: `ollama ps` shows what it runs. Then try again.",
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise EmbeddingUnavailableError(
                f"The connection to Ollama at {self.address} was lost ({type(error).__name__}).",
                hint="Ollama's log tells more.",
            ) from error


def full_name(model: str) -> str:
    """Return a model's name with its tag and without the default registry; Ollama ignores the case."""
    name = model.lower().removeprefix("registry.ollama.ai/").removeprefix("library/")
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def _missing(model: str) -> EmbeddingUnavailableError:
    return EmbeddingUnavailableError(f"Ollama has no model {model!r}.", hint=f"Run: ollama pull {model}")
