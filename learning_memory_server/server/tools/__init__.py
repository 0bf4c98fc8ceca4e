"""The MCP tools: each is given valid arguments, calls the services, and shapes the reply."""
