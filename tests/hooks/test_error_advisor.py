"""What an agent is told at a failing command, and what mends an error."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from learning_memory_server.server.views.failure_views import repeated_error
from tests.lessons.errors.agent import MISSING, NOW, Agent, Shield


async def test_an_error_that_comes_again_is_answered_with_what_mended_it(shield: Shield) -> None:
    await shield.session("first").mends("python -m pytest -q", "python3 -m pytest -q")
    assert await shield.told("second", "python -m pytest tests/a.py") == (
        "This error came once before, on 2026-03-01. This worked: python3 -m pytest tests/a.py"
    )


async def test_what_was_learned_outlives_the_process(shield: Shield, tmp_path: Path) -> None:
    await shield.session("first").mends()
    assert "python3 -m pytest" in await Shield(tmp_path).told("second")


async def fact(
    shield: Shield, day: int, command: str = "shipit --to stage", error: str = "error: no such lane", session: str = ""
) -> str:
    """Return what is known of a command that fails on a day."""
    agent = shield.session(session or f"of day {day}", now=NOW + timedelta(days=day))
    await agent.fails(command, f"Exit code 1\n{error}")
    return agent.known.fact


async def test_a_command_that_never_worked_is_told_of_from_the_third_session_on(shield: Shield) -> None:
    assert [await fact(shield, day) for day in (0, 0, 1)] == [""] * 3
    assert await fact(shield, 2) == "This command failed in 3 sessions of this project, and never worked here."
    # Once a session, and of this error only.
    assert await fact(shield, 2) == ""
    assert await fact(shield, 3, error="error: the disk is full") == ""
    assert "in 4 sessions" in await fact(shield, 4)
    # Without a failure before it in its session, too.
    await shield.session("sixth").succeeds("shipit --to stage")
    assert await fact(shield, 6) == ""


async def test_sessions_of_one_day_count_once(shield: Shield) -> None:
    for session in ("a", "b", "c", "d"):
        assert await fact(shield, 0, session=session) == ""
    assert await fact(shield, 1) == ""
    assert "in 3 sessions" in await fact(shield, 2)


@pytest.mark.parametrize("said", ["", "Das Ziel stage gibt es nicht.", "{}"])
async def test_a_known_exit_status_needs_no_word_of_english(shield: Shield, said: str) -> None:
    found = [await fact(shield, day, error=said) for day in (0, 1, 2)]
    assert found == ["", "", "This command failed in 3 sessions of this project, and never worked here."]
    # Nothing is learned of what came after it.
    await shield.session("of day 2").succeeds("shipit --to production")
    assert [each.remedy for each in shield.failures.all()] == [None] * 3
    await shield.session("works").succeeds("shipit --to stage")
    assert await fact(shield, 4, error=said) == ""


@pytest.mark.parametrize(
    "command",
    [
        "grep -q x y",
        "diff a b",
        "test -f x",
        "gh pr view",
        "git diff --quiet",
        "pytest -q",
        "shipit status",
        "for x in a; do b; done",
    ],
)
async def test_a_status_that_is_an_answer_is_no_failure(shield: Shield, command: str) -> None:
    assert [await fact(shield, day, command, "") for day in (0, 1, 2)] == [""] * 3
    assert not shield.failures.all()


@pytest.mark.parametrize("status", [0, 124, 130, 137])
async def test_what_was_stopped_did_not_fail(shield: Shield, status: int) -> None:
    for day in range(3):
        agent = shield.session(str(day), now=NOW + timedelta(days=day))
        await agent.fails("shipit --to stage", f"Exit code {status}\n")
    assert not shield.failures.all()


@pytest.mark.parametrize(
    ("command", "error", "is_mistake"),
    [
        *(
            (check, "error: no such lane", False)
            for check in ("pytest -q", "npm run lint", "python -m mypy .", "./repro.sh", "make all")
        ),
        # A folder's name does not make a command a check.
        ("cd testbed && ls", "bash: cd: testbed: No such file or directory", True),
    ],
)
async def test_what_fails_because_of_what_is_being_written_is_no_mistake(
    shield: Shield, command: str, error: str, *, is_mistake: bool
) -> None:
    agents = [shield.session(str(day), now=NOW + timedelta(days=day)) for day in range(3)]
    for agent in agents:
        await agent.fails(command, f"Exit code 1\n{error}")
    assert ("in 3 sessions" in agents[-1].known.fact) is bool(agents[-1].known.fact) is is_mistake


async def test_another_project_knows_nothing_of_it(shield: Shield) -> None:
    await shield.session("first").mends()
    assert await shield.session("second", "other").fails("python -m pytest") is None


async def test_only_the_next_five_commands_can_mend_an_error(shield: Shield, agent: Agent) -> None:
    await agent.fails("python -m pytest")
    for _ in range(4):
        await agent.succeeds("ls")
    await agent.succeeds("python3 -m pytest")
    assert [each.remedy for each in shield.failures.all()] == ["python3 -m pytest"]
    await agent.fails("python -m pytest -q")
    for number in range(5):
        await agent.fails(f"cat {number}.txt", "cat: No such file or directory")
    await agent.succeeds("python3 -m pytest -q")
    assert next(each for each in shield.failures.all() if each.command == "python -m pytest -q").remedy is None


async def test_commands_that_fail_in_between_count_as_one_each(shield: Shield, agent: Agent) -> None:
    await agent.fails("python -m pytest")
    for number in range(4):
        await agent.fails(f"cat {number}.txt", "cat: No such file or directory")
    await agent.succeeds("python3 -m pytest")
    assert shield.failures.all()[0].remedy == "python3 -m pytest"


async def test_sessions_do_not_mend_the_errors_of_each_other(shield: Shield) -> None:
    await shield.session("first").fails("python -m pytest")
    await shield.session("second").succeeds("python3 -m pytest")
    assert [each.remedy for each in shield.failures.all()] == [None]


async def test_a_command_that_fails_again_and_again_in_a_session_is_one_failure(shield: Shield, agent: Agent) -> None:
    for _ in range(10):
        await agent.fails("python -m pytest")
    assert [each.times for each in shield.failures.all()] == [1]
    await agent.succeeds("python3 -m pytest")
    assert [each.remedy for each in shield.failures.all()] == ["python3 -m pytest"]


async def test_what_was_shown_and_not_tried_is_shown_again(shield: Shield) -> None:
    await shield.session("first").mends()
    second = shield.session("second")
    assert await second.fails("python -m pytest -x") is not None
    await second.succeeds("ls")
    assert await second.fails("python -m pytest -x") is not None
    assert await shield.session("third").fails("python -m pytest -x") is not None
    assert [each.shown is not None for each in shield.failures.all()] == [False, True, True]


async def test_what_was_tried_and_failed_the_same_way_is_not_shown_again(shield: Shield) -> None:
    await shield.session("first").mends()
    second = shield.session("second")
    assert await second.fails("python -m pytest") is not None
    assert await second.fails("python3 -m pytest") is None
    assert await shield.session("third").fails("python -m pytest") is None


async def test_a_session_is_not_told_what_it_found_itself(shield: Shield, agent: Agent) -> None:
    for number in range(3):
        await agent.mends(f"python -m pytest {number}.py", f"python3 -m pytest {number}.py")
    assert await shield.told("second", "python -m pytest 0.py")


async def test_nothing_is_told_where_other_sessions_mended_it_otherwise(shield: Shield) -> None:
    for number, remedy in enumerate(["python3 a.py", "python a.py", "python a.py --fast"]):
        agent = shield.session(f"session {number}")
        await agent.fails("python a.py")
        await agent.succeeds(remedy)
    assert not await shield.told("another", "python a.py")


async def test_the_commands_say_what_the_hook_says(shield: Shield) -> None:
    for number in range(2):
        agent = shield.session(f"session {number}")
        await agent.fails("python a.py")
        await agent.succeeds("python3 a.py")
        await agent.fails("kubectl apply -f a", "error: refused")
        await agent.succeeds("kubectl apply -f a --context prod")
    shown = {each[0].command: repeated_error(each) for each in shield.failures.errors()}
    assert shown["python a.py"]["remedy"] == "python3 a.py"
    assert {each["remedy"] for each in shown["python a.py"]["failures"]} == {"python3 a.py"}
    refused = shown["kubectl apply -f a"]
    assert not any("remedy" in each for each in (refused, *refused["failures"]))
    # A person may know better.
    assert (
        refused["followed"]
        == "in 2 of 2 own sessions `kubectl apply -f a --context prod` followed, and the error stayed away in 2"
    )
    assert not await shield.told("another", "kubectl apply -f a", "error: refused")
    assert (await shield.told("another", "python a.py")).endswith("This worked: python3 a.py")


async def test_more_than_a_word_needs_two_sessions(shield: Shield) -> None:
    lost = "bash: line 1: cd: web: No such file or directory"
    for session in ("first", "second"):
        await shield.session(session).mends("cd web && npm test", "npm test", lost)
    assert (await shield.told("third", "cd web && npm test", lost)).endswith("This worked: npm test")


@pytest.mark.parametrize("install", ["npm ci", "yarn", "poetry install", "uv sync", "pip3 install -r dev.txt"])
async def test_an_install_and_then_the_same_command_are_kept_as_a_remedy_and_not_told(
    shield: Shield, install: str
) -> None:
    for number in range(3):
        agent = shield.session(f"session {number}")
        assert await agent.fails("make test", "sh: 1: jest: not found") is None
        await agent.succeeds(install)
        await agent.succeeds("make test")
    assert {each.remedy for each in shield.failures.all()} == {f"{install} && make test"}


async def test_an_option_that_the_error_does_not_name_needs_two_days(shield: Shield) -> None:
    now, no_parent = NOW, "mkdir: a: No such file or directory"
    for number in range(4):
        await shield.session(f"session {number}", now=now).mends("mkdir a/b", "mkdir -p a/b", no_parent)
        now += timedelta(days=number == 2)
    another = await shield.session("another", now=now).fails("mkdir a/d", no_parent)
    assert (another or "").endswith("This worked: mkdir -p a/d")


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
async def test_lessons_are_asked_at_what_failed_and_with_the_tool_s_name_where_that_is_in_doubt(
    shield: Shield, command: str, output: str, has_failed: bool | None, expected: str, tools: set[str]
) -> None:
    agent = shield.session("first")
    await agent.ends(command, output, has_failed=has_failed)
    assert agent.known.question == expected
    assert set(agent.known.tools) == tools


async def test_another_operand_does_not_hide_what_two_sessions_found(shield: Shield) -> None:
    for name in ("first", "second"):
        await shield.session(name).mends(f"python tools/check.py a{name}.txt", f"python3 tools/check.py b{name}.txt")
    said = await shield.told("another", "python tools/check.py c.txt")
    assert said.endswith("This worked: python3 tools/check.py c.txt")


async def test_what_failed_first_waits_while_the_same_program_fails_in_the_same_way(shield: Shield) -> None:
    agent = shield.session("first")
    await agent.fails("kiln fire pot", "error: the kiln is cold")
    for number in range(12):
        await agent.fails(f"kiln fire pot{number}", "error: the kiln is cold")
        await agent.succeeds("ls")
    await agent.succeeds("kiln fire --no-color pot")
    assert next(each for each in shield.failures.all() if each.command == "kiln fire pot").remedy is not None


async def test_a_tool_that_is_called_by_its_path_is_not_another_one(shield: Shield, agent: Agent) -> None:
    await agent.fails("bin/kiln fire", "error: the kiln is cold")
    await agent.succeeds("bin/kiln table")
    await agent.succeeds("other/kiln fire")
    assert [each.remedy for each in shield.failures.all()] == [None]


async def test_imported_failures_count_once_a_session_here_has_found_the_same(shield: Shield) -> None:
    failed, lost = "cd web && npm test", "bash: cd: web: No such file or directory"
    for number in range(3):
        agent = shield.session(f"session {number}")
        await agent.fails(failed, lost)
        await agent.succeeds("npm test")
    shield.failures.add(*(replace(each, imported=True) for each in shield.failures.all()))
    await shield.session("a").mends(failed, "npm test", lost)
    assert await shield.told("b", failed, lost)


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
async def test_a_failure_that_hides_is_one(shield: Shield, command: str, output: str) -> None:
    output = f"/usr/bin/python: No module named pytest\n{output}"
    await shield.session("first").succeeds(command, output)
    assert [each.signature for each in shield.failures.all()] == ["<path>: No module named pytest"]
    await shield.session("first").succeeds("python3 -m pytest -q")
    said = await shield.session("second").succeeds(command, output)
    assert (said or "").endswith(f"This worked: {command.replace('python', 'python3', 1)}")


async def test_a_printed_status_counts_whatever_runs_after_it(shield: Shield) -> None:
    command = "{} -m pytest -q; echo rc=$?; git status"
    agent, mended = shield.session("first"), command.format("python3")
    await agent.succeeds(command.format("python"), f"{MISSING}\nrc=1\nnothing to commit")
    await agent.succeeds(mended, "1 passed\nrc=0\nnothing to commit")
    said = await shield.session("second").succeeds(command.format("python"), f"{MISSING}\nrc=1\n")
    assert (said or "").endswith(f"This worked: {mended}")


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
    shield: Shield, command: str, output: str
) -> None:
    await shield.session("first").succeeds(command, output)
    assert shield.failures.all() == []


async def test_what_a_client_does_not_say_is_not_a_success(shield: Shield, agent: Agent) -> None:
    await agent.ends("python -m pytest", MISSING, has_failed=None)
    await agent.ends("python3 -m pytest", "1 passed", has_failed=None)
    assert [each.remedy for each in shield.failures.all()] == [None]


async def test_the_text_of_a_here_document_is_not_the_command(shield: Shield) -> None:
    for session in ("first", "second"):
        await shield.session(session).mends("python - <<'END'\nmake\nEND", "make")
    assert not await shield.told("another", "python - <<'END'\nmake\nEND")


async def test_an_error_that_was_seen_before_its_remedy_is_answered_once_it_is_known(shield: Shield) -> None:
    waiting, other = shield.session("first"), shield.session("second")
    assert await waiting.fails("python -m pytest") is None
    await other.mends()
    assert await waiting.fails("python -m pytest") is not None
