"""A server that cannot be reached: the sentence says why, and what to do, for Qdrant and for Ollama alike."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from learning_memory_server.embedding.extras.ollama import OllamaServer
from learning_memory_server.errors import LearningMemoryError, ModelServerAwayError, NoAnswerError
from learning_memory_server.index.engines.owner import open_owner
from learning_memory_server.index.engines.qdrant import QdrantStore
from learning_memory_server.system.servers import obstacle
from tests.index.engines.faults import hangs_up, never_answers
from tests.index.engines.stub import Stub, stub_serving
from tests.tls import HERE, Authority, authority, with_certificate

Asked = Callable[[str], Awaitable[str]]
"""Asks a server at a URL for its version."""

NGINX = b"<html><center>The plain HTTP request was sent to HTTPS port</center></html>"
GO = b"Client sent an HTTP request to an HTTPS server.\n"


@pytest.fixture(params=["qdrant", "ollama"])
def asked(request: pytest.FixtureRequest, tmp_path: Path) -> Asked:
    async def ask_qdrant(url: str) -> str:
        store = QdrantStore([url], open_owner(tmp_path / "owner.json"))
        try:
            return await store.server.version()
        finally:
            await store.close()

    async def ask_ollama(url: str) -> str:
        return await asyncio.to_thread(lambda: OllamaServer(url, 30.0).version())

    return ask_qdrant if request.param == "qdrant" else ask_ollama


@pytest.fixture
def server() -> Iterator[Stub]:
    with stub_serving() as stub:
        stub.answer = lambda _method, _path: (200, b'{"title": "qdrant", "version": "1.19.0"}')
        yield stub


@pytest.fixture
def ca(tmp_path: Path) -> Authority:
    return authority(tmp_path)


async def why_not(asked: Asked, url: str) -> str:
    """Return what is said, after checking that it names the setting to change, or what else to do."""
    with pytest.raises((NoAnswerError, ModelServerAwayError)) as caught:
        await asked(url)
    assert "cannot be reached: " in caught.value.message
    assert caught.value.hint
    assert "{" not in caught.value.hint
    return caught.value.sentence


@pytest.mark.parametrize("host", HERE)
async def test_a_certificate_that_ssl_cert_file_vouches_for_is_trusted_on_this_machine_too(
    asked: Asked, server: Stub, ca: Authority, tmp_path: Path, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_certificate(server, ca, tmp_path)
    url = f"https://{host}:{server.server_port}"
    assert "its certificate is refused (unable to get local issuer certificate). Add" in await why_not(asked, url)
    monkeypatch.setenv("SSL_CERT_FILE", str(ca.file))
    assert await asked(url) == "1.19.0"


@pytest.mark.parametrize(
    ("is_signed", "names", "days", "why"),
    [
        (False, HERE, 1, "self-signed certificate"),
        (True, ("qdrant.example.org",), 1, "mismatch, certificate is not valid for "),
        (True, ("10.0.0.7",), 1, "mismatch, certificate is not valid for "),
        (True, HERE, -1, "certificate has expired"),
    ],
)
@pytest.mark.parametrize("host", HERE)
async def test_what_is_wrong_with_a_certificate_is_said(
    asked: Asked,
    server: Stub,
    ca: Authority,
    tmp_path: Path,
    host: str,
    is_signed: bool,
    names: tuple[str, ...],
    days: int,
    why: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(ca.file))
    with_certificate(server, ca if is_signed else None, tmp_path, names, days)
    assert why in await why_not(asked, f"https://{host}:{server.server_port}")


async def test_tls_is_asked_of_a_plain_port(asked: Asked, server: Stub) -> None:
    said = await why_not(asked, f"https://127.0.0.1:{server.server_port}")
    assert "it does not speak TLS at that port. Use http:// in " in said


async def test_plain_http_is_asked_of_a_port_for_tls(asked: Asked, server: Stub, ca: Authority, tmp_path: Path) -> None:
    with_certificate(server, ca, tmp_path)
    said = await why_not(asked, f"http://127.0.0.1:{server.server_port}")
    assert "it ended the connection without an answer. If it speaks TLS, use https:// in " in said


@pytest.mark.parametrize("content", [NGINX, GO])
async def test_a_server_that_says_that_it_speaks_tls_is_believed(asked: Asked, server: Stub, content: bytes) -> None:
    server.answer = lambda _method, _path: (400, content)
    said = await why_not(asked, f"http://127.0.0.1:{server.server_port}")
    assert "it speaks TLS at that port. Use https:// in " in said


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_name_that_is_not_known_and_a_port_where_nothing_listens(asked: Asked, scheme: str) -> None:
    assert "its name is not known. Check the spelling" in await why_not(asked, f"{scheme}://nowhere.invalid:6333")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        said = await why_not(asked, f"{scheme}://127.0.0.1:{unused.getsockname()[1]}")
    assert "nothing listens at that port. Start " in said


async def test_a_server_that_hangs_up_says_nothing(asked: Asked, server: Stub) -> None:
    hangs_up(server)
    assert "ended the connection" in await why_not(asked, f"http://127.0.0.1:{server.server_port}")


async def test_a_server_that_never_answers_is_late(server: Stub, tmp_path: Path) -> None:
    never_answers(server)
    store = QdrantStore([server.url], open_owner(tmp_path / "owner.json"), timeout=0.1)
    with pytest.raises(NoAnswerError, match="it does not answer in time"):
        await store.server.version()
    await store.close()


@pytest.mark.parametrize("error", [TimeoutError(), httpx2.ConnectTimeout("late"), httpx2.ReadTimeout("late")])
def test_a_time_out_is_one_however_it_is_noticed(error: Exception) -> None:
    assert obstacle(error, "a_setting", "Start it")[0] == "it does not answer in time"


def test_a_cause_is_found_among_several() -> None:
    several = ExceptionGroup("all attempts failed", [OSError(113, "No route to host"), ConnectionRefusedError()])
    error = httpx2.ConnectError("all attempts failed")
    error.__cause__ = several
    assert obstacle(error, "a_setting", "Start it") == (
        "nothing listens at that port",
        "Start it, or correct a_setting.",
    )
    assert obstacle(httpx2.ConnectError("?"), "a_setting", "Start it")[0] == "there is no way to it"


@pytest.mark.parametrize("content", [None, b"", b"no certificate"])
async def test_certificates_that_cannot_be_read_are_named(
    asked: Asked, tmp_path: Path, content: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "company.pem"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with pytest.raises(LearningMemoryError, match="SSL_CERT_FILE") as caught:
        await asked("https://127.0.0.1:1")
    assert "PEM" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("url", "is_said"), [("https://nowhere.invalid", True), ("https://nowhere.invalid:443", False)]
)
async def test_without_a_port_the_hint_says_which_one_is_asked(tmp_path: Path, url: str, is_said: bool) -> None:
    store = QdrantStore([url], open_owner(tmp_path / "owner.json"))
    with pytest.raises(NoAnswerError) as caught:
        await store.server.version()
    await store.close()
    assert ("6333" in str(caught.value.hint)) == is_said
    assert ("https://qdrant.example.org:443" in str(caught.value.hint)) == is_said
