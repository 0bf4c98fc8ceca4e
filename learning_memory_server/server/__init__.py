"""The MCP server: settings, composition, tools, and the one place where failures become replies."""
