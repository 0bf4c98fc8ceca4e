"""The families' rules, which differ in kind; their words are in `benchmarks/data/arena.toml`."""

from __future__ import annotations

from typing import Final

from benchmarks.arena.tools import Call, RefusedError, Task


class Kiln(Task):
    """State: a failure that somebody left behind must be dealt with first, and so must each own one."""

    def begin(self) -> None:
        self._since: list[str] = []

    def serve(self, call: Call) -> bool:
        self._since += call.words
        return call.words in (["lamp"], ["rest"], ["vent"])

    def works(self, call: Call) -> bool:
        since, self._since = self._since, []
        return since[-2:] == ["vent", "lamp"] and call.says(self.filled("fire {piece} --at {degrees}"))


class Press(Task):
    """Order: four steps before each print, right in one order only."""

    def begin(self) -> None:
        self._steps: list[str] = []

    def serve(self, call: Call) -> bool:
        self._steps.append(" ".join(call.words))
        return call.words[0] in {"plate", "ink", "paper", "seal"}

    def works(self, call: Call) -> bool:
        steps, self._steps = self._steps, []
        wanted = self.filled("seal, paper {paper}, ink {colour}, plate {plate}")
        return ", ".join(steps) == wanted and call.says(self.filled("print {copies}"))


class Berth(Task):
    """Calendar: months of 28 days from 1 March on. The error says which day a date is, counted from there."""

    def works(self, call: Call) -> bool:
        year, *rest = (int(part) if part.isdecimal() else 0 for part in call.words[-1].split("-"))
        if year != 2026 or len(rest) != 2 or not (1 <= rest[0] <= 13 and 1 <= rest[1] <= 28):
            raise RefusedError(f"berth: there is no {call.words[-1]}")
        day = 28 * (rest[0] - 1) + rest[1] - 1
        if day != int(self.given["day"]):
            raise RefusedError(f"berth: no tide for that boat on day {day}")
        return call.says(self.filled("book {boat} --on {theirs}"))


class Signboard(Task):
    """Encoding: an old code page, and rows that end as on no system of today."""

    def works(self, call: Call) -> bool:
        wanted = self.given["text"].replace("\n", "\r").encode("cp437")
        return call.content(call.words[-1]) in {wanted, wanted.removesuffix(b"\r")}


class Sieve(Task):
    """Flags: two that only work together."""

    def works(self, call: Call) -> bool:
        return set(call.words[1:]) == {self.given["batch"], "--cold", "--twice"}


class Ticker(Task):
    """Environment: a variable. The error names some, so that hooks may tell a remedy."""

    def works(self, call: Call) -> bool:
        return call.says(self.filled("print {text}")) and call.variables.get("COLUMNS") == "40"


class Gate(Task):
    """Misleading messages: the error is about rights, the mistake about a name."""

    def works(self, call: Call) -> bool:
        return call.says(self.filled("open {proper}"))


class Uplink(Task):
    """Limits: one that nobody says."""

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
