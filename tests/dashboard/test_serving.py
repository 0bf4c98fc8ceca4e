"""The live page is for whoever has its address, on this machine, and for no other page in the browser."""

from __future__ import annotations

from http.client import HTTPConnection, HTTPResponse
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from learning_memory_server.dashboard.serving import served
from learning_memory_server.errors import StorageUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(lambda: "<p>page", lambda stamp: None if stamp == "known" else '{"new": 1}') as found:
        yield found


def ask(
    address: str, more: str = "", method: str = "GET", path: str | None = None, **headers: str
) -> tuple[int, str, HTTPResponse]:
    parts = urlsplit(address)
    connection = HTTPConnection(parts.hostname or "", parts.port or 0, timeout=20)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, parts.path + more if path is None else path, headers=named)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text, response


def test_the_address_shows_the_page(address: str) -> None:
    status, text, response = ask(address)
    assert (status, text) == (200, "<p>page")
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert address.startswith("http://127.0.0.1:")


def test_only_changes_are_sent(address: str) -> None:
    assert ask(address, "data?unlike=known")[:2] == (204, "")
    assert ask(address, "data?unlike=older")[:2] == (200, '{"new": 1}')


def test_a_failure_is_a_sentence_and_the_next_request_may_succeed(
    capfd: pytest.CaptureFixture[str],
) -> None:
    answers = iter([StorageUnavailableError("The hub ended.", hint="Wait."), None])

    def changes(_stamp: str) -> None:
        if error := next(answers):
            raise error

    with served(str, changes) as address:
        assert ask(address, "data")[:2] == (503, "The hub ended. Wait.")
        assert ask(address, "data")[:2] == (204, "")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("path", ["/", "/data", "/guess/", "//", "/../", "/%00/"])
def test_without_the_secret_there_is_nothing(address: str, path: str) -> None:
    assert ask(address, path=path)[:2] == (404, "")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "localhost:1"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_another_site_gets_nothing_even_with_the_secret(address: str, headers: dict[str, str]) -> None:
    assert ask(address, **headers)[:2] == (404, "")
    assert ask(address, "data", **headers)[:2] == (404, "")


def test_the_page_itself_may_ask(address: str) -> None:
    own = f"http://{urlsplit(address).netloc}"
    assert ask(address, "data", Origin=own, Sec_Fetch_Site="same-origin")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD"])
def test_nothing_but_reading_is_possible(address: str, method: str) -> None:
    assert ask(address, method=method)[0] == 501


def test_each_page_has_a_secret_of_its_own_and_ends_with_the_command(address: str) -> None:
    with served(lambda: "", lambda _: None) as other:
        assert urlsplit(other).path != urlsplit(address).path
        assert len(urlsplit(other).path) > 40
    with pytest.raises(ConnectionRefusedError):
        ask(other)
