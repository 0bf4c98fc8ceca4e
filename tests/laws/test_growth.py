"""Nothing grows for ever: no container of the hub, and no file but the journal's, grows with what comes and goes."""

import types
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Set as AbstractSet
from typing import Any, Final

import pytest

from learning_memory_server.advice import constants
from learning_memory_server.journal.records import FailureLog
from learning_memory_server.model.caller import Caller, session_hash
from learning_memory_server.system import recent
from tests.laws.program import Agent, Program
from tests.laws.sowing import Serve
from tests.services import run
from tests.support import in_one_task

pytestmark = pytest.mark.slow

REMEMBERED: Final = 20
"""What this test lets the hub remember, in place of 1,000 sessions and 2,000 failures of a project."""
FEW: Final = 3 * REMEMBERED
MANY: Final = 10 * REMEMBERED
"""How often everything comes and goes before the first look, and before the second."""
EXCEPTIONS: Final[Mapping[str, str]] = {
    "tombstones": "ids of what was forgotten, which no import may bring back: the journal has them, too",
    "reconciler._removed": "their points, which no write that is under way may bring back to the index",
}
"""What grows with each thing that is forgotten, by the name of the attribute, and why."""
FILES: Final = {
    "hub.log": "bounded: it is rotated at two megabytes",
    "claims": "a file of 160 bytes for each folder in which a session was, which says what is known of it",
}
"""Files that grow, by name, and why."""
_OPAQUE: Final = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, str, bytes, int, float)


def sizes(*roots: object) -> Counter[str]:
    """Return how many things the containers have that objects of this package hold, by the path of attributes."""
    found: Counter[str] = Counter()
    seen = set[int]()
    waiting: list[tuple[str, object]] = [(type(each).__name__, each) for each in roots]
    while waiting:
        path, each = waiting.pop()
        if id(each) in seen or isinstance(each, _OPAQUE) or path.count(".") > 30:
            continue
        seen.add(id(each))
        if isinstance(each, Mapping | AbstractSet | list | tuple | deque):
            found[path] += len(each)
            inner: Iterable[object] = (*each.keys(), *each.values()) if isinstance(each, Mapping) else each
            waiting += [(path if path.endswith("[]") else f"{path}[]", one) for one in list(inner)]
        if isinstance(each, types.MethodType):
            waiting.append((path, each.__self__))
        if type(each).__module__.startswith(("learning_memory_server.", "functools")):
            waiting += [(f"{path}.{name}", value) for name, value in attributes(each)]
    return found


def attributes(thing: object) -> list[tuple[str, Any]]:
    found = {*getattr(thing, "__dict__", ()), *(name for kind in type(thing).__mro__ for name in slots_of(kind))}
    return [(name, getattr(thing, name)) for name in sorted(found) if hasattr(thing, name)]


def slots_of(kind: type) -> Iterable[str]:
    slots = kind.__dict__.get("__slots__", ())
    return [slots] if isinstance(slots, str) else slots


def files_of(program: Program) -> Counter[str]:
    """Return the bytes of files below the data folder, without the journal's, by the parts of their paths."""
    found: Counter[str] = Counter()
    for path in program.storage.rglob("*"):
        name = path.relative_to(program.storage).as_posix()
        if path.is_file() and not name.startswith("journal/"):
            found[name.partition("/")[0]] += (
                path.stat().st_blocks * 512 if name.startswith("index") else path.stat().st_size
            )
    return found


async def everything_comes_and_goes(program: Program, agent: Agent, number: int) -> None:
    """Let a session begin, fail, be cleared and end in a folder of its own, and forget an entry of it."""
    folder = program.storage.parent / "folders" / str(number)
    folder.mkdir(parents=True)
    name, command = f"session{number}", {"command": f"build_{number} --all"}

    async def fire(event: str, session: str = name, **given: Any) -> None:
        given = {"hook_event_name": event, "session_id": session, "cwd": str(folder), **given}
        await program.hook(given, folder, project="garden")

    await fire("SessionStart", source="startup")
    await fire("UserPromptSubmit", prompt=f"Look at the parser_{number} and at src/part{number}.py, please")
    error = f"Exit code 1\nerror: no such lane{'x' * (number % 97)} {chr(97 + number % 26)}{chr(97 + number // 26)}"
    await fire("PostToolUseFailure", tool_name="Bash", tool_input=command, error=error)
    await fire("SessionEnd", reason="clear")
    await fire("SessionStart", f"{name} cleared", source="clear")
    await fire("UserPromptSubmit", f"{name} cleared", prompt="Go on")
    await fire("SessionEnd", f"{name} cleared", reason="clear")
    # In a folder of which nobody has said to which project it belongs.
    for given in ({"hook_event_name": "SessionStart"}, {"hook_event_name": "UserPromptSubmit", "prompt": "Go on"}):
        await program.hook({"session_id": f"{name} elsewhere", "cwd": str(folder), **given}, folder)
    caller = Caller("garden", session_hash(name), folder=str(folder))
    services = program.services
    with services.live.connected(caller.session, 1):
        services.live.heard(caller.session)
    texts = {each: f"{each} of thing_{number}" for each in ("goal", "hypothesis", "action", "prediction")}
    entry = await agent.call("start_ghap", domain="testing", strategy="ask-user", **texts)
    await agent.call("resolve_ghap", status="confirmed", result="done")
    memory = (await agent.call("add_memory", text=f"memory of thing_{number}"))["text"]
    assert memory
    ids = [entry["id"], *(each.id for each in services.memories.log.all())]
    await run(services, "forget", ids=ids, project=None, purge=False, preview=False)


def is_excused(path: str) -> bool:
    return any(name in path for name in EXCEPTIONS)


async def test_no_container_and_no_file_grows_with_what_comes_and_goes(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent, "MOST", REMEMBERED)
    for module, name in ((recent, "LARGE_MOST"), (recent, "SMALL_MOST"), (constants, "NAME_TEXTS")):
        monkeypatch.setattr(module, name, REMEMBERED)
    monkeypatch.setattr(FailureLog.__init__, "__defaults__", (REMEMBERED,))
    async with in_one_task(serve()) as program, program.agent(Caller("garden", session_hash("gardener"))) as agent:
        for number in range(FEW):
            await everything_comes_and_goes(program, agent, number)
        before, files_before = sizes(program.hub, program.services), files_of(program)
        for number in range(FEW, MANY):
            await everything_comes_and_goes(program, agent, number)
        after, files_after = sizes(program.hub, program.services), files_of(program)
    grown = {path: (before[path], count) for path, count in after.items() if count > 1.1 * before[path] + REMEMBERED}
    excused = {path for path in grown if is_excused(path)}
    assert {path: count for path, count in grown.items() if path not in excused} == {}
    assert all(any(name in path for path in excused) for name in EXCEPTIONS)
    assert len(EXCEPTIONS) + len(FILES) - 1 <= 3  # The log is bounded
    larger = {name: (files_before[name], size) for name, size in files_after.items() if size > 1.1 * files_before[name]}
    assert larger.keys() <= FILES.keys(), larger
