"""Requests for `scripts.attack`: valid, nearly valid and hostile ones, reproducible from a seed."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mcp.types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, PROTOCOL_VERSION_META_KEY

from learning_memory_server.model.limits import FRAME_MAX
from learning_memory_server.model.vocabulary import Domain, RootCauseCategory, Strategy
from learning_memory_server.server.tools.catalog import TOOLS
from scripts.attack_arguments import Generator

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

WORD: Final = re.compile(r"tok[0-9]+x[0-9]+z")
"""A word that occurs in one request only."""
CLIENT: Final = {"name": "attack", "version": "1"}
_ENVELOPE: Final = {
    PROTOCOL_VERSION_META_KEY: "2026-07-28",
    CLIENT_INFO_META_KEY: CLIENT,
    CLIENT_CAPABILITIES_META_KEY: {},
}
_AXES: Final = ("full", "strategy", "surprise", "root_cause")
_SUBJECTS: Final = ("stale price cache", "flaky checkout test", "slow customer query", "leaking worker pool")
_STRANGE: Final[tuple[Any, ...]] = (
    None, True, 0, -1, 1.0, 10**400, "", " ", "x" * 20_000, "\x00", "\ud83d", "\u202e", "0", [], ["a"], {}, {"a": {"b": []}},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Attempt:
    """A line to send, and what must come back.

    Args:
        line: The line, without its line feed.
        identity: The id that it must be answered under; None if it must not be answered under one.
        nulls: How many answers without an id it must get.
        tool: The tool that it calls, if it is a call.
        word: The word that only this call's text contains, if it writes one.
        may_be_silent: Whether its answer may be missing, because it is cancelled.
    """

    line: bytes
    identity: str | int | None = None
    nulls: int = 0
    tool: str = ""
    word: str = ""
    may_be_silent: bool = False


@dataclass
class Requests:
    """Makes the requests of one session, and learns from its answers which ids exist.

    Args:
        chance: Where all choices come from.
        session: The session's number.
        era: The protocol version that the session speaks.
    """

    chance: random.Random
    session: int
    era: str
    made: int = 0
    open_ids: list[str] = field(default_factory=list)
    memory_ids: list[str] = field(default_factory=list)
    clusters: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._generator = Generator(self.chance, self.open_ids)

    def next(self) -> list[Attempt]:
        """Return what to send next: mostly one line."""
        kind = self.chance.random()
        if kind < 0.7:  # noqa: PLR2004 - the share of valid calls
            return [self._call(*self._valid())]
        if kind < 0.9:  # noqa: PLR2004
            return [self._nearly_valid()]
        if kind < 0.91:  # noqa: PLR2004
            return self._cancelled()
        return [self._hostile()]

    def too_long(self) -> Attempt:
        """Return a message that is longer than any may be."""
        identity = self._identity()
        begin = f'{{"jsonrpc":"2.0","id":{json.dumps(identity)},"method":"tools/call","params":{{"name":"'
        return Attempt(begin.encode() + b"x" * FRAME_MAX + b'"}}', identity)

    def initialize(self) -> list[Attempt]:
        """Return the handshake of the session's protocol."""
        if self.era == "2026-07-28":
            return [self._request("server/discover", {})]
        params = {"protocolVersion": self.era, "capabilities": {}, "clientInfo": CLIENT}
        done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        return [self._request("initialize", params), Attempt(json.dumps(done).encode())]

    def learn(self, attempt: Attempt, reply: dict[str, Any]) -> None:
        """Note the ids in a reply, for later requests."""
        if attempt.tool == "start_ghap":
            self.open_ids.append(reply["id"])
        elif attempt.tool == "get_clusters":
            self.clusters = [(reply["axis"], each["cluster_id"]) for each in reply["clusters"]]

    def _call(self, tool: str, arguments: dict[str, Any], word: str = "") -> Attempt:
        return self._request("tools/call", {"name": tool, "arguments": arguments}, tool=tool, word=word)

    def _request(self, method: str, params: dict[str, Any], tool: str = "", word: str = "") -> Attempt:
        identity = self._identity()
        if self.era == "2026-07-28":
            params = {**params, "_meta": _ENVELOPE}
        frame = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}
        return Attempt(json.dumps(frame).encode(), identity, tool=tool, word=word)

    def _identity(self) -> str | int:
        self.made += 1
        number = self.made
        return self.chance.choice(
            (number, number, number, -number, 10**20 + number, f"call {number}", f"{number}", f"запрос {number} \U0001f600")
        )  # fmt: skip

    def _word(self) -> str:
        self.made += 1
        return f"tok{self.session}x{self.made}z"

    def _valid(self) -> tuple[str, dict[str, Any], str]:
        tools: tuple[tuple[int, Callable[[], tuple[str, dict[str, Any], str]]], ...] = (
            (220, self._start),
            (140, self._update),
            (180, self._resolve),
            (120, self._add),
            (50, self._delete),
            # Each may take a second.
            (3, self._learning),
            (270, self._read),
            # It goes through everything that is stored.
            (10, self._stats),
        )
        weights, makers = zip(*tools, strict=True)
        maker: Callable[[], tuple[str, dict[str, Any], str]] = self.chance.choices(makers, weights)[0]
        return maker()

    def _start(self) -> tuple[str, dict[str, Any], str]:
        word, subject = self._word(), self.chance.choice(_SUBJECTS)
        parts = {
            "domain": self.chance.choice(list(Domain)),
            "strategy": self.chance.choice(list(Strategy)),
            "goal": f"understand the {subject} {word}",
            "hypothesis": f"the {subject} comes from shared state",
            "action": f"isolate the {subject}",
            "prediction": "it does not happen again",
        }
        return "start_ghap", parts, word

    def _update(self) -> tuple[str, dict[str, Any], str]:
        word = self._word()
        changes: dict[str, Any] = {"note": f"noted {word}"}
        if self.open_ids and self.chance.random() < 0.7:  # noqa: PLR2004
            changes["ghap_id"] = self.chance.choice(self.open_ids)
        return "update_ghap", changes, word

    def _resolve(self) -> tuple[str, dict[str, Any], str]:
        word, subject = self._word(), self.chance.choice(_SUBJECTS)
        parts: dict[str, Any] = {"status": "confirmed", "result": f"it was the {subject} {word}"}
        if self.chance.random() < 0.4:  # noqa: PLR2004
            cause = {"category": self.chance.choice(list(RootCauseCategory)), "description": f"the {subject}"}
            parts |= {"status": "falsified", "surprise": f"the {subject} again", "root_cause": cause}
        if self.open_ids:
            parts["ghap_id"] = self.open_ids.pop(self.chance.randrange(len(self.open_ids)))
        return "resolve_ghap", parts, word

    def _add(self) -> tuple[str, dict[str, Any], str]:
        word = self._word()
        text = f"About the {self.chance.choice(_SUBJECTS)}: {word}. "
        # A lexical search reads all of them, and long ones are a matter of chunks only.
        text += "It happens. " * self.chance.choices((1, 9, 300), (12, 3, 1))[0]
        return "add_memory", {"text": text, "metadata": {"tags": ["attack"], "source": word}}, word

    def _delete(self) -> tuple[str, dict[str, Any], str]:
        known = self.memory_ids.pop() if self.memory_ids else "00000000-0000-4000-8000-000000000000"
        return "delete_memory", {"memory_id": known}, ""

    def _learning(self) -> tuple[str, dict[str, Any], str]:
        if not self.clusters or self.chance.random() < 0.2:  # noqa: PLR2004
            return "get_clusters", {"axis": self.chance.choice(_AXES)}, ""
        axis, cluster = self.chance.choice(self.clusters)
        text = f"Isolate the {self.chance.choice(_SUBJECTS)} first"
        return self.chance.choice(
            (
                ("get_cluster_members", {"cluster_id": cluster}, ""),
                ("validate_value", {"text": text, "cluster_id": cluster}, ""),
                ("store_value", {"text": text, "cluster_id": cluster, "axis": axis}, ""),
            )
        )

    def _read(self) -> tuple[str, dict[str, Any], str]:
        query = {"query": self.chance.choice(_SUBJECTS), "limit": self.chance.randint(1, 20)}
        return self.chance.choice(
            (
                ("get_active_ghap", {}, ""),
                ("list_ghap_entries", {"limit": self.chance.randint(1, 20)}, ""),
                ("search_experiences", {**query, "axis": self.chance.choice(_AXES)}, ""),
                ("search_memory", query, ""),
                ("list_values", {}, ""),
            )
        )

    def _stats(self) -> tuple[str, dict[str, Any], str]:
        return "get_stats", {}, ""

    def _nearly_valid(self) -> Attempt:
        tool, arguments, word = self._valid()
        match self.chance.randrange(5):
            case 0 if arguments:
                arguments.pop(self.chance.choice(list(arguments)))
            case 1:
                any_tool = self.chance.choice(TOOLS)
                tool, arguments = any_tool.name, self._generator.arguments(any_tool.input_schema)
            case 2:
                arguments[self.chance.choice(("goals", "limit", "offset", "\ud83d"))] = self.chance.choice(_STRANGE)
            case 3:
                tool = self.chance.choice((tool.upper(), f"{tool} ", "", "\x00", "resolve_gahp"))
            case _:
                return self._request(self.chance.choice(("tools/cal", "", "memories/list", "ping", "tools/list")), {})
        return self._call(tool, arguments, word)

    def _cancelled(self) -> list[Attempt]:
        attempt = self._call("search_experiences", {"query": _SUBJECTS[0]})
        params = {"requestId": attempt.identity}
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        return [Attempt(attempt.line, attempt.identity, may_be_silent=True), Attempt(json.dumps(cancel).encode())]

    def _hostile(self) -> Attempt:
        identity = self._identity()
        own = json.dumps(identity)
        call = '"method":"tools/call","params":{"name":"get_stats","arguments":'
        under_its_id = (
            f'{{"jsonrpc":"1.0","id":{own},{call}{{}}}}}}',
            f'{{"id":{own},{call}{{}}}}}}',
            f'{{"jsonrpc":"2.0","id":{own},"method":"tools/call","params":[]}}',
            f'{{"jsonrpc":"2.0","id":{own},"method":"tools/call","params":5}}',
            f'{{"jsonrpc":"2.0","id":{own},"method":5}}',
            f'{{"jsonrpc":"2.0","id":{own}}}',
            f'{{"jsonrpc":"2.0","id":{own},{call}',
            f'{{"jsonrpc":"2.0","id":{own},{call}{{"a":"\\ud83d"}}}}}}',
            f'{{"jsonrpc":"2.0","id":{own},{call}{"[" * 3000}',
            f'{{"jsonrpc":"2.0","id":{own},{call}{"[" * 300}{"]" * 300}}}}}',
            f'{{"jsonrpc":"2.0","id":{own},{call}{"9" * 5000}}}}}',
            f'{{"jsonrpc":"2.0","id":{own},"method":"ping","error":{{"code":1,"message":"x"}}}}',
            f'{{"hub":"ping","jsonrpc":"2.0","id":{own},"method":"ping"}}',
            f'{{"hub":"again","ids":[{own}],"id":{own}}}',
        )
        under_no_id = (
            '{"jsonrpc":"2.0","id":true,"method":"ping"}',
            '{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
            '{"jsonrpc":"2.0","id":null,"method":"ping"}',
            '{"jsonrpc":"2.0","id":{},"method":"ping"}',
            '{"hub":"drain"}',
            '{"hub":"again","ids":[1,2,3]}',
            "garbage",
            "[]",
            "5",
            "{}",
            "\x00",
            "[" * 5000,
            '{"jsonrpc":"2.0","id":',
        )
        unanswered = (
            '{"jsonrpc":"2.0","method":"notifications/nothing"}',
            '{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}',
            f'{{"jsonrpc":"2.0","id":{own},"result":{{}}}}',
            "   ",
        )
        match self.chance.randrange(8):
            case 0 | 1 | 2 | 3:
                return Attempt(self.chance.choice(under_its_id).encode(), identity)
            case 4:
                bad = f'{{"jsonrpc":"2.0","id":{own},"method":"ping","params":{{"a":"'.encode() + b'\xff"}}'
                return Attempt(bad, identity)
            case 5 | 6:
                return Attempt(self.chance.choice(under_no_id).encode(), nulls=1)
            case _:
                return Attempt(self.chance.choice(unanswered).encode())
