"""Check of what finds secrets in texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from learning_memory_server.cli.doctor.finding import green, yellow
from learning_memory_server.redaction.betterleaks import BetterleaksDetector
from learning_memory_server.redaction.own import OwnPatterns, numbered_patterns

if TYPE_CHECKING:
    from learning_memory_server.cli.doctor.finding import Finding
    from learning_memory_server.server.settings import Settings

_TOPIC: Final = "redaction"


def check_redaction(settings: Settings) -> Iterator[Finding]:
    """Try the user's patterns on texts that are hard for them, load the detectors, and say which of them work."""
    if not settings.redaction:
        yield yellow(_TOPIC, "Off: secrets in texts are stored as they are.")
        return
    slow = OwnPatterns(settings.redaction_patterns).slow()
    slow += [
        pattern.name
        for pattern in numbered_patterns("redaction_allow", settings.redaction_allow)
        if pattern.is_slow
    ]
    for name in slow:
        yield yellow(
            _TOPIC,
            f"{name} takes very long on some texts, which are refused then. Rewrite it without a repeat inside a repeat.",
        )
    detector = BetterleaksDetector()
    detector.load()
    if detector.missing:
        yield green(
            _TOPIC,
            f"Secrets are found by our own patterns; Betterleaks is not here ({detector.missing}). `scan` finds stored ones.",
        )
    else:
        yield green(
            _TOPIC, "Secrets are found by our own patterns and Betterleaks; `scan` finds stored ones."
        )
