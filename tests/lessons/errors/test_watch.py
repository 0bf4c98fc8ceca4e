"""What the end of a command shows: an error, the failures after which it worked, and what lessons are looked for by."""

from datetime import timedelta

import pytest

from learning_memory_server.lessons.errors.watch import WITHIN, CommandWatch, Ended, Ran
from learning_memory_server.redaction.gate import RedactionGate
from tests.lessons.errors.agent import MISSING, NOW

FAILED = "python -m pytest"


class Session:
    def __init__(self) -> None:
        self._watch, self._number = CommandWatch(RedactionGate()), 0

    async def ends(
        self,
        command: str = FAILED,
        output: str = "",
        *,
        has_failed: bool | None = False,
        session: str = "a",
        agent: str = "",
        entry: str = "",
    ) -> Ended:
        self._number += 1
        at = NOW + timedelta(seconds=self._number)
        return await self._watch.saw(Ran("shop", session, command, output, has_failed, at, agent=agent, entry=entry))

    async def fails(self, command: str = FAILED, output: str = MISSING, **about: str) -> Ended:
        return await self.ends(command, output, has_failed=True, **about)


@pytest.fixture
def session() -> Session:
    return Session()


def texts(ended: Ended) -> list[tuple[str, str | None]]:
    return [(each.command, each.worked) for each in ended.worked]


async def test_a_failure_has_its_real_line_its_agent_and_the_open_entry(session: Session) -> None:
    ended = await session.fails(
        "make all", "Exit code 2\nerror: no rule 7 for '/home/ada/x/kiln.c'", agent="b", entry="ghap_1"
    )
    assert ended.failure
    assert ended.failure.line == "error: no rule 7 for '~/x/kiln.c'"
    assert ended.failure.signature == "error: no rule <n> for <name>"
    assert ended.line == "error: no rule <n> for '~/x/kiln.c'"
    assert (ended.failure.agent, ended.failure.during) == ("b", ("ghap_1", "b"))
    assert ended.has_failed is True


async def test_the_next_command_that_worked_is_noted_whatever_program_it_is(session: Session) -> None:
    await session.fails("rtk bun run test", "error: unrecognized subcommand 'bun'")
    assert texts(await session.ends("ls src")) == []
    assert texts(await session.ends("bun run test")) == [("rtk bun run test", "bun run test")]
    assert texts(await session.ends("bun run lint")) == []


async def test_it_is_a_command_of_the_same_agent_and_session(session: Session) -> None:
    await session.fails(agent="a")
    assert texts(await session.ends("make", agent="b")) == []
    assert texts(await session.ends("make", agent="a", session="b")) == []
    assert texts(await session.ends("make", agent="a")) == [(FAILED, "make")]


async def test_it_is_one_of_the_next_commands(session: Session) -> None:
    await session.fails()
    for _ in range(WITHIN):
        await session.ends("ls")
    assert texts(await session.ends("make")) == []


async def test_a_command_of_which_nobody_says_how_it_ended_is_no_success(session: Session) -> None:
    await session.fails()
    assert texts(await session.ends("make", has_failed=None)) == []


@pytest.mark.parametrize("output", ["", "Das Ziel stage gibt es nicht.", "{}"])
async def test_a_known_exit_status_needs_no_word_of_english(session: Session, output: str) -> None:
    ended = await session.fails("shipit --to stage", f"Exit code 1\n{output}")
    assert ended.failure
    assert (ended.failure.signature, ended.failure.line) == ("shipit: exit status 1", "")


@pytest.mark.parametrize(
    "command",
    ["grep -q x y", "diff a b", "test -f x", "gh pr view", "pytest -q", "shipit status", "for x in a; do b; done"],
)
async def test_a_status_that_is_an_answer_is_no_failure(session: Session, command: str) -> None:
    assert (await session.fails(command, "Exit code 1\n")).failure is None


@pytest.mark.parametrize("status", [0, 124, 130, 137])
async def test_what_was_stopped_did_not_fail(session: Session, status: int) -> None:
    assert (await session.fails("shipit --to stage", f"Exit code {status}\n")).failure is None


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("python -m pytest -q; echo rc=$?", "no tests ran\nrc=1\n"),
        ('python -m pytest -q; echo "exit: $?"', "exit: 1"),
        ("python -m pytest -q 2>&1 | tail -5", ""),
        ("python -m pytest -q || true", ""),
        ("python -m pytest -q | tail -5", "= 1 failed, 5 passed in 0.12s ="),
        ("python -m pytest -q | tail -5 && make | tail -5", "= 5 passed in 0.12s ="),
    ],
)
async def test_a_failure_that_hides_is_one(session: Session, command: str, output: str) -> None:
    ended = await session.ends(command, f"/usr/bin/python: No module named pytest\n{output}")
    assert ended.failure
    assert ended.failure.signature == "<path>: No module named pytest"


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
        ("bun test | tail -5", "error: a test of errors\n 12 pass\n 0 fail\nRan 12 tests across 2 files. [9ms]"),
    ],
)
async def test_what_only_reads_or_says_that_it_succeeded_has_not_failed(
    session: Session, command: str, output: str
) -> None:
    assert (await session.ends(command, output)).failure is None


@pytest.mark.parametrize(
    ("command", "output", "has_failed", "expected", "tools"),
    [
        ("cd a && ./kiln fire pot", "reading pot\nkiln: cone bent\n", True, "./kiln fire pot\nkiln: cone bent", set()),
        ("./kiln fire; echo rc=$?", "kiln: cone bent\nrc=2", False, "./kiln fire\nkiln: cone bent", set()),
        # What ran after it, and worked, changes nothing, and what only looks is not asked about.
        ("./kiln fire; echo rc=$?; ls", "kiln: cone bent\nrc=2\npot", False, "./kiln fire\nkiln: cone bent", set()),
        ("./kiln a; echo a=$?; ./kiln b; echo b=$?", "a=2\nb=0", False, "./kiln a ./kiln b\n", set()),
        ("ls pots", "ls: cannot access 'pots'", True, "ls pots\nls: cannot access 'pots'", set()),
        # Of these it is not known whether the kiln failed.
        ("./kiln fire | tail -3", "kiln: cone bent", False, "./kiln fire\nkiln: cone bent", {"kiln", "fire"}),
        ("./kiln a; echo rc=$?; ./kiln b; ls", "rc=0\npot", False, "./kiln a ./kiln b\n", {"kiln", "a", "b"}),
        ("./kiln fire", "kiln: cone bent", None, "./kiln fire\nkiln: cone bent", {"kiln", "fire"}),
        ("./kiln fire; echo rc=$?", "kiln: cone bent\nrc=0", False, "", set()),
        ("./kiln fire", "kiln: cone bent", False, "", set()),
        ("cat kiln.log | tail -3", "kiln: cone bent", False, "", set()),
    ],
)
async def test_lessons_are_looked_for_where_a_command_failed_or_may_have(
    session: Session, command: str, output: str, has_failed: bool | None, expected: str, tools: set[str]
) -> None:
    ended = await session.ends(command, output, has_failed=has_failed)
    assert ended.question == expected
    assert set(ended.tools) == tools
