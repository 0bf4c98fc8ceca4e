"""All tools, in the order in which clients see them; and the one that hooks call, which models do not see."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final

from pydantic import Field

from learning_memory_server.hooks.event import BEFORE_TOOL
from learning_memory_server.hooks.hooks import Hooks
from learning_memory_server.model.caller import MAIN_AGENT, Caller, session_hash
from learning_memory_server.server.tools import entries, ghap, learning, search
from learning_memory_server.server.tools.toolset import SILENT, ToolSet
from learning_memory_server.system.recent import Recent

toolset = ToolSet()

HOOK = "hook"  # The tool's name


class CallingAgents(Recent[str, str]):
    """Which agent of a connection's session makes which tool call, as the hook before the call says."""


# Of an event nothing is kept but counts, a command and the line of an error: what keeps these takes out their secrets.
# Finding the secrets in everything here would take longer than everything else.
@toolset.tool("Answer a hook", changes=True, wire=SILENT, is_for_models=False, kept=())
async def hook(
    hooks: Hooks,
    agents: CallingAgents,
    caller: Caller,
    /,
    *,
    event: Annotated[
        dict[str, Any],
        Field(
            description="The event. Its parts are texts, and empty if the client does not know them: `event` (its name), "
            "`session`, `folder`, `prompt` (or a subagent's task), `said` (how the agent ends its work), `kind` (of a subagent), `command`, `output`, `stderr`, "
            "`error`, `file`, `before` and `content` (the old and the new text of an edit), `edits` (several of them), "
            "`loads` (the files of rules that the client reads), `source` (why a session begins), `agent` (a subagent's id), `call` (the id of a call), "
            "`task` (of the background), `transcript`; and `true` or nothing: `edit` (the tool edits or makes the file), "
            "`alone` (the client shows nothing at prompts), `background`, `unknown` (whether it failed), `again` (it goes "
            "on because of this hook, or starts late)."
        ),
    ],
) -> dict[str, str]:
    """Show an agent what bears on an event of its session, and learn what the event teaches.

    For a client's hooks. Of a hook before a `call` of the memory's own tools only which agent makes it is remembered.
    """
    agent, call, session = (_text_in(event, name) for name in ("agent", "call", "session"))
    if "agent" in event:
        caller = replace(caller, agent=session_hash(agent) if agent else MAIN_AGENT)
    is_of_ours = not (_text_in(event, "command") or _text_in(event, "file"))
    if call and caller.agent and event.get("event") == BEFORE_TOOL and is_of_ours:
        agents[call] = caller.agent
        return {"text": ""}
    context = session_hash(session) if session else caller.session
    return {"text": await hooks.answer(event, caller, context)}


def _text_in(event: Mapping[str, object], name: str) -> str:
    found = event.get(name)
    return found if isinstance(found, str) else ""


TOOLS: Final = [*ghap.toolset.tools, *entries.toolset.tools, *learning.toolset.tools, *search.toolset.tools]

OF_APPS: Final = learning.of_apps.tools  # What a client sees besides that renders pages (MCP Apps)

WITH_HOOKS: Final = [*TOOLS, *toolset.tools]  # What a client sees that was started with `--hooks`
