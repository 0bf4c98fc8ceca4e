"""Qdrant servers in the journal: their addresses, and the owners that have had points there.

Deleted points must be removed from each server, even after a change to another engine. Collections and points can be
listed on the server, so they are not recorded.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from learning_memory_server.errors import InvalidSettingsError, JournalUnavailableError
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.kinds import SERVER
from learning_memory_server.journal.log import Log
from learning_memory_server.model.server import KnownServer
from learning_memory_server.system.servers import HERE, is_here

DEFAULT_PORT: Final = 6333


def urls_of(setting: str) -> list[str]:
    """Return the URLs in a setting, which are separated by commas for the nodes of a cluster."""
    return [url for each in setting.split(",") if (url := each.strip())]


def clean_url(url: str) -> str:
    """Return a URL in normal form, for comparison and storage: without credentials, and always with a port."""
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}:{parts.port or DEFAULT_PORT}{parts.path.rstrip('/')}"


def places_of(*settings: str) -> frozenset[str]:
    """Return the hosts, ports and prefixes of the URLs, which identify servers. This machine has a single name."""
    return frozenset(_place(url) for setting in settings for url in urls_of(setting))


def _place(url: str) -> str:
    try:
        parts = urlsplit(clean_url(url))
    except ValueError:
        return url
    host = parts.hostname or ""
    return f"{HERE if is_here(host) else host}:{parts.port}{parts.path}"


def checked_address(url: str, api_key: str | None, *, allow_plaintext_key: bool = False) -> str:
    """Return `host:port`, the only part of a server's URL in messages. Raises an error for unsafe URLs and keys."""
    try:
        parts = urlsplit(url)
        port = parts.port or DEFAULT_PORT
    except ValueError as error:
        raise InvalidSettingsError(
            "The Qdrant URL is malformed.",
            hint="It must look like http://localhost:6333; several are a list, or separated by commas.",
        ) from error
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidSettingsError(
            "The URL of a Qdrant server must begin with http:// or https:// and name a host, such as http://localhost:6333."
        )
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


@dataclass(frozen=True)
class ServerLog:
    """The servers in the journal."""

    log: Log

    def use(self, url: str, owner: str, at: datetime) -> None:
        """Record that a server is about to get points of an owner, unless already recorded."""
        self._note([KnownServer(tuple(map(clean_url, urls_of(url))), owner)], at)

    def leave(self, url: str, owner: str, at: datetime) -> None:
        """Record that a server has no points of an owner any more, for all of its known addresses; see `use`."""
        left = [each for each in self.known(owner) if each not in self.elsewhere(url, owner)]
        self._note((KnownServer(each.urls, owner, is_left=True) for each in left), at)

    def known(self, owner: str | None = None) -> list[KnownServer]:
        """Return the servers with points of an owner, or of any owner, in order of their first use."""
        return [each for each in self._all() if not each.is_left and (owner is None or each.owner == owner)]

    def elsewhere(self, url: str | None, owner: str | None = None) -> list[KnownServer]:
        """Return the known servers except the one at `url`, whatever its addresses."""
        here, rest = self._here(url), self.known(owner)
        return [each for each in rest if not places_of(*each.urls) & here]

    def is_same(self, url: str, other: str | None) -> bool:
        """Whether two settings mean the same server, according to their addresses and the journal."""
        return bool(self._here(url) & self._here(other))

    def _here(self, url: str | None) -> frozenset[str]:
        """Return all known locations of a server, including other addresses of the same cluster."""
        here = places_of(url or "")
        rest = self._all()
        while joined := [each for each in rest if places_of(*each.urls) & here]:
            here = here.union(*(places_of(*each.urls) for each in joined))
            rest = [each for each in rest if each not in joined]
        return here

    def _all(self) -> list[KnownServer]:
        last = dict[str, KnownServer]()
        for record in self.log.read().records:
            # A line that is not understood hides only its server.
            last.pop(record.id, None)
            try:
                last[record.id] = record.decoded(SERVER.decode)
            except JournalUnavailableError:
                self.log.known_damage = (self.log.known_damage or 0) + 1
        return list(last.values())

    def _note(self, servers: Iterable[KnownServer], at: datetime) -> None:
        known = self._all()
        new = [each for each in servers if each not in known]
        self.log.append([JournalRecord.of(SERVER, each, at) for each in new])
