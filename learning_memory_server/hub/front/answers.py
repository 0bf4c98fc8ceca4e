"""The front's own answers: the handshake, pings, lists and subscriptions, from `answers.json` (`make docs`).

A request that is not exactly as the protocol has it goes to the hub. The hub's session gets the answered requests under
ids of the front, and the front drops its answers.
"""

from __future__ import annotations

import json
from pathlib import Path

from learning_memory_server.system.ipc.jsonrpc import APPS, OWN_ID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from learning_memory_server.system.ipc.jsonrpc import Frame

    Message = dict[str, Any]

RECORDED: Final = Path(__file__).with_name("answers.json")  # By era: `versions`, `methods` with results, and `hooks`
HANDSHAKE: Final = "handshake"  # The era of the protocols that begin with `initialize`
ENVELOPE: Final = "envelope"  # The era of the protocols whose requests each carry version and capabilities

_PREFIX: Final = "io.modelcontextprotocol/"
_INITIALIZED: Final = "notifications/initialized"
_LISTEN: Final = "subscriptions/listen"
_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
_WITH_PAGES: Final = ("tools/list", "resources/list")  # What a client that renders pages in a chat sees more of
_LISTENS_FOR: Final = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")


class Answers:
    """The front's part of one session. With `has_hooks`, the client has the tool of its hooks.

    Attributes:
        opening: The lines that each hub gets first, so that its session is where the client's is.
        opener: The client's own line in place of the first of them while it is open; empty if the front has answered
            it.
    """

    def __init__(self, *, has_hooks: bool = False) -> None:
        self._has_hooks = has_hooks
        self.opening: list[bytes] = []
        self.opener = b""
        self._era = ""
        self._is_greeted = False
        self._renders_pages = False
        self._eras: dict[str, Any] = {}

    def answer(self, line: bytes, frame: Frame) -> tuple[bytes, list[bytes]] | None:
        """Return the answer and the lines for the hub, or None if the hub must answer. Call it for every line."""
        if frame.method == _INITIALIZED:
            self.opening[1:] = [line] if self._era == HANDSHAKE else []
        message = frame.message
        is_usual = frame.is_request and message.keys() <= {"jsonrpc", "id", "method", "params"}
        if not (is_usual and isinstance(message.get("params", {}), dict) and isinstance(_meta(message), dict)):
            return None
        try:
            self._begin(message, line)
            return self._answer(message)
        except UnicodeEncodeError:
            return None  # It contains an unpaired surrogate, which the hub refuses

    def _begin(self, message: Message, line: bytes) -> None:
        """Let the first request decide the era, and note what opens a session of it."""
        is_greeting = message["method"] == "initialize"
        if not self._era:
            self._era = ENVELOPE if not is_greeting and _envelope(message) else HANDSHAKE
            if self._era == ENVELOPE:
                discover = {**message, "method": "server/discover", "params": {"_meta": _meta(message)}}
                self.opening = [_own(discover, "discover")]
        # Once greeted, another initialize is a request like any other.
        if is_greeting and self._era == HANDSHAKE and not self._is_greeted:
            self.opening, self.opener = [_own(message, "initialize")], line

    def _answer(self, message: Message) -> tuple[bytes, list[bytes]] | None:
        method, params, era = message["method"], message.get("params", {}), self._known()
        meta = params.get("_meta", {})
        rest = {name: value for name, value in params.items() if name != "_meta"}
        if self._era == ENVELOPE:
            fits = _fits_envelope(meta, era["versions"])
        else:
            fits = not _envelope(message) and (self._is_greeted or method in ("initialize", "ping"))
        if not fits:
            return None
        if method == "initialize" and self._era == HANDSHAKE:
            return self._greet(message, rest)
        if method == _LISTEN and self._era == ENVELOPE:
            return _acknowledge(message["id"], rest)
        if method not in era["methods"] or rest:
            return None
        if method in _WITH_PAGES and (self._renders_pages or _says_pages(meta.get(f"{_PREFIX}clientCapabilities"))):
            return None  # It sees more than is recorded
        # The hub loads its model as soon as a client lists the tools.
        told = [_own(message, method)] if method == "tools/list" else []
        outcome = era["methods"][method]
        if method == "tools/list" and self._has_hooks:
            result = outcome["result"]
            outcome = {"result": {**result, "tools": [*result["tools"], *era["hooks"]]}}
        return _line(message["id"], outcome), told

    def _greet(self, message: Message, rest: Message) -> tuple[bytes, list[bytes]] | None:
        offered, about, capabilities = (
            rest.pop(name, None) for name in ("protocolVersion", "clientInfo", "capabilities")
        )
        if rest or not isinstance(offered, str) or not _is_implementation(about) or not _is_plain(capabilities):
            return None
        self._renders_pages = _says_pages(capabilities)
        era = self._known()
        outcome = {**era["methods"]["initialize"]["result"]}
        if offered in era["versions"]:
            outcome["protocolVersion"] = offered
        self._is_greeted = True
        self.opening, self.opener = [_own(message, "initialize")], b""
        return _line(message["id"], {"result": outcome}), self.opening

    def _known(self) -> dict[str, Any]:
        if not self._eras:
            self._eras = json.loads(RECORDED.read_bytes())
        known: dict[str, Any] = self._eras[self._era]
        return known


def _says_pages(capabilities: object) -> bool:
    """Return whether a client's capabilities name the extension for pages in a chat."""
    extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
    return isinstance(extensions, dict) and APPS in extensions


def _meta(message: Message) -> Any:
    return message.get("params", {}).get("_meta", {})


def _envelope(message: Message) -> bool:
    """Return whether a request says its protocol version, as in the envelope era."""
    return f"{_PREFIX}protocolVersion" in _meta(message)


def _fits_envelope(meta: Message, versions: list[str]) -> bool:
    about = meta.get(f"{_PREFIX}clientInfo")
    return (
        meta.get(f"{_PREFIX}protocolVersion") in versions
        and _is_plain(meta.get(f"{_PREFIX}clientCapabilities"))
        and (about is None or _is_implementation(about))
    )


def _is_implementation(about: object) -> bool:
    return isinstance(about, dict) and all(isinstance(about.get(name), str) for name in ("name", "version"))


def _is_plain(capabilities: object) -> bool:
    return isinstance(capabilities, dict) and all(isinstance(each, dict) for each in capabilities.values())


def _acknowledge(identity: str | int, params: Message) -> tuple[bytes, list[bytes]] | None:
    """Return the acknowledgement of a subscription. Nothing follows it: the lists do not change."""
    wanted = params.get("notifications")
    if params.keys() != {"notifications"} or not isinstance(wanted, dict):
        return None
    honoured: Message = {name: True for name in _LISTENS_FOR if wanted.get(name) is True}
    uris = wanted.get("resourceSubscriptions") or []
    flags = [wanted.get(name, False) for name in _LISTENS_FOR]
    if not all(isinstance(flag, bool) for flag in flags) or not isinstance(uris, list):
        return None
    if wanted.keys() - {*_LISTENS_FOR, "resourceSubscriptions"} or not all(isinstance(uri, str) for uri in uris):
        return None
    if uris:
        honoured["resourceSubscriptions"] = uris
    meta = {f"{_PREFIX}subscriptionId": identity}
    notification = {"method": _ACKNOWLEDGED, "params": {"_meta": meta, "notifications": honoured}}
    return _encoded({"jsonrpc": "2.0", **notification}), []


def _own(message: Message, name: str) -> bytes:
    """Return a request as the front's own."""
    return _encoded({**message, "id": OWN_ID + name})


def _line(identity: str | int, outcome: Message) -> bytes:
    return _encoded({"jsonrpc": "2.0", "id": identity, **outcome})


def _encoded(message: Message) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
