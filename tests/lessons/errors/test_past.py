"""The account of past sessions: what failed alike, in how many sessions, and what fixed it."""

import asyncio
import random
from datetime import timedelta

import pytest

from benchmarks.secrets_made import ALNUM, drawn
from learning_memory_server.lessons.errors.past import Loss, Past
from learning_memory_server.lessons.errors.pending import Ran
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.redaction.redactor import build_redactor
from tests.lessons.errors.written import NOON

NO_MODULE = "/usr/bin/python: No module named pytest"
LOST = "(eval):cd:1: no such file or directory: beds"
LINT = 'src/cart.ts:3 unused name\nerror: script "lint" exited with code 1'


def losses(*sessions: list[tuple[str, str]]) -> list[Loss]:
    """Return what is said of sessions: commands with what they wrote if they failed, else an empty text."""
    past = Past()
    for name, calls in enumerate(sessions):
        for number, (command, error) in enumerate(calls):
            at = NOON + timedelta(days=name, seconds=number)
            past.saw(Ran("garden", f"session {name}", command, error, bool(error), at, "/work/garden"))
    return asyncio.run(past.losses(RedactionGate(build_redactor()), 10))


def test_the_program_that_worked_instead_gathers_all_that_failed_without_it() -> None:
    missing = [("python -m pytest a.py", NO_MODULE), ("python3 -m pytest a.py", "")]
    (found,) = losses(missing, missing, [("python grow.py", "ModuleNotFoundError: No module named 'soil'")])
    assert (found.failed, found.sessions, found.fixed, found.is_instead) == (3, 3, 2, True)
    assert found.sentence == (
        "ran `python` in 3 sessions (/usr/bin/python: No module named pytest); `python3` worked in 2"
    )


def test_a_wrapper_that_does_not_know_the_command_is_left_out_of_it() -> None:
    refused = [("rtk bun run test", "error: unrecognized subcommand 'bun'"), ("bun run test", "")]
    (found,) = losses(refused, refused, refused[:1])
    assert (found.failed, found.fix, found.fixed) == (3, "bun run test", 2)


def test_what_was_run_before_the_same_command_worked_is_its_fix() -> None:
    fixed = [("bun run lint", LINT), ("git status", ""), ("bun run lint:fix", ""), ("bun run lint", "")]
    (found,) = losses(fixed, fixed)
    assert found.sentence == (
        'failed in 2 sessions with error: script "lint" exited with code 1 (`bun run lint`); '
        "it went away after `bun run lint:fix` in 2"
    )


def test_an_install_in_front_of_the_command_is_its_fix() -> None:
    fixed = [("bun run lint", LINT), ("bun install && bun run lint", "")]
    (found,) = losses(fixed, fixed)
    assert (found.fix, found.fixed) == ("bun install", 2)


def test_an_install_counts_as_the_fix_in_half_of_the_sessions_and_anything_else_does_not() -> None:
    def met(repair: str) -> list[Loss]:
        error = "ImportError: cannot import name 'seed' from 'bed'"
        return losses([("make rows", error), (repair, ""), ("make rows", "")], [("make rows", error)])

    assert [each.fix for each in met("pip install 'bed<3'")] == ["pip install 'bed<3'"]
    assert [each.fix for each in met("touch bed.py")] == [""]


def test_a_folder_that_is_not_there_is_one_mistake_whatever_was_to_be_run_in_it() -> None:
    other = [("git -C beds add -A", "fatal: cannot change to 'beds': No such file or directory")]
    (found,) = losses([("cd beds && make", LOST), ("cd beds && ls", LOST)], [("cd beds && git log", LOST)], other)
    assert (found.failed, found.sentence) == (
        4,
        "failed in 3 sessions, because there is no folder `beds` from where they were run (`cd beds && ls`)",
    )


def test_what_worked_elsewhere_is_no_fix_of_a_folder_that_is_not_there() -> None:
    lost = [("cd beds && python grow.py", LOST), ("python3 grow.py", "")]
    assert [(each.fix, each.fixed) for each in losses(lost, lost)] == [("", 0)]


def test_a_command_that_begins_with_its_folder_failed_for_what_its_error_says() -> None:
    missing = [("cd beds && python3 -m pytest", NO_MODULE)]
    (found,) = losses(missing, missing)
    assert found.sentence == (
        "failed in 2 sessions with /usr/bin/python: No module named pytest (`cd beds && python3 -m pytest`)"
    )


def test_a_command_before_it_and_one_in_front_of_it_are_the_same_fix_of_the_same_error() -> None:
    before = [("bun run lint", LINT), ("bun run lint:fix 2>&1", ""), ("bun run lint", "")]
    in_front = [[("bun run lint", LINT), (f"bun run {fix} && bun run lint", "")] for fix in ("lint:fix", "format")]
    (found,) = losses(before, *in_front)
    assert (found.failed, found.fix, found.fixed, found.is_instead) == (3, "bun run lint:fix", 2, False)


@pytest.mark.parametrize(
    ("failed", "error", "then"),
    [
        ("pip install -e beds", "ERROR: beds is not a valid editable requirement", ["pip install -e beds -q"]),
        (
            "gh api repos/beds/notes/17 --jq .body",
            "gh: Not Found (HTTP 404)",
            ["gh api repos/beds/notes --paginate --jq .id"],
        ),
        ("mise run test", "fatal: Could not read from remote repository.", ["mise run fmt", "mise run test"]),
        ("rm .git/index.lock", "rm: .git/index.lock: No such file or directory", []),
        ("ls beds", "ls: beds: No such file or directory", []),
        ("python3 grow.py", "python3: can't open file 'grow.py': [Errno 2] No such file or directory", []),
        ("prune 2>&1 | wc", "(eval):1: permission denied:", []),
    ],
)
def test_no_line_names_a_fix_that_was_none_or_tells_nothing(failed: str, error: str, then: list[str]) -> None:
    met = [(failed, error), *((command, "") for command in then)]
    assert losses(met, met, [(failed, error)], [(failed, error)], [(failed, error)]) == []


def test_work_in_progress_is_not_told() -> None:
    failing = [("pytest -q", "E   AssertionError: 3 != 4\n= 1 failed, 2 passed in 0.1s ="), ("pytest -q", "")]
    once = [("mypi src", "bash: mypi: command not found")] * 3
    merge = [("git merge main", "CONFLICT (content): Merge conflict in beds.py")]
    assert losses(failing, failing, once, merge, merge) == []


def test_what_costs_most_comes_first_and_secrets_stay_out() -> None:
    token = "gh" + "p_" + drawn(random.Random(3), ALNUM, 36)
    unknown = [(f"seeder --key {token} sow", f"seeder: unknown option --key {token}")]
    rare = [("mypi src", "bash: mypi: command not found")]
    found = losses([*unknown, *unknown, *rare], [*unknown, *rare])
    assert [each.failed for each in found] == [3, 2]
    assert token not in found[0].sentence
    assert "seeder" in found[0].sentence


def test_another_view_and_a_command_before_it_that_repairs_nothing_are_no_fix() -> None:
    view = [("git show 8a7", "fatal: unable to read 8a7"), ("git show 8a7 --stat", "")]
    clean = [("make rows", "make: unrecognized option"), ("make clean && make rows", "")]
    assert [each.fix for each in losses(view, view)] == []
    assert [each.fix for each in losses(clean, clean)] == [""]


def test_a_long_command_is_shown_by_its_beginning() -> None:
    pushed = [(f"git push -m '{'long ' * 40}'", "error: failed to push some refs"), ("git pull --rebase", "")]
    pushed.append((pushed[0][0], ""))
    (found,) = losses(pushed, pushed)
    assert (len(found.command), found.fix) == (80, "git pull --rebase")
