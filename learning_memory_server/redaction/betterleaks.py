"""Betterleaks, a detector with some 460 rules, where it is installed.

It is a Go library in a wheel of 29 MB; wheels exist for Linux (glibc), macOS and Windows, up to Python 3.13. Loading it
and its first scan take a quarter of a second and 40 MB, so both happen in a thread, with the first text; the first text
that is stored waits for them. betterleaks_rules.toml says which of its rules are off.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import structlog

from learning_memory_server.redaction.base import KIND, Span
from learning_memory_server.system import timeouts

Scan = Callable[[str], Iterable[Any]]
"""Returns findings; the library has no types."""


log = structlog.get_logger()

_KINDS: Final = {
    "aws-access-token": "aws access key",
    "aws-secret-access-key": "aws secret key",
    "curl-auth-header": "authorization",
    "curl-auth-user": "command line password",
}
"""Our kinds for rules with vague names."""

_NO_SECRETS: Final = (
    "-client-id",
    "-account-id",
    "-url",
    "-host",
    "-username",
    "-domain",
    "-cloud-name",
    "-address",
    "-pub-key",
)
"""Endings of the names of rules that find something public that goes with a secret."""

CONFIGURATION: Final = str(Path(__file__).with_name("betterleaks_rules.toml"))
"""The rules that count."""


class BetterleaksDetector:
    """Finds secrets with Betterleaks, or none as long as it is not loaded.

    The first text starts the loading in a thread and does not wait for it; `load` waits. Once that has ended, `missing`
    says why it finds nothing, if it does.
    """

    def __init__(self, load: Callable[[], Scan] | None = None) -> None:
        self._find_library = load or load_betterleaks
        self.missing: str | None = None
        self._scan: Scan | None = None
        self._loading: threading.Thread | None = None
        self._lock = threading.Lock()

    def load(self) -> None:
        """Load the library, if it is there, and wait until that is done, for ten seconds at most."""
        self._begin().join(timeouts.BETTERLEAKS)

    @property
    def is_loaded(self) -> bool:
        """Whether it can find something."""
        return self._scan is not None

    @property
    def is_settled(self) -> bool:
        """Whether it is loaded, or known to be missing."""
        return self.is_loaded or self.missing is not None

    def find(self, text: str) -> list[Span]:
        """Return where secrets are."""
        if not text:
            return []
        if self._scan is None:
            self._begin()
            return []
        try:
            return list(_located(text, self._scan(_safe(text))))
        except Exception:
            # Whatever the library reports: the other detectors go on, and a text is never refused because of this one.
            log.exception("redaction.detector_failed", characters=len(text))
            return []

    def _begin(self) -> threading.Thread:
        with self._lock:
            if self._loading is None:
                self._loading = threading.Thread(target=self._load, name="betterleaks", daemon=True)
                self._loading.start()
        return self._loading

    def _load(self) -> None:
        try:
            self._scan = self._find_library()
        except Exception as error:  # noqa: BLE001 - a library that does not load must not end the server
            self.missing = type(error).__name__
            log.info("redaction.detector_missing", detector="betterleaks", reason=self.missing)


def load_betterleaks() -> Scan:
    """Return the library's scan, with our configuration; loading takes a quarter of a second, or raises ImportError."""
    from betterleaks import scan_string  # noqa: PLC0415 - only where it is used

    scan_string("", CONFIGURATION)  # compiles the rules
    return lambda text: scan_string(text, CONFIGURATION)


def _safe(text: str) -> str:
    """Return a text of the same length that a C string can hold: it would end at the first NUL."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def _located(text: str, findings: Iterable[Any]) -> Iterator[Span]:
    """Return where the findings are; their columns count bytes, and differ by one from the second line on."""
    safe = _safe(text)
    lines = [0]
    lines.extend(found.end() for found in re.finditer("\n", safe))
    searched: dict[str, int] = {}
    for finding in findings:
        rule = finding.rule_id.partition(".")[0]
        if rule.endswith(_NO_SECRETS) or not finding.secret:
            continue
        match = finding.match.full or finding.secret
        line = min(max(finding.location.start_line - 1, 0), len(lines) - 1)
        begin = safe.find(match, max(lines[line], searched.get(match, 0)))
        offset = match.find(finding.secret)
        if begin < 0 or offset < 0:
            # It was found in something decoded, or is reported once for several places of the same line.
            continue
        searched[match] = begin + len(match)
        kind = _KINDS.get(rule, rule.replace("-", " "))
        yield Span(begin + offset, begin + offset + len(finding.secret), kind if KIND.fullmatch(kind) else "secret")
