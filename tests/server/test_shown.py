"""How often agents were shown something, and what came of it: each time is counted once."""

from dataclasses import replace

from learning_memory_server.model.advice import Advice, AdviceKind, Citation, Effect, Item, Reason, TriggerKind
from learning_memory_server.model.vocabulary import OutcomeStatus
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.views.advice_views import shown
from tests.advice.parts import started
from tests.support import ALICE, BOB, NOON, about


def test_a_time_is_counted_once_whatever_later_entries_say(services: Services) -> None:
    lesson = about("pool", 1)
    services.collector.add_resolved([lesson])
    line = Advice(
        TriggerKind.PROMPT,
        (Item(lesson.id, AdviceKind.EXPERIENCE, reason=Reason.SIMILAR),),
        ALICE.project,
        NOON,
        session=ALICE.session,
    )
    services.advice_log.record(line)
    services.advice_log.record(replace(line, session=BOB.session))
    for _ in range(3):
        started(services)
        cited = (Citation(lesson.id, AdviceKind.EXPERIENCE, Effect.MISLED),)
        services.collector.resolve(ALICE, status=OutcomeStatus.CONFIRMED, result="It did.", cited=cited)
    found = shown(services.advice_log, services.effects)
    assert found == {"times": 2, "helped": 0, "misled": 1, "unknown": 1}
