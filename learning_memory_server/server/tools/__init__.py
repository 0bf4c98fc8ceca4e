"""The MCP tools: each parses nothing, calls one service, and shapes the reply."""
