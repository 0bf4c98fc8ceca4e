"""Calls of the memory tools, by an agent."""

from typing import Any

from learning_memory_server.model import limits
from tests.server.agent import Agent, only_text

NOTE = "We chose Postgres over MySQL because of partial indexes."
LONG = "\n\n".join(
    f"Paragraph {number} tells of topic{number} and of nothing else. " * 8 for number in range(150)
).strip()


async def said(agent: Agent, tool: str, **arguments: Any) -> str:
    """Return the text of a call that succeeds."""
    result = await agent.client.call_tool(tool, arguments)
    text = only_text(result)
    assert not result.is_error, text
    assert result.structured_content is None
    assert len(text) <= limits.REPLY_MAX
    return text


async def refused(agent: Agent, tool: str, **arguments: Any) -> str:
    """Return the text of a call that fails."""
    result = await agent.client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    return only_text(result)


async def add(agent: Agent, text: str, **metadata: Any) -> str:
    """Add a memory and return its id."""
    reply = await said(agent, "add_memory", text=text, metadata=metadata)
    return reply.split("\n")[1].removeprefix("ID: ")
