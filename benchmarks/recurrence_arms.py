"""The arms of `benchmarks.recurrence`: plain ways of telling something, and what each of them comes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from benchmarks.baselines import plain_bm25
from benchmarks.recurring import Row, figures
from learning_memory_server.embedding.base import Embedder

Ranked = list[tuple[float, "Lesson"]]
Said = list[dict[str, str]]
"""For each event, what was said there or before it, by channel."""

_DIGITS: Final = 4
_DRAWS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Lesson:
    """Something known: what it is found by, and what would be told."""

    id: str
    found_by: str
    told: str


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens and may be answered.

    Args:
        session: Its session.
        repository: Where.
        query: What the plain ways look for.
        known: The lessons of before, oldest first.
        judge: Says whether a text is right; None if nobody can say.
        is_moment: Whether it counts.
        calls: How many calls it took until it worked, if that is known.
        last: What the last success or the newest lesson says.
    """

    session: str
    repository: str
    query: str
    known: tuple[Lesson, ...]
    judge: Callable[[str], bool | None]
    is_moment: bool
    calls: int | None = None
    last: str = ""


def arms(
    happened: Sequence[Event],
    said: Said,
    sessions: int,
    events: int,
    embedder: Embedder,
    *,
    most: int = 1,
    others: Mapping[str, Mapping[str, list[str]]] | None = None,
) -> dict[str, Any]:
    """Return the figures of each arm.

    Args:
        happened: The events that count or not, in time order.
        said: What the server says at each.
        sessions: How many sessions there are: each is told a file.
        events: How many events there are at which something could be said.
        embedder: The model of `dense`.
        most: How many lessons bm25 and dense tell.
        others: What other ways say at each event, by their names and channels.
    """
    server = {name: [each.get(name, "") for each in said] for name in said[0]}
    spoken = sum(_bytes(event, texts, name) for name, texts in server.items() for event, texts in [(happened, texts)])
    size = spoken // max(sessions, 1)
    ways: dict[str, Mapping[str, list[str]]] = {
        "nothing": {},
        "file": {"start": [_file(event.known, size) for event in happened]},
        "last": {"event": [event.last for event in happened]},
        "bm25": {"event": _from_threshold(happened, [_bm25(event)[:most] for event in happened])},
        "dense": {"event": _from_threshold(happened, _dense(happened, embedder, most))},
        **(others or {}),
        "server": server,
        **{f"- {name}": {name: texts} for name, texts in server.items()},
    }
    counted = {name: _figures(happened, channels, events) for name, channels in ways.items()}
    ours = counted["server"][1]
    return {
        name: {**found, **_rightly(rows, ours, found["speech"], counted["server"][0]["speech"])}
        for name, (found, rows) in counted.items()
    }


def _rightly(rows: Sequence[Row], ours: Sequence[Row], speech: int, our_speech: int) -> dict[str, Any]:
    """Return how often a way was right, also for a kilobyte said, and by how much the server is ahead in both.

    The 95 % intervals are bootstrapped by session, the same sessions for both; what was said is taken as it was.
    """
    by_session: dict[str, list[int]] = {}
    for row, our in zip(rows, ours, strict=True):
        found = by_session.setdefault(row.session, [0, 0])
        found[0] += bool(row.right)
        found[1] += bool(our.right)
    counts = np.array(list(by_session.values()) or [[0, 0]])
    drawn = np.random.default_rng(0).integers(len(counts), size=(_DRAWS, len(counts)))
    right, our_right = np.moveaxis(counts[drawn].sum(axis=1), -1, 0)
    size, our_size = (max(each, 1) / 1024 for each in (speech, our_speech))
    total, our_total = (int(each) for each in counts.sum(axis=0))

    def interval(values: Any) -> list[float]:
        return [round(float(each), 2) for each in np.quantile(values, [0.025, 0.975])]

    return {
        "rightly": total,
        "rightly_interval": interval(right),
        "per_kilobyte": round(total / size, 2),
        "ahead": our_total - total,
        "ahead_interval": interval(our_right - right),
        "ahead_per_kilobyte": round(our_total / our_size - total / size, 2),
        "ahead_per_kilobyte_interval": interval(our_right / our_size - right / size),
    }


def _figures(
    happened: Sequence[Event], channels: Mapping[str, list[str]], events: int
) -> tuple[dict[str, Any], list[Row]]:
    rows, elsewhere, when = [], 0, Counter[str]()
    for place, event in enumerate(happened):
        heard = {name: texts[place] for name, texts in channels.items() if texts[place]}
        elsewhere += bool(heard) and not event.is_moment
        if event.is_moment:
            judged = [event.judge(text) for text in heard.values()]
            right = None if None in judged or not judged else any(judged)
            rows.append(Row(event.session, bool(heard), right, event.calls))
            when.update([" + ".join(heard)] if heard else [])
    speech = sum(_bytes(happened, texts, name) for name, texts in channels.items())
    spoken = len(
        {
            (each.session, name)
            for name, texts in channels.items()
            for each, text in zip(happened, texts, strict=True)
            if text and name in _ONCE
        }
    )
    spoken += sum(bool(text) for name, texts in channels.items() if name not in _ONCE for text in texts)
    return {**figures(rows, speech, events - spoken), "elsewhere": elsewhere, "when": dict(when)}, rows


_ONCE: Final = frozenset({"start", "prompt"})
"""What is said once in a session, however many events follow."""


def _bytes(happened: Sequence[Event], texts: Sequence[str], channel: str) -> int:
    said = {
        (each.session, place if channel not in _ONCE else 0): text
        for place, (each, text) in enumerate(zip(happened, texts, strict=True))
    }
    return sum(len(text.encode()) for text in said.values())


def _file(known: Sequence[Lesson], size: int) -> str:
    """Return the newest lessons, each once, that fit into so many bytes."""
    lines = list[str]()
    for lesson in reversed(known):
        if lesson.told not in lines:
            if len("\n".join([*lines, lesson.told]).encode()) > size:
                break
            lines.append(lesson.told)
    return "\n".join(lines)


def _bm25(event: Event) -> Ranked:
    if not event.known:
        return []
    by_id = {lesson.id: lesson for lesson in event.known}
    search = plain_bm25([(lesson.id, lesson.found_by) for lesson in event.known])
    return _sorted((score, by_id[key]) for key, score in search(event.query, len(by_id)))


def _dense(happened: Sequence[Event], embedder: Embedder, most: int) -> list[Ranked]:
    @cache
    def vector(text: str) -> Any:
        # One at a time: what a batch holds changes the last digits.
        return np.round(embedder.embed_documents([text])[0].astype(np.float64), _DIGITS)

    return [
        _sorted((float(vector(event.query) @ vector(lesson.found_by)), lesson) for lesson in event.known)[:most]
        for event in happened
    ]


def _sorted(found: Iterable[tuple[float, Lesson]]) -> Ranked:
    rounded = [(round(score, _DIGITS), lesson) for score, lesson in found]
    return sorted(rounded, key=lambda each: (-each[0], each[1].id))


def _from_threshold(happened: Sequence[Event], ranked: Sequence[Ranked]) -> list[str]:
    """Return what is told at each event, with the threshold of the others."""
    names = sorted({event.repository for event in happened})
    folds = [event.repository if len(names) > 1 else str(place % 2) for place, event in enumerate(happened)]
    least = {
        fold: _threshold(
            [(event, found) for event, found, its in zip(happened, ranked, folds, strict=True) if its != fold]
        )
        for fold in set(folds)
    }
    return [
        "\n".join(lesson.told for score, lesson in found if score >= least[fold])
        for found, fold in zip(ranked, folds, strict=True)
    ]


def _threshold(others: Iterable[tuple[Event, Ranked]]) -> float:
    """Return the score from which on right answers exceed wrong ones by most; infinity if they never do."""
    judged = sorted(
        ((score, event.judge(lesson.told)) for event, found in others for score, lesson in found),
        key=lambda each: (-each[0], str(each[1])),
    )
    best, gain, least = 0, 0, float("inf")
    for score, is_right_there in judged:
        gain += 0 if is_right_there is None else 1 if is_right_there else -1
        if gain > best:
            best, least = gain, score
    return least
