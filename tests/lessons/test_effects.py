"""What is not said unasked any more, because it misled and has a successor; and what is said with changed files."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from learning_memory_server.advice.advisor import Advisor, Related
from learning_memory_server.lessons.files.freshness import blob_ids, digests
from learning_memory_server.lessons.shown import AdviceLog
from learning_memory_server.model.advice import AdviceKind, Channel, Citation, Effect
from learning_memory_server.model.entry import Anchor, Ghap, Lesson
from learning_memory_server.model.vocabulary import OutcomeStatus
from tests.advice.parts import advisor
from tests.advice.test_advisor import mark, started
from tests.support import ALICE, NOON, Parts, about, ids

LINES = [f"line_{number} = {number}".encode() for number in range(4)]
CONTENT = b"\n".join(LINES)
OLD = replace(about("pool", 1), anchors=(Anchor("a.py", blob_ids(CONTENT)[0], "".join(digests(LINES))),))


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


async def test_what_has_changed_is_said_with_what_is_shown(parts: Parts, tmp_path: Path) -> None:
    by, shop = advisor(parts), tmp_path / "shop"
    assert await advised(by, started(parts), shop) == Related((OLD,))

    (shop / "a.py").write_bytes(b"\n".join([b"another_line = 1", *LINES[1:]]))
    by.validity.freshness.look([OLD], OLD.project, str(shop))
    shown = await advised(by, started(parts), shop)

    assert shown.freshness == {OLD.id: "1 of 4 lines changed since 2026-03-01"}
    assert ids(list(shown.experiences)) == [OLD.id]


async def test_what_is_about_a_file_that_is_gone_says_so(parts: Parts, tmp_path: Path) -> None:
    by, shop = advisor(parts), tmp_path / "shop"
    before = await advised(by, started(parts), shop)
    (shop / "a.py").unlink()
    by.validity.freshness.look([OLD], OLD.project, str(shop))

    gone = await advised(by, started(parts), shop)
    assert gone == replace(before, freshness={OLD.id: "its file is gone"})
    # It ranks as before: the lines may be elsewhere.
    earlier, later = (each.items[0].score for each in AdviceLog(parts.journal.advice).all())
    assert earlier == pytest.approx(later)
    # Somewhere else nothing is known of it.
    assert await advised(by, started(parts), Path()) == before


@pytest.mark.parametrize(("has_lines", "loss"), [(True, 0.2), (False, 0.0)])
async def test_what_changed_ranks_lower_where_its_lines_are_known(
    parts: Parts, tmp_path: Path, has_lines: bool, loss: float
) -> None:
    anchors = OLD.anchors if has_lines else tuple(each._replace(lines="") for each in OLD.anchors)
    entry = replace(OLD, anchors=anchors)
    parts.collector.replace_loaded(entry)
    by, shop = advisor(parts), tmp_path / "shop"
    before = await advised(by, started(parts), shop)
    (shop / "a.py").write_bytes(b"all_of_it = 1")
    by.validity.freshness.look([entry], OLD.project, str(shop))
    after = await advised(by, started(parts), shop)

    assert before.experiences
    assert after.experiences
    earlier, later = (each.items[0].score for each in AdviceLog(parts.journal.advice).all())
    assert earlier is not None
    assert later is not None
    assert earlier - later == pytest.approx(loss, abs=0.01)


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
