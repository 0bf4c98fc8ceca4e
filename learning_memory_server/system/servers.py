"""Servers of others, such as Qdrant and Ollama: whose certificates count, and why a server cannot be reached."""

import ipaddress
import re
import socket
import ssl
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Final

from learning_memory_server.errors import InvalidSettingsError

HERE: Final = "localhost"
_LOGIN: Final = re.compile(r"(?<=://)[^\s\"',]*@")
"""What stands before the host in a URL: a user name, a password, or both. Also one that is no valid URL for it."""
NOT_BEHIND: Final = (HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)
"""The answers of a proxy without a server behind it."""


def without_logins(text: str, mark: str = "") -> str:
    """Return a text with a mark in place of the user name and the password of each URL in it."""
    return _LOGIN.sub(mark, text)


def is_here(host: str) -> bool:
    """Return whether a host name or address always means this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == HERE


def certificates(url: str) -> ssl.SSLContext | bool:
    """Return the certificates to check a server's against: the system's, or SSL_CERT_FILE; False for plain HTTP."""
    import httpx2

    if not url.lower().startswith("https:"):
        return False
    try:
        # Apart from the proxies of the environment, which a client of this machine leaves out.
        return httpx2.create_ssl_context()
    except OSError as error:
        raise InvalidSettingsError(
            f"The certificates that the variable SSL_CERT_FILE names cannot be read ({error.strerror}).",
            hint="Let it name a PEM file, or unset it to use the system's certificates.",
        ) from error


def require_plain(status: int, content: bytes) -> None:
    """Raise if an answer says that plain HTTP was sent to a port for TLS, as nginx and servers in Go do."""
    import httpx2

    if status == HTTPStatus.BAD_REQUEST and b"HTTPS" in content:
        raise httpx2.UnsupportedProtocol("The server speaks TLS.")


_CERTIFICATES: Final = dict.fromkeys(
    (62, 64), ("its certificate is for another name", "In {setting}, use the name that the certificate is for.")
) | {10: ("its certificate has expired", "Whoever runs the server has to renew it.")}
"""By OpenSSL's code."""


def obstacle(error: BaseException, setting: str, start: str) -> tuple[str, str]:
    """Return the end of a sentence about a failed request, and advice; `setting` has the URL, `start` the command."""
    import httpx2

    obstacles: Sequence[tuple[tuple[type[BaseException], ...], str, str]] = (
        (
            (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError),
            "it ended the connection without an answer",
            "If it speaks TLS, use https:// in {setting}.",
        ),
        ((httpx2.UnsupportedProtocol,), "it speaks TLS at that port", "Use https:// in {setting}."),
        (
            (ssl.SSLCertVerificationError,),
            "its certificate is not trusted",
            "Add the certificate of the authority that signed it to the system's, or name its PEM file in SSL_CERT_FILE.",
        ),
        ((ssl.SSLError,), "it does not speak TLS at that port", "Use http:// in {setting}, or the port where it does."),
        ((socket.gaierror,), "its name is not known", "Check the spelling in {setting}, and the network or VPN."),
        ((ConnectionRefusedError,), "nothing listens at that port", "{start}, or correct {setting}."),
        (
            (TimeoutError, httpx2.TimeoutException),
            "it does not answer in time",
            "Look whether it runs and is not overloaded, and check {setting} and firewalls.",
        ),
        ((BaseException,), "there is no way to it", "Check {setting}, and the network or VPN."),
    )
    causes = list(_causes(error))
    why, advice = next(
        _CERTIFICATES.get(getattr(each, "verify_code", 0), (why, advice))
        for kinds, why, advice in obstacles
        for each in causes
        if isinstance(each, kinds)
    )
    return why, advice.format(setting=setting, start=start)


def _causes(error: BaseException) -> Iterator[BaseException]:
    yield error
    several = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    for each in (*several, error.__cause__ or error.__context__):
        if each is not None:
            yield from _causes(each)
