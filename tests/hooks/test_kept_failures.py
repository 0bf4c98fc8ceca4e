"""What is kept of failing commands, and what is not."""

from datetime import timedelta
from pathlib import Path

from learning_memory_server.journal.archive.contents import checked_record
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import FAILURE
from learning_memory_server.journal.records import FailureLog
from learning_memory_server.model.advice import AdviceKind, Item, Reason
from learning_memory_server.model.failure import Failure, failure_id
from learning_memory_server.model.limits import FAILURES_KEPT as KEPT
from learning_memory_server.system import files
from tests.lessons.errors.agent import MISSING, NOW, Agent, Shield


def content_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


async def test_each_thing_is_written_once(tmp_path: Path, agent: Agent) -> None:
    written = []
    for _ in range(3):
        await agent.fails("ls x", "ls: x: No such file or directory")
        await agent.succeeds("make x")
        written.append(content_of(tmp_path).count(b"\n"))
    # The failure and what worked next; then that it came again.
    assert written == [2, 3, 3]


async def test_a_failing_command_is_one_append(tmp_path: Path) -> None:
    disk = CountingDisk()
    log = FailureLog(Journal(tmp_path, disk=disk).failures)
    for number in range(3 * KEPT):
        name = failure_id("shop", "KeyError: <name>", f"s{number}", "make")
        log.record(Failure(name, "shop", f"s{number}", "KeyError: <name>", "make", NOW + timedelta(days=number)))
        assert disk.appended == number + 1
        assert len(log.all()) <= 1.1 * KEPT
    assert FailureLog(Journal(tmp_path).failures).all() == log.all()


async def test_a_journal_of_an_earlier_version_is_read_and_its_fields_stay(tmp_path: Path) -> None:
    name = failure_id("shop", "KeyError: <name>", "s", "python a.py")
    today = {
        "id": name,
        "project": "shop",
        "session": "s",
        "signature": "KeyError: <name>",
        "command": "python a.py",
        "created_at": NOW.isoformat(),
        "remedy": "python3 a.py",
        "times": 3,
        "line": "0123456789abcdef",
        "shown": name,
        "support": 0.85,
        "named": ["--x"],
        "lesson": "ghap_20260301_120000_ffffff",
        "again": True,
    }
    Journal(tmp_path).failures.append([JournalRecord(FAILURE.kind, name, NOW, today)])
    log = FailureLog(Journal(tmp_path).failures)
    (known,) = log.all()
    assert (known.worked, known.times, known.again, known.named_line) == ("python3 a.py", 3, True, "KeyError: <name>")
    log.record(known)
    (again,) = FailureLog(Journal(tmp_path).failures).all()
    assert FAILURE.encode(again) == {**today, "returned": True}


async def test_what_lines_say_of_edits_stays_with_them(shield: Shield, agent: Agent, tmp_path: Path) -> None:
    await agent.fails("python -m pytest")
    (known,) = shield.failures.all()
    edited = {"episode": {"error": "0" * 12, "files": ["conftest.py"], "is_own": True}, "in_vain": True}
    record = JournalRecord(FAILURE.kind, known.id, NOW, {**FAILURE.encode(known), **edited})
    shield.failures.add(FAILURE.decode(checked_record(record).data))
    await agent.succeeds("python3 -m pytest")
    (kept,) = FailureLog(Journal(tmp_path).failures).all()
    assert (kept.worked, kept.others) == ("python3 -m pytest", edited)


async def test_the_error_is_counted(shield: Shield) -> None:
    for number in range(3):
        await shield.session(f"session {number}", now=NOW + timedelta(days=2 * number)).finds()
    assert [each.times for each in shield.failures.all()] == [1, 2, 3]


async def test_nothing_is_kept_of_output_but_the_line_of_the_error_and_of_paths_but_what_is_inside(
    shield: Shield, tmp_path: Path
) -> None:
    failed = "python /home/ada/src/shop/run.py"
    output = "reading /home/ada/private.txt\nthe text itself\nKeyError: 'private'"
    await shield.session("8d2f-session").finds(failed, failed.replace("python", "python3"), output)
    written = content_of(tmp_path)
    for part in (b"ada", b"private.txt", b"the text itself", b"8d2f-session"):
        assert part not in written
    assert b'"command":"python run.py"' in written
    assert b'"signature":"KeyError: <name>"' in written
    assert b'"line":"KeyError: \'private\'"' in written


async def test_secrets_are_removed_before_any_write(shield: Shield, tmp_path: Path) -> None:
    secret = "ghp_" + "a8Kd93jfLw02mXq7Zt5vBn1cYr6uPe4oHs8g"
    failed = f"curl -H 'Authorization: token {secret}' x"
    await shield.session("first").finds(failed, failed.replace("curl", "curl --fail"), f"error: {secret} is invalid")
    written = content_of(tmp_path)
    assert secret.encode() not in written
    assert written.count(b"[redacted: ") >= 3


async def test_a_secret_in_the_line_that_names_the_error_is_seen_whole(shield: Shield, tmp_path: Path) -> None:
    # Without its digits, nothing recognizes a token of this form.
    secret = "xox" + "b-470923815562-318845027731-BBpiA84YrNbuBhOwc8fjOWOr"
    agent = shield.session("first")
    await agent.fails("make a", f"error: {secret} is invalid")
    await agent.fails("make b", "error: " + "word " * 76 + secret)
    written = content_of(tmp_path)
    assert b"[redacted: " in written
    assert b"BBpi" not in written
    assert b"xox" not in written


async def test_output_without_an_error_is_not_kept(shield: Shield, agent: Agent) -> None:
    await agent.fails("diff a b", "1c1\n< x\n---\n> y")
    await agent.fails("", MISSING)
    await shield.session("first", "p" * 300).fails()
    assert shield.failures.all() == []


async def test_a_forgotten_error_is_not_learned_again_from_the_same_failure(shield: Shield, agent: Agent) -> None:
    await agent.fails("python -m pytest")
    (known,) = shield.failures.all()
    shield.failures.forget([known.error], NOW)
    assert shield.failures.all() == []
    assert shield.failures.errors() == []
    await agent.succeeds("python3 -m pytest")
    await agent.fails("python -m pytest")
    assert shield.failures.all() == []


async def test_an_errors_newest_failures_are_kept(shield: Shield) -> None:
    many = 2 * KEPT
    for number in range(many):
        await shield.session(f"session {number}").fails("python -m pytest")
        assert len(shield.failures.all()) <= 1.1 * KEPT
    assert [each.times for each in shield.failures.of("shop", "<path>: No module named pytest")][-KEPT:] == list(
        range(many - KEPT + 1, many + 1)
    )


def test_the_newest_failures_of_a_project_are_kept(tmp_path: Path) -> None:
    failures = FailureLog(Journal(tmp_path).failures, kept=30)

    def failure(number: int, project: str) -> Failure:
        name = f"KeyError: {number}"
        at = NOW + timedelta(seconds=number)
        return Failure(failure_id(project, name, "s", "make"), project, "s", name, "make", at)

    failures.add(*(failure(number, project) for number in range(33) for project in ("shop", "other")))
    failures.record(failure(33, "shop"))
    kept = [each.created_at for each in failures.all() if each.project == "shop"]
    assert len(kept) == 30
    assert min(kept) == NOW + timedelta(seconds=4)
    assert sum(each.project == "other" for each in failures.all()) == 33


class CountingDisk:
    """The disk, with the number of writes at the end of a file."""

    def __init__(self) -> None:
        self.appended = 0

    def append(self, path: Path, data: bytes) -> None:
        self.appended += 1
        files.append(path, data)

    replace = staticmethod(files.replace)
    truncate = staticmethod(files.truncate)
    remove = staticmethod(files.remove)


async def test_what_nobody_sees_of_a_command_is_not_kept(shield: Shield) -> None:
    hidden = "\u202e\u200b\x1b[2K\x07\u2066"
    await shield.session("first").finds("python a.py", "python3 a.py", f"Exit code 1\nerror: it {hidden}failed")
    (known,) = shield.failures.all()
    assert known.signature.isprintable()
    assert known.line.isprintable()


async def test_a_password_is_found_before_paths_change(shield: Shield, tmp_path: Path) -> None:
    failed = "xfreerdp /u:ci /p:Falcon17river /v:host"
    await shield.session("first", "p").finds(failed, failed.replace("host", "other"), "Exit code 1\nerror: it failed")
    assert b"Falcon17river" not in content_of(tmp_path)
    assert b"[redacted: command line password]" in content_of(tmp_path)


def test_a_failure_with_advice_outlives_the_others(tmp_path: Path) -> None:
    log = FailureLog(Journal(tmp_path).failures)
    for number in range(3 * KEPT):
        name = failure_id("shop", "KeyError: <name>", f"s{number}", "make")
        advice = Item("ghap_1", AdviceKind.EXPERIENCE, reason=Reason.ERROR) if number == 0 else None
        at = NOW + timedelta(days=number)
        log.record(Failure(name, "shop", f"s{number}", "KeyError: <name>", "make", at, advice=advice))
    assert [each.session for each in log.all() if each.advice] == ["s0"]
    assert len(log.all()) <= 1.1 * KEPT + 1
