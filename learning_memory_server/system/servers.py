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
_LOGIN: Final = re.compile(r"(?<=://)[^\s\"',]{0,500}@")
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


def speaks_tls(status: int, content: bytes) -> bool:
    """Return whether an answer says that plain HTTP was sent to a port for TLS, as nginx and servers in Go do."""
    return status == HTTPStatus.BAD_REQUEST and b"HTTPS" in content


SPEAKS_TLS: Final = ("it speaks TLS at that port", "Use https:// in {setting}.")
_LATE: Final = (
    "it does not answer in time",
    "Look whether it runs and is not overloaded, and check {setting} and firewalls.",
)
_LOST: Final = ("it ended the connection without an answer", "If it speaks TLS, use https:// in {setting}.")
_BY_NAME: Final = (
    dict.fromkeys(("ReadError", "WriteError", "RemoteProtocolError"), _LOST)
    | dict.fromkeys(("ConnectTimeout", "ReadTimeout", "WriteTimeout", "PoolTimeout"), _LATE)
    | {"UnsupportedProtocol": SPEAKS_TLS}
)
"""Of httpx2, and of httpx, which Qdrant's client uses: neither knows the other's classes."""
_OBSTACLES: Final[Sequence[tuple[type[BaseException], str, str]]] = (
    (ssl.SSLError, "it does not speak TLS at that port", "Use http:// in {setting}, or the port where it does."),
    (socket.gaierror, "its name is not known", "Check the spelling in {setting}, and the network or VPN."),
    (ConnectionRefusedError, "nothing listens at that port", "{start}, or correct {setting}."),
    (TimeoutError, *_LATE),
    (BaseException, "there is no way to it", "Check {setting}, and the network or VPN."),
)
_CERTIFICATE: Final = (
    "Add the certificate of the authority that signed it to the system's, or name its PEM file in SSL_CERT_FILE; in "
    "{setting}, use a name that it is for."
)


def obstacle(error: BaseException, setting: str, start: str) -> tuple[str, str]:
    """Return the end of a sentence about a failed request, and advice; `setting` has the URL, `start` the command."""
    causes = list(_causes(error))
    why, advice = _why(causes)
    return why, advice.format(setting=setting, start=start)


def _why(causes: Sequence[BaseException]) -> tuple[str, str]:
    for each in causes:
        if isinstance(each, ssl.SSLCertVerificationError):
            return f"its certificate is refused ({each.verify_message.rstrip('.')})", _CERTIFICATE
    for each in causes:
        if found := _BY_NAME.get(type(each).__name__):
            return found
    return next((why, advice) for kind, why, advice in _OBSTACLES for each in causes if isinstance(each, kind))


def _causes(error: BaseException) -> Iterator[BaseException]:
    yield error
    several = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    for each in (*several, error.__cause__ or error.__context__):
        if each is not None:
            yield from _causes(each)
