"""All tools, in the order in which clients see them."""

from typing import Final

from learning_memory_server.server.tools import ghap, hook, learning, memory, search, values

TOOLS: Final = [
    *ghap.toolset.tools,
    *learning.toolset.tools,
    *values.toolset.tools,
    *search.toolset.tools,
    *memory.toolset.tools,
]

OF_APPS: Final = learning.of_apps.tools
"""What a client sees besides that renders pages (MCP Apps)."""

WITH_HOOKS: Final = [*TOOLS, *hook.toolset.tools]
"""What a client sees that was started with `--hooks`."""
