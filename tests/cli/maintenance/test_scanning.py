"""`scan`: secrets that were stored before redaction are shown without being shown, and then are in no file."""

import asyncio
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from learning_memory_server.journal.journal import Journal
from tests.command_line import printed, refusal
from tests.services import opened as services_in
from tests.stored_secrets import MARK, PASSWORD, TOKEN, sow, traces
from tests.terminals import on_a_terminal, read_until
from tests.traces import written

FIELDS = {
    ("entry", "hypothesis", "github token"),
    ("entry", "history[0].hypothesis", "github token"),
    ("entry", "action", "password"),
    ("entry", "notes[0]", "github token"),
    ("entry", "resolution.lesson.takeaway", "github token"),
    ("entry", "prediction", "github token"),
    ("open entry", "goal", "github token"),
    ("value", "text", "github token"),
    ("memory", "text", "github token"),
    ("memory", "metadata.tags[1]", "github token"),
    ("memory", "metadata.source", "github token"),
    ("memory", "metadata.db.password", "password"),
    ("memory", f"metadata.{MARK}", "github token"),
}


@pytest.fixture
def ids(storage: Path) -> dict[str, str]:
    return asyncio.run(sow(storage))


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["alone", "through a hub"])
def anyhow(request: pytest.FixtureRequest, ids: dict[str, str], start_hub: Callable[[], int]) -> dict[str, str]:
    """A store with secrets, with or without a hub."""
    if request.param:
        start_hub()
    return ids


def digests(storage: Path) -> dict[str, str]:
    """Return what each file holds, but those of the index: an engine puts its own in order when it opens them."""
    return {
        str(path): hashlib.sha256(written(path)).hexdigest()
        for path in storage.rglob("*")
        if path.is_file() and path.name not in {".lock", "hub.log"} and storage / "index" not in path.parents
    }


def shown(result: Result, status: int = 1) -> dict[str, Any]:
    """Return the document of a command that ended with this status, and has shown no secret."""
    found: dict[str, Any] = json.loads(printed(result, status))
    assert TOKEN not in result.output
    assert PASSWORD not in result.output
    return found


@pytest.mark.slow
def test_each_secret_is_shown_by_its_place_and_never_by_its_text(run: Any, storage: Path, ids: dict[str, str]) -> None:
    before = digests(storage)
    result = run("scan")
    assert "Nothing was changed" in refusal(result)
    assert not [secret for secret in (TOKEN, TOKEN[4:12], PASSWORD) if secret in result.output]
    assert ids["memory"] in result.stdout
    found = shown(run("scan", "--json"))
    assert {(each["what"], each["field"], each["secret"]) for each in found["findings"]} >= FIELDS
    named = {each["id"] for each in found["findings"]}
    assert named == {ids[name] for name in ("entry", "abandoned", "open", "value", "memory", "failure")}
    assert any(each["field"] == "history[0].hypothesis" or each["count"] > 1 for each in found["findings"])
    assert digests(storage) == before


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "status"), [(b"n\n", 1), (b"y\n", 0)])
@pytest.mark.usefixtures("ids")
def test_on_a_terminal_it_asks_before_it_changes_anything(
    answer: bytes, status: int, storage: Path, environment: dict[str, str]
) -> None:
    question = b"Replace these secrets with markers in the journal, permanently? [y/N]"
    with on_a_terminal(environment, "scan") as (process, terminal):
        shown = read_until(terminal, question)
        assert question in shown
        assert TOKEN.encode() not in shown
        before = digests(storage)
        os.write(terminal, answer)
        read_until(terminal, b"never shown")
        assert process.wait() == status
    assert (digests(storage) == before) == (status == 1)
    assert (traces(storage) == []) == (status == 0)


@pytest.mark.slow
def test_what_is_replaced_is_in_no_file_any_more(run: Any, storage: Path, anyhow: dict[str, str]) -> None:
    assert run("backup").exit_code == 0
    # The index of another model.
    (storage / "index" / "elsewhere").mkdir(exist_ok=True)
    (storage / "index" / "elsewhere" / "page_0.dat").write_text(TOKEN)
    assert {path.partition("/")[0] for path in traces(storage)} == {"backups", "index", "journal"}
    found = shown(run("scan", "--yes", "--backups", "--json"), 0)
    assert (found["removed"], found["indexed"], found["left"]) == (True, True, [])
    assert all(len(each["in"]) == 2 for each in found["findings"])
    assert traces(storage) == []
    assert "No secret was found." in printed(run("scan", "--backups"))
    for words in ("Never commit", "deploy runs"):
        assert TOKEN not in run("search", words).output
    run("hub", "stop")
    assert traces(storage) == []
    assert asyncio.run(_kept(storage, anyhow)) == 0


async def _kept(storage: Path, ids: dict[str, str]) -> int:
    """Check that all else is as it was, and return how many points are missing from the index."""
    async with services_in(storage) as services:
        assert services.journal.damage() == []
        assert len(services.collector.list_resolved()) == 5
        (entry,) = (each for each in services.collector.list_resolved() if each.id == ids["entry"])
        assert entry.outcome.lesson
        assert entry.outcome.lesson.takeaway == f"Keep {MARK} elsewhere"
        assert entry.history[0].hypothesis.startswith(f"{MARK} expired, and so did {MARK}")
        memory = services.memory_log.find(ids["memory"])
        assert memory
        assert memory.tags == ["deploy", MARK]
        assert memory.chunking == services.memory_log.chunk(memory.text)
        await services.index.open()
        missing = await services.writer.find_pending()
        assert services.writer.reconciler.superfluous == 0
        return missing


@pytest.mark.slow
@pytest.mark.usefixtures("ids")
def test_only_the_journal_is_changed_without_backups_and_that_is_said(run: Any, storage: Path) -> None:
    assert run("backup").exit_code == 0
    result = printed(run("scan", "--yes"))
    assert "Not looked at: 1 backup in" in result
    assert "Backups may still have them" in result
    assert [path.partition("/")[0] for path in traces(storage)] == ["backups"]
    assert all(len(each["in"]) == 1 for each in shown(run("scan", "--backups", "--json"), 1)["findings"])
    assert run("scan", "--backups", "--yes").exit_code == 0
    assert traces(storage) == []


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_without_secrets_nothing_is_written(run: Any, storage: Path) -> None:
    assert run("backup").exit_code == 0
    before = digests(storage)
    assert "No secret was found." in printed(run("scan", "--yes", "--backups"))
    assert digests(storage) == before


@pytest.mark.usefixtures("ids")
def test_with_redaction_off_nothing_is_scanned_and_the_setting_named(run: Any) -> None:
    result = refusal(run("scan", "--yes", LEARNING_MEMORY_REDACTION="false"))
    assert "Redaction is off (redaction = false)" in result
    assert "LEARNING_MEMORY_REDACTION=true" in result


def test_a_hub_with_other_settings_is_named_as_the_reason_for_what_is_left(
    run: Any, storage: Path, ids: dict[str, str], start_hub: Callable[[], int]
) -> None:
    start_hub()
    own = {"LEARNING_MEMORY_REDACTION_PATTERNS": json.dumps({"garden word": "two cores"})}
    result = refusal(run("scan", "--yes", **own))
    assert f"Still there: {ids['clean']}." in result
    assert "learning-memory-server hub stop" in result
    assert traces(storage, TOKEN, PASSWORD) == []
    run("hub", "stop")
    assert run("scan", "--yes", **own).exit_code == 0
    assert traces(storage, "two cores") == []


@pytest.mark.slow
def test_what_users_allow_stays_and_what_they_name_goes(run: Any, storage: Path, ids: dict[str, str]) -> None:
    allowed = {"LEARNING_MEMORY_REDACTION_ALLOW": json.dumps([TOKEN[:-1] + ".", PASSWORD])}
    assert "No secret was found." in run("scan", **allowed).stdout
    own = {"LEARNING_MEMORY_REDACTION_PATTERNS": json.dumps({"garden word": "two cores"})}
    found = shown(run("scan", "--json", **allowed, **own))
    assert [(each["id"], each["field"], each["secret"]) for each in found["findings"]] == [
        (ids["clean"], "text", "garden word")
    ]
    assert run("scan", "--yes", **allowed, **own).exit_code == 0
    assert traces(storage, "two cores") == []
    assert traces(storage, TOKEN)


@pytest.mark.slow
@pytest.mark.usefixtures("ids")
def test_lines_and_files_that_cannot_be_read_lose_their_secrets_and_nothing_else(run: Any, storage: Path) -> None:
    journal = storage / "journal"
    (segment,) = (journal / "entries").iterdir()
    torn = segment.with_name(f"{segment.name}.corrupt-20260101T000000000000Z")
    torn.write_bytes(f'{{"at":"2026","goal":"\xff use {TOKEN} now'.encode("latin-1"))
    (journal / "open" / "half.json").write_text(f'{{"goal": "use {TOKEN} now')
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join([lines[3].replace(b'"debugging"', b'"Debugging"'), *lines]))
    found = shown(run("scan", "--json"))
    named = {each["id"] for each in found["findings"] if each["what"] == "unreadable"}
    assert named == {"open/half.json", f"entries/{segment.name}:1", f"entries/{torn.name}:1"}
    assert run("scan", "--yes").exit_code == 0
    assert torn.read_bytes() == f'{{"at":"2026","goal":"\xff use {MARK} now'.encode("latin-1")
    assert (journal / "open" / "half.json").read_text() == f'{{"goal": "use {MARK} now'
    assert traces(storage) == []
    assert len(Journal(journal).damage()) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("ids")
def test_a_backup_that_cannot_be_read_is_named(run: Any, storage: Path) -> None:
    (storage / "backups").mkdir()
    broken = storage / "backups" / "learning-memory-20200101T000000000000Z.tar.gz"
    broken.write_bytes(b"\x1f\x8b")
    result = printed(run("scan", "--yes", "--backups"), 1)
    assert f"{broken.name} cannot be read and may have secrets; remove the file yourself." in result
    broken.unlink()
    assert traces(storage) == []
