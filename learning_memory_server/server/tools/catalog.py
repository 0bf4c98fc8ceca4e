"""All tools, in the order in which clients see them; and the one that hooks call, which models do not see."""

from dataclasses import replace
from typing import Annotated, Final

from pydantic import Field

from learning_memory_server.hooks.event import BEFORE_TOOL, Event, put_in
from learning_memory_server.hooks.hooks import Hooks
from learning_memory_server.lessons.errors.sanitize import ends
from learning_memory_server.model.caller import MAIN_AGENT, Caller, session_hash
from learning_memory_server.server.tools import ghap, learning, search
from learning_memory_server.server.tools.toolset import SILENT, ToolSet
from learning_memory_server.system.recent import Recent

toolset = ToolSet()

HOOK = "hook"  # The tool's name
_COMMAND_MAX: Final = 8_000  # Characters of a command that are looked at: the rest of a longer one is a script


class CallingAgents(Recent[str, str]):
    """Which agent of a connection's session makes which tool call, as the hook before the call says."""


# Of outputs and prompts nothing is kept but counts and, without its secrets, the signature of an error: finding the
# secrets in all of them would take longer than everything else.
@toolset.tool("Answer a hook", changes=True, wire=SILENT, is_for_models=False, kept=("command",))
async def hook(
    hooks: Hooks,
    agents: CallingAgents,
    caller: Caller,
    /,
    *,
    event: Annotated[str, Field(description="The event, as the client calls it.")],
    session: Annotated[str, Field(description="The client's id of the session.")] = "",
    folder: Annotated[str, Field(description="The working directory.")] = "",
    prompt: Annotated[str, Field(description="What the user has written, or a subagent's task.")] = "",
    kind: Annotated[str, Field(description="The kind of a subagent.")] = "",
    command: Annotated[str, Field(description="The command that a tool runs or ran.")] = "",
    output: Annotated[str, Field(description="What it wrote, if it succeeded.")] = "",
    stderr: Annotated[str, Field(description="What it wrote as errors.")] = "",
    error: Annotated[str, Field(description="What the client says of its failure.")] = "",
    file: Annotated[str, Field(description="The file that a tool has read or edited.")] = "",
    patch: Annotated[str, Field(description="The hunks of an edit, as Claude Code says them in JSON.")] = "",
    old: Annotated[str, Field(description="The text that an edit took out.")] = "",
    new: Annotated[str, Field(description="The text that it put in.")] = "",
    source: Annotated[str, Field(description="Why a session begins, as Claude Code says it.")] = "",
    alone: Annotated[str, Field(description="`true` if the client tells nothing at prompts.")] = "",
    background: Annotated[str, Field(description="`true` if it was started in the background.")] = "",
    task: Annotated[str, Field(description="The background task that it became, if it did.")] = "",
    unknown: Annotated[str, Field(description="`true` if the client does not say whether it failed.")] = "",
    again: Annotated[str, Field(description="`true` if it goes on because of this hook, or starts late.")] = "",
    agent: Annotated[str, Field(description="The subagent's id; empty for the main agent.")] | None = None,
    call: Annotated[str, Field(description="The id of the call that it is about to make, or that has ended.")] = "",
    transcript: Annotated[str, Field(description="The file that the client writes the session to.")] = "",
) -> dict[str, str]:
    """Tell an agent what bears on an event of its session, and keep what the event teaches.

    For a client's hooks. Every argument is a text; what a client does not know is empty. Of a hook before
    a `call` nothing is kept but which agent it is.
    """
    if agent is not None:
        caller = replace(caller, agent=session_hash(agent) if agent else MAIN_AGENT)
    if call and caller.agent and event == BEFORE_TOOL:
        agents[call] = caller.agent
        return {"text": ""}
    heard = Event(
        event,
        session_hash(session) if session else caller.session,  # What is remembered of a session is found by it
        folder,
        prompt,
        kind,
        command[:_COMMAND_MAX],
        ends("\n".join(filter(None, (ends(output), ends(stderr))))),
        ends(error),
        file,
        put_in(patch, new),
        transcript,
        call,
        source,
        is_background=background == "true" or bool(task),
        is_again=again == "true",
        is_unknown=unknown == "true",
        is_alone=alone == "true",
        is_edit=bool(patch or old or new),  # Claude Code says [] of a file that is new
    )
    return {"text": await hooks.answer(heard, caller)}


TOOLS: Final = [*ghap.toolset.tools, *learning.toolset.tools, *search.toolset.tools]

OF_APPS: Final = learning.of_apps.tools  # What a client sees besides that renders pages (MCP Apps)

WITH_HOOKS: Final = [*TOOLS, *toolset.tools]  # What a client sees that was started with `--hooks`
