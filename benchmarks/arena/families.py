"""The families' rules, which differ in kind; their words are in `benchmarks/data/arena.toml`."""

from __future__ import annotations

from typing import Final

from benchmarks.arena.tools import Call, RefusedError, Task


class Kiln(Task):
    """State: a failure that somebody left behind must be dealt with first, and so must each of the agent's own."""

    def begin(self) -> None:
        self._since: list[str] = []

    def serve(self, call: Call) -> str | None:
        self._since += call.words
        return "ok" if call.words in (["lamp"], ["rest"], ["vent"]) else None

    def works(self, call: Call) -> bool:
        since, self._since = self._since, []
        return since[-2:] == ["vent", "lamp"] and call.says(self.filled("fire {piece} --at {degrees}"))


class Press(Task):
    """Order: four steps before each print, right in one order only."""

    def begin(self) -> None:
        self._steps: list[str] = []

    def serve(self, call: Call) -> str | None:
        self._steps.append(" ".join(call.words))
        return "ok" if call.words[0] in {"plate", "ink", "paper", "seal"} else None

    def works(self, call: Call) -> bool:
        steps, self._steps = self._steps, []
        wanted = self.filled("ink {colour}, seal, paper {paper}, plate {plate}")
        return ", ".join(steps) == wanted and call.says(self.filled("print {copies}"))


class Berth(Task):
    """Calendar: months of 28 days from 1 March on."""

    def works(self, call: Call) -> bool:
        year, *rest = (int(part) if part.isdecimal() else 0 for part in call.words[-1].split("-"))
        if year != 2026 or len(rest) != 2 or not (1 <= rest[0] <= 13 and 1 <= rest[1] <= 28):
            raise RefusedError(f"berth: there is no {call.words[-1]}")
        day = 28 * (rest[0] - 1) + rest[1] - 1
        return day == int(self.given["day"]) and call.words[1:3] == [self.given["boat"], "--on"]


class Signboard(Task):
    """Encoding: an old code page, and rows that end as on no system of today. Other letters fail silently."""

    def begin(self) -> None:
        self._content = b""
        self.missing = {self.given["text"].replace("\n", "\r").encode("cp437").removesuffix(b"\r")}

    def serve(self, call: Call) -> str | None:
        return self._content.decode("cp437").replace("\r", "\n") if call.words == ["show"] else None

    def works(self, call: Call) -> bool:
        content = call.content(call.words[-1]).removesuffix(b"\r")
        is_narrow = max(map(len, content.split(b"\r"))) <= 16
        if is_narrow:
            self._content = content
            self.missing -= {content}
        return is_narrow


class Sieve(Task):
    """Flags: two that only work together."""

    def works(self, call: Call) -> bool:
        return set(call.words[1:]) == {self.given["batch"], "--cold", "--twice"}


class Ticker(Task):
    """Environment: a variable. The error names some."""

    def works(self, call: Call) -> bool:
        return call.says(self.filled("print {text}")) and call.variables.get("COLUMNS") == "37"


class Gate(Task):
    """Misleading messages: the error is about rights, the mistake about a name."""

    def works(self, call: Call) -> bool:
        return call.says(self.filled("open {proper}"))


class Uplink(Task):
    """Limits: an undocumented one."""

    def begin(self) -> None:
        self.missing = set(self.given["rows"].encode().splitlines())

    def works(self, call: Call) -> bool:
        rows = call.content(call.words[-1]).splitlines()
        if len(rows) <= 4:
            self.missing -= set(rows)
        return len(rows) <= 4


FAMILIES: Final[dict[str, type[Task]]] = {
    "state": Kiln,
    "order": Press,
    "calendar": Berth,
    "encoding": Signboard,
    "flags": Sieve,
    "environment": Ticker,
    "messages": Gate,
    "limits": Uplink,
}


def made(kind: str, variant: str) -> Task:
    """Return a task of a family, nothing of it done yet."""
    return FAMILIES[kind](kind, variant)
