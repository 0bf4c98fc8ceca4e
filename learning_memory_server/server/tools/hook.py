"""The tool that a client's hooks call. Models do not see it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from learning_memory_server.domain.caller import Caller
from learning_memory_server.hooks.event import Event
from learning_memory_server.hooks.hooks import Hooks
from learning_memory_server.identity import session_hash
from learning_memory_server.server.tools.toolset import ToolSet
from learning_memory_server.server.wire import SILENT

toolset = ToolSet()

HOOK = "hook"
"""The tool's name."""


# Of outputs and prompts nothing is kept but counts and, without its secrets, the signature of an error: finding the
# secrets in all of them would take longer than everything else.
@toolset.tool("Answer a hook", changes=True, wire=SILENT, for_models=False, kept=("command",))
async def hook(
    hooks: Hooks,
    caller: Caller,
    /,
    *,
    event: Annotated[str, Field(description="The event, as the client calls it.")],
    session: Annotated[str, Field(description="The client's id of the session.")] = "",
    folder: Annotated[str, Field(description="The working directory.")] = "",
    prompt: Annotated[str, Field(description="What the user has written.")] = "",
    command: Annotated[str, Field(description="The command that a tool runs or ran.")] = "",
    output: Annotated[str, Field(description="What it wrote, if it succeeded.")] = "",
    stderr: Annotated[str, Field(description="What it wrote as errors.")] = "",
    error: Annotated[str, Field(description="What the client says of its failure.")] = "",
    background: Annotated[str, Field(description="`true` if it was started in the background.")] = "",
    task: Annotated[str, Field(description="The background task that it became, if it did.")] = "",
    again: Annotated[str, Field(description="`true` if the agent goes on because of this hook.")] = "",
) -> str:
    """Tell an agent what bears on an event of its session, and keep what the event teaches.

    For a client's hooks. Every argument is a text; what a client does not know is empty.
    """
    return await hooks.answer(
        Event(
            event,
            # Of any length; what is remembered of a session is found by it.
            session_hash(session) if session else caller.session,
            folder,
            prompt,
            command,
            "\n".join(filter(None, (output, stderr))),
            error,
            is_background=background == "true" or bool(task),
            is_again=again == "true",
        ),
        caller,
    )
