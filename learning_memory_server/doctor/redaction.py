"""Check of what finds secrets in texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from learning_memory_server.doctor.finding import green, yellow
from learning_memory_server.redaction.betterleaks import BetterleaksDetector

if TYPE_CHECKING:
    from learning_memory_server.doctor.finding import Finding
    from learning_memory_server.settings import Settings

_TOPIC: Final = "redaction"


def check_redaction(settings: Settings) -> Finding:
    """Load the detectors, and say which of them work."""
    if not settings.redaction:
        return yellow(_TOPIC, "Off: secrets in texts are stored as they are.")
    detector = BetterleaksDetector()
    detector.load()
    if detector.missing:
        return green(
            _TOPIC,
            f"Secrets are found by our own patterns; Betterleaks is not here ({detector.missing}). `scan` finds stored ones.",
        )
    return green(_TOPIC, "Secrets are found by our own patterns and Betterleaks; `scan` finds stored ones.")
