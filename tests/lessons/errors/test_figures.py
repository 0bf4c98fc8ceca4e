"""The figures of errors: how often, in how many sessions, and what worked next."""

from dataclasses import replace
from datetime import timedelta

import pytest

from learning_memory_server.lessons.errors.figures import figures_of, plain_command
from learning_memory_server.lessons.errors.learner import Learner
from learning_memory_server.lessons.errors.watch import Ran
from learning_memory_server.model.failure import Failure
from learning_memory_server.redaction.gate import RedactionGate
from tests.lessons.errors.agent import NOW

Session = list[tuple[str, str]]  # commands, each with the output of its failure, or nothing
RTK, BUN, WRONG = "rtk bun run test", "bun run test", "error: unrecognized subcommand 'bun'"


async def failures(*sessions: Session) -> list[Failure]:
    learner = Learner(RedactionGate())
    for number, commands in enumerate(sessions):
        for place, (command, error) in enumerate(commands):
            at = NOW + timedelta(days=number, seconds=place)
            await learner.saw(Ran("shop", f"s{number}", command, error, bool(error), at))
    return learner.failures


@pytest.mark.parametrize(
    ("sessions", "expected"),
    [
        # commands of each session -> sessions, what worked next, in how many, and where the error stayed away
        ([[(RTK, WRONG), (BUN, "")], [(RTK, WRONG), ("ls", ""), (BUN, "")]], (2, BUN, 2, 2)),
        ([[(RTK, WRONG), (BUN, "")], [(RTK, WRONG)]], (2, BUN, 1, 1)),
        # A filter, a redirection or a message makes no other command.
        (
            [[(RTK, WRONG), (f"{BUN} 2>&1 | tail -5", "")], [(f"{RTK} | head", WRONG), (f"{BUN} > out.txt", "")]],
            (2, f"{BUN} > out.txt", 2, 2),
        ),
        (
            [[(RTK, WRONG), ('git commit -m "a b"', "")], [(RTK, WRONG), ("git commit -m c", "")]],
            (2, "git commit -m c", 2, 2),
        ),
        (
            [
                [(RTK, WRONG), (f"{BUN} | tail", "")],
                [(RTK, WRONG), (f"{BUN} | head", "")],
                [(RTK, WRONG), ("make", "")],
            ],
            (3, f"{BUN} | head", 2, 2),
        ),
        # It came again after what worked: with the same command, or with another one.
        ([[(RTK, WRONG), (BUN, ""), (RTK, WRONG)]], (1, BUN, 1, 0)),
        ([[(RTK, WRONG), (BUN, ""), (f"{RTK} a.ts", WRONG)]], (1, BUN, 1, 0)),
        # Two that failed one after the other have what worked after both.
        ([[(RTK, WRONG), (f"{RTK} a.ts", WRONG), (BUN, "")]], (1, BUN, 1, 1)),
        ([[(RTK, WRONG)]], (1, "", 0, 0)),
    ],
)
async def test_figures(sessions: list[Session], expected: tuple[int, str, int, int]) -> None:
    found = figures_of(await failures(*sessions))
    assert (found.sessions, found.followed, found.followed_in, found.stayed_away) == expected
    assert found.line == WRONG


async def test_figures_of_a_journal_of_an_earlier_version_have_no_digest() -> None:
    (known,) = await failures([(RTK, WRONG)])
    assert figures_of([replace(known, line="0123456789abcdef")]).line == "error: unrecognized subcommand <name>"


@pytest.mark.parametrize(
    ("command", "plain"),
    [
        ("cd . && make all 2>&1 | tail -5", "make all"),
        ("make a; echo done", "make a"),
        ("cd web && npm test", "cd web && npm test"),
        ("git commit -m \"$(cat <<'EOF'\nFix\nEOF\n)\"", "git commit"),
        ("make a || make b", "make a || make b"),
    ],
)
def test_a_plain_command(command: str, plain: str) -> None:
    assert plain_command(command) == plain
