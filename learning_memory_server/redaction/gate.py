"""The gate in front of the store, which calls and imports pass to have their secrets removed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.errors import InvalidSettingsError
from learning_memory_server.redaction.data import RedactedData, redact_data

if TYPE_CHECKING:
    from learning_memory_server.redaction.base import Redactor
    from learning_memory_server.redaction.betterleaks import BetterleaksDetector

_AT_ONCE: Final = 5_000
"""Characters that are searched on the event loop: in three milliseconds, or thirty if they hold nothing but names of
passwords. More are searched in a thread."""


class RedactionGate:
    """Removes the secrets from data.

    Args:
        redactor: What replaces secrets; None passes everything.
        detector: The part of the redactor that is loaded in the background.
        is_bounded: Whether the redactor is known to be quick on short texts, which a user's patterns may not be.
    """

    def __init__(
        self,
        redactor: Redactor | None = None,
        detector: BetterleaksDetector | None = None,
        *,
        is_bounded: bool = True,
    ) -> None:
        self._redactor = redactor
        self._detector = detector
        self._is_bounded = is_bounded

    async def pass_data(self, data: Any, *, stored: bool = True) -> RedactedData:  # noqa: ANN401 - JSON
        """Return JSON-like data without its secrets, and how many of each kind were replaced.

        Args:
            stored: Whether it is going to be stored. Then it waits until all detectors are loaded, which takes the
                first write of a process a quarter of a second; what only searches does not wait.
        """
        if self._redactor is None:
            return RedactedData(data, {})
        if stored:
            await self.load()
        if self._is_bounded and _characters(data) <= _AT_ONCE:
            return redact_data(self._redactor, data)
        return await asyncio.to_thread(redact_data, self._redactor, data)

    @property
    def redactor(self) -> Redactor:
        """What replaces secrets."""
        if self._redactor is None:
            raise InvalidSettingsError(
                "Redaction is off (redaction = false), so secrets are neither looked for nor kept out of what is stored.",
                hint="Set LEARNING_MEMORY_REDACTION=true, or `redaction = true` in the settings file. A running hub "
                "keeps its settings: `learning-memory-server hub stop` ends it. Then run the command again.",
            )
        return self._redactor

    async def load(self) -> None:
        """Load all detectors, and wait for them."""
        if self._detector is not None and not self._detector.is_settled:
            await asyncio.to_thread(self._detector.load)

    def describe(self) -> str:
        """Return what finds secrets."""
        if self._redactor is None:
            return "off"
        if self._detector is None or self._detector.missing:
            return "own patterns"
        loaded = self._detector.is_loaded
        return (
            "own patterns and Betterleaks"
            if loaded
            else "own patterns; Betterleaks loads with the first text"
        )


def listed(kinds: Mapping[str, int]) -> str:
    """Return counts by kind in words, such as `1 github token, 2 passwords`."""
    return ", ".join(f"{count:,} {kind}{'s' if count > 1 else ''}" for kind, count in kinds.items())


def _characters(data: Any) -> int:  # noqa: ANN401 - JSON
    if isinstance(data, str):
        return len(data)
    if isinstance(data, dict):
        return sum(_characters(key) + _characters(value) for key, value in data.items())
    if isinstance(data, list | tuple):
        return sum(map(_characters, data))
    return 0
