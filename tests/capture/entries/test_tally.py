from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from learning_memory_server.capture.entries.timeline import Tally, Timeline
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.vocabulary import OutcomeStatus
from tests.support import CONFIRMED, numbered

FIRST, SECOND = (numbered(n, resolution=CONFIRMED) for n in (1, 2))
UNSURE = numbered(3, resolution=CONFIRMED, project="elsewhere", confidence=0.7, first_confidence=0.4)
GIVEN_UP = numbered(4, resolution=replace(CONFIRMED, status=OutcomeStatus.ABANDONED), confidence=0.2)


@given(st.lists(st.tuples(st.sampled_from([FIRST, SECOND, UNSURE, GIVEN_UP]), st.booleans()), max_size=12))
def test_a_tally_that_is_kept_is_what_counting_gives(changes: list[tuple[Ghap, bool]]) -> None:
    timeline = Timeline()
    timeline.tally = Tally()
    for entry, is_there in changes:
        known = list(timeline)
        if is_there and entry not in known:
            timeline.add(entry)
        elif not is_there and entry in known:
            timeline.remove(entry)
    counted = Tally()
    counted.count(timeline)
    for kept, found in (
        (timeline.tally.axes, counted.axes),
        (timeline.tally.tiers, counted.tiers),
        (timeline.tally.outcomes, counted.outcomes),
    ):
        assert +kept == found
    means = [
        each.means() or (0, 0, 0) for each in (timeline.tally.first, counted.first, timeline.tally.last, counted.last)
    ]
    assert means[0] == pytest.approx(means[1])
    assert means[2] == pytest.approx(means[3])
    assert timeline.projects() == {entry.project for entry in timeline}
