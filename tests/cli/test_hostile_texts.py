"""No text of an archive, a shared file or a transcript reaches a terminal with a control or an unseen character."""

import os
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import GHAP
from learning_memory_server.journal.records import FailureLog, Records
from learning_memory_server.lessons.values.log import ValueLog
from learning_memory_server.model.entry import Lesson
from learning_memory_server.model.failure import Failure, failure_id
from learning_memory_server.model.memory import Memory, Refusal
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.rule import CallForm, Origin, OriginKind, Pattern, Rule, RuleCount, RuleState, When
from learning_memory_server.rules.log import RuleCounts, RuleLog
from learning_memory_server.sharing.promote import LEARNED
from tests.client_folders import folder_name
from tests.lessons.errors.written import failed, ran, refused, write_transcript
from tests.lessons.values.parts import value
from tests.sharing.repositories import git
from tests.support import CONFIRMED, MINUTES, NOON, full_ghap
from tests.terminals import on_a_terminal

HIDDEN: Final = (
    "\x1b]0;title\x07 \x1b[2J \x9b31m back\rover two\nlines\x0b\x08 \u202egnp.exe\u2066 no\u200bwidth \u2028"
)
HARMFUL: Final = re.compile(
    r"\x1b(?!\[[\d;?]*[A-Za-z])|\x1b\[2J|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]|back\rover|[\u202e\u2066\u200b]"
)
"""What a terminal must not get: all but line feeds, and the sequences by which colours and progress are shown."""


def hostile(words: str) -> str:
    return f"{words} {HIDDEN} {words}"


@pytest.fixture
def place(storage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose store, transcripts and file of rules have such texts everywhere."""
    place = tmp_path / "garden"
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    (place / LEARNED).parent.mkdir(parents=True)
    (place / LEARNED).write_text(f"{hostile('rule')}\n<!-- value_20260301_120000_000001: {HIDDEN} -->\n")
    monkeypatch.chdir(place)
    journal, log = Journal(storage / "journal"), list[Failure]()
    end = replace(CONFIRMED, result=hostile("result"), lesson=Lesson(hostile("worked"), hostile("takeaway")))
    entry = full_ghap()
    texts: Any = {name: hostile(getattr(entry, name)) for name in ("goal", "hypothesis", "action", "prediction")}
    entry = replace(entry, project="garden", notes=(HIDDEN,), resolution=end, imported=True, **texts)
    journal.entries.append([JournalRecord.of(GHAP, entry)])
    journal.save_open(replace(entry, id="ghap_20260301_120000_dddddd", resolution=None))
    for number in range(3):
        session, day, error = f"{number:016x}", NOON + timedelta(days=number), hostile("no such flag")
        name = failure_id("garden", error, session, f"run {HIDDEN}")
        log.append(Failure(name, "garden", session, error, f"run {HIDDEN}", day, f"run -x {HIDDEN}", imported=True))
    FailureLog(journal.failures).add(*log)
    ValueLog(journal.values).add(replace(value("value_20260301_120000_000001", project="garden"), text=HIDDEN))
    no = Refusal("Bash", HIDDEN, HIDDEN, NOON)
    Records[Any](journal.memories).add(
        Memory(
            "m1", hostile("about roses"), {"title": HIDDEN, "tags": [HIDDEN], "source": HIDDEN}, NOON, "garden", NOON
        ),
        Memory("m2", HIDDEN, {"source": "refusal"}, NOON, "garden", NOON, refusal=no),
    )
    origin = Origin(OriginKind.FILE, HIDDEN, NOON)
    about = Pattern((CallForm(("push", HIDDEN)),))
    kept = Rule(
        f"rule_3f2a{0:028}", hostile("never"), "garden", RuleState.ACCEPTED, origin, NOON, NOON, When.CALL, about
    )
    RuleLog(journal.rules).add(replace(kept, words=HIDDEN, topic=(HIDDEN,), folder=HIDDEN))
    RuleCounts(journal.rule_counts).add(RuleCount("count_1", kept.id, "garden", "s", utc_now(), 1, 1, 1, call=HIDDEN))
    past = tmp_path / "home" / ".claude" / "projects" / folder_name(place)
    for number in range(2):
        calls = [
            *(failed(f"bad {HIDDEN}", f"Exit code 1\n{HIDDEN} error: {HIDDEN}"), ran(f"good {HIDDEN}")),
            *(failed("python -m pytest"), ran("python3 -m pytest"), refused(f"push {HIDDEN}", hostile("no"))),
        ]
        words = {"prompt": hostile("ask"), "ending": hostile("end"), "session": f"s{number}", "at": utc_now()}
        write_transcript(past / f"s{number}.jsonl", *calls, folder=str(place), **words)
    return place


def read_some(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        *("review", "review --json", "list", "failures", "failures --json", "values", "memories", "status"),
        *("show ghap_20260301_120000_ffffff", "show m1", "show m2 --json", "show failure_", "search roses"),
        *("show value_20260301_120000_000001", "learn-from --report", "learn-from", "start", "forget m1"),
        *("report", "rules --all", "rule show 3f2a", "rule export 3f2a", "rule test 3f2a push", "status --week"),
    ],
)
def test_a_terminal_gets_none(environment: dict[str, str], place: Path, command: str) -> None:
    with on_a_terminal(environment, *command.split(), output=True, folder=place) as (process, terminal):
        shown = b""
        while chunk := read_some(terminal):
            shown += chunk
            if shown.endswith((b"[y/N]: ", b"[Y/n]: ", b"): ")):
                os.write(terminal, b"\n")
        process.wait(MINUTES)
    text = shown.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    assert "gnp.exe" in text or "[U+009B]31m back" in text  # The report shortens commands
    assert not HARMFUL.findall(text)
