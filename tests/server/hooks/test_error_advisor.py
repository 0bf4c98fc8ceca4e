"""What an agent is told at a failing command, and what mends an error."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from learning_memory_server.journal.failures import FailureLog
from learning_memory_server.journal.journal import Journal
from learning_memory_server.learning.failures.error_advisor import ErrorAdvisor
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.server.views.failure_views import repeated_error
from tests.learning.failures.agent import MISSING, NOW, Agent


async def test_an_error_that_comes_again_is_answered_with_what_mended_it(error_advisor: ErrorAdvisor) -> None:
    first = Agent(error_advisor, "first")
    assert await first.fails("python -m pytest -q") is None
    await first.succeeds("python3 -m pytest -q")
    assert await Agent(error_advisor, "second").fails("python -m pytest tests/a.py") == (
        "This error was seen once before in this project, last on 2026-03-01. "
        "This worked: python3 -m pytest tests/a.py (instead of: python -m pytest tests/a.py)"
    )


async def test_what_was_learned_outlives_the_process(error_advisor: ErrorAdvisor, tmp_path: Path) -> None:
    first = Agent(error_advisor, "first")
    await first.mends("python -m pytest", "python3 -m pytest")
    later = ErrorAdvisor(FailureLog(Journal(tmp_path).failures), RedactionGate())
    assert "python3 -m pytest" in (await Agent(later, "second").fails("python -m pytest") or "")


async def test_a_command_that_never_worked_is_told_of_from_the_third_session_on(error_advisor: ErrorAdvisor) -> None:
    async def fact(session: str, command: str = "shipit --to stage", error: str = "error: no such lane") -> str:
        agent = Agent(error_advisor, session)
        await agent.fails(command, f"Exit code 1\n{error}")
        return agent.known.fact

    assert [await fact(name) for name in ("first", "first", "second")] == [""] * 3
    assert await fact("third") == ("This command failed in 3 sessions of this project, and never worked here.")
    # Once a session, and of this error only.
    assert await fact("third") == ""
    assert await fact("fourth", error="error: the disk is full") == ""
    assert "in 4 sessions" in await fact("fifth")
    # Without a failure before it in its session, too.
    await Agent(error_advisor, "sixth").succeeds("shipit --to stage")
    assert await fact("seventh") == ""


@pytest.mark.parametrize("command", ["pytest -q", "npm run lint", "python -m mypy .", "./repro.sh", "make all"])
async def test_what_fails_because_of_what_is_being_written_is_no_mistake(
    error_advisor: ErrorAdvisor, command: str
) -> None:
    agents = [Agent(error_advisor, name) for name in ("first", "second", "third")]
    for agent in agents:
        await agent.fails(command, "Exit code 1\nerror: no such lane")
    assert agents[-1].known.fact == ""


async def test_a_folder_s_name_does_not_make_a_command_a_check(error_advisor: ErrorAdvisor) -> None:
    agents = [Agent(error_advisor, name) for name in ("first", "second", "third")]
    for agent in agents:
        await agent.fails("cd testbed && ls", "Exit code 1\nbash: cd: testbed: No such file or directory")
    assert "in 3 sessions" in agents[-1].known.fact


async def test_another_project_knows_nothing_of_it(error_advisor: ErrorAdvisor) -> None:
    first = Agent(error_advisor, "first")
    await first.mends("python -m pytest", "python3 -m pytest")
    assert await Agent(error_advisor, "second", "other").fails("python -m pytest") is None


async def test_only_the_next_five_commands_can_mend_an_error(error_advisor: ErrorAdvisor, failures: FailureLog) -> None:
    agent = Agent(error_advisor, "first")
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


async def test_commands_that_fail_in_between_count_as_one_each(
    error_advisor: ErrorAdvisor, failures: FailureLog
) -> None:
    agent = Agent(error_advisor, "first")
    await agent.fails("python -m pytest")
    for number in range(4):
        await agent.fails(f"cat {number}.txt", "cat: No such file or directory")
    await agent.succeeds("python3 -m pytest")
    assert failures.all()[0].remedy == "python3 -m pytest"


async def test_sessions_do_not_mend_the_errors_of_each_other(error_advisor: ErrorAdvisor, failures: FailureLog) -> None:
    await Agent(error_advisor, "first").fails("python -m pytest")
    await Agent(error_advisor, "second").succeeds("python3 -m pytest")
    assert [each.remedy for each in failures.all()] == [None]


async def test_a_command_that_fails_again_and_again_in_a_session_is_one_failure(
    error_advisor: ErrorAdvisor, failures: FailureLog
) -> None:
    agent = Agent(error_advisor, "first")
    for _ in range(10):
        await agent.fails("python -m pytest")
    assert [each.times for each in failures.all()] == [1]
    await agent.succeeds("python3 -m pytest")
    assert [each.remedy for each in failures.all()] == ["python3 -m pytest"]


async def test_what_was_shown_and_not_tried_is_shown_again(error_advisor: ErrorAdvisor, failures: FailureLog) -> None:
    first = Agent(error_advisor, "first")
    await first.mends("python -m pytest", "python3 -m pytest")
    second = Agent(error_advisor, "second")
    assert await second.fails("python -m pytest -x") is not None
    await second.succeeds("ls")
    assert await second.fails("python -m pytest -x") is not None
    assert await Agent(error_advisor, "third").fails("python -m pytest -x") is not None
    assert [each.shown is not None for each in failures.all()] == [False, True, True]


async def test_what_was_tried_and_failed_the_same_way_is_not_shown_again(error_advisor: ErrorAdvisor) -> None:
    first = Agent(error_advisor, "first")
    await first.mends("python -m pytest", "python3 -m pytest")
    second = Agent(error_advisor, "second")
    assert await second.fails("python -m pytest") is not None
    assert await second.fails("python3 -m pytest") is None
    assert await Agent(error_advisor, "third").fails("python -m pytest") is None


async def test_a_session_is_not_told_what_it_found_itself(error_advisor: ErrorAdvisor) -> None:
    agent = Agent(error_advisor, "first")
    for number in range(3):
        assert await agent.fails(f"python -m pytest {number}.py") is None
        await agent.succeeds(f"python3 -m pytest {number}.py")
    assert await Agent(error_advisor, "second").fails("python -m pytest 0.py") is not None


async def test_nothing_is_told_where_other_sessions_mended_it_otherwise(error_advisor: ErrorAdvisor) -> None:
    for number, remedy in enumerate(["python3 a.py", "python a.py", "python a.py --fast"]):
        agent = Agent(error_advisor, f"session {number}")
        await agent.fails("python a.py")
        await agent.succeeds(remedy)
    assert await Agent(error_advisor, "another").fails("python a.py") is None


async def test_the_commands_say_what_the_hook_says(error_advisor: ErrorAdvisor, failures: FailureLog) -> None:
    for number in range(2):
        agent = Agent(error_advisor, f"session {number}")
        await agent.mends("python a.py", "python3 a.py")
        await agent.fails("kubectl apply -f a", "error: refused")
        await agent.succeeds("kubectl apply -f a --context prod")
    shown = {each[0].command: repeated_error(each) for each in failures.errors()}
    assert shown["python a.py"]["remedy"] == "python3 a.py"
    assert {each["remedy"] for each in shown["python a.py"]["failures"]} == {"python3 a.py"}
    assert "prod" not in str(shown)
    assert await Agent(error_advisor, "another").fails("kubectl apply -f a", "error: refused") is None
    assert "This worked: python3 a.py (" in (await Agent(error_advisor, "another").fails("python a.py") or "")


async def test_more_than_a_word_needs_two_sessions(error_advisor: ErrorAdvisor) -> None:
    lost = "bash: line 1: cd: web: No such file or directory"
    for number in range(2):
        agent = Agent(error_advisor, f"session {number}")
        assert await agent.fails("cd web && npm test", lost) is None
        await agent.succeeds("npm test")
    assert "This worked: npm test (" in (await Agent(error_advisor, "third").fails("cd web && npm test", lost) or "")


async def test_an_install_and_then_the_same_command_are_a_remedy(error_advisor: ErrorAdvisor, tmp_path: Path) -> None:
    root, missing = tmp_path / "web", "sh: 1: jest: not found"
    (root / ".git").mkdir(parents=True)
    (root / "package.json").write_text('{"devDependencies": {"jest": "^29"}}', "utf-8")
    for number in range(2):
        agent = Agent(error_advisor, f"session {number}", folder=str(root))
        assert await agent.fails("npm test", missing) is None
        await agent.succeeds("npm ci")
        await agent.succeeds("npm test")
    another = Agent(error_advisor, "another", folder=str(root))
    assert await another.fails("npm test", missing) is None
    (root / "package-lock.json").write_text('{"lockfileVersion": 3}', "utf-8")
    assert "This worked: npm ci && npm test (" in (await another.fails("npm test", missing) or "")


async def test_an_option_that_the_error_does_not_name_needs_two_days(failures: FailureLog) -> None:
    now = NOW
    error_advisor = ErrorAdvisor(failures, RedactionGate())
    for number in range(4):
        agent = Agent(error_advisor, f"session {number}", now=now)
        assert await agent.fails("mkdir a/b", "mkdir: a: No such file or directory") is None
        await agent.succeeds("mkdir -p a/b")
        now += timedelta(days=number == 2)
    told = await Agent(error_advisor, "another", now=now).fails("mkdir a/d", "mkdir: a: No such file or directory")
    assert "This worked: mkdir -p a/d (" in (told or "")


@pytest.mark.parametrize(
    ("command", "output", "has_failed", "expected", "tools"),
    [
        ("cd a && ./kiln fire pot", "reading pot\nkiln: cone bent\n", True, "./kiln fire pot\nkiln: cone bent", set()),
        ("./kiln fire; echo rc=$?", "kiln: cone bent\nrc=2", False, "./kiln fire\nkiln: cone bent", set()),
        # What ran after it, and worked, changes nothing, and what only looks is not asked about.
        ("./kiln fire; echo rc=$?; ls", "kiln: cone bent\nrc=2\npot", False, "./kiln fire\nkiln: cone bent", set()),
        (
            "./kiln fire; ls -l",
            "kiln: cone bent\n-rw-r--r-- 1 a pot",
            False,
            "./kiln fire\nkiln: cone bent",
            {"kiln", "fire"},
        ),
        ("./kiln a; echo a=$?; ./kiln b; echo b=$?", "a=2\nb=0", False, "./kiln a ./kiln b\n", set()),
        ("ls pots", "ls: cannot access 'pots'", True, "ls pots\nls: cannot access 'pots'", set()),
        # Of these it is not known whether the kiln failed.
        ("./kiln fire | tail -3", "kiln: cone bent", False, "./kiln fire\nkiln: cone bent", {"kiln", "fire"}),
        ("./kiln fire || true", "done", False, "./kiln fire\n", {"kiln", "fire"}),
        ("./kiln a; echo rc=$?; ./kiln b; ls", "rc=0\npot", False, "./kiln a ./kiln b\n", {"kiln", "a", "b"}),
        ("sh tools/kiln.sh; ./glaze", "3 pots", False, "sh tools/kiln.sh ./glaze\n", {"sh", "kiln", "glaze"}),
        ("./kiln fire", "kiln: cone bent", None, "./kiln fire\nkiln: cone bent", {"kiln", "fire"}),
        ("./kiln fire; echo rc=$?", "kiln: cone bent\nrc=0", False, "", set()),
        ("./kiln fire; echo rc=$?; ls", "kiln: cone bent\nrc=0\npot", False, "", set()),
        ("./kiln fire", "kiln: cone bent", False, "", set()),
        ("cat kiln.log | tail -3", "kiln: cone bent", False, "", set()),
    ],
)
async def test_lessons_are_asked_at_what_failed_and_with_the_tool_s_name_where_that_is_in_doubt(  # noqa: PLR0913
    error_advisor: ErrorAdvisor, command: str, output: str, has_failed: bool | None, expected: str, tools: set[str]
) -> None:
    agent = Agent(error_advisor, "first")
    await agent.ends(command, output, has_failed=has_failed)
    assert agent.known.question == expected
    assert set(agent.known.tools) == tools


async def test_another_operand_does_not_hide_what_two_sessions_found(error_advisor: ErrorAdvisor) -> None:
    for number in range(2):
        agent = Agent(error_advisor, f"session {number}")
        assert await agent.fails(f"python tools/check.py a{number}.txt") is None
        await agent.succeeds(f"python3 tools/check.py b{number}.txt")
    told = await Agent(error_advisor, "another").fails("python tools/check.py c.txt")
    assert "This worked: python3 tools/check.py c.txt (" in (told or "")


async def test_what_failed_first_waits_while_the_same_program_fails_in_the_same_way(
    error_advisor: ErrorAdvisor, failures: FailureLog
) -> None:
    agent = Agent(error_advisor, "first")
    await agent.fails("kiln fire pot", "error: the kiln is cold")
    for number in range(12):
        await agent.fails(f"kiln fire pot{number}", "error: the kiln is cold")
        await agent.succeeds("ls")
    await agent.succeeds("kiln fire --no-color pot")
    assert next(each for each in failures.all() if each.command == "kiln fire pot").remedy is not None


async def test_a_tool_that_is_called_by_its_path_is_not_another_one(
    error_advisor: ErrorAdvisor, failures: FailureLog
) -> None:
    agent = Agent(error_advisor, "first")
    await agent.fails("bin/kiln fire", "error: the kiln is cold")
    await agent.succeeds("bin/kiln table")
    await agent.succeeds("other/kiln fire")
    assert [each.remedy for each in failures.all()] == [None]


async def test_imported_failures_count_once_a_session_here_has_found_the_same(
    error_advisor: ErrorAdvisor, failures: FailureLog
) -> None:
    for number in range(3):
        agent = Agent(error_advisor, f"session {number}")
        await agent.fails("cd web && npm test", "bash: cd: web: No such file or directory")
        await agent.succeeds("npm test")
    failures.add(*(replace(each, imported=True) for each in failures.all()))
    lost = "bash: cd: web: No such file or directory"
    assert await Agent(error_advisor, "a").fails("cd web && npm test", lost) is None
    await Agent(error_advisor, "a").succeeds("npm test")
    assert await Agent(error_advisor, "b").fails("cd web && npm test", lost) is not None


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
    error_advisor: ErrorAdvisor, failures: FailureLog, command: str, output: str
) -> None:
    output = f"/usr/bin/python: No module named pytest\n{output}"
    await Agent(error_advisor, "first").succeeds(command, output)
    assert [each.signature for each in failures.all()] == ["<path>: No module named pytest"]
    await Agent(error_advisor, "first").succeeds("python3 -m pytest -q")
    told = await Agent(error_advisor, "second").succeeds(command, output)
    assert f"This worked: {command.replace('python', 'python3', 1)} (" in (told or "")


async def test_a_printed_status_counts_whatever_runs_after_it(error_advisor: ErrorAdvisor) -> None:
    command = "{} -m pytest -q; echo rc=$?; git status"
    agent, mended = Agent(error_advisor, "first"), command.format("python3")
    await agent.succeeds(command.format("python"), f"{MISSING}\nrc=1\nnothing to commit")
    await agent.succeeds(mended, "1 passed\nrc=0\nnothing to commit")
    told = await Agent(error_advisor, "second").succeeds(command.format("python"), f"{MISSING}\nrc=1\n")
    assert f"This worked: {mended} (" in (told or "")


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("cat build.log | tail -5", "error: it failed"),
        ("grep -rn failed . | head", "a.py: error: it failed"),
        ("make; echo rc=$?", "error: a test of errors\nrc=0"),
        ("make; echo $?", "error: a test of errors\n12 files\n0"),
        # A status that stands alone could be any of these numbers.
        ("make; echo $?; cat data.csv", "error: a test of errors\n0\n12,5\n7,8"),
        ("make 2>&1 | tail -5", "built"),
        ("make", "error: a test of errors"),
    ],
)
async def test_what_only_reads_or_says_that_it_succeeded_has_not_failed(
    error_advisor: ErrorAdvisor, failures: FailureLog, command: str, output: str
) -> None:
    await Agent(error_advisor, "first").succeeds(command, output)
    assert failures.all() == []


async def test_what_a_client_does_not_say_is_not_a_success(error_advisor: ErrorAdvisor, failures: FailureLog) -> None:
    agent = Agent(error_advisor, "first")
    await agent.ends("python -m pytest", MISSING, has_failed=None)
    await agent.ends("python3 -m pytest", "1 passed", has_failed=None)
    assert [each.remedy for each in failures.all()] == [None]


async def test_the_text_of_a_here_document_is_not_the_command(error_advisor: ErrorAdvisor) -> None:
    for number in range(2):
        agent = Agent(error_advisor, f"session {number}")
        await agent.mends("python - <<'END'\nmake\nEND", "make")
    assert await Agent(error_advisor, "another").fails("python - <<'END'\nmake\nEND") is None


async def test_an_error_that_was_seen_before_its_remedy_is_answered_once_it_is_known(
    error_advisor: ErrorAdvisor,
) -> None:
    waiting, other = Agent(error_advisor, "first"), Agent(error_advisor, "second")
    assert await waiting.fails("python -m pytest") is None
    await other.mends("python -m pytest", "python3 -m pytest")
    assert await waiting.fails("python -m pytest") is not None
