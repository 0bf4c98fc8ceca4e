"""The MCP server: sessions, tools, and the only place where failures become replies."""
