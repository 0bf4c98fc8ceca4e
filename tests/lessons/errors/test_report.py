"""The report of past sessions: which failures are one line of it, and what that line says."""

from dataclasses import replace
from datetime import timedelta

import pytest

from learning_memory_server.lessons.errors.report import ReportLine, report
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.memory import Refusal
from tests.lessons.errors.agent import NOW
from tests.lessons.errors.test_figures import BUN, RTK, WRONG, Session, failures

ASSERTION = "AssertionError: 1 is not 2"
LINT, LINTED = "mise run lint", "[lint] ERROR task failed"
UNCHECKED = "shop/till.go:14:2: Error return value of `till.Close` is not checked (errcheck)"
LOST = "bash: cd: lib: No such file or directory"


def shown(found: list[ReportLine]) -> list[str]:
    return [f"{each.label}: {each.text}" for each in found]


async def lines(*sessions: Session) -> list[str]:
    return shown(report(await failures(*sessions), 12))


@pytest.mark.parametrize(
    ("sessions", "expected"),
    [
        # An error of a tool, with what did the same job in at least half of the sessions
        (
            [[(f"{RTK} 2>&1 | tail -3", WRONG), (BUN, "")]] * 2 + [[(RTK, WRONG)]],
            ["3 sessions: `rtk bun run test`: unrecognized subcommand 'bun'; `bun run test` worked next in 2/3"],
        ),
        # Another job, or the command without the part that failed, is no help.
        ([[(RTK, WRONG), ("make tidy", "")]] * 2, ["2 sessions: `rtk bun run test`: unrecognized subcommand 'bun'"]),
        (
            [[("make a && kiln --heat", "error: unexpected argument '--heat' found"), ("make a", "")]] * 2,
            ["2 sessions: `make a && kiln --heat`: unexpected argument '--heat' found"],
        ),
        # What worked in fewer than half is not usual.
        (
            [[(RTK, WRONG), (BUN, "")]] * 2 + [[(RTK, WRONG)]] * 3,
            ["5 sessions: `rtk bun run test`: unrecognized subcommand 'bun'"],
        ),
        # A check that fails and then passes, whatever its error
        ([[(LINT, LINTED), (LINT, "")]] * 3, ["3 sessions: checks failed: `mise run lint` in 3"]),
        ([[(LINT, UNCHECKED), (LINT, "")]] * 4, ["4 sessions: checks failed: `mise run lint` in 4"]),
        # Another command of the same job, that usually helps
        (
            [[("bun run lint", 'error: script "lint" exited with code 1'), ("bun run lint:fix", "")]] * 3,
            ["3 sessions: `bun run lint` failed; `bun run lint:fix` worked next in 3/3"],
        ),
        # What only the log of a test says is not what broke it.
        ([[("pytest -q", ASSERTION)]] * 3, ["3 sessions: checks failed: `pytest` in 3"]),
        ([[("pytest -q", ASSERTION)]] * 2, []),
        ([[("make test && make lint", ASSERTION)]] * 3, []),
        # The hooks of a commit check the code, and its message is none of it.
        (
            [[("pytest -q", ASSERTION), ('git commit -m "test the lint"', ASSERTION)]] * 3,
            ["3 sessions: checks failed: `pytest` in 3, hooks of `git commit` in 3"],
        ),
        # Code that another call runs
        (
            [[("python app.py", "SyntaxError: invalid syntax"), ("python3 app.py", "")]] * 2,
            ["2 sessions: `python app.py`: SyntaxError: invalid syntax; `python3 app.py` worked next in 2/2"],
        ),
        ([[("python app.py", "SyntaxError: invalid syntax"), ("python app.py", "")]] * 2, []),
        # A compiler's complaint about a configuration is of the place.
        (
            [[("npx tsc -b", "tsconfig.json(14,18): error TS6310: Project may not disable emit.")]] * 2,
            ["2 sessions: `npx tsc -b`: error TS6310: Project may not disable emit."],
        ),
        # Lines that differ in a path are one error.
        (
            [[("bun test", f"error: Cannot find module 'b' from '{name}/a.ts'")] for name in ("x/y", "x/z")],
            ["2 sessions: `bun test`: Cannot find module 'b' from 'x/z/a.ts' (or the like)"],
        ),
        # A line that says nothing
        ([[("git push", "error: failed to push some refs to 'origin'"), ("git push -f", "")]] * 2, []),
        ([[("git rebase main", "error: could not apply 12ab34c... Fix"), ("git rebase -X ours main", "")]] * 2, []),
        ([[("gh api x", '{"errors":[{"message":"failed"}]}')]] * 2, []),
        # Checks that failed are listed only where no cause is known.
        (
            [[("pytest -q", ASSERTION), ("kiln --heat", "error: unexpected argument '--heat' found")]] * 3,
            ["3 sessions: `kiln --heat`: unexpected argument '--heat' found"],
        ),
        # One session
        ([[("npx vite build", "sh: vite: command not found"), ("cd web && npx vite build", "")]], []),
        # The hook of a commit, which says no more than that it failed
        ([[("git add a.md && git commit -m x", "markdownlint --fix [FAILED]")]] * 2, []),
        # Of a long command, the calls are shown with what the error names.
        (
            [[(f"git add {'a/' * 40}b.ts && git commit -m x", "error: 1Password: failed to fill whole buffer")]] * 2,
            ["2 sessions: `git add … && git commit`: 1Password: failed to fill whole buffer"],
        ),
        # What a filter was given is not lost with it.
        (
            [[(f"sed -n 9p {'a' * 40}.ts | cat -A", "cat: illegal option -- A")]] * 2,
            [f"2 sessions: `sed -n 9p {'a' * 40}.ts | cat -A`: cat: illegal option -- A"],
        ),
    ],
)
async def test_a_line_is_about_one_cause(sessions: list[Session], expected: list[str]) -> None:
    assert await lines(*sessions) == expected


async def test_commands_with_a_wrong_path_are_one_line_whose_example_ran_below_the_top() -> None:
    lost = [("git add web/a.ts", "fatal: pathspec 'web/a.ts' did not match any files")]
    first, *others = await failures([("cd lib && make", LOST)], lost, lost)
    known = [replace(first, folder="lib"), *others]
    assert shown(report(known, 12)) == [
        "3 sessions: 3 commands named a path that is not there where they ran, such as `cd lib && make` run inside `lib`"
    ]
    assert report(known[:2], 12) == []


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("cat a.txt", "cat: a.txt: No such file or directory"),
        ("sh run.sh", "run.sh: line 4: /opt/kiln: No such file or directory"),
        ("./mine enabl", "error: unknown command 'enabl'"),
        ("gh pr checks", "End to end tests fail 2m"),
        ("python3 fetch.py", "KeyError: 'total'"),
    ],
)
async def test_what_an_agent_looked_for_or_wrote_is_no_wrong_path(command: str, line: str) -> None:
    assert not any("named a path" in each for each in await lines(*[[(command, line)]] * 2))


@pytest.mark.parametrize(("words", "is_shown"), [("never push on Fridays", True), ("did we test this?", False)])
async def test_refusals_in_a_sentence_come_after_errors(words: str, *, is_shown: bool) -> None:
    known = await failures(*[[("kiln --heat", "error: unexpected argument '--heat' found")]] * 2)
    found = shown(report(known, 12, [Refusal("Bash", "make push", words, NOW)]))
    expected = [f'you refused: "{words}" ({NOW.day} {NOW:%b %Y}, `make push`)'] if is_shown else []
    assert found[1:] == expected


async def test_projects_are_counted_apart() -> None:
    known: list[Failure] = await failures([(RTK, WRONG)], [(RTK, WRONG)])
    assert report([known[0], replace(known[1], project="site")], 12) == []


def test_a_refusal_that_is_meant_to_last_comes_before_a_newer_one_about_the_call() -> None:
    words = ["wait, let me look first", "never commit before I have said yes", "just delete the one you made"]
    refused = [Refusal("Bash", "git add .", each, NOW - timedelta(days=day)) for day, each in enumerate(words)]
    shown = [line.text.partition('" (')[0] for line in report([], 12, refused)]
    assert shown == [f'"{words[1]}', f'"{words[0]}', f'"{words[2]}']
