"""What a session is told when it starts depends on where it works, and where the sessions before it did."""

from dataclasses import replace
from pathlib import Path

from mcp import Client

from learning_memory_server.model.identity import session_hash
from learning_memory_server.server.app import build_server
from learning_memory_server.server.calls import Calls
from learning_memory_server.server.composition.services import Services
from tests.server.agent import CALLER, ENTRY
from tests.server.test_hook import Hooked

OTHER = {"status": "confirmed", "result": "it fits"}


async def test_a_session_without_changes_is_told_what_bears_on_the_files_of_the_last_ones(
    services: Services, tmp_path: Path
) -> None:
    caller = replace(CALLER, session=session_hash("s1"), folder=str(tmp_path))
    rounding = {"what_worked": "one rounding", "takeaway": "Round the totals of billing once, at the end"}
    totals = tmp_path / "billing" / "totals.py"
    totals.parent.mkdir()
    totals.write_text("total = round(price)\n")
    async with Client(build_server(Calls(services.injectable(), caller, has_hooks=True))) as client:
        hooked = Hooked(client)
        await hooked.call("start_ghap", **ENTRY)
        await hooked.call("resolve_ghap", **OTHER, lesson=rounding)
        for number in range(4):
            await hooked.call("start_ghap", **ENTRY | {"goal": f"Give the crawler {number} a larger cache"})
            lesson = {"what_worked": "more room", "takeaway": f"The crawler {number} wants more room"}
            await hooked.call("resolve_ghap", **OTHER, lesson=lesson)
        assert "Round the totals" not in await hooked.fire("SessionStart", session="s2", folder=str(tmp_path))

        await hooked.call("start_ghap", **ENTRY | {"goal": "Give the crawler a name"})
        await hooked.fire("PostToolUse", file=str(totals), patch='[{"lines": ["+total"]}]', folder=str(tmp_path))
        await hooked.call("resolve_ghap", **OTHER)
        await services.anchoring.close()

        told = await hooked.fire("SessionStart", session="s3", folder=str(tmp_path))
    assert told.index("Round the totals") < told.index("The crawler 3")
