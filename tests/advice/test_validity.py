"""What is not said unasked any more, because it misled and has a successor; and what is said with changed files."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from learning_memory_server.advice.advisor import Advisor, Related
from learning_memory_server.lessons.files.freshness import blob_ids
from learning_memory_server.lessons.shown import AdviceLog
from learning_memory_server.model.advice import AdviceKind, Channel, Citation, Effect
from learning_memory_server.model.entry import Anchor, Ghap, Lesson
from learning_memory_server.model.vocabulary import OutcomeStatus
from tests.advice.parts import advisor
from tests.advice.test_advisor import mark, started
from tests.support import ALICE, NOON, Parts, about, ids

CONTENT = b"line = 1\n"
OLD = replace(about("pool", 1), anchors=(Anchor("a.py", blob_ids(CONTENT)[0]),))


@pytest.fixture
async def parts(parts: Parts, tmp_path: Path) -> Parts:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "a.py").write_bytes(CONTENT)
    await parts.learn(OLD, about("cache", 2))
    return parts


async def advised(by: Advisor, entry: Ghap, folder: Path) -> Related:
    by.told.to(entry.agent_session, entry.agent).clear()
    related = await by.advise(entry, Channel.START, str(folder))
    # The machine may be busy, and what is late is judged by the next time.
    for looking in by.validity.freshness._looking.values():
        await looking
    return related


@pytest.mark.parametrize(
    ("content", "words"), [(b"another = 1", "its file changed since 2026-03-01"), (None, "its file is gone")]
)
async def test_what_became_of_its_file_is_said_with_a_lesson_and_costs_no_rank(
    parts: Parts, tmp_path: Path, content: bytes | None, words: str
) -> None:
    by, shop = advisor(parts), tmp_path / "shop"
    before = await advised(by, started(parts), shop)
    assert before == Related((OLD,))
    if content is None:
        (shop / "a.py").unlink()
    else:
        (shop / "a.py").write_bytes(content)
    by.validity.freshness.look([OLD], OLD.project, str(shop))

    assert await advised(by, started(parts), shop) == replace(before, freshness={OLD.id: words})
    earlier, later = (each.items[0].score for each in AdviceLog(parts.journal.advice).all())
    assert earlier == pytest.approx(later)
    # Somewhere else nothing is known of it.
    assert await advised(by, started(parts), Path()) == before


async def test_what_misled_gives_way_to_the_later_one(parts: Parts, tmp_path: Path) -> None:
    entry = started(parts)
    by = advisor(parts)
    await advised(by, entry, tmp_path / "shop")
    mark(parts, entry, Effect.MISLED)
    # Nothing has been learned in its place yet.
    assert advisor(parts).validity.successors() == {}

    lesson = Lesson("asking the database", "measure the pool")
    later = parts.collector.resolve(ALICE, status=OutcomeStatus.CONFIRMED, result="It did.", lesson=lesson)
    again = advisor(parts)

    assert again.validity.successors() == {OLD.id: entry.id}
    assert again.validity.notes([OLD, later], "") == {OLD.id: {"superseded_by": entry.id}, entry.id: {}}
    shown = await advised(again, started(parts), tmp_path / "shop")
    assert ids(list(shown.experiences)) == [later.id]


async def test_what_was_found_and_misled_gives_way_too_unless_it_helped_as_often(parts: Parts) -> None:
    said = Citation(OLD.id, AdviceKind.EXPERIENCE, Effect.MISLED)
    later = about("types", 9)
    await parts.learn(replace(later, resolution=replace(later.outcome, cited=(said,))))
    by = advisor(parts)
    assert by.validity.successors() == {OLD.id: later.id}

    another = about("types", 10)
    helped = replace(said, effect=Effect.HELPED)
    await parts.learn(replace(another, resolution=replace(another.outcome, cited=(helped,))))

    assert by.validity.successors() == {}


@pytest.mark.parametrize("seed", range(5))
async def test_whatever_comes_and_goes_what_gives_way_is_what_the_journal_says(parts: Parts, seed: int) -> None:
    drawn, by, there = random.Random(seed), advisor(parts), [OLD.id]
    for number in range(10, 40):
        if len(there) > 1 and drawn.random() < 0.7:
            parts.collector.forget([there.pop(drawn.randrange(1, len(there)))], NOON)
        said = Citation(drawn.choice(there), AdviceKind.EXPERIENCE, drawn.choice([Effect.MISLED, Effect.HELPED]))
        entry = about("types", number)
        parts.collector.add_resolved([replace(entry, resolution=replace(entry.outcome, cited=(said,)))])
        there.append(entry.id)
        if drawn.random() < 0.3:
            parts.collector.anchor(entry.id, OLD.anchors)
        assert by.validity.successors() == advisor(parts).validity.successors()
