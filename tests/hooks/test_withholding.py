"""One toss for a session withholds everything that is told unasked."""

from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from learning_memory_server.lessons.shown import Trials
from learning_memory_server.model.caller import session_hash
from learning_memory_server.server.settings import Settings
from tests.advice.parts import MeasuredModel
from tests.hooks.test_reading import learn_about, session_in, shop, work_on_checkout
from tests.server.agent import CONFIRMED, ENTRY, OWL, at_work
from tests.server.test_advice import patient
from tests.support import NOON

__all__ = ["shop"]


@pytest.mark.parametrize("is_withheld", [False, True])
async def test_one_toss_for_a_session_covers_every_channel(settings: Settings, shop: Path, is_withheld: bool) -> None:
    bears = f"{ENTRY['goal']}: {ENTRY['hypothesis']}"
    names_it = {"command": "shipit deploy", "error": f"Exit code 1\nerror: {bears}"}
    async with at_work(settings, load=MeasuredModel) as services:
        async with session_in(services, shop, "first") as first:
            await learn_about(first, services, shop / "f0.py")
            await first.call("start_ghap", **ENTRY)
            await first.call("resolve_ghap", **CONFIRMED)
        services.trials = Trials(services.journal.trials, services.clock, 0.5, lambda: 0.4 if is_withheld else 0.6)
        services.advisor = services.hooks.advisor = replace(patient(services), trials=services.trials)
        hours = count()
        services.hooks.clock = lambda: NOON + timedelta(hours=next(hours))
        told: dict[str, object] = {}
        work_on_checkout(shop)
        async with session_in(services, shop, "a") as work:
            told["start"] = await work.fire("SessionStart", session="a", folder=str(shop))
            told["compaction"] = await work.fire("SessionStart", session="a", source="compact", folder=str(shop))
        async with session_in(services, shop, "b") as work:
            await work.fire("SessionStart", session="b")
            told["prompt"] = await work.fire("UserPromptSubmit", session="b", prompt=bears)
        async with session_in(services, shop, "c") as work:
            told["file"] = await work.fire("PostToolUse", session="c", file="f0.py", folder=str(shop))
        async with session_in(services, shop, "d") as work:
            told["lesson"] = await work.fire("PostToolUseFailure", session="d", **names_it)
            for _ in range(2):
                assert await work.fire("PostToolUseFailure", session="d", command="make", error="Exit code 2\n") == ""
            await work.fire("PostToolUse", session="d", command="ls")
            await work.fire("PreToolUse", session="d", agent="", prompt=bears, kind="Explore")
            told["subagent"] = await work.fire("SubagentStart", session="d", agent="a1", kind="Explore")
        async with session_in(services, shop, "e") as work:
            told["start_ghap"] = (await work.call("start_ghap", **ENTRY)).get("related")
        async with session_in(services, shop, "f") as work:
            await work.call("start_ghap", **OWL)
            told["update_ghap"] = (await work.call("update_ghap", hypothesis=bears)).get("related")

        assert {name for name, said in told.items() if bool(said) is is_withheld} == set()
        trials = {each.id: each for each in services.trials.all()}
        assert trials.keys() == {session_hash(session) for session in "abcdef"}
        assert {(each.withheld, each.probability) for each in trials.values()} == {(is_withheld, 0.5)}
        # Those since there was something to tell.
        assert {name: trials[session_hash(name)].failed for name in "abcdef"} == {**dict.fromkeys("abcdef"), "d": 2}
