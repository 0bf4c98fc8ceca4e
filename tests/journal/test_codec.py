import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from learning_memory_server.journal.kinds import ADVICE, FAILURE, GHAP, VALUE, VERDICT, RecordKind, without_empty
from learning_memory_server.model.advice import Advice, AdviceKind, Effect, Item, Reason, TriggerKind
from learning_memory_server.model.entry import Anchor
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.value import ClusterId, Evidence, Value, Verdict
from learning_memory_server.model.vocabulary import Axis, Stance
from tests.support import MOMENTS, RESOLUTIONS, TEXTS, full_ghap, ghap, ghaps

ANY = TEXTS | st.just("")
FIGURES = st.floats(-2, 2, allow_nan=False)
VALUES = st.builds(
    Value,
    id=ANY,
    text=ANY,
    cluster_id=st.builds(ClusterId, st.sampled_from(Axis), st.integers(0, 10**6)),
    project=ANY,
    created_at=MOMENTS,
    evidence=st.builds(
        Evidence,
        member_ids=st.lists(ANY, max_size=4).map(tuple),
        centroid=st.lists(FIGURES, max_size=8).map(tuple),
        similarity=FIGURES,
        centroid_distance=FIGURES,
        threshold=FIGURES,
        embedding=ANY,
    ),
)


VERDICTS = st.builds(
    Verdict,
    value_id=ANY,
    ghap_id=ANY,
    stance=st.sampled_from(Stance),
    project=ANY,
    created_at=MOMENTS,
    requests=st.lists(ANY, max_size=3).map(tuple),
)


FAILURES = st.builds(
    Failure,
    id=ANY,
    project=ANY,
    session=ANY,
    signature=ANY,
    command=ANY,
    created_at=MOMENTS,
    worked=st.none() | ANY,
    times=st.integers(1, 10**6),
    advice=st.none() | st.builds(Item, ANY, st.sampled_from(AdviceKind)),
    returned=st.booleans(),
)
ADVICES = st.builds(
    Advice,
    ghap_id=ANY,
    revision=st.integers(0, 9),
    session=ANY,
    context=ANY,
    agent=ANY,
    key=ANY,
    channel=st.sampled_from(TriggerKind),
    items=st.lists(
        st.builds(
            Item,
            ANY,
            st.sampled_from(AdviceKind),
            st.none() | st.sampled_from([0.0, 0.518]),
            st.none() | st.sampled_from(Reason),
            st.none() | st.sampled_from(Effect),
        ),
        max_size=2,
    ).map(tuple),
    project=ANY,
    created_at=MOMENTS,
)


def through_json(data: dict[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(json.dumps(data))
    return read


@pytest.mark.parametrize(
    ("codec", "things"),
    [
        pytest.param(GHAP, ghaps(st.none() | RESOLUTIONS), marks=pytest.mark.slow),
        pytest.param(VALUE, VALUES, marks=pytest.mark.slow),
        pytest.param(FAILURE, FAILURES, marks=pytest.mark.slow),
        (ADVICE, ADVICES),
        (VERDICT, VERDICTS),
    ],
    ids=lambda given: getattr(given, "kind", ""),
)
@given(data=st.data())
def test_anything_survives_a_round_trip(
    codec: RecordKind[Any], things: st.SearchStrategy[object], data: st.DataObject
) -> None:
    thing = data.draw(things)
    assert codec.decode(through_json(codec.encode(thing))) == thing


@given(VERDICTS)
def test_a_name_that_only_the_program_has_is_unknown_in_the_journal(verdict: Verdict) -> None:
    data = VERDICT.encode(verdict) | {"stance": "of another program"}

    read = VERDICT.decode(through_json(data))

    assert (read.stance, read.others) == (verdict.stance, {"stance": "of another program"})
    assert VERDICT.encode(read) == data


def test_advice_and_failures_of_earlier_versions_have_no_score() -> None:
    line = {
        "ghap_id": "ghap_1",
        "revision": 1,
        "channel": "start",
        "items": [{"id": "ghap_2", "kind": "experience", "effect": "helped"}],
        "project": "shop",
        "created_at": "2026-03-01T12:00:00+00:00",
    }
    assert ADVICE.decode(line).items == (Item("ghap_2", AdviceKind.EXPERIENCE, effect=Effect.HELPED),)
    assert ADVICE.encode(ADVICE.decode(line)) == line


def test_absent_parts_are_left_out() -> None:
    data = GHAP.encode(ghap())

    stated = "id project agent_session created_at domain strategy goal hypothesis action prediction"
    assert data.keys() == set(stated.split())
    assert without_empty({"a": None, "b": "", "c": [], "d": {}, "e": 0, "f": False}) == {"e": 0, "f": False}


def test_every_part_has_its_documented_name() -> None:
    data = GHAP.encode(replace(full_ghap(), orphaned=True))

    assert data["created_at"] == "2026-03-01T12:00:00+00:00"
    assert data["orphaned"] is True
    assert data["history"][0].keys() == {"at", "hypothesis", "action", "prediction", "confidence"}
    assert (data["confidence"], data["first_confidence"]) == (0.6, 0.9)
    assert data["resolution"] == {
        "status": "falsified",
        "result": "Requests waited as before.",
        "resolved_at": "2026-03-01T13:00:00+00:00",
        "surprise": "The pool was never full.",
        "root_cause": {"category": "misleading-symptom", "description": "The load balancer queued them."},
        "lesson": {"what_worked": "Measuring at every hop", "takeaway": "Look in front of the service first"},
        "cited": [{"id": "ghap_20260301_110000_000000", "kind": "experience", "effect": "helped"}],
    }
    assert data["runs"] == [{"at": "2026-03-01T12:00:00+00:00", "command": "pytest -q", "exit_status": 1, "failed": 2}]


@pytest.mark.parametrize(
    "broken", [{"id": None}, {"created_at": "yesterday"}, {"domain": "cooking"}, {"resolution": {}}]
)
def test_data_that_is_not_an_entry_is_refused(broken: dict[str, Any]) -> None:
    data = {**GHAP.encode(ghap()), **broken}
    if data["id"] is None:
        del data["id"]

    with pytest.raises((KeyError, ValueError, TypeError)):
        GHAP.decode(data)


def test_the_digests_of_lines_that_earlier_versions_kept_of_a_file_are_passed_over() -> None:
    data = GHAP.encode(ghap(anchors=(Anchor("a.py", "0" * 40, is_read=True), Anchor("b.py"))))
    earlier = [["a.py", "0" * 40, "0123abcd", True], ["b.py", "", "", False]]
    assert GHAP.encode(GHAP.decode({**data, "anchors": earlier})) == data
