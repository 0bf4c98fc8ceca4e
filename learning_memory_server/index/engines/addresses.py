"""Addresses of Qdrant servers: whether one is sound, and whether two mean the same server."""

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

from learning_memory_server.errors import InvalidSettingsError

DEFAULT_PORT: Final = 6333
_HERE: Final = "localhost"


def urls_of(setting: str) -> list[str]:
    """Return the URLs in a setting: one, or those of several nodes of a cluster, separated by commas."""
    return [url for each in setting.split(",") if (url := each.strip())]


def clean_url(url: str) -> str:
    """Return a URL in the one form in which it is compared and kept: no credentials, and always a port."""
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}:{parts.port or DEFAULT_PORT}{parts.path.rstrip('/')}"


def places_of(setting: str) -> frozenset[str]:
    """Return what tells servers apart: host, port and prefix of each URL. This machine has one name."""
    return frozenset(map(_place, urls_of(setting)))


def _place(url: str) -> str:
    try:
        parts = urlsplit(clean_url(url))
    except ValueError:
        return url
    host = parts.hostname or ""
    return f"{_HERE if is_here(host) else host}:{parts.port}{parts.path}"


def is_here(host: str) -> bool:
    """Return whether a host name or address always means this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == _HERE


def checked_address(url: str, api_key: str | None, *, allow_plaintext_key: bool = False) -> str:
    """Return `host:port`, the only part of a server's URL that messages show.

    A URL is refused if it is malformed or contains credentials, which the vendor's client silently drops; a key, if it
    cannot be a header, which the vendor's client would quote in its error, or would leave this machine in plain text.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or DEFAULT_PORT
    except ValueError as error:
        raise InvalidSettingsError(
            "The Qdrant URL is malformed.",
            hint="It must look like https://host:6333; several are a list, or separated by commas.",
        ) from error
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidSettingsError("The Qdrant URL must look like https://host:6333.")
    if parts.username or parts.password:
        raise InvalidSettingsError("The Qdrant URL must not contain a user name or password; use the API key.")
    if api_key is not None and re.fullmatch(r"[!-~]+", api_key) is None:
        raise InvalidSettingsError("The Qdrant API key is empty, or contains white space or non-ASCII letters.")
    if api_key and parts.scheme == "http" and not allow_plaintext_key and not is_here(parts.hostname):
        raise InvalidSettingsError(
            f"The Qdrant API key would be sent to {parts.hostname} in plain text.",
            hint="Use an https:// URL, or allow it with the setting qdrant_allow_plaintext_key.",
        )
    return f"{parts.hostname}:{port}"
