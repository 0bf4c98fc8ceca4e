import uuid
from dataclasses import replace

import pytest
from hypothesis import example, given

from learning_memory_server.index.document import (
    SHAPES,
    Collection,
    axis_texts,
    digest_of,
    documents_of,
    is_on,
    payload_of,
    point_id,
)
from learning_memory_server.model.entry import Ghap, Lesson
from learning_memory_server.model.vocabulary import Axis
from tests.support import CONFIRMED, full_ghap, ghap, ghaps

FULL = full_ghap()
MINIMAL = ghap(resolution=CONFIRMED)


def test_a_minimal_entry_has_the_two_axes_that_every_entry_has() -> None:
    assert list(axis_texts(MINIMAL)) == [Axis.FULL, Axis.STRATEGY]


def test_a_full_entry_has_every_axis() -> None:
    assert set(axis_texts(FULL)) == set(Axis)


def test_a_surprise_alone_and_a_root_cause_alone_have_their_axes() -> None:
    only_surprise = replace(FULL, resolution=replace(FULL.outcome, root_cause=None))
    only_cause = replace(FULL, resolution=replace(FULL.outcome, surprise=None))

    assert set(axis_texts(only_surprise)) == {Axis.FULL, Axis.STRATEGY, Axis.SURPRISE}
    assert set(axis_texts(only_cause)) == {Axis.FULL, Axis.STRATEGY, Axis.ROOT_CAUSE}


@pytest.mark.slow
@given(ghaps())
@example(replace(MINIMAL, resolution=replace(CONFIRMED, surprise="")))
def test_an_entry_is_on_the_axes_that_it_has_texts_for(entry: Ghap) -> None:
    assert {axis for axis in Axis if is_on(axis, entry)} == axis_texts(entry).keys()


def test_the_domain_is_not_an_axis() -> None:
    assert [axis.value for axis in Axis] == ["full", "strategy", "surprise", "root_cause"]


@pytest.mark.parametrize(
    ("axis", "parts"),
    [
        (
            Axis.FULL,
            [
                FULL.goal,
                FULL.hypothesis,
                FULL.action,
                FULL.prediction,
                "falsified: Requests waited as before.",
                "The pool was never full.",
                "misleading-symptom: The load balancer queued them.",
                "Measuring at every hop",
                "Look in front of the service first",
                "debugging",
            ],
        ),
        (Axis.STRATEGY, ["read-the-error", FULL.goal, "falsified after 2 iterations", "Measuring at every hop"]),
        (
            Axis.SURPRISE,
            [
                "The pool was never full.",
                FULL.prediction,
                "Requests waited as before.",
                "The load balancer queued them.",
            ],
        ),
        (
            Axis.ROOT_CAUSE,
            ["misleading-symptom: The load balancer queued them.", FULL.hypothesis, "debugging", "read-the-error"],
        ),
    ],
)
def test_each_axis_has_the_text_of_its_parts_and_nothing_else(axis: Axis, parts: list[str]) -> None:
    assert axis_texts(FULL)[axis].splitlines() == parts


def test_one_attempt_is_one_iteration() -> None:
    assert "confirmed after 1 iteration\n" in axis_texts(MINIMAL)[Axis.STRATEGY] + "\n"


def test_a_lesson_without_a_takeaway_leaves_no_empty_line() -> None:
    entry = replace(FULL, resolution=replace(FULL.outcome, lesson=Lesson("Measuring")))

    assert "" not in axis_texts(entry)[Axis.FULL].splitlines()


def test_every_axis_goes_to_its_collection_under_one_point_id() -> None:
    documents = documents_of(FULL)

    assert {document.collection for document in documents} == {Collection.of(axis) for axis in Axis}
    assert {document.point_id for document in documents} == {point_id("ghap", FULL.id)}
    assert all(document.payload == payload_of(FULL) for document in documents)
    assert {document.collection: document.text for document in documents} == {
        Collection.of(axis): text for axis, text in axis_texts(FULL).items()
    }


def test_the_parts_of_the_full_text_are_its_lines_except_the_domain() -> None:
    whole, *others = documents_of(FULL)

    assert whole.collection is Collection.EXPERIENCES_FULL
    assert [*whole.parts, "debugging"] == whole.text.splitlines()
    assert not any(other.parts for other in others)


def test_a_point_id_is_a_uuid_that_never_changes() -> None:
    assert point_id("ghap", "ghap_20260301_120000_000000") == "11a67048-b709-5fb0-8010-79538df04f2f"
    assert uuid.UUID(point_id("value", "x")).version == 5
    assert point_id("value", "x") != point_id("ghap", "x")


def test_the_fields_that_filters_use_are_flat_in_the_payload() -> None:
    fields = SHAPES[Collection.EXPERIENCES_FULL]
    payload = payload_of(FULL)
    assert {name: payload[name] for name in (*fields.keywords, *fields.datetimes)} == {
        "project": "acme/shop",
        "domain": "debugging",
        "strategy": "read-the-error",
        "outcome_status": "falsified",
        "resolved_at": "2026-03-01T13:00:00+00:00",
    }
    assert payload["ghap_id"] == FULL.id


@pytest.mark.slow
@given(ghaps())
def test_no_payload_holds_what_somebody_wrote(entry: Ghap) -> None:
    fields = {"ghap_id", "project", "domain", "strategy", "outcome_status", "resolved_at"}
    assert all(document.payload.keys() == fields for document in documents_of(entry))


def test_the_digest_changes_with_what_the_vector_is_made_from_and_with_nothing_else() -> None:
    digests = {digest_of(document) for document in documents_of(FULL)}
    assert len(digests) == len(Axis)
    assert {digest_of(document) for document in documents_of(replace(FULL, project="another"))} == digests
    assert digest_of(documents_of(replace(FULL, action="Something else"))[0]) not in digests
