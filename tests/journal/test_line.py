import hashlib
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.journal.codec import DamagedLineError, JournalRecord
from tests.support import NOON

RECORD = JournalRecord("ghap", "ghap_1", NOON, {"goal": "caf\u00e9\nwith \u2028 lines", "n": 1.5})
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_any_data_survives_a_round_trip(data: dict[str, object]) -> None:
    record = JournalRecord("ghap", "ghap_1", NOON, data)

    line = record.to_line()

    assert line.endswith(b"\n")
    assert len(line.splitlines()) == 1
    assert JournalRecord.from_line(line) == record


def test_a_line_is_canonical_json_with_its_checksum() -> None:
    line = RECORD.to_line()
    body = {"v": 4, "kind": "ghap", "id": "ghap_1", "at": NOON.isoformat(), "data": RECORD.data}

    assert line == canonical(json.loads(signed(body))) + b"\n"


def test_a_flipped_bit_anywhere_is_detected() -> None:
    line = RECORD.to_line()
    for place in range(len(line) - 1):
        for bit in (0x01, 0x10, 0x20):
            damaged = bytearray(line)
            damaged[place] ^= bit
            with pytest.raises((DamagedLineError, JournalUnavailableError)):
                JournalRecord.from_line(bytes(damaged))


@pytest.mark.parametrize(
    "line", [b"", b"\n", b"null\n", b"[]\n", b"{}\n", b'"text"\n', b"\0" * 64, b"\0" * 63, b"\xff\xfe\n", b"{"]
)
def test_a_line_that_is_not_a_record_is_damaged(line: bytes) -> None:
    with pytest.raises(DamagedLineError):
        JournalRecord.from_line(line)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{}\n", "it has no version (`v`)"),
        (b'{"v":4}\n', "it has no `kind`, `id`, `at`, `data`, `sum`"),
        (b"[]\n", "it is not a JSON object"),
        (b"{\n", "it is not JSON"),
        (b'{"v":4,"kind":"ghap","id":"x","at":"","data":{},"sum":""}\n', "the checksum does not match"),
    ],
)
def test_what_is_wrong_with_a_line_is_said_in_words(line: bytes, reason: str) -> None:
    with pytest.raises(DamagedLineError) as damage:
        JournalRecord.from_line(line)
    assert str(damage.value) == reason


def canonical(body: dict[str, object]) -> bytes:
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def signed(body: dict[str, object]) -> bytes:
    return json.dumps({**body, "sum": hashlib.sha256(canonical(body)).hexdigest()}).encode() + b"\n"


@pytest.mark.parametrize("absent", ["kind", "id", "at", "data"])
def test_a_line_without_a_part_is_damaged_even_if_its_checksum_matches(absent: str) -> None:
    body = {"v": 4, "kind": "ghap", "id": "x", "at": NOON.isoformat(), "data": {}}
    assert JournalRecord.from_line(signed(body)).id == "x"
    del body[absent]

    with pytest.raises(DamagedLineError):
        JournalRecord.from_line(signed(body))


def test_the_keys_may_come_in_any_order() -> None:
    reordered = dict(reversed(json.loads(RECORD.to_line()).items()))

    assert JournalRecord.from_line(json.dumps(reordered).encode() + b"\n") == RECORD


NEWER: dict[str, object] = {"v": 5, "kind": "ghap", "id": "x", "at": NOON.isoformat(), "data": {}}


@pytest.mark.parametrize(
    "line", [signed(NEWER), b'{"v":5,"crc":"00"}\n'], ids=["the same checksum", "another checksum"]
)
def test_a_newer_format_is_refused_and_not_reported_as_damage(line: bytes) -> None:
    with pytest.raises(JournalUnavailableError, match="format 5; this program reads format 4") as caught:
        JournalRecord.from_line(line)

    assert caught.value.hint


def test_times_keep_their_microseconds() -> None:
    record = JournalRecord("ghap", "x", datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC), {})

    assert JournalRecord.from_line(record.to_line()).at == record.at
