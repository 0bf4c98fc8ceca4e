"""Addresses of Qdrant servers, and whether two of them mean the same server."""

from __future__ import annotations

import ipaddress
from typing import Final
from urllib.parse import urlsplit

DEFAULT_PORT: Final = 6333
_HERE: Final = "localhost"


def urls_of(setting: str) -> list[str]:
    """Return the URLs in a setting: one, or those of several nodes of a cluster, separated by commas."""
    return [url for each in setting.split(",") if (url := each.strip())]


def clean_url(url: str) -> str:
    """Return a URL in the one form in which it is compared and kept: no credentials, and always a port.

    Raises:
        ValueError: If it is malformed.
    """
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
