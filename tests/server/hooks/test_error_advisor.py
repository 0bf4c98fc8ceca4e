from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from learning_memory_server.journal.failures import FailureLog
from learning_memory_server.journal.journal import Journal
from learning_memory_server.learning.failures.error_advisor import Shield
from learning_memory_server.model.failure import Failure, failure_id
from learning_memory_server.model.limits import FAILURES_KEPT as KEPT
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.redaction.redactor import build_redactor
from learning_memory_server.server.views.failure_views import repeated_error
from learning_memory_server.system import files
from tests.learning.failures.agent import MISSING, NOW, Agent

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def failures(tmp_path: Path) -> FailureLog:
    return FailureLog(Journal(tmp_path).failures)


@pytest.fixture
def shield(failures: FailureLog) -> Shield:
    return Shield(failures, RedactionGate(build_redactor()))


def content_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


async def test_an_error_that_comes_again_is_answered_with_what_mended_it(shield: Shield) -> None:
    first = Agent(shield, "first")
    assert await first.fails("python -m pytest -q") is None
    await first.succeeds("python3 -m pytest -q")
    assert await Agent(shield, "second").fails("python -m pytest tests/a.py") == (
        "This error was seen once before in this project, last on 2026-03-01. "
        "This worked: python3 -m pytest tests/a.py (in place of: python -m pytest tests/a.py)"
    )


async def test_what_was_learned_outlives_the_process(shield: Shield, tmp_path: Path) -> None:
    first = Agent(shield, "first")
    await first.fails("python -m pytest")
    await first.succeeds("python3 -m pytest")
    later = Shield(FailureLog(Journal(tmp_path).failures), RedactionGate())
    assert "python3 -m pytest" in (await Agent(later, "second").fails("python -m pytest") or "")


async def test_another_project_knows_nothing_of_it(shield: Shield) -> None:
    first = Agent(shield, "first")
    await first.fails("python -m pytest")
    await first.succeeds("python3 -m pytest")
    assert await Agent(shield, "second", "other").fails("python -m pytest") is None


async def test_only_the_next_five_commands_can_mend_an_error(shield: Shield, failures: FailureLog) -> None:
    agent = Agent(shield, "first")
    await agent.fails("python -m pytest")
    for _ in range(4):
        await agent.succeeds("ls")
    await agent.succeeds("python3 -m pytest")
    assert [each.remedy for each in failures.all()] == ["python3 -m pytest"]
    await agent.fails("python -m pytest -q")
    for number in range(5):
        await agent.fails(f"cat {number}.txt", "cat: No such file or directory")
    await agent.succeeds("python3 -m pytest -q")
    assert next(each for each in failures.all() if each.command == "python -m pytest -q").remedy is None


async def test_commands_that_fail_in_between_count_as_one_each(shield: Shield, failures: FailureLog) -> None:
    agent = Agent(shield, "first")
    await agent.fails("python -m pytest")
    for number in range(4):
        await agent.fails(f"cat {number}.txt", "cat: No such file or directory")
    await agent.succeeds("python3 -m pytest")
    assert failures.all()[0].remedy == "python3 -m pytest"


async def test_sessions_do_not_mend_the_errors_of_each_other(shield: Shield, failures: FailureLog) -> None:
    await Agent(shield, "first").fails("python -m pytest")
    await Agent(shield, "second").succeeds("python3 -m pytest")
    assert [each.remedy for each in failures.all()] == [None]


async def test_a_command_that_fails_again_and_again_in_a_session_is_one_failure(
    shield: Shield, failures: FailureLog
) -> None:
    agent = Agent(shield, "first")
    for _ in range(10):
        await agent.fails("python -m pytest")
    assert [each.times for each in failures.all()] == [1]
    await agent.succeeds("python3 -m pytest")
    assert [each.remedy for each in failures.all()] == ["python3 -m pytest"]


async def test_what_was_shown_and_not_tried_is_shown_again(shield: Shield, failures: FailureLog) -> None:
    first = Agent(shield, "first")
    await first.fails("python -m pytest")
    await first.succeeds("python3 -m pytest")
    second = Agent(shield, "second")
    assert await second.fails("python -m pytest -x") is not None
    await second.succeeds("ls")
    assert await second.fails("python -m pytest -x") is not None
    assert await Agent(shield, "third").fails("python -m pytest -x") is not None
    assert [each.shown is not None for each in failures.all()] == [False, True, True]


async def test_what_was_tried_and_failed_in_the_same_way_is_not_shown_again(shield: Shield) -> None:
    first = Agent(shield, "first")
    await first.fails("python -m pytest")
    await first.succeeds("python3 -m pytest")
    second = Agent(shield, "second")
    assert await second.fails("python -m pytest") is not None
    assert await second.fails("python3 -m pytest") is None
    assert await Agent(shield, "third").fails("python -m pytest") is None


async def test_a_session_is_not_told_what_it_found_itself(shield: Shield) -> None:
    agent = Agent(shield, "first")
    for number in range(3):
        assert await agent.fails(f"python -m pytest {number}.py") is None
        await agent.succeeds(f"python3 -m pytest {number}.py")
    assert await Agent(shield, "second").fails("python -m pytest 0.py") is not None


async def test_nothing_is_told_where_other_sessions_mended_it_otherwise(shield: Shield) -> None:
    for number, remedy in enumerate(["python3 a.py", "python a.py", "python a.py --fast"]):
        agent = Agent(shield, f"session {number}")
        await agent.fails("python a.py")
        await agent.succeeds(remedy)
    assert await Agent(shield, "another").fails("python a.py") is None


async def test_the_commands_say_what_the_hook_says(shield: Shield, failures: FailureLog) -> None:
    for number in range(2):
        agent = Agent(shield, f"session {number}")
        await agent.fails("python a.py")
        await agent.succeeds("python3 a.py")
        await agent.fails("kubectl apply -f a", "error: refused")
        await agent.succeeds("kubectl apply -f a --context prod")
    shown = {each[0].command: repeated_error(each) for each in failures.errors()}
    assert shown["python a.py"]["remedy"] == "python3 a.py"
    assert {each["remedy"] for each in shown["python a.py"]["failures"]} == {"python3 a.py"}
    assert "prod" not in str(shown)
    assert await Agent(shield, "another").fails("kubectl apply -f a", "error: refused") is None
    assert "This worked: python3 a.py (" in (await Agent(shield, "another").fails("python a.py") or "")


async def test_more_than_a_word_needs_two_sessions(shield: Shield) -> None:
    lost = "bash: line 1: cd: web: No such file or directory"
    for number in range(2):
        agent = Agent(shield, f"session {number}")
        assert await agent.fails("cd web && npm test", lost) is None
        await agent.succeeds("npm test")
    assert "This worked: npm test (" in (await Agent(shield, "third").fails("cd web && npm test", lost) or "")


async def test_an_install_and_then_the_same_command_are_a_remedy(shield: Shield, tmp_path: Path) -> None:
    root, missing = tmp_path / "web", "sh: 1: jest: not found"
    (root / ".git").mkdir(parents=True)
    (root / "package.json").write_text('{"devDependencies": {"jest": "^29"}}', "utf-8")
    for number in range(2):
        agent = Agent(shield, f"session {number}", folder=str(root))
        assert await agent.fails("npm test", missing) is None
        await agent.succeeds("npm ci")
        await agent.succeeds("npm test")
    another = Agent(shield, "another", folder=str(root))
    assert await another.fails("npm test", missing) is None
    (root / "package-lock.json").write_text('{"lockfileVersion": 3}', "utf-8")
    assert "This worked: npm ci && npm test (" in (await another.fails("npm test", missing) or "")


async def test_an_option_that_the_error_does_not_name_needs_two_days(failures: FailureLog) -> None:
    now = NOW
    shield = Shield(failures, RedactionGate())
    for number in range(4):
        agent = Agent(shield, f"session {number}", now=now)
        assert await agent.fails("mkdir a/b", "mkdir: a: No such file or directory") is None
        await agent.succeeds("mkdir -p a/b")
        now += timedelta(days=number == 2)
    told = await Agent(shield, "another", now=now).fails("mkdir a/d", "mkdir: a: No such file or directory")
    assert "This worked: mkdir -p a/d (" in (told or "")


async def test_another_operand_does_not_hide_what_two_sessions_found(shield: Shield) -> None:
    for number in range(2):
        agent = Agent(shield, f"session {number}")
        assert await agent.fails(f"python tools/check.py a{number}.txt") is None
        await agent.succeeds(f"python3 tools/check.py b{number}.txt")
    told = await Agent(shield, "another").fails("python tools/check.py c.txt")
    assert "This worked: python3 tools/check.py c.txt (" in (told or "")


async def test_what_failed_first_waits_while_the_same_program_fails_in_the_same_way(
    shield: Shield, failures: FailureLog
) -> None:
    agent = Agent(shield, "first")
    await agent.fails("kiln fire pot", "error: the kiln is cold")
    for number in range(12):
        await agent.fails(f"kiln fire pot{number}", "error: the kiln is cold")
        await agent.succeeds("ls")
    await agent.succeeds("kiln fire --no-color pot")
    assert next(each for each in failures.all() if each.command == "kiln fire pot").remedy is not None


async def test_a_tool_that_is_called_by_its_path_is_not_another_one(
    shield: Shield, failures: FailureLog
) -> None:
    agent = Agent(shield, "first")
    await agent.fails("bin/kiln fire", "error: the kiln is cold")
    await agent.succeeds("bin/kiln table")
    await agent.succeeds("other/kiln fire")
    assert [each.remedy for each in failures.all()] == [None]


async def test_imported_failures_count_once_a_session_here_has_found_the_same(
    shield: Shield, failures: FailureLog
) -> None:
    for number in range(3):
        agent = Agent(shield, f"session {number}")
        await agent.fails("cd web && npm test", "bash: cd: web: No such file or directory")
        await agent.succeeds("npm test")
    failures.add(*(replace(each, imported=True) for each in failures.all()))
    lost = "bash: cd: web: No such file or directory"
    assert await Agent(shield, "a").fails("cd web && npm test", lost) is None
    await Agent(shield, "a").succeeds("npm test")
    assert await Agent(shield, "b").fails("cd web && npm test", lost) is not None


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("python -m pytest -q; echo rc=$?", "no tests ran\nrc=1\n"),
        ('python -m pytest -q; echo "exit: $?"', "/usr/bin/python: No module named pytest\nexit: 1"),
        ("python -m pytest -q 2>&1 | tail -5", "/usr/bin/python: No module named pytest"),
        ("python -m pytest -q 2>&1 | head", "/usr/bin/python: No module named pytest"),
        ("python -m pytest -q || true", "/usr/bin/python: No module named pytest"),
    ],
)
async def test_a_failure_that_hides_is_one(
    shield: Shield, failures: FailureLog, command: str, output: str
) -> None:
    output = f"/usr/bin/python: No module named pytest\n{output}"
    await Agent(shield, "first").succeeds(command, output)
    assert [each.signature for each in failures.all()] == ["<path>: No module named pytest"]
    await Agent(shield, "first").succeeds("python3 -m pytest -q")
    told = await Agent(shield, "second").succeeds(command, output)
    assert f"This worked: {command.replace('python', 'python3', 1)} (" in (told or "")


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("cat build.log | tail -5", "error: it failed"),
        ("grep -rn failed . | head", "a.py: error: it failed"),
        ("make; echo rc=$?", "error: a test of errors\nrc=0"),
        ("make 2>&1 | tail -5", "built"),
        ("make", "error: a test of errors"),
    ],
)
async def test_what_only_reads_or_says_that_it_succeeded_has_not_failed(
    shield: Shield, failures: FailureLog, command: str, output: str
) -> None:
    await Agent(shield, "first").succeeds(command, output)
    assert failures.all() == []


async def test_what_a_client_does_not_say_is_not_a_success(shield: Shield, failures: FailureLog) -> None:
    agent = Agent(shield, "first")
    await agent.ends("python -m pytest", MISSING, has_failed=None)
    await agent.ends("python3 -m pytest", "1 passed", has_failed=None)
    assert [each.remedy for each in failures.all()] == [None]


async def test_the_text_of_a_here_document_is_not_the_command(shield: Shield) -> None:
    for number in range(2):
        agent = Agent(shield, f"session {number}")
        await agent.fails("python - <<'END'\nmake\nEND")
        await agent.succeeds("make")
    assert await Agent(shield, "another").fails("python - <<'END'\nmake\nEND") is None


async def test_an_error_that_was_seen_before_its_remedy_is_answered_once_it_is_known(shield: Shield) -> None:
    waiting, other = Agent(shield, "first"), Agent(shield, "second")
    assert await waiting.fails("python -m pytest") is None
    await other.fails("python -m pytest")
    await other.succeeds("python3 -m pytest")
    assert await waiting.fails("python -m pytest") is not None


async def test_what_is_known_already_is_not_written_again(shield: Shield, tmp_path: Path) -> None:
    agent = Agent(shield, "first")
    await agent.fails("python -m pytest")
    await agent.succeeds("python3 -m pytest")
    before = content_of(tmp_path)
    await agent.fails("ls x", "ls: x: No such file or directory")
    written = content_of(tmp_path)
    for _ in range(3):
        await agent.fails("ls x", "ls: x: No such file or directory")
        await agent.succeeds("ls x | head")
        await agent.succeeds("ls x | head")
    assert written.startswith(before)
    assert content_of(tmp_path).count(b"\n") == written.count(b"\n") + 1


async def test_the_error_is_counted_and_dated(failures: FailureLog) -> None:

    shield = Shield(failures, RedactionGate())
    for number in range(3):
        agent = Agent(shield, f"session {number}", now=NOW + timedelta(days=2 * number))
        answer = await agent.fails("python -m pytest")
        await agent.succeeds("python3 -m pytest")
    assert "seen 2 times before in this project, last on 2026-03-03" in (answer or "")
    assert [each.times for each in failures.all()] == [1, 2, 3]
    first, second, third = failures.all()
    assert [each.shown for each in (first, second)] == [None, first.id]
    assert [each.support for each in (first, second)] == [None, 0.7]
    # The second session is evidence, too.
    assert third.support == pytest.approx(1.7 / 2)


async def test_nothing_is_kept_of_output_but_the_signature_and_of_paths_but_what_is_inside(
    shield: Shield, tmp_path: Path
) -> None:
    agent = Agent(shield, "8d2f-session")
    output = "reading /home/ada/private.txt\nthe text itself\nKeyError: 'private'"
    await agent.fails("python /home/ada/src/shop/run.py", output)
    await agent.succeeds("python3 /home/ada/src/shop/run.py")
    written = content_of(tmp_path)
    for part in (b"ada", b"private", b"the text itself", b"8d2f-session"):
        assert part not in written
    assert b'"command":"python run.py"' in written
    assert b'"signature":"KeyError: <name>"' in written


async def test_secrets_are_removed_before_anything_is_written(shield: Shield, tmp_path: Path) -> None:
    secret = "ghp_" + "a8Kd93jfLw02mXq7Zt5vBn1cYr6uPe4oHs8g"
    agent = Agent(shield, "first")
    await agent.fails(f"curl -H 'Authorization: token {secret}' x", f"error: {secret} is invalid")
    await agent.succeeds(f"curl --fail -H 'Authorization: token {secret}' x")
    written = content_of(tmp_path)
    assert secret.encode() not in written
    assert written.count(b"[redacted: ") >= 3


async def test_a_secret_in_the_line_that_names_the_error_is_seen_whole(
    shield: Shield, tmp_path: Path
) -> None:
    # Without its digits, nothing recognizes a token of this form.
    secret = "xox" + "b-470923815562-318845027731-BBpiA84YrNbuBhOwc8fjOWOr"
    agent = Agent(shield, "first")
    await agent.fails("make a", f"error: {secret} is invalid")
    await agent.fails("make b", "error: " + "word " * 76 + secret)
    written = content_of(tmp_path)
    assert b"[redacted: " in written
    assert b"BBpi" not in written
    assert b"xox" not in written


async def test_output_without_an_error_is_not_kept(shield: Shield, failures: FailureLog) -> None:
    agent = Agent(shield, "first")
    assert await agent.fails("diff a b", "1c1\n< x\n---\n> y") is None
    assert await agent.fails("", MISSING) is None
    assert await Agent(shield, "first", "p" * 300).fails("python -m pytest") is None
    assert failures.all() == []


async def test_a_forgotten_error_is_not_learned_again_from_the_same_failure(
    shield: Shield, failures: FailureLog
) -> None:
    agent = Agent(shield, "first")
    await agent.fails("python -m pytest")
    (known,) = failures.all()
    failures.forget([known.error], NOW)
    assert failures.all() == []
    assert failures.errors() == []
    await agent.succeeds("python3 -m pytest")
    await agent.fails("python -m pytest")
    assert failures.all() == []


async def test_the_newest_failures_of_an_error_are_kept(shield: Shield, failures: FailureLog) -> None:
    many = 2 * KEPT
    for number in range(many):
        await Agent(shield, f"session {number}").fails("python -m pytest")
        assert len(failures.all()) <= 1.1 * KEPT
    assert [each.times for each in failures.of("shop", "<path>: No module named pytest")][-KEPT:] == list(
        range(many - KEPT + 1, many + 1)
    )


def test_the_newest_failures_of_a_project_are_kept(tmp_path: Path) -> None:
    failures = FailureLog(Journal(tmp_path).failures, kept=30)

    def failure(number: int, project: str) -> Failure:
        name = f"KeyError: {number}"
        at = NOW + timedelta(seconds=number)
        return Failure(failure_id(project, name, "s", "make"), project, "s", name, "make", at)

    failures.add(*(failure(number, project) for number in range(34) for project in ("shop", "other")))
    failures.make_room("shop", "KeyError: 33", NOW)
    kept = [each.created_at for each in failures.all() if each.project == "shop"]
    assert len(kept) == 30
    assert min(kept) == NOW + timedelta(seconds=4)
    assert sum(each.project == "other" for each in failures.all()) == 34


class FullDisk:
    """A disk on which nothing more can be written."""

    def append(self, path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device", str(path), content[:0])

    replace = append

    def truncate(self, path: Path, size: int) -> None:
        files.truncate(path, size)

    def remove(self, path: Path) -> None:
        files.remove(path)


async def test_a_journal_that_cannot_be_written_is_silence_not_an_error(
    shield: Shield, tmp_path: Path
) -> None:
    first = Agent(shield, "first")
    await first.fails("python -m pytest")
    await first.succeeds("python3 -m pytest")
    before = content_of(tmp_path)
    full = Shield(FailureLog(Journal(tmp_path, disk=FullDisk()).failures), RedactionGate())
    second = Agent(full, "second")
    assert await second.fails("python -m pytest") is None
    await second.succeeds("python3 -m pytest")
    assert content_of(tmp_path) == before


async def test_what_nobody_sees_of_a_command_is_not_shown_or_kept(
    shield: Shield, failures: FailureLog
) -> None:
    first = Agent(shield, "first")
    hidden = "\u202e\u200b\x1b[2K\x07\u2066"
    output = f"Exit code 1\nerror: it {hidden}failed"
    await first.fails(f"python a.py {hidden}", output)
    await first.succeeds(f"python3 a.py {hidden}")
    told = await Agent(shield, "second").fails("python a.py", output)
    assert told is not None
    assert told.isprintable()
    assert failures.all()[0].signature.isprintable()


async def test_a_password_is_found_before_paths_are_changed(shield: Shield, tmp_path: Path) -> None:
    agent = Agent(shield, "first", "p")
    await agent.fails("xfreerdp /u:ci /p:Falcon17river /v:host", "Exit code 1\nerror: it failed")
    await agent.succeeds("xfreerdp /u:ci /p:Falcon17river /v:other")
    assert b"Falcon17river" not in content_of(tmp_path)
    assert b"[redacted: command line password]" in content_of(tmp_path)
