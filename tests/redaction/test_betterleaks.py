import asyncio
import random
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.secrets_made import ALNUM, drawn
from learning_memory_server.redaction.betterleaks import CONFIGURATION, BetterleaksDetector, Scan
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.redaction.redactor import build_redactor

TOKEN = "gh" + "p_" + drawn(random.Random(5), ALNUM, 36)  # noqa: S311 - made-up secrets


@dataclass
class Match:
    full: str


@dataclass
class Location:
    start_line: int


@dataclass
class Finding:
    rule_id: str
    secret: str
    match: Match
    location: Location


def finding(rule: str, full: str, value: str, line: int) -> Finding:
    return Finding(rule, value, Match(full), Location(line))


def detector_of(*findings: Finding) -> BetterleaksDetector:
    detector = BetterleaksDetector(lambda: lambda _: findings)
    detector.load()
    return detector


def missing() -> Scan:
    raise ImportError("there is no wheel for this platform")


def failing() -> Scan:
    def scan(text: str) -> Iterable[Finding]:
        raise ValueError(text)

    return scan


def test_without_it_our_own_patterns_go_on_and_the_reason_is_known() -> None:
    detector = BetterleaksDetector(missing)
    detector.load()
    redacted = build_redactor(detector=detector).redact(TOKEN)
    assert redacted.text == "[redacted: github token]"
    assert detector.missing == "ImportError"


def test_a_finding_is_located_in_its_line() -> None:
    text = "é zq9 = 1\n\0 zq9 = secret-zq9 \ud800\n"
    (span,) = detector_of(finding("acme-api-token.1", "zq9 = secret-zq9", "secret-zq9", 2)).find(text)
    assert text[span.start : span.end] == "secret-zq9"
    assert span.kind == "acme api token"


def test_the_same_secret_twice_in_a_line_is_located_twice() -> None:
    twice = finding("acme-key", "abc", "abc", 1)
    assert [span.start for span in detector_of(twice, twice).find("abc abc abc")] == [0, 4]


def test_what_only_belongs_to_a_secret_and_what_is_not_in_the_text_is_left_out() -> None:
    findings = [finding("acme-client-id", "abc", "abc", 1), finding("acme-key", "not there", "not there", 9)]
    assert detector_of(*findings).find("abc") == []


def test_its_rules_that_go_by_a_name_are_off() -> None:
    configuration = tomllib.loads(Path(CONFIGURATION).read_text(encoding="utf-8"))
    assert configuration["extend"] == {
        "useDefault": True,
        "disabledRules": ["generic-api-key", "generic-password", "generic-credential-uri"],
    }


def test_its_failure_does_not_lose_the_text() -> None:
    detector = BetterleaksDetector(failing)
    detector.load()
    assert build_redactor(detector=detector).redact(f"a {TOKEN}").text == "a [redacted: github token]"
    assert detector.missing is None


def test_a_text_does_not_wait_for_the_library() -> None:
    gate = threading.Event()

    def slow() -> Scan:
        gate.wait()
        return lambda _: [finding("acme-key", "abc", "abc", 1)]

    detector = BetterleaksDetector(slow)
    assert (detector.find("abc"), detector.is_loaded) == ([], False)
    gate.set()
    detector.load()
    assert (len(detector.find("abc")), detector.is_loaded) == (1, True)


async def test_what_is_stored_waits_for_the_library_and_what_only_searches_does_not() -> None:
    begun, ready = threading.Event(), threading.Event()

    def slow() -> Scan:
        begun.set()
        ready.wait()
        return lambda _: [finding("acme-key", "abc", "abc", 1)]

    detector = BetterleaksDetector(slow)
    gate = RedactionGate(build_redactor(detector=detector), detector)
    assert (await gate.pass_data("abc", stored=False)).data == "abc"
    write = asyncio.create_task(gate.pass_data("abc"))
    await asyncio.to_thread(begun.wait)
    assert not write.done()
    ready.set()
    assert (await write).data == "[redacted: acme key]"


async def test_a_library_that_is_missing_does_not_keep_a_text_from_being_stored() -> None:
    detector = BetterleaksDetector(missing)
    gate = RedactionGate(build_redactor(detector=detector), detector)
    assert (await gate.pass_data("abc")).data == "abc"
    assert gate.describe() == "own patterns"


@pytest.mark.slow
def test_nothing_heavy_is_imported_before_the_first_text() -> None:
    code = (
        "import sys, learning_memory_server.redaction.redactor as r, learning_memory_server.redaction.betterleaks as b;"
        "r.build_redactor(detector=b.BetterleaksDetector());"
        "print([m for m in ('betterleaks', 'numpy', 'pydantic', 'mcp') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
