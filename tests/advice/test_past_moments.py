"""Moments of past sessions at which a person contradicted an agent, found by the signs of a running session."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from learning_memory_server.advice.asking.past import Moment, moments_in
from learning_memory_server.lessons.errors.transcripts import Passed, beginning_of
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.redaction.redactor import build_redactor
from learning_memory_server.rules.past.sessions import Transcript
from tests.support import NOON

REFUSED: Final = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). To tell you how to proceed, the user said:\n{}"
)
OBJECTION: Final = "why do you mock the clock? we freeze it"
CONCEDED: Final = "You're right, the suite freezes it."
TOKEN: Final = "ghp_" + "a1B2" * 9


class Session:
    """A session whose lines have a minute each."""

    def __init__(self, path: Path, **every: Any) -> None:
        self.path, self.lines = path, list[str]()
        self.every = {"sessionId": path.stem, "cwd": "/work/shop", **every}

    def said(self, text: str, **more: Any) -> None:
        self._line("user", text, **more)

    def answered(self, text: str, call: str = "") -> None:
        parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
        parts += [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "ls"}}] if call else []
        self._line("assistant", parts)

    def refused(self, call: str, words: str) -> None:
        part = {"type": "tool_result", "tool_use_id": call, "content": REFUSED.format(words), "is_error": True}
        self._line("user", [part])

    def written(self) -> Path:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("\n".join(self.lines), "utf-8")
        return self.path

    def _line(self, kind: str, content: Any, **more: Any) -> None:
        at = (NOON + timedelta(minutes=len(self.lines))).isoformat()
        record = {**self.every, "type": kind, "timestamp": at, "message": {"role": kind, "content": content}, **more}
        self.lines.append(json.dumps(record))


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return tmp_path / "projects"


async def found(own: Path, *paths: Path, **more: Any) -> list[Moment]:
    given = [Transcript(path, beginning_of(path, Passed()), "shop") for path in paths]
    return await moments_in(given, own, RedactionGate(build_redactor()), passed=Passed(), **more)


def one(path: Path, **every: Any) -> Path:
    """Write a session with one objection."""
    session = Session(path, **every)
    session.said(OBJECTION)
    session.answered(CONCEDED)
    return session.written()


async def test_each_objection_of_a_session_is_a_moment_with_the_answer_to_it(own: Path) -> None:
    session = Session(own / "shop" / "s1.jsonl")
    session.said("list the files")
    session.answered("Here they are.", "c1")
    session.refused("c1", "no, do not list them")
    session.answered("And now?", "c2")
    session.refused("c2", "you should ask first")
    session.said(OBJECTION)
    session.answered(CONCEDED, "c3")
    session.refused("c3", "please stop that")
    session.said("[Request interrupted by user]")
    session.said("no, I said that this is wrong")
    session.answered("Let me look.")
    moments = await found(own, session.written())
    assert [(each.kind.value, each.words, each.answer) for each in moments] == [
        ("refused", "no, do not list them", ""),
        ("refused", "you should ask first", ""),
        ("conceded", OBJECTION, CONCEDED),
        ("refused", "please stop that", ""),
        ("interrupted", "no, I said that this is wrong", "Let me look."),
    ]
    assert [each.at.minute for each in moments] == [2, 4, 5, 7, 9]
    assert len({each.id for each in moments}) == 5
    assert [each.id for each in await found(own, session.path)] == [each.id for each in moments]


async def test_a_resumed_session_repeats_no_moment(own: Path) -> None:
    first = one(own / "shop" / "s1.jsonl")
    resumed = own / "shop" / "s2.jsonl"
    resumed.write_text(first.read_text("utf-8").replace('"s1"', '"s2"'), "utf-8")
    assert len(await found(own, first, resumed)) == 1


async def test_what_no_person_said_in_the_client_is_no_moment(own: Path, tmp_path: Path) -> None:
    told = Session(own / "shop" / "s1.jsonl")
    told.said(OBJECTION, isSidechain=True)
    told.answered(CONCEDED)
    told.said(OBJECTION, isCompactSummary=True)
    told.answered(CONCEDED)
    assert await found(own, told.written()) == []
    assert await found(own, one(own / "shop" / "s2.jsonl", entrypoint="sdk-cli")) == []
    assert await found(own, one(tmp_path / "elsewhere" / "s3.jsonl")) == []
    assert len(await found(own, one(own / "shop" / "s4.jsonl", entrypoint="cli"))) == 1


async def test_lines_of_a_folder_of_somebody_else_are_left_out(own: Path) -> None:
    path = one(own / "shop" / "s1.jsonl")
    assert await found(own, path, has_strayed=lambda folder, _began: folder == "/work/shop") == []


async def test_a_moment_has_no_secret_and_no_folder_of_this_machine(own: Path) -> None:
    session = Session(own / "shop" / "s1.jsonl")
    session.said(f"why do you log in with {TOKEN} in /work/shop/src?")
    session.answered(f"You're right, /work/shop/a has {TOKEN}. " + "x" * 5_000)
    (moment,) = await found(own, session.written())
    assert TOKEN not in moment.words + moment.answer
    assert "/work/shop" not in moment.words + moment.answer
    assert len(moment.answer) == 240
