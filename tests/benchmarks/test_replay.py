import json
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.replay import Moment, document_of, read_judgements, walk, write_judgements
from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.model.entry import Ghap, Resolution, Revision
from learning_memory_server.model.value import Verdict
from learning_memory_server.model.vocabulary import OutcomeStatus, Stance
from learning_memory_server.server.settings import Settings
from tests.advice.parts import MeasuredModel
from tests.lessons.values.parts import value
from tests.support import ALICE, NOON, TOPICS, full_ghap, ghap, numbered

PACKAGED: Final = cache(load_packaged)
"""The packaged model, loaded once."""


def failed(number: int, hours: int = 1, **changes: Any) -> Ghap:
    """A falsified entry that starts at its number's hour, and takes some."""
    at = NOON + timedelta(hours=number)
    end = replace(full_ghap().outcome, resolved_at=at + timedelta(hours=hours), cited=())
    return ghap(id=f"ghap_20260301_{number:06}_abcdef", created_at=at, resolution=end, **changes)


def asked(number: int) -> Ghap:
    """An entry about a topic that teaches nothing by itself."""
    at = NOON + timedelta(hours=number)
    end = Resolution(OutcomeStatus.CONFIRMED, "So it was", at + timedelta(minutes=5))
    words = TOPICS["pool"]
    return numbered(number, goal=f"{words} again", hypothesis=f"{words} because", created_at=at, resolution=end)


async def told(*entries: Ghap) -> list[Moment]:
    moments, is_measured = await walk(Settings(), entries, load=PACKAGED)
    assert is_measured
    return moments


@pytest.mark.slow
async def test_an_entry_is_told_of_what_was_resolved_before_it_began_and_of_nothing_else() -> None:
    first, meanwhile, later = failed(1), failed(2, hours=9), failed(5)
    unrelated = failed(6, goal="Translate the user manual", hypothesis="Norwegian needs no plural rules")
    replayed = await told(later, unrelated, first, meanwhile)
    assert {moment.entry.id: [each.id for each in moment.shown] for moment in replayed} == {
        first.id: [],
        meanwhile.id: [first.id],
        later.id: [first.id],
        unrelated.id: [],
    }
    document = document_of(replayed, True, {(later.id, first.id): True})
    assert document["failures"] == {"total": 4, "shown": 2}
    assert (document["pairs"], document["judged"], document["unjudged"]) == (2, 1, 1)
    assert document["precision"] == 1


@pytest.mark.slow
async def test_values_are_shown_from_when_they_were_stored_until_an_entry_contradicts_them() -> None:
    early, late, last = (asked(number) for number in (1, 3, 5))
    good = value(f"{TOPICS['pool']} because", project=ALICE.project, minutes=2 * 60)
    against = Verdict(good.id, early.id, Stance.CONTRADICTS, ALICE.project, NOON + timedelta(hours=4))
    replayed, _ = await walk(Settings(), [early, late, last], [good], [against], load=MeasuredModel)
    assert [[each.id for each in moment.shown] for moment in replayed] == [[], [good.id], []]
    ((case),) = document_of(replayed, True, {(late.id, good.id): False})["cases"]
    assert case["later"]["id"] == late.id
    assert case["shown"] == [
        {
            "id": good.id,
            "score": pytest.approx(1, abs=0.5),
            "learned": good.text,
            "project": ALICE.project,
            "created_at": good.created_at.isoformat(),
            "applies": False,
        }
    ]


@pytest.mark.slow
async def test_the_hypothesis_counts_that_an_entry_began_with() -> None:
    began = Revision(NOON, "Norwegian needs no plural rules", "Leave the plural table out", "All pages are translated")
    changed = failed(5, history=(began,), goal="Translate the user manual")
    replayed = await told(failed(1), changed)
    assert document_of(replayed, True, {})["failures"] == {"total": 2, "shown": 0}


@pytest.mark.slow
async def test_a_model_without_a_measured_threshold_shows_nothing_and_says_so() -> None:
    moments, is_measured = await walk(Settings(embedding_backend="hashing"), [numbered(1), numbered(9)])
    document = document_of(moments, is_measured, {})
    assert document["entries"] == {"total": 2, "shown": 0}
    assert "threshold" in document["note"]


def test_judgements_are_kept_and_pairs_to_judge_are_added(tmp_path: Path) -> None:
    path = tmp_path / "pairs.json"
    case = {"later": {"id": "b"}, "shown": [{"id": "a"}, {"id": "c"}]}
    assert read_judgements(path) == {}
    write_judgements(path, {}, [case])
    body = json.loads(path.read_text("utf-8"))
    assert [pair["applies"] for pair in body["pairs"]] == [None, None]
    body["pairs"][1]["applies"] = False
    path.write_text(json.dumps(body), "utf-8")
    judged = read_judgements(path)
    assert judged == {("b", "c"): False}
    write_judgements(path, {**judged, ("x", "y"): True}, [case])
    assert read_judgements(path) == {("b", "c"): False, ("x", "y"): True}


@pytest.mark.parametrize("text", ["", "[]", '{"pairs": [1]}', '{"pairs": [{"later": "a"}]}'])
def test_another_file_is_refused_and_not_overwritten(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.json"
    path.write_text(text, "utf-8")
    with pytest.raises(SystemExit, match="not a file of judgements"):
        read_judgements(path)
    assert path.read_text("utf-8") == text
