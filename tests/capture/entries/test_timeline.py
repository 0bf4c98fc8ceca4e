"""Resolved entries in time order, by project, and how those of a kind ended."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

from learning_memory_server.capture.entries.timeline import Timeline
from learning_memory_server.model.vocabulary import Domain, OutcomeStatus, Strategy
from tests.support import CONFIRMED, NOON, ghap, ids, numbered

HELD, FAILED = OutcomeStatus.CONFIRMED, OutcomeStatus.FALSIFIED

FIRST, SECOND, THIRD = (
    numbered(n, resolution=replace(CONFIRMED, resolved_at=NOON + timedelta(hours=n))) for n in (1, 2, 3)
)


def test_the_newest_are_those_resolved_last_however_they_came() -> None:
    timeline = Timeline([SECOND])
    timeline.add(THIRD)
    timeline.add(FIRST)
    assert ids(list(timeline)) == ids([FIRST, SECOND, THIRD])
    assert ids(list(timeline.newest())) == ids([THIRD, SECOND, FIRST])


def test_each_project_has_its_own_order() -> None:
    other = replace(THIRD, project="elsewhere")
    timeline = Timeline([FIRST, other])
    timeline.add(SECOND)
    assert ids(list(timeline.newest(FIRST.project))) == ids([SECOND, FIRST])
    assert ids(list(timeline.newest("elsewhere"))) == ids([other])
    assert list(timeline.newest("nowhere")) == []
    assert [timeline.count(), timeline.count(FIRST.project), timeline.count("nowhere")] == [3, 2, 0]


def test_outcomes_are_those_of_the_project_the_domain_and_the_strategy() -> None:
    timeline = Timeline([FIRST, replace(SECOND, resolution=replace(CONFIRMED, status=FAILED))])
    timeline.add(THIRD)
    assert timeline.outcomes(ghap()) == Counter({HELD: 2, FAILED: 1})
    assert not timeline.outcomes(ghap(project="elsewhere"))
    assert not timeline.outcomes(ghap(domain=Domain.SECURITY))
    assert not timeline.outcomes(ghap(strategy=Strategy.ASK_USER))


def test_what_is_taken_out_or_replaced_counts_no_longer() -> None:
    timeline = Timeline([FIRST, SECOND, THIRD]).without({SECOND.id})
    assert ids(list(timeline.newest(ghap().project))) == ids([THIRD, FIRST])
    assert timeline.outcomes(ghap()) == Counter({HELD: 2})
    changed = replace(FIRST, goal="another")
    replaced = timeline.replaced({FIRST.id: changed})
    assert list(replaced) == [changed, THIRD]
    assert list(replaced.newest(ghap().project)) == [THIRD, changed]
