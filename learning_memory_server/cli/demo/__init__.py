"""The demo: a real server, driven through the whole loop by an MCP client."""
