"""Two of everything: what is said by or of one of them never counts for the other."""

import os
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any, Final

import pytest

from learning_memory_server.hub.cleared import CLEARED, ClearedSessions
from learning_memory_server.hub.front.hook import _hello
from learning_memory_server.system import timeouts
from learning_memory_server.system.ipc import discovery
from tests.laws.program import Program

SESSIONS: Final = ("a", "b")
STEPS: Final = [(kind, session) for session in SESSIONS for kind in ("end", "begin")]
FOLDER: Final = "/shop"


def orders() -> Iterator[tuple[tuple[str, str], ...]]:
    """Yield the orders in which two sessions can be cleared: each ends before it begins again."""
    for order in permutations(STEPS):
        if all(order.index(("end", each)) < order.index(("begin", each)) for each in SESSIONS):
            yield order


@pytest.mark.parametrize("groups", [(1, 2), (1, 1), (None, None), (1, None)])
@pytest.mark.parametrize("restart", range(-1, len(STEPS)))
def test_two_sessions_that_are_cleared_in_one_folder_never_swap(
    tmp_path: Path, groups: tuple[int | None, int | None], restart: int
) -> None:
    group = dict(zip(SESSIONS, groups, strict=True))
    for number, order in enumerate(orders()):
        file = tmp_path / f"{number}.json"
        cleared, found = ClearedSessions(file), dict[str, str]()
        for step, (kind, each) in enumerate(order):
            if step == restart:
                cleared = ClearedSessions(file)
            if kind == "end":
                assert cleared.end(each, FOLDER, group[each]) == each
            else:
                found[each] = cleared.begin(f"new {each}", FOLDER, group[each])
        for each in SESSIONS:
            is_alone = order.index(("begin", each)) == order.index(("end", each)) + 1 and order[0] == ("end", each)
            if is_alone or (None not in groups and groups[0] != groups[1]):
                assert found[each] == each, order
            # Who cannot be told apart keeps what it has.
            assert found[each] in {each, f"new {each}"}, order
            assert cleared.session(f"new {each}") == found[each]


def test_sessions_in_two_folders_never_swap(tmp_path: Path) -> None:
    for number, order in enumerate(orders()):
        cleared = ClearedSessions(tmp_path / f"{number}.json")
        for kind, each in order:
            if kind == "end":
                cleared.end(each, f"/{each}", None)
            else:
                assert cleared.begin(f"new {each}", f"/{each}", None) == each


def test_a_session_that_did_not_begin_again_is_nobody_else_s_later(tmp_path: Path) -> None:
    now = 0.0
    cleared = ClearedSessions(tmp_path / CLEARED, lambda: now)
    cleared.end("a", FOLDER, 1)
    now = timeouts.CLEARED
    assert cleared.begin("another", FOLDER, 1) == "another"


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"waiting":[1],"names":{}}', b'{"waiting":[],"names":[]}', b"\xff", b"[" * 100_000]
)
def test_a_file_of_cleared_sessions_that_is_damaged_costs_only_the_names(tmp_path: Path, content: bytes) -> None:
    (tmp_path / CLEARED).write_bytes(content)
    cleared = ClearedSessions(tmp_path / CLEARED)
    cleared.end("a", FOLDER, 1)
    assert cleared.begin("b", FOLDER, 1) == "a"


def test_a_hook_says_which_group_of_processes_it_is_of() -> None:
    hello = discovery.read_hello(_hello("journal", "storage", None, b"{}", ""))
    assert hello["group"] == os.getsid(0)


@pytest.mark.slow
async def test_two_clients_that_name_no_session_have_two(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = []
    as_it_is = program.services.advisor.at

    async def at(trigger: Any, caller: Any) -> Any:
        heard.append(caller.session)
        return await as_it_is(trigger, caller)

    monkeypatch.setattr(program.services.advisor, "at", at)
    event = {"hook_event_name": "UserPromptSubmit", "prompt": "Where is the key?"}
    for group in (1, 2, 1, 2):
        await program.hook(event, program.storage, project="shop", group=group)
    first, second, *again = heard
    assert first != second
    assert again == [first, second]
