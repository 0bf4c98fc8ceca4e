import random
import threading
import time
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from benchmarks.secret_texts import SUITES, harmless_texts, secret_cases
from benchmarks.secrets_made import ALNUM, HEX, drawn
from learning_memory_server.errors import InvalidSettingsError
from learning_memory_server.redaction.base import KIND, MARKER, Redacted, Span, marker
from learning_memory_server.redaction.gate import redact_data
from learning_memory_server.redaction.redactor import DetectingRedactor, build_redactor

RNG = random.Random(11)
REDACTOR = build_redactor()
TOKEN = "gh" + "p_" + drawn(RNG, ALNUM, 36)
CASES = secret_cases(SUITES["first"], per_kind=2)
HARMLESS = harmless_texts(SUITES["first"], 200)
PIECES = st.one_of(
    st.text(max_size=30),
    st.sampled_from([case.text for case in CASES]),
    st.sampled_from(
        ["password=", "token: ", "://", "'", '"', "\\n", "\n", " is ", "Bearer ", "[redacted: ", "]", marker("jwt")]
    ),
)
TEXTS = st.lists(PIECES, max_size=8).map("".join)


class Spans:
    """Finds what it was told to."""

    def __init__(self, *spans: Span) -> None:
        self._spans = spans

    def find(self, text: str) -> Sequence[Span]:
        return [span for span in self._spans if span.end <= len(text) and not MARKER.search(text)]


@pytest.mark.slow
@given(TEXTS)
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = REDACTOR.redact(text)
    again = REDACTOR.redact(once.text)
    assert again.text == once.text
    assert again.kinds == {}


@given(TEXTS)
def test_what_is_not_secret_stays_as_it_is_and_in_its_order(text: str) -> None:
    redacted = REDACTOR.redact(text)
    end = 0
    given_markers = len(MARKER.findall(text))
    for piece in MARKER.split(redacted.text):
        end = text.find(piece, end)
        assert end >= 0
        end += len(piece)
    assert len(MARKER.findall(redacted.text)) - given_markers <= sum(redacted.kinds.values())
    if not redacted.kinds:
        assert redacted.text == text


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_secret_is_found_between_any_texts(before: str, after: str) -> None:
    assert TOKEN not in REDACTOR.redact(f"{before} {TOKEN} {after}").text


@pytest.mark.parametrize("text", HARMLESS[:60])
def test_a_text_without_secrets_stays(text: str) -> None:
    assert REDACTOR.redact(text).text == text


def test_the_kinds_are_counted() -> None:
    redacted = REDACTOR.redact(f"{TOKEN}, {TOKEN} and postgres://a:F4lcon!river@db")
    assert (
        redacted.text
        == "[redacted: github token], [redacted: github token] and postgres://a:[redacted: url password]@db"
    )
    assert redacted.kinds == {"github token": 2, "url password": 1}


@pytest.mark.parametrize(
    ("spans", "text"),
    [
        ([Span(0, 4, "one"), Span(2, 6, "two")], "[redacted: one]ghij"),
        ([Span(2, 4, "one"), Span(0, 6, "two")], "[redacted: one]ghij"),
        ([Span(0, 2, "two"), Span(2, 4, "one")], "[redacted: two][redacted: one]efghij"),
        ([Span(3, 3, "one")], "abcdefghij"),
    ],
)
def test_overlapping_secrets_are_replaced_as_one(spans: list[Span], text: str) -> None:
    specific = Spans(*(span for span in spans if span.kind == "one"))
    other = Spans(*(span for span in spans if span.kind == "two"))
    assert DetectingRedactor([specific, other]).redact("abcdefghij").text == text


def test_what_is_allowed_stays() -> None:
    other = TOKEN[:-1] + ("A" if TOKEN[-1] != "A" else "B")
    redactor = build_redactor(allow=[TOKEN, r"password=Test\w+"])
    text = f"{TOKEN} {other} password=TestFalcon17 passwd=OtherFalcon17"
    redacted = redactor.redact(text)
    assert redacted.text == f"{TOKEN} [redacted: github token] password=TestFalcon17 passwd=[redacted: password]"
    assert redactor.redact(redacted.text).text == redacted.text


def test_an_allowed_part_of_a_secret_does_not_keep_the_rest() -> None:
    redactor = build_redactor(allow=[TOKEN[:12]])
    assert redactor.redact(TOKEN).text == "[redacted: github token]"


def test_a_users_patterns_are_found_under_their_names() -> None:
    named = build_redactor({"badge number": r"B-\d{6}"})
    assert named.redact("badge B-123456 of").text == "badge [redacted: badge number] of"
    assert named.redact("badge B-123456 of").kinds == {"badge number": 1}
    grouped = build_redactor([r"door code (?P<secret>\d+)"])
    assert grouped.redact("door code 4711!").text == "door code [redacted: own pattern]!"


@pytest.mark.parametrize(
    ("patterns", "allow", "message"),
    [
        (["("], [], "redaction_patterns: '(' is not a regular expression"),
        ({"ok": "["}, [], "redaction_patterns: '[' is not a regular expression"),
        ({"Not OK": "a"}, [], "redaction_patterns: 'Not OK' cannot be a kind"),
        (["x*"], [], "redaction_patterns: 'x*' matches the empty text"),
        ([], ["*"], "redaction_allow: '*' is not a regular expression"),
        ([], ["a?"], "redaction_allow: 'a?' matches the empty text"),
    ],
)
def test_an_impossible_pattern_is_refused(patterns: Sequence[str], allow: list[str], message: str) -> None:
    with pytest.raises(InvalidSettingsError) as refused:
        build_redactor(patterns, allow)
    assert refused.value.message.startswith(message)


def test_unicode_stays() -> None:
    text = f"İstanbul ẞ 日本語 \U0001f600 {TOKEN} naïve пароль\0 \ud800"
    assert REDACTOR.redact(text).text == text.replace(TOKEN, "[redacted: github token]")
    assert "F4lcon" not in REDACTOR.redact("İİİİ password=F4lcon!river").text


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "A1",
        "-----BEGIN PRIVATE KEY-----",
        "password",
        "://a:",
        "eyJhbGci.",
        "'",
        "aB3/",
        "x.y.",
        "\\",
        "[redacted: ",
        "key ",
        "token ",
        "eyJ",
        "AQE",
        "password=",
        "eyJ-",
        "AQE/",
    ],
)
def test_the_time_grows_with_the_length_only(unit: str) -> None:
    def seconds(length: int) -> float:
        text = (unit * length)[:length]
        began = time.process_time()
        REDACTOR.redact(text)
        return time.process_time() - began

    seconds(1_000)
    # Four times the text; sixteen times the time if it were quadratic.
    assert seconds(80_000) < 8 * seconds(20_000) + 0.05


@pytest.mark.slow
def test_a_secret_is_found_wherever_a_large_text_holds_it() -> None:
    filler = "lorem ipsum dolor 12345 sit amet\n" * 40_000
    for place in (0, 99_990, len(filler) // 2, len(filler)):
        redacted = REDACTOR.redact(f"{filler[:place]} {TOKEN} {filler[place:]}")
        assert redacted.kinds == {"github token": 1}


@pytest.mark.slow
def test_threads_can_share_a_redactor() -> None:
    results: list[str] = []
    threads = [
        threading.Thread(target=lambda: results.extend(REDACTOR.redact(case.text).text for case in CASES))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted([REDACTOR.redact(case.text).text for case in CASES] * 4)


def test_every_kind_can_stand_in_a_marker() -> None:
    kinds = {kind for case in CASES for kind in REDACTOR.redact(case.text).kinds}
    assert len(kinds) > 25
    assert all(KIND.fullmatch(kind) for kind in kinds)


def test_data_is_redacted_in_values_and_keys() -> None:
    data = {"note": f"see {TOKEN}", "list": [TOKEN, 1, None, True, {"a": 2.5}], TOKEN: "x"}
    redacted = redact_data(REDACTOR, data)
    mark = "[redacted: github token]"
    assert redacted.data == {"note": f"see {mark}", "list": [mark, 1, None, True, {"a": 2.5}], mark: "x"}
    assert redacted.kinds == {"github token": 3}
    assert redact_data(REDACTOR, redacted.data) == (redacted.data, {}, {})


def test_data_is_redacted_with_the_places_and_without_those_that_are_kept() -> None:
    data = {"note": TOKEN, "list": [{"a": [TOKEN, f"{TOKEN} {TOKEN}"], "id": TOKEN}], TOKEN: {"b": TOKEN}}
    redacted = redact_data(REDACTOR, data, kept=["note", "list[].id"])
    mark = "[redacted: github token]"
    assert redacted.data["note"] == redacted.data["list"][0]["id"] == TOKEN
    assert redacted.data["list"][0]["a"] == [mark, f"{mark} {mark}"]
    assert {place: dict(kinds) for place, kinds in redacted.places.items()} == {
        "list[0].a[0]": {"github token": 1},
        "list[0].a[1]": {"github token": 2},
        mark: {"github token": 1},
        f"{mark}.b": {"github token": 1},
    }
    assert redacted.kinds == {"github token": 5}


def test_ids_and_times_are_no_secrets_even_if_a_users_pattern_matches_them() -> None:
    redactor = build_redactor({"number": r"\d{6}", "birth date": r"\d{4}-\d{2}-\d{2}"})
    ghap_id, uuid = "ghap_20261123_010101_123456", "12345678-1234-1234-1234-123456789012"
    ours = {
        "records": [{"id": uuid, "at": "2026-11-23T01:01:01.123456+00:00", "data": {"date": "2026-11-23"}}],
        "entries": [{"id": ghap_id, "agent_session": "1234567890123456", "created_at": "2026-11-23 01:01Z"}],
        "moved": {ghap_id: 3},
        "supported_by": [ghap_id, " value_20261123_010101_123456 "],
        "memory_id": uuid,
        "cluster_id": "full_123456",
        "since": "2026-11-23",
    }
    assert redact_data(redactor, ours) == (ours, {}, {})
    secrets = {"born": "2026-11-23", "since": "2026-11-23 and 123456", "id": "123456", "text": f"see {ghap_id}"}
    assert redact_data(redactor, secrets).data == {
        "born": "[redacted: birth date]",
        "since": "[redacted: birth date] and [redacted: number]",
        "id": "[redacted: number]",
        "text": "see ghap_[redacted: number]23_[redacted: number]_[redacted: number]",
    }


def test_a_key_says_what_its_value_is() -> None:
    assert redact_data(REDACTOR, {"db": {"password": "F4lcon!river"}}).data == {
        "db": {"password": "[redacted: password]"}
    }
    assert redact_data(REDACTOR, {"commit": drawn(RNG, HEX, 40)}).kinds == {}


def test_keys_that_become_the_same_are_numbered() -> None:
    other = TOKEN[:-1] + ("A" if TOKEN[-1] != "A" else "B")
    mark = "[redacted: github token]"
    assert redact_data(REDACTOR, {TOKEN: 1, other: 2}).data == {mark: 1, f"{mark} 2": 2}


def test_thousands_of_keys_that_redact_alike_take_no_longer_each() -> None:
    calls = 0

    class Counting(str):
        __slots__ = ()

        def __format__(self, form: str) -> str:
            nonlocal calls
            calls += 1
            return super().__format__(form)

    class Alike:
        def redact(self, _text: str) -> Redacted:
            return Redacted(Counting("[REDACTED]"), {"token": 1})

    count = 2_000
    redacted = redact_data(Alike(), {f"secret {number}": number for number in range(count)})
    assert list(redacted.data.values()) == list(range(count))
    assert list(redacted.data)[:3] == ["[REDACTED]", "[REDACTED] 2", "[REDACTED] 3"]
    assert calls == count - 1
